"""The log as a person goes through it: jumps, filters, matches."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple

from textual.message import Message

from sgdoctor.engines.base import Phase
from sgdoctor.report.redact import Redactor, redact
from sgdoctor.tui.log_artist import chip_of
from sgdoctor.tui.log_canvas import ADVANCE, AT_ONCE
from sgdoctor.tui.log_cursor import LogCursor
from sgdoctor.tui.log_filter import ERRORS, EVERYTHING, STAGES, LineFilter, Shown, of_rank, of_rule, of_stage
from sgdoctor.tui.log_keys import LOG_KEYS, MOVES, bindings
from sgdoctor.tui.log_search import Search
from sgdoctor.watching.model import Lines

FLASH_SECONDS: Final = 1.5
_BACK_MOST: Final = 50
_ENOUGH: Final = 12
"""Cells of a match that have to be in sight."""


class _Where(NamedTuple):
    """A place to come back to."""

    cursor: int
    above: int
    following: bool


class LogView(LogCursor):
    """Rows of a store of lines, as a person goes through them."""

    BINDINGS: ClassVar = bindings([*MOVES, *LOG_KEYS])

    class MatchWanted(Message):
        """The next match (``step`` 1) or the one before (-1) was asked for."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    class SearchEnded(Message):
        """The search is to be forgotten."""

    def __init__(
        self,
        lines: Lines,
        *,
        lang: str = "en",
        hide: Redactor = redact,
        on_search: Callable[[], None] = lambda: None,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(lines, lang=lang, hide=hide, id=id)
        # A call, not a message: the next key is already for the search bar.
        self._on_search = on_search
        self.phases: Sequence[Phase] = ()
        """Stages of the start that is shown."""
        self._back: list[_Where] = []
        self._pending = 0

    def show_lines(self, lines: Lines) -> None:
        """Shows another store, from its newest line on."""
        self._back.clear()
        self._pending = 0
        super().show_lines(lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's signature
        """Keys that mean nothing here at the moment are left to the app."""
        match action:
            case "copy_selection":
                return self.selected_from != 0
            case "match":
                return self.search is not None
            case "fold":
                return self._shown.folded and self.head_at(self.cursor) != 0
            case "jump_back":
                return bool(self._back)
            case "clear":
                return self.search is not None or self.selected_from != 0 or self.wanted != EVERYTHING
        return True

    # ------------------------------------------------------------ jumping

    def jump_to(self, number: int) -> bool:
        """Shows a line, whatever hides it, and points at it for a moment; ``jump_back`` returns.

        Returns:
            Whether there is such a line.
        """
        if not 1 <= number <= len(self.lines):
            return False
        rows = self._shown.rows
        above = self._sheet.row(rows.index(self.cursor)) - self.scroll_offset.y if self.count and self.cursor else 0
        self._back.append(_Where(self.cursor, above, self.following))
        del self._back[:-_BACK_MOST]
        self._go(number)
        return True

    def jump_back(self) -> bool:
        """Returns to where the last jump began; says whether there was one."""
        if not self._back:
            return False
        where = self._back.pop()
        if where.following:
            self.following = True
        elif where.cursor:
            self._show_line(where.cursor, where.above)
        return True

    def action_jump_back(self) -> None:
        """Returns to where the last jump began."""
        self.jump_back()

    def reaches(self, number: int) -> bool:
        """Whether a line passes the filter, folded away or not."""
        if self._shown.rows.shows(number):
            return True
        mark = self.lines.mark(number)
        return bool(mark.head) and self._shown.rows.shows(mark.head)

    def show_search(self, search: Search | None) -> None:
        """Colours what matches."""
        self.search = search
        self._strips.clear()
        self.refresh()

    def show_match(self, number: int) -> None:
        """Shows a line that matches the search, and what of it matches."""
        self._show_line(number, self._page // 3)
        if self.search is None or not self._shown.rows.shows(number):
            return
        cells, room = self._sheet.cells(number), self._room
        spans = self.search.spans(cells.text, 0, len(cells.text))
        start, stop = spans[0] if spans else (0, 0)
        if self.wrapping:
            row = self._sheet.row(self._shown.rows.index(number)) + bisect_right(cells.rows(room), start) - 1
            if not self.scroll_offset.y <= row < self.scroll_offset.y + self._page:
                self._scroll(row - self._page // 3)
            return
        left = cells.column(start)
        right = min(cells.column(stop), left + _ENOUGH)
        seen = room - len(chip_of(self._texts.of(number).ruled)) - 1
        if not self.column <= left <= right <= self.column + seen:
            self.column = 0 if right <= seen else left - room // 3

    def _go(self, number: int) -> None:
        self.flash = number
        self._show_line(number, self._page // 3)
        self.set_timer(FLASH_SECONDS, lambda: self._end_flash(number))

    def _end_flash(self, number: int) -> None:
        if self.flash == number:
            self.flash = 0
            self.refresh()

    def _show_line(self, number: int, above: int) -> None:
        self.following = False
        self.selected_from = 0
        self._reveal(number)
        if self._building is not None:
            self._pending = number
            return
        rows = self._shown.rows
        if not self.count:
            return
        index = min(rows.index(number), self.count - 1)
        self.cursor = rows.line(index)
        near = self._in_sight(number)
        row = self._settled(index)
        if not near:
            self._scroll(row - above)
        self.refresh()
        self.post_message(self.Changed())

    def _reveal(self, number: int) -> None:
        """Opens the fold or drops the filter that hides a line."""
        shown = self._shown
        while shown.rows.last < number <= shown.newest and shown.rows.last + AT_ONCE >= number:
            shown.advance(ADVANCE)
            self._sheet.grow()
        if shown.rows.shows(number):
            return
        mark = self.lines.mark(number)
        hides = shown.wanted.picks or shown.wanted.hide_benign or not shown.wanted.first <= number <= shown.newest
        if mark.head and shown.folded and not hides:
            self.toggle_fold(mark.head)
            return
        if self.wanted != EVERYTHING or not shown.complete:
            opened = {*shown.opened, mark.head} - {0}
            self._build(EVERYTHING, opened=opened)

    def _replace(self, shown: Shown) -> None:
        super()._replace(shown)
        if self._pending and self._building is None:
            number, self._pending = self._pending, 0
            self._show_line(number, self._page // 3)

    # ------------------------------------------------------------ filters

    def action_filter(self) -> None:
        """All lines, errors, stages in turn."""
        turn = (EVERYTHING, ERRORS, STAGES)
        labels = [wanted.label for wanted in turn]
        place = labels.index(self.wanted.label) if self.wanted.label in labels else -1
        self.filter(replace(turn[(place + 1) % len(turn)], hide_benign=self.wanted.hide_benign))

    def action_only_rule(self) -> None:
        """Only lines of the rule of the line under the cursor, or all again."""
        self._only(of_rule(self._texts.of(self.cursor).ruled.rule) if self.cursor else EVERYTHING)

    def action_only_rank(self) -> None:
        """Only lines of the rank of the line under the cursor, or all again."""
        self._only(of_rank(self.lines.mark(self.cursor).rank) if self.cursor else EVERYTHING)

    def action_only_stage(self) -> None:
        """Only lines of the stage of the line under the cursor, or all again."""
        self._only(of_stage(self.phases, self.cursor))

    def _only(self, wanted: LineFilter) -> None:
        if self.wanted.narrow:
            self.filter(EVERYTHING)
        elif wanted.narrow:
            self.following = False
            self.filter(wanted)

    def action_hide_benign(self) -> None:
        """Hides lines that look alarming and are not, or shows them."""
        self.filter(replace(self.wanted, hide_benign=not self.wanted.hide_benign))

    def action_search(self) -> None:
        """Asks for the search bar."""
        self._on_search()

    def action_match(self, step: int) -> None:
        """Asks for another match."""
        self.post_message(self.MatchWanted(step))

    def action_clear(self) -> None:
        """Ends the selection, else the search, else the filter."""
        if self.selected_from:
            self.selected_from = 0
            self.refresh()
        elif self.search is not None:
            self.post_message(self.SearchEnded())
        else:
            self.filter(EVERYTHING)
        self.post_message(self.Changed())
