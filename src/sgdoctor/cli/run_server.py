"""The server that ``run`` owns: a process, started again and again, never two at once."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.run_keeper import Keeper, Wishes
from sgdoctor.cli.run_plan import ProcessPlans
from sgdoctor.cli.run_texts import both
from sgdoctor.containers.spool import bytes_of, spooled
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.diagnosis.wording import summary_of
from sgdoctor.engines.base import PhaseName
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.processes.feed import ProcessFeed
from sgdoctor.processes.record import Record, Start
from sgdoctor.relaunch.model import Ending, Outcome, Purpose

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_LATE: Final = frozenset({PhaseName.SERVING, PhaseName.SHUTDOWN})


class Running:
    """One start, from its first moment until its end is in the journal.

    Args:
        number: of the start, from 1.
        changes: by which its launch differs from the command that was given.
        words: its command.
        feed: its process.
        record: its journal.
        keeper: stays with it.

    Attributes:
        verdict: on all that it wrote; None before it has ended.
    """

    def __init__(
        self,
        number: int,
        changes: tuple[Change, ...],
        words: tuple[str, ...],
        *,
        feed: ProcessFeed,
        record: Record,
        keeper: Keeper,
    ) -> None:
        self.number = number
        self.changes = changes
        self.words = words
        self.feed = feed
        self.keeper = keeper
        self.record = record
        self.verdict: Verdict | None = None
        self._finished = False
        self._lock = threading.Lock()

    @property
    def served(self) -> bool:
        """Whether it was ready at some time."""
        return self.keeper.ready is not None

    @property
    def serves(self) -> bool:
        """Whether it serves at this moment, as far as is known."""
        return self.served and self.feed.child.code is None and not self.keeper.has_failed

    @property
    def failed(self) -> bool:
        """Whether it has ended by itself, or had to be ended, and not well."""
        keeper, verdict = self.keeper, self.verdict
        if verdict is None or keeper.asked or keeper.failed is False:
            return False
        return keeper.reason is not None or not self.served or not verdict.state.works

    def finish(self, judge: Callable[[], Verdict | None]) -> None:
        """Let it end if it runs, and write how it went; once.

        Args:
            judge: gives the verdict on all that it wrote; None if it wrote nothing that could be kept.
        """
        with self._lock:
            if self._finished:
                return
            self._finished = True
            self.feed.close()
            self.keeper.ended()
            try:
                self.verdict = judge()
            finally:
                self.record.end(self._outcome(), _phases(self.verdict))

    def _outcome(self) -> Outcome:
        keeper, verdict = self.keeper, self.verdict
        if self.failed and verdict is not None:
            return Outcome(Ending.FAILED, reason=keeper.reason or summary_of(verdict), verdict=verdict)
        stopped = keeper.asked or keeper.failed is False or verdict is None
        return Outcome(Ending.STOPPED if stopped and not self.served else Ending.DONE)


class Server:
    """All starts of one server.

    Args:
        plans: for its command.
        base: the rules.
        lang: ``en`` or ``zh``.

    Attributes:
        starts: so far, the oldest first.
        written: files that launches of it need, and that no server was seen to serve with.
    """

    def __init__(self, plans: ProcessPlans, base: "RuleBase", lang: str) -> None:
        self.plans = plans
        self.starts: list[Running] = []
        self.written: list[Path] = []
        self._base = base
        self._lang = lang
        self._closed = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.plans.name

    @property
    def current(self) -> Running:
        """The newest start."""
        return self.starts[-1]

    def open(self) -> None:
        """It may be started again."""
        self._closed = False

    def begin(
        self,
        changes: tuple[Change, ...],
        wishes: Wishes,
        tell: Callable[[str], None],
        purpose: Purpose = Purpose.RELAUNCH,
    ) -> Running:
        """Start it; the start before has ended.

        Args:
            changes: of the command that was given.
            wishes: what is wanted of it.
            tell: takes what the user should know.
            purpose: why.

        Raises:
            UserError: the command cannot be run, or a process of the start before cannot be ended.
        """
        variables, command = self.plans.command(changes)
        # Two streams of which only one is buffered would not keep the order of lines in one pipe.
        env = {"PYTHONUNBUFFERED": "1", **os.environ, **variables}
        last = self.starts[-1] if self.starts else None
        number = len(self.starts) + 1
        known = last.changes if last is not None else ()
        fresh = tuple(change for change in changes if change not in known)
        with self._lock:
            if self._closed:
                raise ClosedError
            if last is not None and last.feed.child.stuck:
                raise UserError(*both("stuck", name=self.name, pid=str(last.feed.child.pid)))
            feed = ProcessFeed(self.name, command, env, number=number)
            try:
                start = Start(self.name, tuple(command), last.words if last is not None else (), fresh, purpose)
                record = Record.begin(start, feed.log)
                keeper = Keeper(feed, record, wishes, self._lang, tell)
                running = Running(number, changes, tuple(command), feed=feed, record=record, keeper=keeper)
            except BaseException:
                feed.close()
                raise
            self.starts.append(running)
        return running

    def judged(self, running: Running, otherwise: Verdict | None = None) -> Verdict | None:
        """The verdict on what a start has written so far, with all values that a plan needs.

        Args:
            running: which.
            otherwise: stands for it where nothing could be kept.
        """
        kept = next((one for one in spooled(name=self.name) if one.path == running.feed.log), None)
        if kept is None:
            return otherwise
        return diagnose_bytes(bytes_of(kept), self.name, self._base, redact=False, container=None)[-1]

    def close(self, newest: Verdict | None = None) -> None:
        """Nothing is started any more, and what runs is ended.

        Args:
            newest: verdict on the newest start, for where nothing could be kept.
        """
        with self._lock:
            self._closed = True
        running = self.current
        running.finish(lambda: self.judged(running, newest))


class ClosedError(Exception):
    """Nothing is to be started any more."""


def _phases(verdict: Verdict | None) -> dict[str, float]:
    if verdict is None:
        return {}
    done = [phase for phase in verdict.phases if phase.done and phase.name not in _LATE]
    return {phase.name.value: round(phase.seconds, 2) for phase in done if phase.seconds is not None}
