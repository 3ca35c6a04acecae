"""From bytes to lines: line ends, carriage returns, ANSI escapes, prefixes, invalid and endless bytes."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sgdoctor.logs import bars, prefixes
from sgdoctor.logs.line import Line
from sgdoctor.patterns import lazy_pattern

MAX_TEXT: Final = 65536
"""Longest text of a line, in characters."""

_HEAD: Final = 2 * MAX_TEXT
_TAIL: Final = MAX_TEXT
_CHUNK: Final = 1 << 18
_MAX_PIECES: Final = 16
_MAX_NESTING: Final = 4
_BOM: Final = "\ufeff"

# ECMA-48: CSI sequences, then OSC/DCS/APC/PM/SOS strings up to BEL or ST, then two- and three-byte escapes, then rests.
_ESCAPE = lazy_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)


@dataclass(slots=True)
class _Piece:
    """The beginning of a line that the container runtime cut into pieces."""

    number: int
    offset: int
    stripped: prefixes.Stripped


class LineReader:
    """Turns bytes that arrive in chunks of any size into lines.

    Memory stays bounded: of a line longer than 192 KiB only its first 128 KiB and its last 64 KiB are kept, which holds
    the beginning of its text and, where it has carriage returns, its last state.
    """

    def __init__(self, *, first_number: int = 1, offset: int = 0) -> None:
        self._number = first_number
        self._offset = offset
        self._head = bytearray()
        self._tail: bytearray | None = None
        self._length = 0
        self._pieces: dict[tuple[str, str], _Piece] = {}

    def feed(self, chunk: bytes) -> list[Line]:
        """Take the next bytes.

        Returns:
            The lines that they completed.
        """
        end = chunk.rfind(b"\n")
        if end < 0:
            self._grow(chunk)
            return []
        lines: list[Line] = []
        start = 0
        if self._length:
            start = chunk.index(b"\n") + 1
            self._grow(chunk[: start - 1])
            self._finish(lines, 1)
        if start <= end:
            self._take_block(chunk[start:end], lines)
        self._grow(chunk[end + 1 :])
        return lines

    def close(self) -> list[Line]:
        """The last line, if it had no line end, and cut lines whose rest never came."""
        lines: list[Line] = []
        if self._length:
            self._finish(lines, 0)
        return lines + self._give_up_pieces()

    def _grow(self, part: bytes) -> None:
        self._length += len(part)
        if self._tail is None:
            self._head += part
            if len(self._head) > _HEAD + _TAIL:
                self._tail = self._head[-_TAIL:]
                del self._head[_HEAD:]
            return
        self._tail += part[-_TAIL:]
        if len(self._tail) > 4 * _TAIL:
            del self._tail[:-_TAIL]

    def _finish(self, lines: list[Line], ending: int) -> None:
        raw = bytes(self._head)
        if self._tail is not None:
            # Only whole states of the tail count: its first bytes are the rest of a state whose beginning is gone.
            _, mark, states = bytes(self._tail[-_TAIL:]).partition(b"\r")
            raw += mark + states
        length = self._length
        self._head.clear()
        self._tail = None
        self._length = 0
        self._take(raw.decode("utf-8", "replace"), lines)
        self._number += 1
        self._offset += length + ending

    def _take_block(self, block: bytes, lines: list[Line]) -> None:
        """Whole lines, the last one without its line feed."""
        special = any(byte in block for byte in (b"\r", b"\x1b", b"\xc2\x9b", b"\0"))
        take = self._take if special else self._take_plain
        if block.isascii():
            for text in block.decode("ascii").split("\n"):
                if len(text) > _HEAD + _TAIL:
                    self._grow(text.encode("ascii"))
                    self._finish(lines, 1)
                    continue
                take(text, lines)
                self._number += 1
                self._offset += len(text) + 1
            return
        for raw in block.split(b"\n"):
            if len(raw) > _HEAD + _TAIL:
                self._grow(raw)
                self._finish(lines, 1)
                continue
            take(raw.decode("utf-8", "replace"), lines)
            self._number += 1
            self._offset += len(raw) + 1

    def _take_plain(self, text: str, lines: list[Line]) -> None:
        """A line without escapes and carriage returns."""
        if text.startswith("["):
            found = prefixes.ENGINE.match(text)
            if found is not None and len(text) <= MAX_TEXT:
                date, rank, bare = found.groups()
                lines.append(
                    Line(
                        self._number,
                        self._offset,
                        text[found.end() :],
                        prefixes.clock(date) if date else None,
                        (rank or bare or "").strip(),
                        engine=True,
                    )
                )
                return
        elif not prefixes.may_begin(text) and "%" not in text and not text.startswith(_BOM):
            lines.append(Line(self._number, self._offset, text[:MAX_TEXT]))
            return
        self._take(text, lines)

    def _take(self, text: str, lines: list[Line]) -> None:
        number, offset = self._number, self._offset
        if offset == 0:
            text = text.removeprefix(_BOM)
        # An escape inside a JSON record ends with the string it stands in, not somewhere behind its closing quote.
        stripped = prefixes.strip(text if text.startswith("{") else _unescape(text))
        if stripped.partial or self._pieces:
            writer = (stripped.source, stripped.stream)
            begun = self._pieces.pop(writer, None)
            if begun is not None:
                number, offset = begun.number, begun.offset
                stripped.text = begun.stripped.text + stripped.text
            if stripped.partial:
                # Long enough for any text that is kept; the rest of an endless line is dropped here.
                stripped.text = stripped.text[: 2 * MAX_TEXT]
                if len(self._pieces) >= _MAX_PIECES:
                    lines.extend(self._give_up_pieces())
                self._pieces[writer] = _Piece(number, offset, stripped)
                return
            if begun is not None:
                _strip_more(stripped)
        lines.append(_line(number, offset, stripped))

    def _give_up_pieces(self) -> list[Line]:
        lines: list[Line] = []
        for piece in self._pieces.values():
            _strip_more(piece.stripped)
            lines.append(_line(piece.number, piece.offset, piece.stripped))
        self._pieces.clear()
        return lines


def read_lines(
    data: bytes | mmap.mmap | memoryview, start: int = 0, end: int | None = None, *, first_number: int = 1
) -> Iterator[Line]:
    """The lines of ``data[start:end]``.

    Args:
        data: a whole log.
        start: byte offset of the first byte of a line.
        end: byte offset after the last byte to be read; None for all of it.
        first_number: number of the line at ``start``.

    Yields:
        Lines whose offsets count from the beginning of ``data``.
    """
    stop = len(data) if end is None else min(end, len(data))
    reader = LineReader(first_number=first_number, offset=start)
    for position in range(start, stop, _CHUNK):
        yield from reader.feed(bytes(data[position : min(position + _CHUNK, stop)]))
    yield from reader.close()


def _unescape(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "")
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def _strip_more(stripped: prefixes.Stripped) -> None:
    """Take off prefixes that came to light behind those that were taken off already."""
    more = prefixes.strip(stripped.text)
    stripped.text = more.text
    stripped.time = more.time or stripped.time
    stripped.rank = more.rank or stripped.rank
    stripped.stream = more.stream or stripped.stream
    stripped.engine = stripped.engine or more.engine
    if more.source:
        stripped.source = f"{stripped.source}/{more.source}" if stripped.source else more.source


def _line(number: int, offset: int, stripped: prefixes.Stripped) -> Line:
    progress: tuple[int, ...] = ()
    # What came out of a docker JSON record has its escapes and carriage returns only now.
    for _ in range(_MAX_NESTING):
        text = _unescape(stripped.text)
        if "\r" in text:
            states = text.rstrip("\r\t ")
            progress += bars.percentages(states) if "%" in states else ()
            text = states[states.rfind("\r") + 1 :]
            if "\r" not in states:
                # Only the line end of Windows: the prefixes are off already.
                stripped.text = text
                break
        elif text is stripped.text:
            break
        stripped.text = text
        _strip_more(stripped)
    if not stripped.engine and "%" in stripped.text:
        cut = bars.split_bar(stripped.text)
        if cut is not None:
            progress = progress or bars.percentages(cut[0])
            if cut[1].strip():
                # A bar has no line end until it is done: whoever writes next goes on in its line.
                stripped.text = cut[1]
                _strip_more(stripped)
    text = stripped.text[:MAX_TEXT]
    return Line(
        number,
        offset,
        _unescape(text).replace("\r", " ") if "\r" in text or "\x1b" in text else text,
        stripped.time,
        stripped.rank,
        stripped.source,
        stripped.stream,
        stripped.engine,
        progress,
        stripped.level,
    )
