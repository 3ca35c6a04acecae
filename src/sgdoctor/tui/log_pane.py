"""The log pane: a title that says what is shown, the lines, a search bar."""

from dataclasses import replace
from time import monotonic, sleep
from typing import Final, Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input
from textual.worker import get_current_worker

from sgdoctor.report.redact import Redactor, redact
from sgdoctor.tui.log_canvas import LogCanvas
from sgdoctor.tui.log_filter import EVERYTHING, LineFilter
from sgdoctor.tui.log_search import BREATH, MOST, Search
from sgdoctor.tui.log_search_bar import SearchBar, SearchInput
from sgdoctor.tui.log_view import LogView
from sgdoctor.tui.log_words import count_log, say_log
from sgdoctor.tui.view import View
from sgdoctor.watching.model import Lines

_TITLE_SECONDS: Final = 0.05
# The title is part of the frame, and a frame is painted with all that is in it.
_BUSY_TITLE_SECONDS: Final = 0.5
_TYPING_SECONDS: Final = 0.15
_PROGRESS_SECONDS: Final = 0.1
_TAIL_SECONDS: Final = 0.5
_MOST_HIDDEN: Final = 10_000


class LogPane(Vertical):
    """The log of what is watched.

    Args:
        lines: all lines; more may be appended at any time (see ``wake``).
        lang: ``en`` or ``zh``.
        hide: takes secrets out of what is shown and copied; ``str`` leaves them.
    """

    DEFAULT_CSS = """
    LogPane {
        border: round $border-blurred;
        border-title-color: $foreground;
        &:focus-within { border: round $border; }
        & > LogView { height: 1fr; }
    }
    """

    class Searched(Message):
        """A slice of the log was searched."""

        def __init__(self, search: Search) -> None:
            self.search = search
            super().__init__()

        def can_replace(self, message: Message) -> bool:
            """The newest one is enough."""
            return isinstance(message, LogPane.Searched) and message.search is self.search

    def __init__(
        self,
        lines: Lines,
        *,
        lang: str = "en",
        hide: Redactor = redact,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.view = LogView(lines, lang=lang, hide=hide, on_search=self.start_search)
        self.regex = False
        """Whether the pattern is a regular expression."""
        self._bar = SearchBar()
        self._number = ""
        self._chosen: int | None = None
        self._problem = ""
        self._origin = 0
        self._upwards = False
        self._unseen = False
        self._title_timer: Timer | None = None
        self._title: Content | None = None
        self._titled: tuple[object, ...] = ()
        self._typing: Timer | None = None
        self._searching = False
        self._tail_at = 0.0

    def compose(self) -> ComposeResult:
        """The lines, and the bar below them."""
        yield self.view
        yield self._bar

    def on_mount(self) -> None:
        """Shows what there is."""
        self.view.look()
        self._tell()

    # ------------------------------------------------------------ what the app asks

    def wake(self) -> None:
        """Says that there may be new lines; any thread may call it, as often as it likes."""
        self.view.wake()

    def show_lines(self, lines: Lines) -> None:
        """Shows another store."""
        self.end_search()
        self.view.show_lines(lines)

    def jump_to(self, number: int) -> bool:
        """Shows a line, whatever hides it, and points at it; says whether there is such a line."""
        return self.view.jump_to(number)

    def jump_back(self) -> bool:
        """Returns to where the last jump began; says whether there was one."""
        return self.view.jump_back()

    def filter(self, wanted: LineFilter) -> None:
        """Shows only the lines that are wanted (``EVERYTHING``: all); harmless lines stay hidden if they were."""
        self.view.filter(replace(wanted, hide_benign=wanted.hide_benign or self.view.wanted.hide_benign))

    def show_in(self, lang: str) -> None:
        """Changes the language."""
        self.view.show_in(lang)
        self._tell()
        self._tell_search()

    def show(self, view: View) -> None:
        """Follows the language, and goes to the start that the user chose."""
        number = view.key("pane('log')")
        if (number, view.lang) != (self._number, self.view.lang):
            self._number = number
            self.show_in(view.lang)
        if view.snapshot is not None:
            self.view.phases = view.snapshot.verdict.phases
        if view.chosen != self._chosen and view.snapshot is not None:
            self._chosen = view.chosen
            first = {attempt.number: attempt.first_line for attempt in view.snapshot.attempts}.get(view.chosen or 0)
            if first is not None:
                self.view.jump_to(first)
            elif view.chosen is None:
                self.view.following = True

    def focus(self, scroll_visible: bool = True) -> Self:  # noqa: FBT001, FBT002 - Textual's signature
        """Gives the keyboard to the lines."""
        self.view.focus(scroll_visible)
        return self

    # ------------------------------------------------------------ title

    @on(LogCanvas.Changed)
    def _changed(self, event: LogCanvas.Changed) -> None:
        event.stop()
        self._search_tail()
        if self._title_timer is None:
            busy = self.view.following and self._titled == self._title_key()
            self._title_timer = self.set_timer(_BUSY_TITLE_SECONDS if busy else _TITLE_SECONDS, self._tell)

    def _tell(self) -> None:
        if self._title_timer is not None:
            self._title_timer.stop()
            self._title_timer = None
        self._titled = self._title_key()
        title = self.title_content()
        if title != self._title:
            self._title = title
            self.border_title = title

    def _title_key(self) -> tuple[object, ...]:
        """What the title tells apart from numbers that run."""
        view = self.view
        return view.following, view.wanted, view.search, view.selected, view.looking, view.column

    def title_content(self) -> Content:
        """What is shown, in one line: following or where, the filter, how many lines."""
        view, lang = self.view, self.view.lang
        parts = [say_log(lang, "following") if view.following else say_log(lang, "paused")]
        parts.append(view.wanted.label.in_language(lang))
        if view.wanted.hide_benign:
            parts.append(say_log(lang, "no_benign"))
        total = len(view.lines)
        if view.looking:
            parts.append(say_log(lang, "looking"))
        elif view.wanted == EVERYTHING:
            parts.append(count_log(lang, "count", total))
        else:
            parts.append(say_log(lang, "count.of", count=view.count, total=total))
        if not view.following and view.cursor:
            parts.append(say_log(lang, "place", number=view.cursor))
        if view.selected:
            parts.append(say_log(lang, "selected", count=view.selected[1] - view.selected[0] + 1))
        if view.column:
            parts.append(say_log(lang, "column", number=view.column + 1))
        if view.search is not None and not self._bar.is_open:
            parts.append(f"/{view.search.pattern}: {self._count_text(view.search)}")
        return Content.assemble((f"{self._number} {say_log(lang, 'title')}".strip(), "bold"), "  ", " ─ ".join(parts))

    # ------------------------------------------------------------ search

    def start_search(self) -> None:
        """Opens the search bar."""
        self._origin = self.view.cursor
        self._upwards = self.view.following
        self._bar.open(self.view.lang)
        self._tell_search()

    def end_search(self) -> None:
        """Forgets the search and closes its bar."""
        self._set_search(None)
        self._problem = ""
        self._close()

    def search(self, pattern: str, *, regex: bool = False) -> bool:
        """Searches for a text or a regular expression; says whether the pattern is one."""
        self.regex = regex
        return self._start(pattern)

    def next_match(self, step: int = 1) -> bool:
        """Goes to the next match below (above with -1), also to one that is folded away; says whether there is one."""
        search, view = self.view.search, self.view
        if search is None:
            return False
        number = view.cursor
        narrow = view.wanted != EVERYTHING
        for _ in range(min(len(search.matches), _MOST_HIDDEN)):
            found = search.next(number, step)
            if found is None:
                break
            if not narrow or view.reaches(found):
                view.show_match(found)
                self._tell_search()
                return True
            number = found
        return False

    def _close(self) -> None:
        if self._bar.close():
            self.view.focus()
        self._tell()

    def _set_search(self, search: Search | None) -> None:
        self.workers.cancel_group(self, "log-search")
        self._searching = False
        self.view.show_search(search)

    def _start(self, pattern: str, *, typed: bool = False) -> bool:
        self._problem = ""
        if not pattern:
            self._set_search(None)
            self._tell_search()
            return True
        try:
            search = Search(self.view.lines, pattern, regex=self.regex)
        except ValueError as error:
            self._problem = str(error)
            self._set_search(None)
            self._tell_search()
            return False
        self._set_search(search)
        self._unseen = typed
        self._work(search)
        self._tell_search()
        return True

    def _work(self, search: Search) -> None:
        self._searching = True

        def work() -> None:
            worker = get_current_worker()
            told = monotonic()
            while not worker.is_cancelled and search.advance():
                sleep(BREATH)
                if monotonic() - told >= _PROGRESS_SECONDS:
                    told = monotonic()
                    self.post_message(self.Searched(search))
            if not worker.is_cancelled:
                self.post_message(self.Searched(search))

        self.run_worker(work, thread=True, exclusive=True, group="log-search")

    @on(Searched)
    def _searched(self, event: Searched) -> None:
        event.stop()
        search = event.search
        if search is not self.view.search:
            return
        if search.error:
            self._problem = search.error
        if search.complete or search.searched >= search.total:
            self._searching = False
            self._tail_at = monotonic() + _TAIL_SECONDS
        if self._unseen and search.matches:
            # Typing shows the first match from where the search began; from the newest line on, the newest one.
            found = search.next(len(self.view.lines) + 1, -1) if self._upwards else search.next(self._origin - 1, 1)
            if found is not None and (not self._searching or (not self._upwards and found >= self._origin)):
                self._unseen = False
                self.view.show_match(found)
        self._tell_search()
        self._tell()

    def _search_tail(self) -> None:
        search = self.view.search
        if search is None or self._searching or search.complete or monotonic() < self._tail_at:
            return
        self._work(search)

    def _count_text(self, search: Search) -> str:
        lang = self.view.lang
        count = len(search.matches)
        if search.full:
            text = say_log(lang, "search.more", count=MOST)
        elif not count:
            text = say_log(lang, "search.none")
        elif place := search.place(self.view.cursor):
            text = say_log(lang, "search.place", place=place, count=count)
        else:
            text = count_log(lang, "search.count", count)
        if self._searching and search.searched < search.total:
            text += " " + say_log(lang, "search.percent", percent=search.searched * 100 // search.total)
        return text

    def _tell_search(self) -> None:
        lang, search = self.view.lang, self.view.search
        if self._problem:
            text = say_log(lang, "search.error", text=self._problem)
        else:
            text = self._count_text(search) if search is not None else ""
        self._bar.tell(lang, text, regex=self.regex, wrong=bool(self._problem))

    @on(LogView.SearchEnded)
    def _search_ended(self, event: LogView.SearchEnded) -> None:
        event.stop()
        self.end_search()

    @on(LogView.MatchWanted)
    def _match_wanted(self, event: LogView.MatchWanted) -> None:
        event.stop()
        self.next_match(event.step)

    @on(SearchInput.MatchWanted)
    def _match_wanted_while_typing(self, event: SearchInput.MatchWanted) -> None:
        event.stop()
        self.next_match(event.step)

    @on(SearchInput.RegexToggled)
    def _regex_toggled(self, event: SearchInput.RegexToggled) -> None:
        event.stop()
        self.regex = not self.regex
        self._start(self._bar.input.value, typed=True)

    @on(SearchInput.Left)
    def _left(self, event: SearchInput.Left) -> None:
        event.stop()
        self.end_search()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(_TYPING_SECONDS, self._search_typed)

    def _search_typed(self) -> None:
        self._typing = None
        self._start(self._bar.input.value, typed=True)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._typing is not None:
            self._typing.stop()
            self._search_typed()
        if self._problem:
            return
        self._close()
