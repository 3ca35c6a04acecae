"""From the bytes of Docker's log stream to whole lines with their stream and time.

Without a terminal every message has a header of eight bytes: stream, three zeros, length. A message is a line, or a
piece of one: lines of more than 16 KiB are cut (moby daemon/logger/copier.go), and all pieces carry the time of the
line. With a terminal there are no headers, and that time stands again in the middle of the line. The `local` driver
forgets the line feed of a last piece. Podman makes a piece of whatever a program writes without a line feed, each with
its own time, and its older versions (4.3.1) tell times in whole seconds.
"""

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from sgdoctor.containers.clock import STAMP, whole_seconds

STDOUT: Final = 1
STDERR: Final = 2
TTY: Final = 0
STREAM_NAMES: Final = {TTY: "tty", STDOUT: "stdout", STDERR: "stderr"}

MAX_LINE: Final = 8 << 20
"""Bytes after which a line that has no end is given in parts."""

# A message of the engine about the log, not one of the container (moby pkg/stdcopy: Systemerr).
_SYSTEM_ERROR: Final = 3
_HEADER: Final = struct.Struct(">B3xL")
_PIECE: Final = 16384
_STAMP_LENGTH: Final = 31  # "2026-11-30T12:00:00.000000000Z "
_SECOND: Final = 10**9


class Entry(NamedTuple):
    """One whole line.

    Attributes:
        stream: ``STDOUT``, ``STDERR`` or ``TTY``.
        time: nanoseconds since the epoch. Where the engine tells whole seconds only, the second and the place of the
            line in it as its nanoseconds: reading again from the beginning of a second gives each line the same time.
        data: with its line feed, without the carriage return that a terminal puts before it.
    """

    stream: int
    time: int
    data: bytes


@dataclass(slots=True)
class _Open:
    """A line whose end has not come yet."""

    time: int
    data: bytearray


