"""Rows of a log in step with its store: new lines, filters, what stands at the top."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Final, NamedTuple

from textual.geometry import Size
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import get_current_worker

from sgdoctor.report.redact import Redactor, redact
from sgdoctor.tui.log_filter import LineFilter, Shown
from sgdoctor.tui.log_paper import DIGITS, LogPaper
from sgdoctor.tui.log_search import BREATH
from sgdoctor.tui.log_texts import RECENT
from sgdoctor.watching.model import Lines

TICK: Final = 1 / 30
"""Seconds between two looks at the store, at least."""
ADVANCE: Final = 100_000
"""Lines that are considered in one tick: a store says in a few milliseconds which of them are shown."""
AT_ONCE: Final = 200_000
"""Up to this many lines a change of the filter is carried out at once, beyond it by a worker."""
WORK: Final = 20_000
"""Lines that a worker considers in one go: in between the screen gets its turn."""
_FRESHEN_SECONDS: Final = 1.0


class Place(NamedTuple):
    """What stands at the top: number of the line, and which of its rows."""

    number: int
    part: int


class LogCanvas(LogPaper):
    """Rows in step with a store of lines. It holds numbers of lines, never their texts.

    Args:
        lines: what to show.
        lang: ``en`` or ``zh``.
        hide: takes secrets out of what is shown and copied; ``str`` leaves them.
    """

    class Changed(Message):
        """Something that the title tells is different now."""

        def can_replace(self, message: Message) -> bool:
            """The newest one is enough."""
            return isinstance(message, LogCanvas.Changed)

    class Woken(Message):
        """There may be new lines."""

    class Rebuilt(Message):
        """A worker has the rows of another filter."""

        def __init__(self, shown: Shown) -> None:
            self.shown = shown
            super().__init__()

    def __init__(
        self,
        lines: Lines,
        *,
        lang: str = "en",
        hide: Redactor = redact,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(lines, lang=lang, hide=hide, id=id)
        self._revision = -1
        self._woken = False
        self._looked = 0.0
        self._timer: Timer | None = None
        self._building: Shown | None = None
        self._stale = False
        self._quiet = 0

    # ------------------------------------------------------------ what others ask

    @property
    def wanted(self) -> LineFilter:
        """The filter in force, or being brought into force."""
        return (self._building or self._shown).wanted

    @property
    def looking(self) -> bool:
        """Whether the lines are still being gone through for the filter."""
        return self._building is not None or super().looking

    # ------------------------------------------------------------ new lines

    def wake(self) -> None:
        """Says that there may be new lines; for any thread and every line. The view looks 30 times a second at most."""
        if not self._woken and self.is_running:
            # Set before the message is on its way: it may be answered before `post_message` returns.
            self._woken = True
            if not self.post_message(self.Woken()):
                self._woken = False

    def on_log_canvas_woken(self, event: Woken) -> None:
        """Looks now, or when it is time again."""
        event.stop()
        if monotonic() - self._looked >= TICK:
            self.look()
        else:
            self._look_later()

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = self.set_timer(max(0.001, self._looked + TICK - monotonic()), self._look_now)

    def _look_now(self) -> None:
        self._timer = None
        self.look()

    def look(self) -> None:
        """Takes in what is new in the store, and paints it if it can be seen."""
        # Cleared before the length is read: lines that come meanwhile wake the view again.
        self._woken = False
        self._looked = monotonic()
        before = self.count
        top = self._top()
        if self._marks_changed():
            self._fit(top)
        elif self._shown.advance(ADVANCE):
            self._grow(before)
        if not self._shown.complete:
            self._look_later()

    def _marks_changed(self) -> bool:
        revision = self.lines.revision()
        if revision == self._revision:
            return False
        self._revision = revision
        shown = self._shown
        first = 1
        if shown.rows.last > AT_ONCE:
            # The newest lines are looked at again now, all of them by a worker and not too often.
            first = shown.rows.last - RECENT
            if not self._stale and self._building is None:
                self.set_timer(_FRESHEN_SECONDS, self._freshen)
            self._stale = True
        self._texts.clear()
        place = shown.rows.index(first)
        shown.cut(first)
        shown.advance(max(ADVANCE, AT_ONCE))
        self._sheet.cut(place)
        return True

    def _freshen(self) -> None:
        if self._stale and self._building is None:
            self._build(self.wanted)

    # ------------------------------------------------------------ filter

    def show_lines(self, lines: Lines) -> None:
        """Shows another store, from its newest line on."""
        folded = self._shown.folded
        self._texts.lines = lines
        self._texts.clear()
        self.search = self._building = None
        self.cursor = self.selected_from = 0
        self._revision = -1
        self._widest = self.column = 0
        self._sheet.replace(Shown(lines, folded=folded))
        self.following = True
        self._fit(None)
        self.look()

    def filter(self, wanted: LineFilter) -> None:
        """Shows only the lines that are wanted; the line under the cursor stays in sight if it is one of them."""
        self._build(wanted)

    def _build(self, wanted: LineFilter, *, folded: bool | None = None, opened: Iterable[int] | None = None) -> None:
        """Goes through the lines for another filter or other folds; what is not given stays."""
        shown = Shown(
            self.lines,
            wanted,
            folded=self._shown.folded if folded is None else folded,
            opened=self._shown.opened if opened is None else opened,
        )
        self._stale = False
        if len(self.lines) <= AT_ONCE:
            self._building = None
            shown.advance(AT_ONCE)
            self._replace(shown)
            return
        self._building = shown
        self.post_message(self.Changed())

        def work() -> None:
            worker = get_current_worker()
            while not worker.is_cancelled and shown.advance(WORK):
                sleep(BREATH)
            if not worker.is_cancelled:
                self.post_message(self.Rebuilt(shown))

        self.run_worker(work, thread=True, exclusive=True, group="log-rows")

    def on_log_canvas_rebuilt(self, event: Rebuilt) -> None:
        """The worker is done."""
        event.stop()
        if event.shown is self._building:
            self._building = None
            self._replace(event.shown)
            if self._stale:
                self.set_timer(_FRESHEN_SECONDS, self._freshen)

    def _replace(self, shown: Shown) -> None:
        top = self._top()
        kept = Place(self.cursor, 0) if self._in_sight(self.cursor) and shown.rows.shows(self.cursor) else top
        above = self._sheet.row(self._shown.rows.index(self.cursor)) - self.scroll_offset.y if kept is not top else 0
        self._texts.clear()
        self._sheet.replace(shown)
        self._fit(kept, above)
        self.wake()

    def show_in(self, lang: str) -> None:
        """Changes the language."""
        if lang != self._texts.lang:
            self._texts.lang = lang
            self._retell()

    def _retell(self) -> None:
        """Lines read differently now."""
        self.parts = None
        top = self._top()
        self._texts.clear()
        self._sheet.renew()
        self._fit(top)

    # ------------------------------------------------------------ geometry

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Scrolls without that meaning anything."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    def _top(self) -> Place | None:
        if not self.count:
            return None
        index, part = self._sheet.locate(self.scroll_offset.y)
        return Place(self._shown.rows.line(index), part)

    def _in_sight(self, number: int) -> bool:
        if not number or not self._shown.rows.shows(number):
            return False
        row = self._sheet.row(self._shown.rows.index(number))
        return self.scroll_offset.y <= row < self.scroll_offset.y + self._page

    def _grow(self, before: int) -> None:
        """There are more rows at the end."""
        full = self._sheet.total - self.scroll_offset.y >= self._page and before > 0
        self._sheet.grow()
        if len(str(len(self.lines))) > self._digits:
            self._fit(self._top())
            return
        for number in self._growing:
            self._sheet.forget(number)
        self._set_size()
        if self.following:
            self._to_end()
        elif not full or self._growing:
            self.refresh()
        self._growing.clear()
        self.post_message(self.Changed())

    def _fit(self, top: Place | None, above: int = 0) -> None:
        """Rows are other ones now: keeps a line ``above`` rows below the top, or the end in sight."""
        self._digits = max(DIGITS, len(str(len(self.lines))))
        self._sheet.set_width(self._room if self.wrapping else 0)
        self._sheet.grow()
        self._strips.clear()
        self._set_size()
        if self.following:
            self._to_end()
        elif top is not None and self.count:
            shows = self._shown.rows.shows(top.number)
            index = min(self._shown.rows.index(top.number), self.count - 1)
            self._scroll(self._settled(index) + (top.part if shows else 0) - above)
        self.keep_cursor()
        self.refresh()
        self.post_message(self.Changed())

    def _settled(self, index: int) -> int:
        """The row of a line, after what stands around it was measured."""
        self._sheet.settle(index - self._page, index + self._page)
        row = self._sheet.row(index)
        self._set_size()
        return row

    def _set_size(self) -> None:
        size = Size(self._width, self._sheet.total)
        if size == self.virtual_size:
            return
        # Setting `virtual_size` asks for a layout of the whole screen, which thirty times a second is too much; the
        # scroll bar always has its column, so nothing but its thumb can change.
        self.set_reactive(Widget.virtual_size, size)
        with self._quietly():
            self._scroll_update(size)

    def _scroll(self, row: float) -> None:
        with self._quietly():
            self.scroll_to(y=max(0, min(row, self.max_scroll_y)), animate=False, immediate=True, force=True)

    def _to_end(self) -> None:
        self._sheet.settle_end(self._page)
        self._set_size()
        if self.count:
            self.cursor = self._shown.rows.line(self.count - 1)
        self._scroll(self.max_scroll_y)
        self.refresh()

    def _size_updated(
        self,
        size: Size,
        virtual_size: Size,
        container_size: Size,
        layout: bool = True,  # noqa: FBT001, FBT002 - Textual's signature
    ) -> bool:
        top = self._top()
        with self._quietly():
            updated = super()._size_updated(size, virtual_size, container_size, layout)
        if updated:
            self._width = max(1, self.scrollable_content_region.width)
            self._fit(top)
        return updated

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Going up ends following, reaching the end resumes it."""
        super().watch_scroll_y(old_value, new_value)
        if self._quiet or round(old_value) == round(new_value):
            return
        if new_value < old_value:
            self.following = False
        if self.wrapping and self.count:
            # What was an estimate is measured before it is seen; what is in sight stays where it is.
            index, part = self._sheet.locate(round(new_value))
            self._scroll(self._settled(index) + part)
        if new_value > old_value and self.scroll_offset.y >= self.max_scroll_y:
            self.following = True
        self.keep_cursor()
        self.post_message(self.Changed())

    def watch_following(self) -> None:
        """The end comes into sight; the cursor is seen only where it stays."""
        if self.following and self.is_mounted:
            self._to_end()
        self.refresh()
        self.post_message(self.Changed())

    def watch_wrapping(self) -> None:
        """The same line stays at the top."""
        top = self._top()
        self.column = 0
        self._sheet.set_width(self._room if self.wrapping else 0)
        self._fit(Place(top.number, 0) if top else None)

    def watch_as_written(self) -> None:
        """Lines are told anew."""
        self._texts.as_written = self.as_written
        self._retell()

    def keep_cursor(self) -> None:
        """Takes the cursor along with what is in sight."""
        rows = self._shown.rows
        if not self.count or self.selected_from:
            return
        top, _ = self._sheet.locate(self.scroll_offset.y)
        bottom, _ = self._sheet.locate(min(self.scroll_offset.y + self._page, self._sheet.total) - 1)
        index = min(rows.index(self.cursor), self.count - 1)
        self.cursor = rows.line(max(top, min(index, bottom)))
