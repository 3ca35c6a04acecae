"""Who acts on the server of ``run`` while the app shows it: ends a start, begins another one, waits for it."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from sgdoctor.cli.run_keeper import Wishes
from sgdoctor.cli.run_server import Running, Server
from sgdoctor.cli.run_texts import both
from sgdoctor.containers.spool import state_dir
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.wording import summary_of
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.processes.feed import ProcessFeed
from sgdoctor.processes.succession import Succession
from sgdoctor.relaunch.heal.model import Limits
from sgdoctor.relaunch.model import Progress, Purpose, Step, StepState
from sgdoctor.relaunch.readiness import standing_of
from sgdoctor.relaunch.texts import ENDED, STOPPED_BY_USER
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Told
from sgdoctor.watching.history import History
from sgdoctor.watching.session import Session

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_POLL: Final = 0.05
_ATTEND_EVERY: Final = 0.2
_SETTLED_SECONDS: Final = 1.0
"""So long a server that is ready has to live on."""
_LAST_WORDS_SECONDS: Final = 5.0


class LeftError(Exception):
    """The app is left: whatever goes on is given up."""


class WishesFor(Protocol):
    """Says what is wanted of a start."""

    def __call__(self, changes: Sequence[Change], *, heals: bool) -> Wishes:
        """Of one with these changes; ``heals``: whether its answers are asked for, and nobody decides."""


class Owner:
    """See the module. Made once the first start has begun.

    Args:
        server: which.
        base: the rules.
        limits: of healing.
        wishes: of a start that is made here.
        redact: whether secrets are hidden in what is shown.

    Attributes:
        session: of all starts.
        held: the start whose launch counts: the newest one, unless the user went back from it.
        limits: of healing.
    """

    def __init__(self, server: Server, base: "RuleBase", limits: Limits, wishes: WishesFor, *, redact: bool) -> None:
        self.server = server
        self.held = server.current
        self.limits = limits
        self._wishes = wishes
        self._left = threading.Event()
        self._read = self.held.feed
        self._stale: Verdict | None = None
        self._succession = Succession(self.held.feed, self._take_up)
        self.session = Session(self._succession, base, History(state_dir() / "starts.jsonl"), redact=redact)

    def _take_up(self, feed: ProcessFeed) -> None:
        """The session begins to read another start; until it has judged that, what it says is about the one before."""
        self._stale = self.session.judged()
        self._read = feed

    # ------------------------------------------------------------ how it stands

    @property
    def name(self) -> str:
        """Of the server."""
        return self.server.name

    @property
    def newest(self) -> Verdict | None:
        """The verdict of the session on the newest start; None before there is one."""
        return self._newest_of(self.server.current)

    @property
    def serves(self) -> bool:
        """Whether the newest start serves at this moment; its keeper hears of that a moment after the screen does."""
        running, snapshot = self.server.current, self.session.snapshot()
        verdict = self._newest_of(running)
        if running.serves or verdict is None or snapshot is None:
            return running.serves
        return running.feed.child.code is None and snapshot._replace(verdict=verdict).serves

    def _newest_of(self, running: Running) -> Verdict | None:
        verdict = self.session.judged()
        return None if self._read is not running.feed or verdict is self._stale else verdict

    def attend(self) -> None:
        """Tell the keeper of the newest start how it stands, and write its end; some times a second, by one thread."""
        running, snapshot = self.server.current, self.session.snapshot()
        verdict = self._newest_of(running)
        if running.feed.over:
            self._finish(running)
        elif verdict is not None and snapshot is not None:
            running.keeper.attend(snapshot._replace(verdict=verdict))

    def judged(self, running: Running) -> Verdict | None:
        """All that is to be said about a start, with the values that a plan needs."""
        return running.verdict or self.server.judged(running, self._newest_of(running))

    def _finish(self, running: Running) -> None:
        running.finish(lambda: self.server.judged(running, self._newest_of(running)))

    @contextmanager
    def attended(self) -> Iterator[None]:
        """Within it somebody attends; then nothing goes on any more but the end of the server."""
        over = threading.Event()

        def run() -> None:
            while not over.wait(_ATTEND_EVERY):
                self.attend()

        attending = threading.Thread(target=run, name="sgdoctor-attend", daemon=True)
        attending.start()
        try:
            yield
        finally:
            self.leave()
            over.set()
            attending.join()
            self.session.stop()

    # ------------------------------------------------------------ leaving

    @property
    def left(self) -> bool:
        """Whether the app is left."""
        return self._left.is_set()

    def leave(self) -> None:
        """Whatever goes on is given up, and nothing is started any more; for any thread."""
        self._left.set()

    def pause(self) -> None:
        """Wait for a moment.

        Raises:
            LeftError: the app is left.
        """
        if self._left.wait(_POLL):
            raise LeftError

    # ------------------------------------------------------------ steps

    def end(self, told: Told) -> None:
        """End the start that goes on, with all of its processes.

        Raises:
            UserError: one of them cannot be ended.
            LeftError: the app is left.
        """
        running = self.server.current
        if not running.feed.over:
            with _taken(told, Step.STOP):
                running.keeper.give_way()
                self._wait_for_end(running)
                if running.feed.child.stuck:
                    raise UserError(*both("stuck", name=self.name, pid=str(running.feed.child.pid)))
        self._finish(running)

    def _wait_for_end(self, running: Running) -> None:
        while not running.feed.over:
            self.pause()

    def begin(
        self, changes: tuple[Change, ...], told: Told, *, heals: bool = False, returns: bool = False, step: Step
    ) -> Running:
        """Start it with these changes.

        Args:
            changes: of the command that was given.
            told: takes the step.
            heals: see ``WishesFor``.
            returns: whether that is a launch of before.
            step: which one it is.

        Raises:
            UserError: it cannot be started.
            LeftError: the app is left.
        """
        if self.left:
            raise LeftError
        purpose = Purpose.ROLLBACK if returns else Purpose.RELAUNCH
        with _taken(told, step):
            running = self.server.begin(changes, self._wishes(changes, heals=heals), lambda _: None, purpose)
            self._succession.follow(running.feed)
        return running

    def wait(self, running: Running, told: Told, stopped: threading.Event) -> Text | None:
        """Wait until it serves, and is known to answer where that is asked; None then, else why it does not.

        Raises:
            LeftError: the app is left.
        """
        told(_progress(Step.READY, StepState.BEGUN))
        keeper, said = running.keeper, ""
        while not stopped.is_set():
            if running.feed.over:
                why = self._last_words(running)
                told(_progress(Step.READY, StepState.FAILED, why))
                return why
            ready = keeper.ready
            if ready is not None and not keeper.asks and time.monotonic() - ready > _SETTLED_SECONDS:
                told(_progress(Step.READY, StepState.DONE))
                return None
            standing = self._standing()
            if standing is not None and standing.en != said:
                said = standing.en
                told(_progress(Step.READY, StepState.BEGUN, standing))
            self.pause()
        told(_progress(Step.READY, StepState.FAILED, STOPPED_BY_USER))
        return STOPPED_BY_USER

    def _standing(self) -> Text | None:
        snapshot, newest = self.session.snapshot(), self.newest
        if snapshot is None or newest is None or snapshot.verdict.attempt != newest.attempt:
            return None
        return standing_of(snapshot)

    def _last_words(self, running: Running) -> Text:
        """Why it has ended; the session has its last lines to judge."""
        limit = time.monotonic() + _LAST_WORDS_SECONDS
        while (self.newest is None or not self.session.over) and time.monotonic() < limit:
            self.pause()
        self._finish(running)
        verdict = self.newest or running.verdict
        return running.keeper.reason or (summary_of(verdict) if verdict is not None else ENDED)


@contextmanager
def _taken(told: Told, step: Step) -> Iterator[None]:
    told(_progress(step, StepState.BEGUN))
    try:
        yield
    except UserError as error:
        told(_progress(step, StepState.FAILED, error.message))
        raise
    told(_progress(step, StepState.DONE))


def _progress(step: Step, state: StepState, note: Text | None = None) -> Progress:
    return Progress(step, state, datetime.now(UTC), note)