class Demux:
    """Takes the stream in pieces of any size.

    Args:
        tty: whether the container has a terminal.
        driver: of its log.
        podman: whether podman keeps it.
        started: when the newest start of the container began, in nanoseconds since the epoch; None if unknown. No line
            of podman goes on over that moment (others give a new line a new time anyway).

    Attributes:
        failure: why the engine could not read on, in its own words; empty while it can.
    """

    def __init__(self, *, tty: bool, driver: str = "", podman: bool = False, started: int | None = None) -> None:
        self.failure = ""
        self._tty = tty
        self._glues = driver == "local"
        self._podman = podman
        self._started = started
        self._rest = b""
        self._open: dict[int, _Open] = {}
        self._second = b""
        self._epoch = 0
        self._last = 0
        self._rounded = False
        self._place = 0

    def feed(self, data: bytes) -> list[Entry]:
        """The lines that these bytes completed, in the order of the log."""
        data = self._rest + data if self._rest else data
        out = self._feed_tty(data) if self._tty else self._feed_frames(data)
        return list(map(self._placed, out)) if self._rounded else out

    def rest(self) -> list[Entry]:
        """Lines that have no line feed; to be asked for when the container has ended, so that none can come."""
        out: list[Entry] = []
        if self._tty and self._rest:
            self._tty_line(self._rest, out)
            self._rest = b""
        for stream in list(self._open):
            self._give(stream, out)
        return list(map(self._placed, out)) if self._rounded else out

    def _placed(self, entry: Entry) -> Entry:
        """A line with its place in the second that it has for a time."""
        self._place = max(self._place + 1, entry.time)
        return entry._replace(time=self._place)

    def _feed_frames(self, data: bytes) -> list[Entry]:
        out: list[Entry] = []
        position, size = 0, len(data)
        unpack = _HEADER.unpack_from
        while size - position >= 8:
            stream, length = unpack(data, position)
            end = position + 8 + length
            if end > size:
                break
            if stream == _SYSTEM_ERROR:
                self.failure = data[position + 8 : end].decode("utf-8", "replace").strip()
            else:
                self._take(stream, data[position + 8 : end], out)
            position = end
        self._rest = data[position:]
        return out

    def _take(self, stream: int, message: bytes, out: list[Entry]) -> None:
        time, body = self._stamped(message)
        begun = self._open.get(stream)
        if begun is None:
            if body.endswith(b"\n") and time is not None:
                out.append(Entry(stream, time, body if body[-2:] != b"\r\n" else body[:-2] + b"\n"))
                return
            if not body:
                return
            begun = self._open[stream] = _Open(self._last if time is None else time, bytearray())
        elif time is not None and (self._is_over(begun.time, time) if self._podman else time != begun.time):
            # The `local` driver: the line before had its last piece already. Podman: its start had ended.
            self._give(stream, out)
            self._take(stream, message, out)
            return
        begun.data += body
        if body.endswith(b"\n") or len(begun.data) > MAX_LINE:
            self._give(stream, out)

    def _is_over(self, begun: int, time: int) -> bool:
        """Whether the newest start began between two pieces of podman's; to the second, which may be all it tells."""
        if self._started is None:
            return False
        border = self._started // _SECOND
        return begun // _SECOND <= border <= time // _SECOND and begun // _SECOND < time // _SECOND

    def _give(self, stream: int, out: list[Entry]) -> None:
        done = self._open.pop(stream)
        data = bytes(done.data)
        out.append(Entry(stream, done.time, data.removesuffix(b"\n").removesuffix(b"\r") + b"\n"))

    def _feed_tty(self, data: bytes) -> list[Entry]:
        out: list[Entry] = []
        end = data.rfind(b"\n") + 1
        if end:
            for line in data[: end - 1].split(b"\n"):
                self._tty_line(line, out)
        self._rest = data[end:]
        if len(self._rest) > MAX_LINE:
            self._tty_line(self._rest, out)
            self._rest = b""
        return out

    def _tty_line(self, line: bytes, out: list[Entry]) -> None:
        time, body = self._stamped(line)
        if self._podman and time is not None:
            for later in STAMP.finditer(body):
                if self._is_over(time, self._stamped(later[0])[0] or time):
                    out.append(Entry(TTY, time, STAMP.sub(b"", body[: later.start()]).removesuffix(b"\r") + b"\n"))
                    self._tty_line(body[later.start() :], out)
                    return
            body = STAMP.sub(b"", body)
        elif len(body) > _PIECE and time is not None:
            body = body.replace(line[: len(line) - len(body)], b"")
            if self._glues and (following := STAMP.search(body, _PIECE)) is not None:
                out.append(Entry(TTY, time, body[: following.start()] + b"\n"))
                self._tty_line(body[following.start() :], out)
                return
        out.append(Entry(TTY, self._last if time is None else time, body.removesuffix(b"\r") + b"\n"))

    def _stamped(self, message: bytes) -> tuple[int | None, bytes]:
        """Its time and the rest; None and all of it where no time stands in front."""
        # The form that Docker always uses, without a pattern.
        if message[:19] == self._second and message[29:31] == b"Z ":
            try:
                time = self._epoch + int(message[20:29])
            except ValueError:
                pass
            else:
                self._last = time
                return time, message[_STAMP_LENGTH:]
        found = STAMP.match(message)
        if found is None:
            return None, message
        try:
            seconds = whole_seconds(found[1].decode())
        except ValueError:
            return None, message
        if found[3] is None:
            self._second, self._epoch = found[1], seconds * _SECOND
        else:
            offset = int(found[4]) * 3600 + int(found[5]) * 60
            seconds += offset if found[3] == b"-" else -offset
        time = seconds * _SECOND + int((found[2] or b"0").ljust(9, b"0"))
        self._rounded = self._rounded or found[2] is None
        self._last = time
        return time, message[found.end() :]
