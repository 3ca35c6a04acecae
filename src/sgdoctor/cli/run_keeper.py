"""Who stays with a process while it is followed: what Ctrl-C does, and when a server is stopped that will not serve."""

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sgdoctor.cli.run_texts import words
from sgdoctor.cli.watch_plain import address_of
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.messages import say
from sgdoctor.processes.feed import ProcessFeed
from sgdoctor.processes.record import Record
from sgdoctor.texts import Text
from sgdoctor.verify.calls import Calls, NoReplyError
from sgdoctor.verify.model import Server, Verification
from sgdoctor.verify.probes import verify
from sgdoctor.watching.model import Snapshot

# After a failure the engine may wait for core dumps ("Waiting 60.0 seconds for CUDA coredumps", SGLang 0.5.15), or for
# a shutdown that never comes.
_FAILED_SECONDS: Final = 10.0
_STALLED_SECONDS: Final = 300.0
_HEALTH_SECONDS: Final = 5.0
_HEALTH_EVERY: Final = 30.0
_URGENT: Final = 3
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted of a start.

    Attributes:
        ready_seconds: until it has to serve; None for as long as it makes progress.
        alone: whether nobody is there to decide about one that stands still.
        verifies: makes the server of an address, where its answers are to be asked for; None where not.
        verified: told what came of that, once nothing is wrong.
    """

    ready_seconds: float | None = None
    alone: bool = False
    verifies: Callable[[str], Server] | None = None
    verified: Callable[[Verification, Verdict], None] = lambda _, __: None


class Keeper:
    """See ``Attendant``.

    Args:
        feed: of the process.
        record: is told when it serves.
        wishes: what is wanted.
        lang: ``en`` or ``zh``.
        tell: prints a line.

    Attributes:
        asked: whether the user wanted it to stop.
        failed: whether it had failed before it was made to give way; None if it was not.
        reason: why it was stopped by itself; None if it was not.
        ready: when it began to serve, by the monotonic clock; None if it did not.
        verification: what it answered; None if it was not asked.
    """

    def __init__(
        self, feed: ProcessFeed, record: Record, wishes: Wishes, lang: str, tell: Callable[[str], None]
    ) -> None:
        self.asked = False
        self.failed: bool | None = None
        self.reason: Text | None = None
        self.ready: float | None = None
        self.verification: Verification | None = None
        self._feed = feed
        self._record = record
        self._wishes = wishes
        self._lang = lang
        self._tell = tell
        self._began = time.monotonic()
        self._state, self._since = State.STARTING, self._began
        self._looked = float("-inf")
        self._questions: _Questions | None = None
        self._urgency = 0
        self._ended: float | None = None

    # ------------------------------------------------------------ the user

    def interrupted(self) -> None:
        """See ``Attendant.interrupted``."""
        self.asked = True
        self._urgency = min(self._urgency + 1, _URGENT)
        self._feed.child.stop()
        if self._questions is not None:
            self._questions.cancel()
        self._write(words(self._lang, f"stopping.{self._urgency}"))

    def terminated(self) -> None:
        """As Ctrl-C twice: whoever sends SIGTERM or closes the terminal does not wait for long."""
        self.asked = True
        for _ in range(2):
            self._feed.child.stop()
        if self._questions is not None:
            self._questions.cancel()

    def leave(self) -> None:
        """The app is left: as Ctrl-C, unless it is stopping already."""
        if not self._feed.child.stopping:
            self.interrupted()
        else:
            self.asked = True
            self._urgency = 1
            self._write(words(self._lang, "stopping.1"))

    def give_way(self) -> None:
        """Another start is going to take its place."""
        self.failed = self._state is State.FAILED
        if not self._feed.child.stopping:
            self._feed.child.stop()
        if self._questions is not None:
            self._questions.cancel()

    def ended(self) -> None:
        """It has ended: its times stand still."""
        self._ended = self._ended or time.monotonic()

    @property
    def has_failed(self) -> bool:
        """Whether its log says that it has failed."""
        return self._state is State.FAILED

    @property
    def asks(self) -> bool:
        """Whether its answers are being asked for."""
        return self._questions is not None

    @property
    def explains(self) -> bool:
        """See ``Attendant.explains``."""
        return not self.asked

    def _write(self, text: str) -> None:
        # A handler may stand in the middle of a print.
        with suppress(OSError):
            os.write(
                sys.__stderr__.fileno() if sys.__stderr__ is not None else 2,
                f"\n{say(self._lang, 'error', text=text)}\n".encode(),
            )

    # ------------------------------------------------------------ the server

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def served_seconds(self) -> float | None:
        """How long it has served; None if it has not."""
        return None if self.ready is None else (self._ended or time.monotonic()) - self.ready

    def attend(self, snapshot: Snapshot) -> None:
        """See ``Attendant.attend``."""
        now, state = time.monotonic(), snapshot.verdict.state
        if state is not self._state:
            self._state, self._since = state, now
        if self.ready is None and snapshot.serves:
            self.ready = now
            self._record.serves()
            self._ask(snapshot.verdict)
        if self._feed.child.stopping or self._feed.child.code is not None:
            return
        self._take_answers(snapshot.verdict)
        limit = self._wishes.ready_seconds
        silent = now - max(self._since, self._feed.heard)
        if self.ready is None and limit is not None and now - self._began > limit:
            self._stop("ends.time", seconds=f"{limit:g}")
        elif state is State.FAILED and silent > _FAILED_SECONDS and not self._answers(snapshot.verdict):
            # It would have ended by now if it still listened to anybody.
            self._stop("ends.failed", urgent=True)
        elif state is State.STALLED and self._wishes.alone and now - self._since > _STALLED_SECONDS:
            self._stop("ends.stalled")

    def _stop(self, key: str, *, urgent: bool = False, **values: str) -> None:
        self.reason = Text(*(words(lang, key, **values) for lang in ("en", "zh")))
        self._tell(self.reason.in_language(self._lang))
        for _ in range(2 if urgent else 1):
            self._feed.child.stop()

    def _answers(self, verdict: Verdict) -> bool:
        """Whether a server that has failed by its log answers all the same; one that never served is not asked.

        Behind its address stands another server, where the port was taken.
        """
        if self.ready is None:
            return False
        now = time.monotonic()
        if now < self._looked + _HEALTH_EVERY:
            return True
        self._looked = now
        try:
            reply = Calls(Server(address_of(verdict))).get("/health", _HEALTH_SECONDS)
        except NoReplyError:
            return False
        return reply.status == _OK

    # ------------------------------------------------------------ its answers

    def _ask(self, verdict: Verdict) -> None:
        address = address_of(verdict)
        if self._wishes.verifies is not None and address:
            self._tell(words(self._lang, "asking"))
            self._questions = _Questions(self._wishes.verifies(address))

    def _take_answers(self, verdict: Verdict) -> None:
        if self._questions is None or self._questions.verification is None:
            return
        self.verification, self._questions = self._questions.verification, None
        if self.verification.fault is not None:
            self._stop("ends.faulty")
        else:
            self._wishes.verified(self.verification, verdict)


class _Questions:
    """Asks in a thread of its own, so that what the server prints is seen meanwhile.

    Attributes:
        verification: what it answered; None while it is asked.
    """

    def __init__(self, server: Server) -> None:
        self.verification: Verification | None = None
        self._calls = Calls(server)
        threading.Thread(target=self._ask, args=(server,), name="sgdoctor-verify", daemon=True).start()

    def cancel(self) -> None:
        """Ask nothing more."""
        self._calls.cancel()

    def _ask(self, server: Server) -> None:
        self.verification = verify(server, self._calls)
