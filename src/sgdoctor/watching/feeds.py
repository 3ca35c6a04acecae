"""Where the bytes of a watched log come from. Files and containers have modules of their own."""

import os
import queue
import select
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from sgdoctor.errors import UserError
from sgdoctor.logs import unpacking
from sgdoctor.logs.sources import refuse_unreadable
from sgdoctor.texts import Text
from sgdoctor.watching.model import Link, Subject

PIECE: Final = 128 << 10
"""Bytes that a feed gives at once at most: so long nobody else gets to run."""
_PROBE: Final = 1 << 16
_AT_ONCE: Final = 512 << 10
"""Bytes that are taken out of a queue at once."""


class Output(NamedTuple):
    """Bytes of the log, cut anywhere.

    Attributes:
        data: the bytes.
        added: whether sgdoctor wrote them; then they are whole lines.
        time: when the last of them was written, in seconds since the epoch; None for just now.
    """

    data: bytes
    added: bool = False
    time: float | None = None


class Begun(NamedTuple):
    """The container engine started the server: what follows is of a new start.

    Attributes:
        started: when, in seconds since the epoch; None if unknown.
    """

    started: float | None = None


class Standing(NamedTuple):
    """How things stand with the log from now on.

    Attributes:
        link: as in a snapshot.
        note: what is waited for.
        final: whether nothing more comes unless a person does something.
    """

    link: Link
    note: Text = Text("", "")
    final: bool = False


class Anew(NamedTuple):
    """The log was emptied or replaced: what follows is not the continuation of an unfinished line."""

    note: Text = Text("", "")


Arrival = Output | Begun | Standing | Anew


def arrived(
    waiting: "queue.Queue[Arrival | Exception] | queue.SimpleQueue[Arrival | Exception]", timeout: float
) -> tuple[list[Arrival], int]:
    """What a thread has put into a queue for ``Feed.read``, up to some size at once, and the bytes in it.

    Args:
        waiting: the queue.
        timeout: seconds to wait for the first one.

    Raises:
        Exception: what the thread ended with, where that is next.
    """
    arrivals: list[Arrival] = []
    size = 0
    with suppress(queue.Empty):
        arrival = waiting.get(timeout=timeout)
        while True:
            if isinstance(arrival, Exception):
                raise arrival
            arrivals.append(arrival)
            size += len(arrival.data) if isinstance(arrival, Output) else 0
            if size >= _AT_ONCE:
                break
            arrival = waiting.get_nowait()
    return arrivals, size


class Feed(Protocol):
    """Gives a log piece by piece, to one thread.

    Attributes:
        speed: how many seconds pass in the log while one passes for the user.
        learns: whether the starts in it happen on this machine, so that their times can be learned from.
    """

    speed: float
    learns: bool

    @property
    def subject(self) -> Subject:
        """What is watched, as far as the feed knows."""
        ...

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What has arrived; empty when nothing came in time.

        Args:
            timeout: seconds to wait at most.

        Raises:
            UserError: the log cannot be read at all.
        """
        ...

    def close(self) -> None:
        """Let go of everything; for any thread, also while another one reads."""
        ...


class ScriptFeed:
    """Plays a script: for tests, and for recorded runs with their own timing.

    Args:
        script: seconds of the log's clock to wait, and what arrives then.
        subject: what is said to be watched.
        speed: of the log's clock.
        end: whether the log is complete after the last entry.
    """

    learns = False

    def __init__(
        self,
        script: Iterable[tuple[float, bytes | Arrival]],
        subject: Subject | None = None,
        *,
        speed: float = 1.0,
        end: bool = True,
    ) -> None:
        self.speed = speed
        self._subject = subject or Subject("file", "script")
        self._script: Iterator[tuple[float, bytes | Arrival]] = iter(script)
        self._next = next(self._script, None)
        self._due = time.monotonic() + self._wait()
        self._end = end

    @property
    def subject(self) -> Subject:
        """What is said to be watched."""
        return self._subject

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What the script has for now; see ``Feed.read``."""
        if self._next is None:
            if self._end:
                self._end = False
                return [Standing(Link.ENDED)]
            time.sleep(timeout)
            return []
        delay = self._due - time.monotonic()
        if delay > 0:
            time.sleep(min(delay, timeout))
            return []
        given = self._next[1]
        self._next = next(self._script, None)
        self._due += self._wait()
        return [Output(given) if isinstance(given, bytes) else given]

    def close(self) -> None:
        """Nothing is held."""

    def _wait(self) -> float:
        return self._next[0] / self.speed if self._next is not None else 0.0


class StdinFeed:
    """A pipe, socket or terminal on standard input.

    Args:
        fd: to read from; it is not closed.
    """

    speed = 1.0
    learns = False

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._ended = False
        self._judged = False
        self._stop, self._stopper = os.pipe()

    @property
    def subject(self) -> Subject:
        """Standard input."""
        return Subject("stdin", "stdin")

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What has arrived; see ``Feed.read``."""
        if self._ended:
            select.select([self._stop], [], [], timeout)
            return []
        ready = select.select([self._fd, self._stop], [], [], timeout)[0]
        if self._fd not in ready:
            return []
        data = os.read(self._fd, PIECE)
        self._ended = not data
        if not self._judged:
            self._judged = True
            _refuse_packed("stdin", data)
            refuse_unreadable("stdin", data[:_PROBE])
        if not data:
            return [Standing(Link.ENDED)]
        return [Output(data)]

    def close(self) -> None:
        """Wake the reading thread."""
        os.write(self._stopper, b"x")


def _refuse_packed(name: str, head: bytes) -> None:
    if unpacking.method(head) is not None:
        raise UserError(
            f"{name}: an archive cannot be watched. Diagnose it: sgdoctor diagnose FILE",
            f"{name}：无法监视压缩文件。请直接诊断：sgdoctor diagnose 文件",
        )
