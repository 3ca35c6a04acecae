"""Numbers of lines far inside a large log: line ends are counted beside the scan, on another core if possible."""

import os
import signal
import threading
from array import array
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from sgdoctor.diagnosis.evidence import Data

STEP: Final = 4 << 20
_WORTH_A_PROCESS: Final = 64 << 20


class LineCounts:
    """Numbers of lines, by byte offset.

    Args:
        data: the whole log.
        before: number of line ends in front of each ``STEP`` of the log.
    """

    def __init__(self, data: Data, before: "array[int]") -> None:
        self._data = data
        self._before = before

    def number_at(self, offset: int) -> int:
        """1-based number of the line that holds the byte at ``offset``."""
        step = min(offset // STEP, len(self._before) - 1)
        return self._before[step] + self._data[step * STEP : offset].count(b"\n") + 1


def count(data: Data) -> "array[int]":
    """Number of line ends in front of each ``STEP`` of ``data``; one entry at least."""
    before: array[int] = array("Q")
    lines = 0
    for start in range(0, max(1, len(data)), STEP):
        before.append(lines)
        lines += data[start : start + STEP].count(b"\n")
    return before


class Counting:
    """Counts while the caller does something else: ``with Counting(data) as counting: ...; counting.result()``.

    ``bytes.count`` holds the interpreter's lock and takes as long as the scan itself (0.4 s a GB with Python 3.11), so
    a forked child does it, which shares the pages of the log. Threads of the caller would not survive a fork, nor would
    a small log gain from it: then the count is made when it is asked for.
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._pid = 0
        self._pipe = -1

    def __enter__(self) -> Self:
        alone = threading.active_count() == 1
        if len(self._data) >= _WORTH_A_PROCESS and alone and hasattr(os, "fork") and (os.cpu_count() or 1) > 1:
            with suppress(OSError):
                self._fork()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._pid:
            with suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(self._pid, 0)
            self._pid = 0

    def _fork(self) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reader)
                view = memoryview(count(self._data).tobytes())
                while view:
                    view = view[os.write(writer, view) :]
            finally:
                # Whatever happened, this copy of the process must not go on as if it were the other one.
                os._exit(0)
        os.close(writer)
        self._pid, self._pipe = pid, reader

    def result(self) -> LineCounts:
        """The counts, when they are there."""
        before: array[int] = array("Q")
        if self._pid:
            with os.fdopen(self._pipe, "rb", closefd=False) as pipe:
                received = pipe.read()
            before.frombytes(received[: len(received) // before.itemsize * before.itemsize])
        if len(before) != max(1, -(-len(self._data) // STEP)):
            before = count(self._data)
        return LineCounts(self._data, before)
