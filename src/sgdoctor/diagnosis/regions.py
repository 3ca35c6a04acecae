"""What of a large log is read: the surroundings of hits in its newest start, found in one pass over the bytes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sgdoctor.diagnosis.evidence import Data
from sgdoctor.diagnosis.line_counts import LineCounts
from sgdoctor.diagnosis.slices import FIRST_KEPT, Slices
from sgdoctor.logs.event import Event
from sgdoctor.logs.literals import LiteralIndex

_LAST_KEPT: Final = 4
_AROUND: Final = 32 << 10
_EDGE: Final = 96 << 10
_MAX_READ: Final = 24 << 20
_MIN_AROUND: Final = 1 << 10
_BUDGET_LINE: Final = 64 << 10  # a longer line is cut by the reader, so it costs no more than this
_MAX_LOOKS: Final = 30_000
_MAX_PREFIX: Final = 512  # a line that begins a start does not hold its marker farther in than this
_MAX_UNITS: Final = 64
_MAX_UNITS_OF_ALL: Final = 2_000

Window = tuple[int, int]


class Mark(NamedTuple):
    """A line that begins or ends a start.

    Attributes:
        start: byte offset of the event's first line.
        event: what it says; line numbers in it do not count from the beginning of the log.
        begins: whether it begins a start.
    """

    start: int
    event: Event
    begins: bool


class Survey(NamedTuple):
    """What one pass over a log found.

    Attributes:
        marks: lines that begin or end a start, in log order.
        hits: byte offsets of literals, sorted; of each literal the first and the last few between two beginnings.
        lines: counts lines.
    """

    marks: tuple[Mark, ...]
    hits: tuple[int, ...]
    lines: LineCounts


class _Thinned:
    """Keeps the first and the last few places of each literal."""

    def __init__(self) -> None:
        self._first: dict[int, list[int]] = {}
        self._last: dict[int, deque[int]] = {}

    def add(self, offset: int, literal: int) -> None:
        first = self._first.setdefault(literal, [])
        if len(first) < FIRST_KEPT:
            first.append(offset)
        else:
            self._last.setdefault(literal, deque(maxlen=_LAST_KEPT)).append(offset)

    def offsets(self) -> list[int]:
        kept = {offset for offsets in self._first.values() for offset in offsets}
        kept.update(offset for offsets in self._last.values() for offset in offsets)
        return sorted(kept)


def survey(
    data: Data,
    index: LiteralIndex,
    literals: Sequence[bytes],
    boundaries: Iterable[bytes],
    look: Callable[[int], Mark | None],
    *,
    all_attempts: bool = False,
) -> Survey:
    """Looks over a whole log once.

    Args:
        data: its bytes.
        index: over ``literals``.
        literals: what is looked for.
        boundaries: those of ``literals`` that stand on lines which can begin or end a start.
        look: reads the line at an offset where a boundary stands; None where it only mentions one.
        all_attempts: whether hits of every start are kept, or only those of the last ones.
    """
    return _Surveyor(data, index, literals, boundaries, look, all_attempts=all_attempts).survey()


class _Surveyor:
    def __init__(
        self,
        data: Data,
        index: LiteralIndex,
        literals: Sequence[bytes],
        boundaries: Iterable[bytes],
        look: Callable[[int], Mark | None],
        *,
        all_attempts: bool,
    ) -> None:
        self._data = data
        self._slices = Slices(data, index, literals)
        self._literals = literals
        wanted = set(boundaries)
        self._boundaries = {number for number, literal in enumerate(literals) if literal in wanted}
        self._look = look
        self._looks = 0
        self._marks: list[Mark] = []
        self._units = deque([_Thinned()], maxlen=_MAX_UNITS_OF_ALL if all_attempts else _MAX_UNITS)

    def survey(self) -> Survey:
        for hits in self._slices.hits():
            for offset, literal in hits:
                self._take(offset, literal)
        found = {offset for unit in self._units for offset in unit.offsets()} | set(self._last_of_floods())
        counts = LineCounts(self._data, self._slices.line_ends)
        return Survey(tuple(self._marks), tuple(sorted(found)), counts)

    def _take(self, offset: int, literal: int) -> None:
        if literal in self._boundaries and self._looks < _MAX_LOOKS:
            line_start = self._data.rfind(b"\n", max(0, offset - _MAX_PREFIX), offset)
            if line_start >= 0 or offset < _MAX_PREFIX:
                self._looks += 1
                mark = self._look(offset)
                if mark is not None and (not self._marks or mark.start > self._marks[-1].start):
                    self._marks.append(mark)
                    if mark.begins:
                        self._units.append(_Thinned())
        self._units[-1].add(offset, literal)

    def _last_of_floods(self) -> Iterator[int]:
        """The last places of literals that were dropped."""
        for literal in sorted(self._slices.flooded):
            end = len(self._data)
            for _ in range(_LAST_KEPT):
                end = self._data.rfind(self._literals[literal], 0, end)
                if end < 0:
                    break
                yield end


def windows(data: Data, start: int, hits: Sequence[int]) -> list[Window]:
    """What is read of ``data[start:]``: its edges and the surroundings of ``hits``; whole lines, disjoint, in order."""
    end = len(data)
    hits = [hit for hit in hits if hit >= start]
    around = max(_MIN_AROUND, min(_AROUND, (_MAX_READ - 2 * _EDGE) // (2 * len(hits) or 1)))
    wanted = [(max(start, hit - around), min(end, hit + around)) for hit in hits]
    wanted.append((start, min(start + _EDGE, end)))
    wanted.sort()
    tail = _line_start(data, max(start, end - _EDGE), start)
    found: list[list[int]] = []
    spent = 0
    for first, last in wanted:
        if first >= tail:
            break
        if found and last <= found[-1][1]:
            continue
        touches = bool(found) and first <= found[-1][1]
        begin = found[-1][1] if touches else _line_start(data, first, start)
        stop = min(_line_end(data, last, end), tail)
        spent += min(stop - begin, last - first + 2 * _BUDGET_LINE)
        if spent > _MAX_READ:
            break
        if found and begin <= found[-1][1]:
            found[-1][1] = max(stop, found[-1][1])
        elif stop > begin:
            found.append([begin, stop])
    if found and found[-1][1] >= tail:
        found[-1][1] = end
    else:
        found.append([tail, end])
    return [(begin, stop) for begin, stop in found if stop > begin]


def _line_start(data: Data, offset: int, least: int) -> int:
    if offset <= least:
        return least
    return max(least, data.rfind(b"\n", least, offset) + 1)


def _line_end(data: Data, offset: int, most: int) -> int:
    if offset >= most:
        return most
    found = data.find(b"\n", offset, most)
    return most if found < 0 else found + 1
