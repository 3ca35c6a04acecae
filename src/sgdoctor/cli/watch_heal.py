"""Healing in the app of ``watch``: the same moves as of ``sgdoctor heal``, told to a window."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console

from sgdoctor.cli.heal_report import Report as HealReport
from sgdoctor.cli.heal_report import print_report
from sgdoctor.cli.heal_texts import words
from sgdoctor.cli.heal_ward import ContainerWard
from sgdoctor.cli.relaunch_proposal import Proposal
from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.spool import state_dir
from sgdoctor.fixes.model import Step
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.heal.loop import heal
from sgdoctor.relaunch.heal.model import End, Limits, Move, Relaunch
from sgdoctor.relaunch.model import Watcher
from sgdoctor.relaunch.verified import VerifiedReadiness
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended, Told
from sgdoctor.watching.history import History

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_GOOD: Final = frozenset({End.VERIFIED, End.SERVES})


class Healing:
    """One errand of healing.

    Args:
        endpoint: the container engine.
        base: the rules.
        container: name.
        redact: whether secrets are hidden.
    """

    tries: Final = 3

    def __init__(self, endpoint: Endpoint, base: "RuleBase", container: str, *, redact: bool) -> None:
        self._endpoint = endpoint
        self._base = base
        self._container = container
        self._redact = redact
        self._readiness = VerifiedReadiness(endpoint, base, history=History(state_dir() / "starts.jsonl"))

    def stop(self) -> None:
        """Bring the original launch back; for any thread."""
        self._readiness.cancel()

    def act(self, told: Told) -> Ended:
        """Heal; in the thread of the errand."""
        screen = _Window(self._container, told, redact=self._redact)
        with (
            Client(self._endpoint) as client,
            ContainerWard(client, self._container, self._base, self._readiness, screen) as ward,
        ):
            healing = heal(ward, Limits(self.tries), told=screen.told)
        english, chinese = (
            HealReport(self._container, healing, verify=True, lang=lang, hide=screen.hide) for lang in ("en", "zh")
        )

        def report(console: Console, lang: str) -> None:
            print_report(Canvas(console, lang), chinese if lang == "zh" else english)

        return Ended(done=healing.stop.end in _GOOD, text=Text(english.closing, chinese.closing), report=report)


class _Window:
    """What healing shows and asks, for the window of the app: the user has agreed to safe changes, and to no others."""

    lang = "en"

    def __init__(self, container: str, told: Told, *, redact: bool) -> None:
        self.hide: Redactor = redactor() if redact else unredacted
        self._container = container
        self._told = told
        self._redact = redact
        self._count = 0

    def knows(self, proposal: Proposal) -> None:
        """From now on the secrets of this launch are hidden, too."""
        self.hide = plan_redactor(proposal.answer, redact=self._redact)

    def agrees(self, proposal: Proposal) -> bool:
        """The user has agreed before it began."""
        del proposal
        return True

    def consents(self, steps: Sequence[Step]) -> bool:
        """Nobody has agreed to what can make answers worse."""
        del steps
        return False

    def told(self, move: Move) -> None:
        """The next launch, as a heading."""
        if not isinstance(move, Relaunch):
            return
        self._count += 1

        def text(lang: str) -> str:
            changes = ", ".join(change_text(change, lang) for change in move.changes)
            if move.bisected is not None:
                changes = f"{changes} ({words(lang, 'bisected')})"
            return words(lang, "try", number=self._count, tries=Healing.tries, changes=changes)

        self._tell(text)

    @contextmanager
    def steps(self) -> Iterator[Watcher]:
        """Takes the steps of a relaunch."""
        yield self._told

    @contextmanager
    def waiting(self) -> Iterator[Callable[[Text], None]]:
        """Takes what a server that runs is asked."""
        self._tell(lambda lang: words(lang, "waiting", name=self._container))
        yield self._told

    def _tell(self, text: Callable[[str], str]) -> None:
        self._told(Text(self.hide(text("en")), self.hide(text("zh"))))
