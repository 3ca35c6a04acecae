"""A container of this image really gets the card (``--deep``)."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.preflight.deep import CARDS, ERROR, RULE, VERSIONS
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_LISTED: Final = "GPU "
_OTHER_FAILURE: Final = "SGL090"


class ContainerGetsCard:
    """A throw-away container of the image was started, and sees the cards."""

    id: ClassVar[str] = "container-gets-card"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Throw-away container", "临时容器")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """What it said; nothing where none was started."""
        answers = situation.answers
        if ERROR in answers:
            yield Finding(
                Status.FAIL,
                Text("Docker could not start it", "Docker 无法启动它"),
                answers[ERROR],
                prevents=answers.get(RULE) or _OTHER_FAILURE,
                phase="docker",
                remote=situation.host.remote,
            )
        elif CARDS in answers:
            yield _seen(answers[CARDS], answers.get(VERSIONS, ""), remote=situation.host.remote)


def _seen(listing: str, versions: str, *, remote: bool) -> Finding:
    cards = [line.partition(" (UUID")[0] for line in listing.splitlines() if line.startswith(_LISTED)]
    known = ", ".join(line for line in versions.splitlines()[:5] if len(line.split()) in (2, 3))
    if not cards:
        said = (listing.splitlines() or ["nvidia-smi: no output"])[0]
        return Finding(
            Status.FAIL,
            Text("it sees no card", "它看不到显卡"),
            said,
            prevents="SGL013",
            phase="distributed",
            remote=remote,
        )
    return Finding(
        Status.PASS,
        Text(f"it sees {', '.join(cards)}", f"它能看到 {', '.join(cards)}"),
        known,
        remote=remote,
    )
