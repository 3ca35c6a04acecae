"""Where the pattern of a search is typed."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from sgdoctor.tui.log_words import say_log


class SearchInput(Input):
    """The text to look for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "toggle_regex", "text or regular expression", show=False),
        Binding("escape", "leave", "end the search", show=False),
        Binding("down", "match(1)", "next match", show=False),
        Binding("up", "match(-1)", "match before", show=False),
    ]

    class RegexToggled(Message):
        """Text or regular expression."""

    class Left(Message):
        """The search is to end."""

    class MatchWanted(Message):
        """Another match was asked for."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    def action_toggle_regex(self) -> None:
        """Looks for a text or for a regular expression."""
        self.post_message(self.RegexToggled())

    def action_leave(self) -> None:
        """Ends the search."""
        self.post_message(self.Left())

    def action_match(self, step: int) -> None:
        """Goes to another match while the pattern can still be changed."""
        self.post_message(self.MatchWanted(step))


class SearchBar(Horizontal):
    """The pattern, what it is, and how many lines match."""

    DEFAULT_CSS = """
    SearchBar {
        height: 1;
        display: none;
        dock: bottom;
        &.-open { display: block; }
        & SearchInput, & SearchInput:focus { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & .search--label { width: auto; }
        & .search--kind { width: auto; padding: 0 1; color: $text-accent; }
        & .search--count { width: auto; max-width: 60%; padding: 0 1; color: $foreground 70%; }
        & .search--count.-wrong { color: $text-error; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.input = SearchInput(compact=True)
        self._kind = Static(classes="search--kind")
        self._found = Static(classes="search--count")

    def compose(self) -> ComposeResult:
        """From left to right."""
        yield Static("/", classes="search--label")
        yield self.input
        yield self._kind
        yield self._found

    @property
    def is_open(self) -> bool:
        """Whether it can be seen."""
        return self.has_class("-open")

    def open(self, lang: str) -> None:
        """Shows itself, ready for a pattern."""
        self.add_class("-open")
        self.input.placeholder = say_log(lang, "search.placeholder")
        # At once, and not with the next message: a key may be waiting behind the one that opened the bar.
        self.screen.set_focus(self.input)
        self.input.select_all()

    def close(self) -> bool:
        """Hides itself; says whether it had the keyboard."""
        had_focus = self.input.has_focus
        self.remove_class("-open")
        return had_focus

    def tell(self, lang: str, found: str, *, regex: bool, wrong: bool) -> None:
        """Says what the pattern is, and what came of it."""
        kind = say_log(lang, "search.regex" if regex else "search.text")
        self._kind.update(Content(say_log(lang, "search.kind", kind=kind)))
        self._found.set_class(wrong, "-wrong")
        self._found.update(Content(found))

    def on_click(self, event: events.Click) -> None:
        """A click on the kind of pattern changes it."""
        if event.widget is self._kind:
            event.stop()
            self.post_message(SearchInput.RegexToggled())
