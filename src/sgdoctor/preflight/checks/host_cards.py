"""The cards that are there."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.preflight.model import Area, CardFacts, Finding, Situation, Status
from sgdoctor.texts import Text

_OLDEST: Final = 75
"""``SGLang only supports sm75 and above``: srt/model_executor/model_runner.py, 0.4.6 to 0.5.23."""


class CardsPresent:
    """There are cards, and SGLang runs on them."""

    id: ClassVar[str] = "cards-present"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Graphics cards", "显卡")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One for each kind of card; a machine without any is told by the check of its driver."""
        cards = situation.host.cards
        for card in dict.fromkeys((card.name, card.sm, card.total_mib) for card in cards):
            alike = [one for one in cards if (one.name, one.sm, one.total_mib) == card]
            yield _finding(alike, simulated=situation.host.simulated)


def _finding(alike: list[CardFacts], *, simulated: bool) -> Finding:
    card = alike[0]
    kind = f"sm{card.sm}" if card.sm else "sm?"
    count = f"{len(alike)} x " if len(alike) > 1 else ""
    text = f"{count}{card.name}, {card.total_mib / 1024:.1f} GiB, {kind}"
    if card.sm is not None and card.sm < _OLDEST:
        return Finding(
            Status.FAIL,
            Text(f"{text}: SGLang needs sm{_OLDEST} or newer", f"{text}：SGLang 需要 sm{_OLDEST} 或更新的架构"),
            prevents="SGL544",
            phase="config",
        )
    said = Text(f"{text} (named, not here)", f"{text}（指定的，不在本机）") if simulated else Text(text, text)
    return Finding(Status.PASS, said, evidence=", ".join(f"GPU {one.number}" for one in alike))
