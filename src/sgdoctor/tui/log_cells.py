"""Where the characters of a line stand on the screen: Chinese takes two cells, combining marks none."""

import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Final, NamedTuple

from rich.cells import get_character_cell_size

from sgdoctor.report.safe import printable

# Terminals do not agree on how wide text with joiners and variation selectors is; without them they do.
_WIDTHLESS: Final = {0x200B: None, 0x200C: None, 0x200D: None, 0x2060: None, 0xFEFF: None} | dict.fromkeys(
    range(0xFE00, 0xFE10)
)


class _Widths(dict[str, int]):
    def __missing__(self, character: str) -> int:
        width = get_character_cell_size(character)
        if len(self) < 65536:
            self[character] = width
        return width


_WIDTHS: Final = _Widths()


class Piece(NamedTuple):
    """What of a line is seen between two columns.

    Attributes:
        start: index of the first character that is wholly inside.
        stop: index behind the last one.
        before: blank cells in front of it, where a wide character is cut by the left edge.
        cells: how many cells the characters take.
    """

    start: int
    stop: int
    before: int
    cells: int


class Cells:
    """A line as it can be drawn.

    Args:
        text: one line; what a terminal would act on is left out.
    """

    __slots__ = ("_ends", "_rows", "text")

    def __init__(self, text: str) -> None:
        text = printable(text.expandtabs(8) if "\t" in text else text)
        self._ends: array[int] | None = None
        self._rows: tuple[int, list[int]] | None = None
        if not text.isascii():
            text = text.translate(_WIDTHLESS)
            # A combining mark at the very start has nothing to stand on.
            if text and unicodedata.combining(text[0]):
                text = " " + text
            self._ends = array("I", accumulate(map(_WIDTHS.__getitem__, text)))
        self.text = text

    @property
    def width(self) -> int:
        """Cells of the whole line."""
        if self._ends is None:
            return len(self.text)
        return self._ends[-1] if self._ends else 0

    def piece(self, column: int, width: int) -> Piece:
        """What is seen in ``width`` cells from ``column`` on."""
        ends = self._ends
        if ends is None:
            start = min(column, len(self.text))
            stop = min(len(self.text), column + max(0, width))
            return Piece(start, max(start, stop), 0, max(0, stop - start))
        limit = column + max(0, width)
        start = bisect_right(ends, column) if column else 0
        before = 0
        if start < len(ends) and (ends[start - 1] if start else 0) < column:
            before = min(ends[start], limit) - column
            start += 1
        stop = bisect_right(ends, limit)
        if stop <= start:
            return Piece(start, start, before, 0)
        return Piece(start, stop, before, ends[stop - 1] - (ends[start - 1] if start else 0))

    def rows(self, width: int) -> list[int]:
        """Indices of the characters that begin a row where the line is broken into rows of ``width`` cells."""
        width = max(2, width)
        ends = self._ends
        if ends is None:
            return list(range(0, len(self.text), width)) or [0]
        if self._rows and self._rows[0] == width:
            return self._rows[1]
        starts = [0]
        total = len(ends)
        while (stop := bisect_right(ends, (ends[starts[-1] - 1] if starts[-1] else 0) + width)) < total:
            starts.append(stop)
        self._rows = (width, starts)
        return starts

    def height(self, width: int) -> int:
        """Number of rows of ``width`` cells that the line takes: at least one."""
        if self._ends is None:
            return max(1, -(-len(self.text) // max(2, width)))
        return len(self.rows(width))

    def column(self, index: int) -> int:
        """The column at which a character begins."""
        if self._ends is None:
            return min(index, len(self.text))
        return self._ends[min(index, len(self._ends)) - 1] if index > 0 and self._ends else 0

    def index(self, column: int) -> int:
        """The character that covers a column; the number of characters behind the end."""
        if self._ends is None:
            return min(max(0, column), len(self.text))
        return bisect_left(self._ends, column + 1)
