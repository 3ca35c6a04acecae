"""Healing in the app of ``watch``: the same moves as of ``sgdoctor heal``, told to a window."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.heal_ended import ended_with
from sgdoctor.cli.heal_report import Report, move_line
from sgdoctor.cli.heal_texts import words
from sgdoctor.cli.heal_ward import ContainerWard
from sgdoctor.cli.relaunch_proposal import Proposal
from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.spool import state_dir
from sgdoctor.fixes.model import Step
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.heal.loop import heal
from sgdoctor.relaunch.heal.model import Limits, Move, Relaunch
from sgdoctor.relaunch.model import Watcher
from sgdoctor.relaunch.verified import VerifiedReadiness
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended, Told
from sgdoctor.watching.history import History

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase


class HealErrand:
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
            Report(self._container, healing, verify=True, lang=lang, hide=screen.hide) for lang in ("en", "zh")
        )
        return ended_with(english, chinese)


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
        self._tell(lambda lang: move_line(move, self._count, HealErrand.tries, lang))

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
