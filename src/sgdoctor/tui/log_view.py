"""The log: keys, mouse, folds, selection, jumps."""

from dataclasses import replace
from typing import ClassVar, Final, NamedTuple

from textual import events
from textual.message import Message

from sgdoctor.report.redact import redact
from sgdoctor.tui.log_canvas import ADVANCE, AT_ONCE, LogCanvas
from sgdoctor.tui.log_filter import ERRORS, EVERYTHING, STAGES, LineFilter, Shown, of_rank, of_rule
from sgdoctor.tui.log_keys import LOG_KEYS, MOVES, bindings
from sgdoctor.tui.log_search import Search
from sgdoctor.tui.log_words import count_log, say_log
from sgdoctor.watching.model import LineKind, Lines

COPY_MOST: Final = 5_000
"""Lines that are copied at once: terminals drop a clipboard of several MiB."""
FLASH_SECONDS: Final = 1.5
_STEP: Final = 8
_BACK_MOST: Final = 50


class _Where(NamedTuple):
    """A place to come back to."""

    cursor: int
    above: int
    following: bool


class LogView(LogCanvas):
    """Rows of a store of lines, with a cursor."""

    BINDINGS: ClassVar = bindings([*MOVES, *LOG_KEYS])

    class MatchWanted(Message):
        """The next match (``step`` 1) or the one before (-1) was asked for."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    class SearchWanted(Message):
        """The search bar was asked for."""

    class SearchEnded(Message):
        """The search is to be forgotten."""

    def __init__(self, lines: Lines, *, lang: str = "en", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(lines, lang=lang, id=id)
        self._back: list[_Where] = []
        self._pending = 0
        self._dragging = False
        self._dragged = False

    def show_lines(self, lines: Lines) -> None:
        """Shows another store, from its newest line on."""
        self._back.clear()
        self._pending = 0
        super().show_lines(lines)

    # ------------------------------------------------------------ moving

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's signature
        """Keys that mean nothing here at the moment are left to the app."""
        match action:
            case "copy_selection":
                return self.selected_from != 0
            case "match":
                return self.search is not None
            case "fold":
                return self._head_at(self.cursor) != 0
            case "jump_back":
                return bool(self._back)
            case "clear":
                return self.search is not None or self.selected_from != 0 or self.wanted != EVERYTHING
        return True

    def action_line_up(self) -> None:
        """Moves the cursor; through a wrapped line that is higher than the screen row by row."""
        self.selected_from = 0
        self._move(-1)

    def action_line_down(self) -> None:
        """Moves the cursor; at the end the log follows again."""
        self.selected_from = 0
        self._move(1)

    def action_extend(self, step: int) -> None:
        """Moves the cursor and selects what it passes."""
        if self.count:
            self.following = False
            self.selected_from = self.selected_from or self.cursor
            self._move(step)

    def action_page_up(self) -> None:
        """Moves by a page."""
        self._page_by(-1)

    def action_page_down(self) -> None:
        """Moves by a page."""
        self._page_by(1)

    def _page_by(self, step: int) -> None:
        self.selected_from = 0
        if step < 0:
            self.following = False
        target = self.scroll_offset.y + step * max(1, self._page - 1)
        self.scroll_to(y=max(0, min(target, self.max_scroll_y)), animate=False, immediate=True, force=True)
        if target < 0 or target > self.max_scroll_y:
            self._put(0 if step < 0 else self.count - 1)
            self.following = step > 0

    def action_scroll_home(self) -> None:
        """Moves to the first line."""
        self.selected_from = 0
        self.following = False
        self._put(0)
        self._scroll(0)

    def action_scroll_end(self) -> None:
        """Moves to the newest line and follows."""
        self.selected_from = 0
        self.following = True

    def action_follow(self) -> None:
        """Follows, or stops."""
        self.selected_from = 0
        self.following = not self.following

    def action_sideways(self, step: int) -> None:
        """Shows other columns of long lines."""
        if not self.wrapping:
            most = max(0, self._widest - self._room)
            self.column = max(0, min(self.column + step * _STEP, -(-most // _STEP) * _STEP))
            self.post_message(self.Changed())

    def action_wrap(self) -> None:
        """Breaks long lines into rows, or cuts them."""
        self.wrapping = not self.wrapping

    def action_as_written(self) -> None:
        """Shows what stood in front of lines, or leaves it out."""
        self.as_written = not self.as_written

    def _move(self, step: int) -> None:
        if not self.count:
            return
        if step < 0:
            self.following = False
        rows = self._shown.rows
        index = min(rows.index(self.cursor), self.count - 1)
        row, height = self._sheet.row(index), self._sheet.height(index)
        above = self.scroll_offset.y - row
        below = row + height - self.scroll_offset.y - self._page
        if height > self._page and (above > 0 if step < 0 else below > 0):
            self._scroll(self.scroll_offset.y + step)
            self.refresh()
            return
        self._put(index + step)
        if step > 0 and index + step >= self.count - 1 and not self.selected_from:
            self.following = True

    def _put(self, index: int) -> None:
        """Puts the cursor on a row and brings it into sight."""
        if not self.count:
            return
        index = max(0, min(index, self.count - 1))
        self.cursor = self._shown.rows.line(index)
        row = self._settled(index)
        height = min(self._sheet.height(index), self._page)
        if row < self.scroll_offset.y:
            # From below, the end of a high line comes first.
            self._scroll(row + self._sheet.height(index) - height)
        elif row + height > self.scroll_offset.y + self._page:
            self._scroll(row + height - self._page)
        self.refresh()
        self.post_message(self.Changed())

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
        """Shows a line that matches the search."""
        self._show_line(number, self._page // 3)

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
            self._toggle(mark.head)
            return
        if self.wanted != EVERYTHING or not shown.complete:
            opened = {*shown.opened, mark.head} - {0}
            self._build(EVERYTHING, opened=opened)

    def _replace(self, shown: Shown) -> None:
        super()._replace(shown)
        if self._pending and self._building is None:
            number, self._pending = self._pending, 0
            self._show_line(number, self._page // 3)

    # ------------------------------------------------------------ folds and filters

    def _head_at(self, number: int) -> int:
        """The head of the fold that a line belongs to; 0 if it belongs to none."""
        if not 1 <= number <= len(self.lines):
            return 0
        mark = self.lines.mark(number)
        return number if mark.kind is LineKind.TRACEBACK_HEAD else mark.head

    def action_fold(self) -> None:
        """Opens or closes the fold under the cursor."""
        head = self._head_at(self.cursor)
        if head:
            self.following = False
            self._toggle(head)

    def action_fold_all(self) -> None:
        """Opens all folds, or closes them."""
        self._build(self.wanted, folded=not self._shown.folded)

    def _toggle(self, head: int) -> None:
        top = self._top()
        place = self._shown.rows.index(head)
        if not self._shown.folded:
            # All are open: fold them, but for what one wants to see.
            return
        self._shown.toggle(head)
        if not self._shown.rows.shows(self.cursor) and self._shown.rows.shows(head):
            self.cursor = head
        self._texts.clear()
        self._sheet.cut(place)
        self._fit(top)

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

    def _only(self, wanted: LineFilter) -> None:
        if self.wanted.rule or self.wanted.rank:
            self.filter(EVERYTHING)
        elif wanted.rule or wanted.rank:
            self.following = False
            self.filter(wanted)

    def action_hide_benign(self) -> None:
        """Hides lines that look alarming and are not, or shows them."""
        self.filter(replace(self.wanted, hide_benign=not self.wanted.hide_benign))

    def action_search(self) -> None:
        """Asks for the search bar."""
        self.post_message(self.SearchWanted())

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

    # ------------------------------------------------------------ copying

    def selected_text(self) -> tuple[str, int, int]:
        """The selected lines, else the one under the cursor, with secrets hidden; how many, and out of how many."""
        rows = self._shown.rows
        first, last = self.selected or (self.cursor, self.cursor)
        if not self.count or not first:
            return "", 0, 0
        start, stop = rows.index(first), min(rows.index(last), self.count - 1)
        read = self.lines.raw if self.as_written else self.lines.text
        total = stop - start + 1
        taken = min(total, COPY_MOST)
        return "\n".join(redact(read(rows.line(index))) for index in range(start, start + taken)), taken, total

    def action_copy_lines(self) -> None:
        """Copies the selected lines through the terminal."""
        text, taken, total = self.selected_text()
        if not taken:
            return
        self.app.copy_to_clipboard(text)
        if taken < total:
            self.notify(say_log(self.lang, "copied.cut", count=taken, total=total))
        else:
            self.notify(count_log(self.lang, "copied", taken))

    def action_copy_selection(self) -> None:
        """Copies the selected lines and ends the selection."""
        self.action_copy_lines()
        self.selected_from = 0
        self.refresh()

    # ------------------------------------------------------------ mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The line under the mouse becomes the cursor; with shift it ends the selection."""
        if event.button != 1 or event.x >= self._width or not self.count:
            return
        self.focus()
        # A pressed button on a running log would select lines that nobody pointed at.
        self.following = False
        number = self._line_at(event.y)
        self.selected_from = (self.selected_from or self.cursor) if event.shift else 0
        self.cursor = number
        self._dragging, self._dragged = True, event.shift
        self.capture_mouse()
        self.refresh()
        self.post_message(self.Changed())

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Selects lines; beyond the edge the log scrolls."""
        if not self._dragging or not self.count:
            return
        if event.y < 0 or event.y >= self._page:
            self._scroll(self.scroll_offset.y + (-1 if event.y < 0 else 1))
        number = self._line_at(max(0, min(event.y, self._page - 1)))
        if number != self.cursor:
            self.selected_from = self.selected_from or self.cursor
            self.cursor = number
            self._dragged = True
            self.refresh()
            self.post_message(self.Changed())

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """A click on the head of a fold opens it."""
        if not self._dragging:
            return
        self._dragging = False
        self.release_mouse()
        if not self._dragged and self._head_at(self.cursor) == self.cursor:
            self._toggle(self.cursor)
        event.stop()

    def on_mouse_scroll_left(self, event: events.MouseScrollLeft) -> None:
        """Shows columns to the left."""
        event.stop()
        event.prevent_default()
        self.action_sideways(-1)

    def on_mouse_scroll_right(self, event: events.MouseScrollRight) -> None:
        """Shows columns to the right."""
        event.stop()
        event.prevent_default()
        self.action_sideways(1)

    def _line_at(self, y: int) -> int:
        index, _ = self._sheet.locate(self.scroll_offset.y + y)
        return self._shown.rows.line(min(index, self.count - 1))
