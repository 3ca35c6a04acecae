"""The lines of a watched log: bytes on disk, a byte of knowledge for each line, texts only while they are looked at."""

import errno
import os
import re
import tempfile
import threading
import weakref
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, Final

from sgdoctor.diagnosis.evidence import printable
from sgdoctor.logs.framing import LineReader
from sgdoctor.logs.line import Line
from sgdoctor.watching.finding import confirmer, finder, with_rank
from sgdoctor.watching.marks import LIGHT, UNSEEN, Marks
from sgdoctor.watching.model import LineKind, LineMark

_STRIDE: Final = 16
"""Lines between two known offsets: a tenth of the memory, and one read gives all lines between."""
_CACHED_BLOCKS: Final = 256
_CACHED_BYTES: Final = 64 << 10
_CHUNK: Final = 4 << 20
_SHOWN: Final = 8192


class LineStore:
    """Lines by number; see ``model.Lines``. One thread appends, any thread reads.

    Attributes:
        marks: what is known about the lines; for the appending thread.
    """

    def __init__(self) -> None:
        self.marks = Marks()
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sgdoctor-", buffering=0)  # noqa: SIM115 - see below
        weakref.finalize(self, self._file.close)
        self._memory: IO[bytes] | None = None
        self._disk_end: int | None = None
        self._size = 0
        self._offsets = array("Q", [0])
        self._count = 0
        self._cache: OrderedDict[int, dict[int, Line]] = OrderedDict()
        self._lock = threading.Lock()

    # ------------------------------------------------------------ writing

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self._size

    def append(self, data: bytes) -> None:
        """Add whole lines: the last byte of ``data`` is a line feed.

        Raises:
            OSError: there is no room for them, neither on disk nor in memory.
        """
        self._write(data)
        ends = [found.end() for found in re.finditer(b"\n", data)]
        skip = -self._count % _STRIDE
        # The beginning of a line is the end of the one before.
        for end in ends[(skip or _STRIDE) - 1 :: _STRIDE]:
            self._offsets.append(self._size + end)
        self.marks.extend(len(ends))
        self._size += len(data)
        self._count += len(ends)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        if self._memory is None:
            try:
                while view:
                    view = view[self._file.write(view) :]
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise
                self._disk_end = self._size + len(data) - len(view)
                self._memory = os.fdopen(os.memfd_create("sgdoctor-lines"), "w+b", buffering=0)
                weakref.finalize(self, self._memory.close)
        if self._memory is not None:
            while view:
                view = view[self._memory.write(view) :]

    # ------------------------------------------------------------ reading bytes

    def read(self, start: int, end: int) -> bytes:
        """Bytes ``start`` to ``end``."""
        border = self._disk_end
        if border is None or end <= border:
            return os.pread(self._file.fileno(), end - start, start)
        assert self._memory is not None
        head = os.pread(self._file.fileno(), border - start, start) if start < border else b""
        return head + os.pread(self._memory.fileno(), end - max(start, border), max(start, border) - border)

    def offset(self, number: int) -> int:
        """Where a line begins; the end of the store for the line after the last one."""
        step, rest = divmod(number - 1, _STRIDE)
        if step >= len(self._offsets):
            return self._size
        start = self._offsets[step]
        if not rest:
            return start
        before = self.read(start, self._block_end(step)).split(b"\n", rest)[:rest]
        return start + sum(map(len, before)) + rest

    def number_at(self, offset: int) -> int:
        """Number of the line that holds a byte."""
        step = bisect_right(self._offsets, offset) - 1
        return step * _STRIDE + self.read(self._offsets[step], offset).count(b"\n") + 1

    def _block_end(self, step: int) -> int:
        return self._offsets[step + 1] if step + 1 < len(self._offsets) else self._size

    def _raw(self, number: int) -> bytes:
        step, rest = divmod(number - 1, _STRIDE)
        return self.read(self._offsets[step], self._block_end(step)).split(b"\n", rest + 1)[rest]

    def chunks(self, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        """The lines ``first`` to ``last`` as whole-line pieces of a few MiB, each with the number of its first line."""
        step = (first - 1) // _STRIDE
        position, number = self.offset(first), first
        end = self.offset(last + 1)
        while position < end:
            # Borders of blocks are borders of lines.
            step = max(step + 1, bisect_right(self._offsets, position + _CHUNK) - 1)
            stop = min(end, self._offsets[step]) if step < len(self._offsets) else end
            piece = self.read(position, stop)
            yield number, piece
            number = step * _STRIDE + 1
            position = stop

    # ------------------------------------------------------------ the lines

    def __len__(self) -> int:
        """Number of whole lines so far."""
        return self._count

    def line(self, number: int) -> Line:
        """A line as the diagnosis reads it.

        Raises:
            IndexError: there is no such line.
        """
        if not 1 <= number <= self._count:
            raise IndexError(number)
        step = (number - 1) // _STRIDE
        with self._lock:
            block = self._cache.get(step)
            if block is not None:
                self._cache.move_to_end(step)
        if block is None:
            block = self._block(step, number)
        return block.get(number) or _alone(self._raw(number), number, self.offset(number))

    def _block(self, step: int, number: int) -> dict[int, Line]:
        if step + 1 >= len(self._offsets):
            line = _alone(self._raw(number), number, self.offset(number))
            return {number: line}
        start, end = self._offsets[step], self._offsets[step + 1]
        reader = LineReader(first_number=step * _STRIDE + 1, offset=start)
        block = {line.number: line for line in reader.feed(self.read(start, end))}
        if end - start <= _CACHED_BYTES:
            with self._lock:
                self._cache[step] = block
                while len(self._cache) > _CACHED_BLOCKS:
                    self._cache.popitem(last=False)
        return block

    def text(self, number: int) -> str:
        """A line without its prefixes, escapes and control characters; of a progress bar its last state."""
        return printable(self.line(number).text)

    def raw(self, number: int) -> str:
        """A line as it was written, made harmless to a terminal."""
        if not 1 <= number <= self._count:
            raise IndexError(number)
        return printable(self._raw(number)[:_SHOWN].decode("utf-8", "replace"))

    def mark(self, number: int) -> LineMark:
        """What is known about a line so far."""
        marks = self.marks
        code = marks.code(number)
        line = self.line(number)
        kind = _light_kind(line) if code == UNSEEN else LineKind(code)
        head = marks.head(number) if kind is LineKind.TRACEBACK else 0
        rank = line.rank or (self.line(head).rank if head else "")
        rule = marks.rule(number)
        if rule is None:
            return LineMark(kind, marks.attempt(number), head=head, rank=rank)
        return LineMark(kind, marks.attempt(number), rule.rule, rule.severity, head, rank)

    def revision(self) -> int:
        """Goes up whenever marks of old lines changed."""
        return self.marks.revision

    # ------------------------------------------------------------ looking for lines

    def search(
        self, pattern: str, *, regex: bool, ignore_case: bool, limit: int = 100_000, first: int = 1, last: int = 0
    ) -> Sequence[int]:
        """Numbers of the lines that hold a text; see ``model.Lines.search``."""
        end = min(last or self._count, self._count)
        first = max(1, first)
        if not pattern or first > end:
            return []
        find = finder(pattern, regex=regex, ignore_case=ignore_case)
        confirm = confirmer(pattern, regex=regex, ignore_case=ignore_case)
        found: list[int] = []
        for number, piece in self.chunks(first, end):
            for index, raw in find(piece):
                if b"\x1b" in raw or b"\r" in raw or b'{"' in raw[:2]:
                    # The bytes of a line hold more than what is shown of it.
                    shown = self.line(number + index)
                    if not confirm(printable(shown.text)) and not confirm(self.raw(number + index)):
                        continue
                found.append(number + index)
                if len(found) >= limit:
                    return found
        return found

    def select(
        self,
        kinds: frozenset[LineKind] | None,
        *,
        rule: str = "",
        attempt: int = 0,
        rank: str = "",
        first: int = 1,
        last: int = 0,
    ) -> Sequence[int]:
        """Numbers of the lines of these kinds, rule, start and rank; see ``model.Lines.select``."""
        span = range(max(1, first), min(last or self._count, self._count) + 1)
        if attempt:
            own = self.marks.attempt_span(attempt)
            span = range(max(span.start, own.start), max(span.start, own.start, min(span.stop, own.stop)))
        if rule:
            numbers = [number for number in self.marks.with_rule(rule) if number in span]
            if kinds is not None:
                numbers = [number for number in numbers if self.mark(number).kind in kinds]
        elif kinds is None:
            return span if not rank else self._of_rank(span, span, rank)
        else:
            numbers = self._of_kinds(kinds, span)
        return self._of_rank(numbers, span, rank) if rank else numbers

    def _of_kinds(self, kinds: frozenset[LineKind], span: range) -> list[int]:
        if not kinds or not span:
            return []
        if kinds & LIGHT and not kinds >= LIGHT:
            for number in self.marks.with_codes(frozenset({UNSEEN}), span):
                self.marks.see(number, _light_kind(self.line(number)))
        codes = frozenset(map(int, kinds)) | ({UNSEEN} if kinds >= LIGHT else frozenset())
        return self.marks.with_codes(codes, span)

    def _of_rank(self, numbers: Sequence[int], span: range, rank: str) -> list[int]:
        if not numbers:
            return []
        tagged: list[int] = []
        for first, piece in self.chunks(span.start, span.stop - 1):
            tagged += [first + index for index in with_rank(piece, rank, partial(self._framed_rank, first))]
        folded = self.marks.with_codes(frozenset({LineKind.TRACEBACK}), span)
        found = sorted({*tagged, *(number for number in folded if self.mark(number).rank == rank)})
        wanted = numbers if isinstance(numbers, range) else frozenset(numbers)
        return [number for number in found if number in wanted]

    def _framed_rank(self, first: int, index: int, raw: bytes) -> str:
        """The rank of a line ``index`` lines behind ``first``."""
        number = first + index
        if raw.startswith(b"{") or b" P " in raw:
            # The beginning of a line that the container runtime cut into pieces: what follows is a part of it.
            return self.line(number).rank
        return _alone(raw, number, int(number > 1)).rank


def _alone(raw: bytes, number: int, offset: int) -> Line:
    reader = LineReader(first_number=number, offset=offset)
    lines = reader.feed(raw + b"\n") or reader.close()
    return lines[0] if lines else Line(number, offset, "")


def _light_kind(line: Line) -> LineKind:
    """What a line is that concerns no rule, judged by itself alone."""
    from sgdoctor.engines.sglang import SGLANG  # noqa: PLC0415 - a store of another text needs no engine

    if line.progress:
        return LineKind.PROGRESS
    if SGLANG.is_data(line):
        return LineKind.DATA
    return LineKind.ENGINE if line.engine else LineKind.PLAIN
