"""Rows of a log as they look: colours, gutter, what is cached."""

from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.cache import FIFOCache
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from sgdoctor.report.redact import Redactor, redact
from sgdoctor.tui.log_artist import COLOURS, COMPONENTS, PREFIX, Row, chip_of, draw, gutter_width
from sgdoctor.tui.log_cells import Cells, Piece
from sgdoctor.tui.log_filter import Shown
from sgdoctor.tui.log_search import Search
from sgdoctor.tui.log_sheet import Sheet
from sgdoctor.tui.log_texts import Texts
from sgdoctor.tui.log_words import say_log
from sgdoctor.watching.model import Lines

DIGITS: Final = 4
"""Of line numbers, at least."""
_LEAST_CHIP_ROOM: Final = 40
WHOLE: Final = slice(0, None)
"""All characters of a line."""

_KEPT_ROWS: Final = 256
"""For scrolling back a few pages. Each row is some twenty objects for the garbage collector to go through, and those of
an ``LRUCache`` would hold each other."""


class LogPaper(ScrollView, can_focus=True):
    """Draws the rows of a sheet, each when it comes into sight.

    Args:
        lines: what to show.
        lang: ``en`` or ``zh``.
        hide: takes secrets out of what is shown and copied; ``str`` leaves them.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar = set(COMPONENTS)
    DEFAULT_CSS = f"""
    LogPaper {{
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        {COLOURS}
    }}
    """

    following: reactive[bool] = reactive(default=True, repaint=False)
    """Whether the newest line stays in sight."""
    wrapping: reactive[bool] = reactive(default=False, repaint=False, init=False)
    """Whether long lines are broken into rows."""
    as_written: reactive[bool] = reactive(default=False, repaint=False, init=False)
    """Whether lines are shown with what stood in front of them."""
    column: reactive[int] = reactive(default=0, repaint=True, init=False)
    """The first column of the text that is seen."""

    def __init__(
        self,
        lines: Lines,
        *,
        lang: str = "en",
        hide: Redactor = redact,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.search: Search | None = None
        self.cursor = 0
        """Number of the line under the cursor; 0 before there is one."""
        self.selected_from = 0
        """Number of the line at which the selection began; 0 without one."""
        self.parts: tuple[int, int] | None = None
        """Of a selection within the text: the character at which it began and the one that it has come to, in the lines
        `selected_from` and `cursor`; None for whole lines."""
        self.flash = 0
        """Number of the line that is pointed at for a moment; 0 for none."""
        self._texts = Texts(lines, self._is_open, lang, hide)
        self._sheet = Sheet(Shown(lines), self._texts.text)
        self._strips: FIFOCache[tuple[object, ...], Strip] = FIFOCache(_KEPT_ROWS)
        self._styles: dict[tuple[str, ...], Style] = {}
        self._digits = DIGITS
        self._width = 1
        self._widest = 0
        self._growing: set[int] = set()
        """Heads of folds that were drawn and may count more lines soon."""

    @property
    def lines(self) -> Lines:
        """What is shown."""
        return self._texts.lines

    @property
    def lang(self) -> str:
        """``en`` or ``zh``."""
        return self._texts.lang

    @property
    def count(self) -> int:
        """How many lines have rows."""
        return self._sheet.count

    @property
    def selected(self) -> tuple[int, int] | None:
        """Numbers of the first and last selected line."""
        return (
            (min(self.selected_from, self.cursor), max(self.selected_from, self.cursor)) if self.selected_from else None
        )

    def marked(self, number: int) -> slice | None:
        """The selected characters of a line; None if there are none."""
        selected = self.selected
        if selected is None or not selected[0] <= number <= selected[1]:
            return None
        if self.parts is None:
            return WHOLE
        begin, end = self.parts
        if (self.selected_from, begin) > (self.cursor, end):
            begin, end = end, begin
        return slice(begin if number == selected[0] else 0, end + 1 if number == selected[1] else None)

    @property
    def _shown(self) -> Shown:
        return self._sheet.shown

    def _is_open(self, head: int) -> bool:
        return self._sheet.shown.is_open(head)

    @property
    def looking(self) -> bool:
        """Whether the lines are still being gone through for the filter."""
        return not self._shown.complete

    @property
    def _room(self) -> int:
        return max(1, self._width - gutter_width(self._digits))

    @property
    def _page(self) -> int:
        return max(1, self.size.height)

    # ------------------------------------------------------------ drawing

    def notify_style_update(self) -> None:
        """Colours may be other ones now."""
        super().notify_style_update()
        self._strips.clear()
        self._styles.clear()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self._width
        row = self.scroll_offset.y + y
        if row >= self._sheet.total:
            return self._blank(y, width)
        index, part = self._sheet.locate(row)
        number = self._shown.rows.line(index)
        marked = self.marked(number)
        states = self._states(number, marked)
        key = (number, part, self.column, width, states, self.search, marked and (marked.start, marked.stop))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._draw(number, part, width, states, marked)
            if number not in self._growing:
                self._strips[key] = strip
        return strip

    def _blank(self, y: int, width: int) -> Strip:
        style = self.get_component_rich_style(PREFIX + "number")
        if y or self.count:
            return Strip.blank(width, style)
        key = "looking" if self.looking else "nothing" if len(self.lines) else "empty"
        return Strip([Segment(f" {say_log(self.lang, key)}", style)]).adjust_cell_length(width, style)

    def _states(self, number: int, marked: slice | None) -> tuple[str, ...]:
        states = ["selected"] if marked == WHOLE else []
        if number == self.cursor and not self.following:
            states.append("cursor")
        if number == self.flash:
            states.append("flash")
        return tuple(states)

    def _draw(self, number: int, part: int, width: int, states: tuple[str, ...], marked: slice | None) -> Strip:
        told = self._texts.of(number)
        if not told.lasting:
            self._growing.add(number)
        cells = self._sheet.cells(number)
        room = self._room
        chip = chip_of(told.ruled)
        more = False
        if self.wrapping:
            starts = cells.rows(room)
            piece = cells.piece(cells.column(starts[min(part, len(starts) - 1)]), room)
            chip = chip if len(starts) == 1 and cells.width + len(chip) < room else ""
        else:
            chip = chip if room >= _LEAST_CHIP_ROOM else ""
            seen = room - len(chip)
            more = self.column + seen < cells.width
            piece = cells.piece(self.column, seen - more)
            self._widest = max(self._widest, cells.width + len(chip))
        spans = self.search.spans(cells.text, piece.start, piece.stop) if self.search else ()
        row = Row(number, told.mark, told.ruled, cells, piece, spans, part == 0, more, chip, states)
        strip = draw(row, width, self._digits, self._style)
        if marked is None or marked == WHOLE:
            return strip
        first, stop, _ = marked.indices(len(cells.text))
        return self._select(strip, cells, piece, max(first, piece.start), min(stop, piece.stop))

    def _select(self, strip: Strip, cells: Cells, piece: Piece, first: int, stop: int) -> Strip:
        """Some characters of a row as selected."""
        if first >= stop:
            return strip
        left = gutter_width(self._digits) + piece.before - cells.column(piece.start)
        before, middle, after = strip.divide([left + cells.column(first), left + cells.column(stop), strip.cell_length])
        style = self._overlay(PREFIX + "selected")
        return Strip.join([before, Strip(Segment.apply_style(middle, post_style=style), middle.cell_length), after])

    def _style(self, name: str, *overlays: str) -> Style:
        """The style of a component with what others lay over it: of those only what they set themselves."""
        style = self._styles.get((name, *overlays))
        if style is None:
            style = self.get_component_rich_style(name)
            for overlay in overlays:
                style += self._overlay(overlay)
            self._styles[name, *overlays] = style
        return style

    def _overlay(self, name: str) -> Style:
        own = self.get_component_rich_style(name, partial=True)
        # Translucent colours are mixed with the background in the whole style only.
        whole = self.get_component_rich_style(name)
        return own.without_color + Style(
            color=whole.color if own.color else None, bgcolor=whole.bgcolor if own.bgcolor else None
        )
