"""Log files as feeds: followed as they grow, or played with the clock that they hold."""

import os
import stat
import time
import weakref
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from sgdoctor.logs import unpacking
from sgdoctor.logs.framing import LineReader
from sgdoctor.logs.sources import open_log, refuse_unreadable
from sgdoctor.texts import Text
from sgdoctor.watching.feeds import PIECE, Anew, Arrival, Feed, Output, ScriptFeed, Standing
from sgdoctor.watching.model import Link, Subject

_POLL: Final = 0.05
_POLL_QUIET: Final = 0.5
# A file that was written less than so many seconds ago may go on, whoever writes it.
_SETTLED: Final = 10.0
_LOOK_FOR_WRITER: Final = 5.0
# Nobody wants to watch an hour of silence.
_LONGEST_PAUSE: Final = 600.0


def file_feed(path: str, *, speed: float | None = None) -> Feed:
    """A log file of any kind that ``diagnose`` reads.

    Args:
        path: of the file.
        speed: to play it with its own clock, so many times faster; None to read it at once.

    Raises:
        UserError: it cannot be read.
    """
    if speed is None and _is_begun(path):
        return FileFeed(path)
    with open_log(path) as source:
        if speed is None and _is_plain(path):
            return FileFeed(path)
        data = bytes(source.data)
    script = _timed(data) if speed is not None else ((0.0, piece) for piece in _pieces(data))
    return ScriptFeed(script, Subject("file", path), speed=speed or 1.0)


class FileFeed:
    """A plain file: what is in it, then what is added; emptied or replaced, it is read anew.

    Args:
        path: of the file.
    """

    speed = 1.0
    learns = False

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._closed = False
        self._take_up(self._path.open("rb", buffering=0))
        self._position = 0
        self._link: Link | None = None
        self._looked = 0.0
        self._blank = True

    @property
    def subject(self) -> Subject:
        """The file."""
        return Subject("file", str(self._path))

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What has arrived; see ``Feed.read``.

        Raises:
            UserError: nothing ever was in the file, and nobody writes it any more.
        """
        if self._closed:
            return []
        data = os.pread(self._file.fileno(), PIECE, self._position)
        if data:
            self._position += len(data)
            self._blank = False
            again = self._link in (Link.ENDED, Link.WAITING)
            self._link = Link.FOLLOWING if again else self._link
            output = Output(data, time=os.fstat(self._file.fileno()).st_mtime)
            return [Standing(Link.FOLLOWING), output] if again else [output]
        if changed := self._changed():
            return changed
        if self._blank:
            return self._wait_for_the_first_line(timeout)
        if self._link in (None, Link.FOLLOWING) and (link := self._standing()) is not self._link:
            self._link = link
            return [Standing(link)]
        time.sleep(min(timeout, _POLL if self._link is Link.FOLLOWING else _POLL_QUIET))
        return []

    def close(self) -> None:
        """Give nothing more."""
        self._closed = True

    def _take_up(self, file: IO[bytes]) -> None:
        # Another thread may be reading it when the feed is closed, so it is closed when nobody can.
        weakref.finalize(self, file.close)
        self._file = file
        self._identity = _identity(os.fstat(file.fileno()))

    def _wait_for_the_first_line(self, timeout: float) -> Sequence[Arrival]:
        if self._standing() is Link.ENDED:
            refuse_unreadable(str(self._path), b"")
        if self._link is Link.WAITING:
            time.sleep(min(timeout, _POLL_QUIET))
            return []
        self._link = Link.WAITING
        empty = Text(
            f"{self._path} is empty. Waiting for its first line.", f"{self._path} 是空的。正在等待第一行日志。"
        )
        return [Standing(Link.WAITING, empty)]

    def _standing(self) -> Link:
        now = time.monotonic()
        if self._link is not None and now < self._looked + _LOOK_FOR_WRITER:
            return Link.FOLLOWING
        self._looked = now
        return Link.FOLLOWING if _goes_on(os.fstat(self._file.fileno())) else Link.ENDED

    def _changed(self) -> Sequence[Arrival]:
        """What happened to the file, when it has nothing more to give."""
        try:
            status = self._path.stat()
        except OSError:
            return self._wait()
        if _identity(status) != self._identity:
            try:
                file = self._path.open("rb", buffering=0)
            except OSError:
                return self._wait()
            self._file.close()
            self._take_up(file)
            note = Text(f"{self._path} was replaced; the new file is read.", f"{self._path} 已被替换，正在读取新文件。")
        elif status.st_size < self._position:
            note = Text(f"{self._path} was emptied; it is read anew.", f"{self._path} 已被清空，重新读取。")
        else:
            return []
        self._position = 0
        self._link = Link.FOLLOWING
        return [Anew(note), Standing(Link.FOLLOWING, note)]

    def _wait(self) -> Sequence[Arrival]:
        if self._link is Link.WAITING:
            return []
        self._link = Link.WAITING
        gone = Text(
            f"{self._path} is gone. Waiting for a new file of this name.",
            f"{self._path} 已不存在。正在等待同名的新文件。",
        )
        return [Standing(Link.WAITING, gone)]


def _identity(status: os.stat_result) -> tuple[int, int]:
    return (status.st_dev, status.st_ino)


def _goes_on(status: os.stat_result) -> bool:
    """Whether a file may still be written."""
    return time.time() - status.st_mtime < _SETTLED or _has_writer(_identity(status))


def _is_begun(path: str) -> bool:
    """Whether a file is empty only because the server, which takes its time, has not written anything yet."""
    try:
        status = Path(path).stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_size and _goes_on(status)


def _is_plain(path: str) -> bool:
    """Whether the bytes of a file are those of its log, so that it can be followed as it grows."""
    file = Path(path)
    if not stat.S_ISREG(file.stat().st_mode):
        return False
    with file.open("rb") as opened:
        head = opened.read(4)
    return unpacking.method(head) is None and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _has_writer(identity: tuple[int, int]) -> bool:
    """Whether a process that we may look into has a file open for writing."""
    own = str(os.getpid())
    try:
        processes = [folder for folder in Path("/proc").iterdir() if folder.name.isdigit() and folder.name != own]
    except OSError:
        return False
    return any(_writes(process / "fd", identity) for process in processes)


def _writes(folder: Path, identity: tuple[int, int]) -> bool:
    try:
        for entry in folder.iterdir():
            # The mode of the link tells how the file was opened (proc(5)).
            if _identity(entry.stat()) == identity and entry.lstat().st_mode & stat.S_IWUSR:
                return True
    except OSError:
        return False
    return False


def _pieces(data: bytes) -> Iterator[bytes]:
    for position in range(0, len(data), PIECE):
        yield data[position : position + PIECE]


def _timed(data: bytes) -> Iterator[tuple[float, bytes]]:
    """Stretches of a log, each with the seconds that pass before it, by the times that its lines name."""
    reader = LineReader()
    last: datetime | None = None
    start = position = 0
    pause = 0.0
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        times = [line.time for line in reader.feed(data[position:end]) if line.time is not None]
        if times:
            step = _seconds(last, times[-1])
            last = times[-1]
            if step and position > start:
                yield pause, data[start:position]
                start, pause = position, step
            elif step:
                pause += step
        if end - start >= PIECE:
            yield pause, data[start:end]
            start, pause = end, 0.0
        position = end
    if start < len(data):
        yield pause, data[start:]


def _seconds(last: datetime | None, now: datetime) -> float:
    if last is None or (last.tzinfo is None) != (now.tzinfo is None):
        return 0.0
    return min(max(0.0, (now - last).total_seconds()), _LONGEST_PAUSE)
