"""Rows of the screen: which line stands where, wrapped or not."""

from collections.abc import Callable

from textual.cache import LRUCache

from sgdoctor.tui.log_cells import Cells
from sgdoctor.tui.log_filter import Shown
from sgdoctor.tui.log_texts import LONG
from sgdoctor.tui.log_wrap import Wrapped


class Sheet:
    """The rows of all shown lines, one below the other.

    Args:
        shown: which lines.
        compose: the text of a line as it is drawn.
    """

    def __init__(self, shown: Shown, compose: Callable[[int], str]) -> None:
        self.shown = shown
        self.width = 0
        """Cells for text in a row, where lines are wrapped; 0 where they are not."""
        self._compose = compose
        self._cells: LRUCache[int, Cells] = LRUCache(512)
        self._long: LRUCache[int, Cells] = LRUCache(8)
        self._wrapped: Wrapped | None = None

    @property
    def count(self) -> int:
        """Number of lines."""
        return len(self.shown.rows)

    @property
    def total(self) -> int:
        """Number of rows; an estimate where wrapped lines were not looked at yet."""
        return self._wrapped.total if self._wrapped else self.count

    def set_width(self, width: int) -> None:
        """Wraps lines at this many cells; 0 does not wrap."""
        if width != self.width:
            self.width = width
            self._wrapped = Wrapped(self._height_of, self.count) if width else None

    def renew(self) -> None:
        """Lines have other texts or other places: nothing that was measured counts any more."""
        self._cells.clear()
        self._long.clear()
        self._wrapped = Wrapped(self._height_of, self.count) if self.width else None

    def grow(self) -> None:
        """Takes in lines that were added at the end."""
        if self._wrapped:
            self._wrapped.grow(self.count)

    def cut(self, index: int) -> None:
        """Lines from a place on are other ones now."""
        self._cells.clear()
        self._long.clear()
        if self._wrapped:
            self._wrapped.cut(index)
            self._wrapped.grow(self.count)

    def replace(self, shown: Shown) -> None:
        """Shows other lines."""
        self.shown = shown
        self.renew()

    def cells(self, number: int) -> Cells:
        """A line, ready to be drawn."""
        cells = self._cells.get(number) or self._long.get(number)
        if cells is None:
            cells = Cells(self._compose(number))
            (self._cells if len(cells.text) <= LONG else self._long)[number] = cells
        return cells

    def forget(self, number: int) -> None:
        """The text of a line is another one now."""
        self._cells.discard(number)
        self._long.discard(number)

    def locate(self, row: int) -> tuple[int, int]:
        """Place of the line that stands in a row, and which of the line's own rows that is."""
        if self._wrapped:
            return self._wrapped.locate(row)
        return max(0, min(row, self.count - 1)), 0

    def row(self, index: int) -> int:
        """First row of the line at a place."""
        return self._wrapped.row(index) if self._wrapped else min(index, self.count)

    def height(self, index: int) -> int:
        """Rows of the line at a place."""
        return self._height_of(index) if self._wrapped else 1

    def settle(self, first: int, last: int) -> None:
        """Measures the lines around a stretch, so that rows there do not move any more."""
        if self._wrapped:
            self._wrapped.settle(first, last)

    def settle_end(self, rows: int) -> None:
        """Measures the last ``rows`` rows."""
        if self._wrapped and self.count:
            # Each line takes at least one row.
            self._wrapped.settle(self.count - rows, self.count - 1)

    def _height_of(self, index: int) -> int:
        return self.cells(self.shown.rows.line(index)).height(self.width)
