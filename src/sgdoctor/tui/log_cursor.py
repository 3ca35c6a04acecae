"""The cursor of the log: moving, selecting, copying, with keys and the mouse."""

from typing import Final

from textual import events

from sgdoctor.report.redact import Redactor, redact
from sgdoctor.tui.log_artist import gutter_width
from sgdoctor.tui.log_canvas import LogCanvas
from sgdoctor.tui.log_filter import fold_members
from sgdoctor.tui.log_paper import WHOLE
from sgdoctor.tui.log_words import count_log, say_log
from sgdoctor.watching.model import LineKind, Lines

COPY_MOST: Final = 5_000
"""Lines that are copied at once: terminals drop a clipboard of several MiB."""
_STEP: Final = 8


class LogCursor(LogCanvas):
    """Rows with a cursor."""

    def __init__(
        self,
        lines: Lines,
        *,
        lang: str = "en",
        hide: Redactor = redact,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(lines, lang=lang, hide=hide, id=id)
        self._dragging = False
        self._dragged = False
        self._pressed: tuple[int, int | None] = (0, None)
        """Where the button was pressed: the line, and the character if it was in the text."""

    # ------------------------------------------------------------ moving

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
            self.parts = None
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

    # ------------------------------------------------------------ folds

    def head_at(self, number: int) -> int:
        """The head of the fold that a line belongs to; 0 if it belongs to none."""
        if not 1 <= number <= len(self.lines):
            return 0
        mark = self.lines.mark(number)
        return number if mark.kind is LineKind.TRACEBACK_HEAD else mark.head

    def action_fold(self) -> None:
        """Opens or closes the fold under the cursor."""
        head = self.head_at(self.cursor)
        if head:
            self.following = False
            self.toggle_fold(head)

    def action_fold_all(self) -> None:
        """Opens all folds, or closes them."""
        self._build(self.wanted, folded=not self._shown.folded)

    def toggle_fold(self, head: int) -> None:
        """Opens or closes one fold."""
        top = self._top()
        place = self._shown.rows.index(head)
        self._shown.toggle(head)
        if not self._shown.rows.shows(self.cursor) and self._shown.rows.shows(head):
            self.cursor = head
        self._texts.clear()
        self._sheet.cut(place)
        self._fit(top)

    # ------------------------------------------------------------ copying

    def selected_text(self) -> tuple[str, int, int]:
        """The selected lines or text, else the line under the cursor; how many lines, and out of how many."""
        rows = self._shown.rows
        first, last = self.selected or (self.cursor, self.cursor)
        if not self.count or not first:
            return "", 0, 0
        numbers: list[int] = []
        for index in range(rows.index(first), min(rows.index(last), self.count - 1) + 1):
            number = rows.line(index)
            numbers.append(number)
            is_head = self.lines.mark(number).kind is LineKind.TRACEBACK_HEAD
            if is_head and not self._is_open(number) and self.marked(number) in (WHOLE, None):
                # What is folded away is part of what one sees.
                numbers += fold_members(self.lines, number)
            if len(numbers) > COPY_MOST:
                break
        numbers.sort()
        total = max(len(numbers), rows.index(last) - rows.index(first) + 1)
        text = "\n".join(self._selected_of(number) for number in numbers[:COPY_MOST])
        return text, min(len(numbers), COPY_MOST), total

    def _selected_of(self, number: int) -> str:
        marked = self.marked(number)
        if marked is None or marked == WHOLE:
            return self._texts.read(number)
        return self._sheet.cells(number).text[marked]

    def action_copy_lines(self) -> None:
        """Copies the selected lines through the terminal."""
        text, taken, total = self.selected_text()
        if not taken:
            return
        self.app.copy_to_clipboard(text)
        if taken < total:
            self.notify(say_log(self.lang, "copied.cut", count=taken, total=total))
        elif self.selected_from and self.parts:
            self.notify(say_log(self.lang, "copied.part"))
        else:
            self.notify(count_log(self.lang, "copied", taken))

    def action_copy_selection(self) -> None:
        """Copies the selected lines and ends the selection."""
        self.action_copy_lines()
        self.selected_from = 0
        self.refresh()

    # ------------------------------------------------------------ mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """The line under the mouse becomes the cursor; with shift it ends the selection, of whole lines."""
        if event.button != 1 or event.x >= self._width or not self.count:
            return
        self.focus()
        # A pressed button on a running log would select lines that nobody pointed at.
        self.following = False
        number = self._line_at(event.y)
        self.selected_from = (self.selected_from or self.cursor) if event.shift else 0
        self.cursor, self.parts = number, None
        self._pressed = (number, None if event.shift else self._character_at(event.x, event.y))
        self._dragging, self._dragged = True, event.shift
        self.capture_mouse()
        self.refresh()
        self.post_message(self.Changed())

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Selects text, or whole lines from their numbers on; beyond the edge the log scrolls."""
        if not self._dragging or not self.count:
            return
        if event.y < 0 or event.y >= self._page:
            self._scroll(self.scroll_offset.y + (-1 if event.y < 0 else 1))
        y = max(0, min(event.y, self._page - 1))
        number = self._line_at(y)
        line, character = self._pressed
        parts = None if character is None else (character, self._character_at(event.x, y) or 0)
        moved = number != line or (parts is not None and parts[0] != parts[1])
        if (moved or self._dragged) and (number, parts) != (self.cursor, self.parts):
            self.selected_from = self.selected_from or line
            self.cursor, self.parts = number, parts
            self._dragged = True
            self.refresh()
            self.post_message(self.Changed())

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """A click on the head of a fold opens it."""
        if not self._dragging:
            return
        self._dragging = False
        self.release_mouse()
        if not self._dragged and self._shown.folded and self.head_at(self.cursor) == self.cursor:
            self.toggle_fold(self.cursor)
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

    def _character_at(self, x: int, y: int) -> int | None:
        """Which character of its line stands there; None in front of the text."""
        left = x - gutter_width(self._digits)
        index, part = self._sheet.locate(self.scroll_offset.y + y)
        if left < 0 or index >= self.count:
            return None
        cells = self._sheet.cells(self._shown.rows.line(index))
        if not self.wrapping:
            return cells.index(self.column + left)
        starts = cells.rows(self._room)
        return cells.index(cells.column(starts[min(part, len(starts) - 1)]) + left)

    def _line_at(self, y: int) -> int:
        index, _ = self._sheet.locate(self.scroll_offset.y + y)
        return self._shown.rows.line(min(index, self.count - 1))
