"""The errands of the app of ``watch``: relaunches and ways back, told step by step, without a terminal."""

import time
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from sgdoctor.cli.fix_files import remove_files, write_files
from sgdoctor.cli.relaunch_proposal import Proposal
from sgdoctor.cli.relaunch_run import Act, Errand, closing, code_of, is_running
from sgdoctor.cli.relaunch_steps import Interrupts
from sgdoctor.cli.relaunch_texts import words
from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.spool import state_dir
from sgdoctor.relaunch.journal import Journal
from sgdoctor.relaunch.launching import relaunch
from sgdoctor.relaunch.model import Ending, Outcome, Patience, Readiness, Watcher
from sgdoctor.relaunch.readiness import EngineReadiness
from sgdoctor.relaunch.recovery import resume, undo
from sgdoctor.relaunch.returning import Return, go_back
from sgdoctor.relaunch.unawaited import Unawaited
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended, Told
from sgdoctor.watching.history import History

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase


class Trip(ABC):
    """One relaunch or way back.

    Args:
        endpoint: the container engine.
        base: the rules.
        container: name.
    """

    undone = False
    """Whether going back is what is wanted."""

    def __init__(self, endpoint: Endpoint, base: "RuleBase", container: str) -> None:
        self._endpoint = endpoint
        self._container = container
        self._readiness = self._waits(endpoint, base)
        self._interrupts = Interrupts(self._readiness, container, "en")

    def _waits(self, endpoint: Endpoint, base: "RuleBase") -> Readiness:
        """Who knows when it serves."""
        return EngineReadiness(endpoint, base, history=History(state_dir() / "starts.jsonl"))

    @abstractmethod
    def _act(self, client: Client) -> Act:
        """What is done."""

    @abstractmethod
    def _done(self, lang: str) -> str:
        """The last line where it serves; ``{name}`` and ``{time}`` are filled in."""

    def stop(self) -> None:
        """Go back to where it began; for any thread."""
        self._interrupts.stop()

    def act(self, tell: Told) -> Ended:
        """Carry it out; in the thread of the errand."""
        began = time.monotonic()
        with Client(self._endpoint) as client:
            act = self._act(client)
            watcher = self._interrupts.watching(tell)
            outcome = act(readiness=self._readiness, patience=Patience(), watcher=watcher)
            runs = is_running(client, self._container)
        seconds = time.monotonic() - began

        def text(lang: str) -> str:
            errand = Errand(self._container, act, self._done(lang), undone=self.undone)
            code = code_of(outcome, errand, stopped=self._interrupts.count > 0)
            return closing(errand, (code, outcome, seconds), lang, runs=runs)

        return Ended(
            done=outcome.ending is Ending.DONE or (self.undone and outcome.ending is Ending.BACK),
            text=Text(text("en"), text("zh")),
            verdict=outcome.verdict,
            notes=(*outcome.notes, *_log_of(outcome)),
        )


def _log_of(outcome: Outcome) -> tuple[Text, ...]:
    log = outcome.log
    return (Text(words("en", "log", path=log), words("zh", "log", path=log)),) if log is not None else ()


class Relaunching(Trip):
    """A relaunch with a plan.

    Args:
        endpoint: the container engine.
        base: the rules.
        proposal: what was agreed to.
    """

    def __init__(self, endpoint: Endpoint, base: "RuleBase", proposal: Proposal) -> None:
        super().__init__(endpoint, base, proposal.container)
        self._proposal = proposal

    def _act(self, client: Client) -> Act:
        proposal = self._proposal

        def act(*, readiness: Readiness, patience: Patience, watcher: Watcher) -> Outcome:
            written = write_files(proposal.answer.plan, proposal.folder)
            outcome = relaunch(
                client,
                proposal.inspection,
                proposal.changes,
                proposal.answer.flags,
                planned=proposal.edition,
                readiness=readiness,
                patience=patience,
                watcher=watcher,
            )
            # What the launch needs stays only where the launch does.
            if outcome.ending in (Ending.REFUSED, Ending.BACK):
                remove_files(written)
            return outcome

        return act

    def _done(self, lang: str) -> str:
        return words(lang, "done", name="{name}", time="{time}")


class Returning(Trip):
    """The way back to an earlier launch.

    Args:
        endpoint: the container engine.
        base: the rules.
        planned: what was agreed to.
        failed: whether that launch failed when it was the one; it will again, and whoever wants it back knows.
    """

    def __init__(self, endpoint: Endpoint, base: "RuleBase", planned: Return, *, failed: bool) -> None:
        self._planned = planned
        self._failed = failed
        super().__init__(endpoint, base, planned.document.name)

    def _waits(self, endpoint: Endpoint, base: "RuleBase") -> Readiness:
        return Unawaited() if self._failed else super()._waits(endpoint, base)

    def _act(self, client: Client) -> Act:
        return partial(go_back, client, self._planned)

    def _done(self, lang: str) -> str:
        key = "done.failed_before" if self._failed else "done.rollback"
        return words(lang, key, name="{name}", number=self._planned.wanted.number, time="{time}")


class Finishing(Trip):
    """The end of a relaunch that was cut off, forward or back.

    Args:
        endpoint: the container engine.
        base: the rules.
        journal: of it.
        undoes: whether back.
    """

    def __init__(self, endpoint: Endpoint, base: "RuleBase", journal: Journal, *, undoes: bool) -> None:
        super().__init__(endpoint, base, journal.intent.container)
        self._journal = journal
        self.undone = undoes

    def _act(self, client: Client) -> Act:
        return partial(undo if self.undone else resume, client, self._journal)

    def _done(self, lang: str) -> str:
        return words(lang, "done", name="{name}", time="{time}")
