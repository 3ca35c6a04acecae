"""Rows of wrapped lines: how high a line is gets measured only where somebody looks."""

from collections import OrderedDict
from collections.abc import Callable
from itertools import accumulate
from typing import Final

BLOCK: Final = 64
"""Lines that are measured together."""
_SAMPLE: Final = 64
_REMEMBERED: Final = 128


class Wrapped:
    """Finds the line that stands in a row of the screen, and back.

    Lines are measured in blocks. A block that nobody has seen counts with the mean height of those that were seen when
    it was added: the scroll bar is right to within that estimate, and exactly right around what is on the screen.

    Args:
        height: rows of the line with an index.
        count: number of lines; a few of them are measured to guess how high the others are.
    """

    def __init__(self, height: Callable[[int], int], count: int = 0) -> None:
        self._height = height
        self._count = 0
        self._sums: list[int] = []
        self._exact: set[int] = set()
        self._ends: OrderedDict[int, list[int]] = OrderedDict()
        # Fenwick tree over the rows of the blocks: prefix sums and updates in the logarithm of their number.
        self._tree: list[int] = [0]
        step = max(1, count // _SAMPLE)
        sample = range(count - 1, -1, -step)[:_SAMPLE]
        self._seen_lines = len(sample)
        self._seen_rows = sum(height(index) for index in sample)
        self.grow(count)

    @property
    def count(self) -> int:
        """Number of lines."""
        return self._count

    @property
    def total(self) -> int:
        """Rows of all lines, as far as is known."""
        return self._before(len(self._sums))

    def grow(self, count: int) -> None:
        """Takes in new lines: there are ``count`` now."""
        if self._count % BLOCK and count > self._count:
            block = self._count // BLOCK
            self._exact.discard(block)
            self._ends.pop(block, None)
            lines = min(count, (block + 1) * BLOCK) - block * BLOCK
            self._set(block, max(self._sums[block], self._guess(lines)))
        self._count = max(self._count, count)
        while len(self._sums) * BLOCK < self._count:
            lines = min(BLOCK, self._count - len(self._sums) * BLOCK)
            self._append(self._guess(lines))

    def cut(self, index: int) -> None:
        """Forgets the lines from a place on (and the others of its block, which the next ``grow`` brings back)."""
        block = min(index, self._count) // BLOCK
        del self._sums[block:]
        del self._tree[block + 1 :]
        self._exact = {known for known in self._exact if known < block}
        for known in [known for known in self._ends if known >= block]:
            del self._ends[known]
        self._count = min(self._count, block * BLOCK)

    def locate(self, row: int) -> tuple[int, int]:
        """The line that stands in a row, and which of its own rows that is; the last one behind the end."""
        if not self._count:
            return 0, 0
        while True:
            block, rest = self._find(row)
            if block in self._exact:
                ends = self._measured(block)
                for index, end in enumerate(ends):
                    if rest < end:
                        return block * BLOCK + index, rest - (ends[index - 1] if index else 0)
                height = ends[-1] - (ends[-2] if len(ends) > 1 else 0)
                return block * BLOCK + len(ends) - 1, height - 1
            self.measure(block)

    def row(self, index: int) -> int:
        """The first row of a line, or the number of rows for the line behind the last."""
        if index >= self._count:
            return self.total
        block, place = divmod(index, BLOCK)
        if block not in self._exact:
            self.measure(block)
        ends = self._measured(block)
        return self._before(block) + (ends[place - 1] if place else 0)

    def settle(self, first: int, last: int) -> None:
        """Measures the blocks of lines ``first`` to ``last``, so that rows between them stay where they are."""
        if not self._count:
            return
        last = min(last, self._count - 1)
        for block in range(max(0, first) // BLOCK, last // BLOCK + 1):
            if block not in self._exact:
                self.measure(block)

    def measure(self, block: int) -> None:
        """Asks for the heights of the lines of a block."""
        self._ends.pop(block, None)
        ends = self._measured(block)
        self._set(block, ends[-1])
        if block not in self._exact:
            self._exact.add(block)
            self._seen_lines += len(ends)
            self._seen_rows += ends[-1]

    def _measured(self, block: int) -> list[int]:
        ends = self._ends.get(block)
        if ends is None:
            start = block * BLOCK
            ends = list(accumulate(self._height(index) for index in range(start, min(start + BLOCK, self._count))))
            self._ends[block] = ends
            if len(self._ends) > _REMEMBERED:
                self._ends.popitem(last=False)
        else:
            self._ends.move_to_end(block)
        return ends

    def _guess(self, lines: int) -> int:
        if not self._seen_lines:
            return lines
        return max(lines, round(lines * self._seen_rows / self._seen_lines))

    def _append(self, rows: int) -> None:
        self._sums.append(rows)
        place = len(self._sums)
        total = rows
        child = place - 1
        stop = place - (place & -place)
        while child > stop:
            total += self._tree[child]
            child -= child & -child
        self._tree.append(total)

    def _set(self, block: int, rows: int) -> None:
        change = rows - self._sums[block]
        self._sums[block] = rows
        place = block + 1
        while change and place < len(self._tree):
            self._tree[place] += change
            place += place & -place

    def _before(self, block: int) -> int:
        total = 0
        while block:
            total += self._tree[block]
            block -= block & -block
        return total

    def _find(self, row: int) -> tuple[int, int]:
        """The block of a row, and the row inside it; the last block behind the end."""
        place, rest = 0, row
        step = 1 << (len(self._sums).bit_length() - 1)
        while step:
            if place + step < len(self._tree) and self._tree[place + step] <= rest:
                place += step
                rest -= self._tree[place]
            step >>= 1
        if place >= len(self._sums):
            return len(self._sums) - 1, self._sums[-1]
        return place, rest
