"""The output of an engine without a container as a feed: kept on disk, its end told in lines."""

import os
import queue
import select
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from sgdoctor.containers.exits import PREFIX, exit_lines
from sgdoctor.containers.records import AttemptEnded, AttemptStarted, Container, ExitFacts, LogChunk, Record
from sgdoctor.containers.spool import Spool
from sgdoctor.processes.child import Child, Patience
from sgdoctor.processes.memory_kills import MemoryKills
from sgdoctor.texts import Text
from sgdoctor.watching.feeds import PIECE, Arrival, Begun, Output, Standing, arrived
from sgdoctor.watching.model import Link, Subject

_LOOK: Final = 0.05
_GATHER: Final = 0.005
_ROOM: Final = 64 << 20
"""Bytes that may wait to be judged; then the engine waits, as it would for a slow terminal."""
_SAMPLE_SECONDS: Final = 2.0
_NANO: Final = 10**9


class ProcessFeed:
    """Starts an engine and gives what it prints. Closing it ends the engine, at once unless it is stopping already.

    Args:
        name: of the server.
        words: the command.
        env: all of its variables.
        number: of this start.
        patience: how long it is given to end when that is wanted.
        spool: keeps what it said; None for the usual place.

    Attributes:
        child: the engine.
        started: when, in seconds since the epoch.
        heard: when it wrote something the last time, by the monotonic clock.

    Raises:
        UserError: the command cannot be run.
    """

    speed = 1.0
    learns = True

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        number: int = 1,
        patience: Patience | None = None,
        spool: Spool | None = None,
    ) -> None:
        self._kills = MemoryKills()
        self.child = Child(words, env, patience)
        self.started = time.time()
        self.heard = time.monotonic()
        self._container = Container(f"process-{self.child.pid}", name, "", command=tuple(words))
        self._spool = spool or Spool()
        self._begun = int(self.started * _NANO)
        self._arrivals: queue.SimpleQueue[Arrival | Exception] = queue.SimpleQueue()
        # Bytes: each of the two is written by one thread only.
        self._given = self._taken = 0
        self._closed = threading.Event()
        self._pids: set[int] = {self.child.pid}
        self._sampled = float("-inf")
        self._last = b"\n"
        self._facts: ExitFacts | None = None
        self._told_left = False
        self._keep(AttemptStarted(self._container, number, self._begun))
        self.log = self._spool.path
        self._thread = threading.Thread(target=self._follow, name="sgdoctor-process", daemon=True)
        self._thread.start()

    log: Path | None
    """Where its output is kept; None if it cannot be."""

    @property
    def subject(self) -> Subject:
        """The server."""
        return Subject("process", self._container.name, str(self.child.pid), command=self._container.command)

    @property
    def facts(self) -> ExitFacts | None:
        """How it ended; None while it runs."""
        return self._facts

    @property
    def over(self) -> bool:
        """Whether the engine has ended, and all that it wrote was kept and waits to be read."""
        return not self._thread.is_alive()

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What has arrived; see ``Feed.read``."""
        arrivals, size = arrived(self._arrivals, timeout)
        self._taken += size
        return arrivals

    def close(self) -> None:
        """End the engine if it still runs, with everything below it."""
        self._closed.set()
        if not self.child.stopping:
            self.child.kill()
        self._thread.join()

    # ------------------------------------------------------------ the thread

    def _follow(self) -> None:
        self._arrivals.put(Begun(self.started))
        self._arrivals.put(Standing(Link.FOLLOWING))
        try:
            self._read_all()
            self._end()
        except Exception as error:  # noqa: BLE001 - told by the thread that reads
            self._arrivals.put(error)
        finally:
            # Also where something went wrong here: nothing may be left that holds the GPU.
            self.child.close()
            os.close(self.child.output)
            self._spool.close()

    def _read_all(self) -> None:
        """Until the engine has ended and all that it wrote was read."""
        child = self.child
        open_ = True
        while open_ or not child.over:
            watched = [fd for fd in (child.output if open_ else -1, child.status) if fd >= 0]
            ready = select.select(watched, [], [], _LOOK)[0]
            over = child.over
            if open_ and (child.output in ready or over):
                # An engine that writes line by line would wake this thread for each of them.
                self._closed.wait(0.0 if over else _GATHER)
                open_ = self._take_output() and not over
            child.attend()
            self._sample()
            if child.left and not self._told_left:
                self._told_left = True
                self._put(PREFIX + f"{child.left} processes were left behind and were ended\n".encode(), added=True)
            if not open_ and not child.over:
                self._closed.wait(_LOOK)

    def _take_output(self) -> bool:
        """Whether there may be more."""
        while True:
            try:
                data = os.read(self.child.output, PIECE)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.heard = time.monotonic()
            self._last = data[-1:]
            self._keep(LogChunk(data, "stdout", time.time_ns()))
            self._put(data)
            if not self.child.over:
                return True

    def _put(self, data: bytes, *, added: bool = False) -> None:
        while self._given - self._taken > _ROOM and not self._closed.is_set():
            self.child.attend()
            self._closed.wait(_LOOK)
        self._given += len(data)
        self._arrivals.put(Output(data, added=added))

    def _keep(self, record: Record) -> None:
        if (told := self._spool.take(record)) is not None:
            self._arrivals.put(Standing(Link.FOLLOWING, Text(*told)))

    def _sample(self) -> None:
        now = time.monotonic()
        if now >= self._sampled + _SAMPLE_SECONDS:
            self._sampled = now
            self._pids.update(self.child.members())

    def _end(self) -> None:
        if self._last != b"\n":
            # What is put behind it when it is read again has lines of its own.
            self._keep(LogChunk(b"\n", "stdout", time.time_ns()))
        code = self.child.code
        # As a shell says it. That it was killed because it did not stop is no failure of the engine.
        said = None if code is None or self.child.killed else code if code >= 0 else 128 - code
        oom = code == -signal.SIGKILL and not self.child.killed and self._kills.hit(frozenset(self._pids))
        facts = ExitFacts(said, oom_killed=oom, started=self._begun, finished=time.time_ns())
        self._facts = facts
        self._keep(AttemptEnded(self._container, facts))
        if lines := exit_lines(self._container.name, facts):
            self._put(lines, added=True)
        self._arrivals.put(Standing(Link.ENDED, final=True))
