"""A large log slice by slice: hits of the literals and line ends, on as many processors as there are."""

import os
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sgdoctor.diagnosis.line_counts import STEP, Data
from sgdoctor.logs.literals import FloodError, LiteralIndex, build_index

if TYPE_CHECKING:
    from concurrent.futures import Future

SLICE_HITS: Final = 20_000
FIRST_KEPT: Final = 8
_MAX_FLOODED: Final = 64
_MAX_WORKERS: Final = 4

Hits = list[tuple[int, int]]
"""``(offset, literal)`` pairs, sorted."""


class Slices:
    """Goes over a log once.

    Args:
        data: its bytes.
        index: over ``literals``.
        literals: what is looked for.
    """

    def __init__(self, data: Data, index: LiteralIndex, literals: Sequence[bytes]) -> None:
        self.flooded: set[int] = set()
        """Literals that stood in a slice too often and were looked for no longer from there on."""
        self.line_ends = array("Q")
        """Number of line ends in each slice."""
        self._data = data
        self._index = index
        self._literals = literals
        self._overlap = max(map(len, literals), default=1) - 1
        self._numbers = list(range(len(literals)))

    def hits(self) -> Iterator[Hits]:
        """The hits of one slice after the other, in log order; offsets count from the beginning of the log."""
        bases = deque(range(0, max(1, len(self._data)), STEP))
        with memoryview(self._data) as view:
            yield from self._side_by_side(view, bases)
            while bases:
                base = bases.popleft()
                self.line_ends.append(self._count(base))
                with self._piece(view, base) as piece:
                    yield self._placed(base, self._find(piece))

    def _side_by_side(self, view: memoryview, bases: "deque[int]") -> Iterator[Hits]:
        """Takes from ``bases`` what can be searched on several processors: all of them, or those before a flood.

        Hyperscan searches without the interpreter's lock, and the line ends are counted meanwhile.
        """
        workers = min(_MAX_WORKERS, os.cpu_count() or 1, len(bases))
        if workers < 2 or self._index.name != "hyperscan":
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - small logs need none

        compiled = self._index.dump()
        # An index holds scratch space, so every search under way has one of its own.
        idle = deque([self._index, *(build_index(self._literals, compiled=compiled) for _ in range(workers - 1))])
        running: deque[tuple[int, LiteralIndex, Future[tuple[Hits, int]]]] = deque()

        def search(index: LiteralIndex, base: int) -> tuple[Hits, int]:
            with self._piece(view, base) as piece:
                return index.find(piece, limit=SLICE_HITS), self._count(base)

        with ThreadPoolExecutor(workers) as pool:
            ahead = iter(tuple(bases))
            while True:
                while idle and (base := next(ahead, None)) is not None:
                    index = idle.popleft()
                    running.append((base, index, pool.submit(search, index, base)))
                if not running:
                    return
                base, index, future = running.popleft()
                try:
                    hits, line_ends = future.result()
                except FloodError:
                    return  # what was found ahead of it is searched again, without the literals that flood
                idle.append(index)
                bases.popleft()
                self.line_ends.append(line_ends)
                yield self._placed(base, hits)

    def _count(self, base: int) -> int:
        return self._data[base : base + STEP].count(b"\n")

    def _piece(self, view: memoryview, base: int) -> memoryview:
        """One slice, and so much of the next one that a literal across the border is whole."""
        return view[base : base + STEP + self._overlap]

    def _placed(self, base: int, hits: Hits) -> Hits:
        return [(base + offset, literal) for offset, literal in hits if offset < STEP]

    def _find(self, piece: memoryview) -> Hits:
        """Hits in one slice; literals that flood it are looked for no longer."""
        found: Hits = []
        while self._numbers:
            try:
                hits = self._index.find(piece, limit=SLICE_HITS)
            except FloodError as flood:
                dropped = {self._numbers[literal] for literal in flood.literals}
                found += [(offset, self._numbers[literal]) for offset, literal in _thin(flood.hits)]
                self.flooded |= dropped
                self._numbers = [number for number in self._numbers if number not in dropped]
                if len(self.flooded) > _MAX_FLOODED:
                    # A log that repeats this many texts without end was made to cost time; its ends still count.
                    self.flooded |= set(self._numbers)
                    self._numbers = []
                self._index = build_index([self._literals[number] for number in self._numbers])
                continue
            found += [(offset, self._numbers[literal]) for offset, literal in hits]
            break
        return sorted(set(found))


def _thin(hits: Hits) -> Hits:
    counts: dict[int, int] = {}
    kept = []
    for offset, literal in hits:
        counts[literal] = counts.get(literal, 0) + 1
        if counts[literal] <= FIRST_KEPT:
            kept.append((offset, literal))
    return kept
