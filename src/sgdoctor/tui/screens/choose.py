"""Windows to choose something from: one of the starts, one of the containers."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from sgdoctor.tui.bindings import forwarded
from sgdoctor.tui.drawing import BLANK, MUTED, clock, plain, prose, styled
from sgdoctor.tui.view import PILLS, View, pill_of_state
from sgdoctor.tui.widgets import entitle
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import AttemptSummary


class Choice(NamedTuple):
    """A container to choose.

    Attributes:
        name: what is returned.
        state: ``Up 3 minutes``, ``Exited (3) 1 hour ago``, ...; the engine's words.
        detail: model, image.
        running: whether it runs.
    """

    name: str
    state: str = ""
    detail: str = ""
    running: bool = True


class ChooseScreen(ModalScreen[str | None]):
    """A list; Enter chooses, Esc gives None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *forwarded(("interrupt",)),
        ("escape,q", "dismiss(None)", ""),
        ("j", "move(1)", ""),
        ("k", "move(-1)", ""),
        ("g", "edge(-1)", ""),
        ("G", "edge(1)", ""),
    ]

    def __init__(self, title: str, hint: str, options: Sequence[tuple[str, Content]], chosen: str | None) -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._options = list(options)
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        """The window."""
        with Vertical(classes="window choice") as window:
            entitle(window, self._title, self._hint)
            yield OptionList(*(Option(content, id=name) for name, content in self._options))

    def on_mount(self) -> None:
        """The one that is shown is marked."""
        options = self.query_one(OptionList)
        options.focus()
        names = [name for name, _ in self._options]
        if self._chosen in names:
            options.highlighted = names.index(self._chosen)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Chosen."""
        self.dismiss(event.option.id)

    def action_move(self, way: int) -> None:
        """One up or down."""
        options = self.query_one(OptionList)
        if way > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_edge(self, way: int) -> None:
        """To the first or the last one."""
        options = self.query_one(OptionList)
        if way < 0:
            options.action_first()
        else:
            options.action_last()


NEWEST = "newest"
"""What ``attempts_screen`` returns for "always the newest"."""


def attempts_screen(view: View) -> ChooseScreen:
    """The starts, the newest first; it returns the number of one as text, or ``NEWEST``."""
    lang = view.lang
    snapshot = view.snapshot
    attempts = list(reversed(snapshot.attempts)) if snapshot is not None else []
    options = [(str(attempt.number), attempt_line(attempt, lang)) for attempt in attempts]
    options.insert(0, (NEWEST, styled(tell(lang, "attempts.follow"), MUTED)))
    chosen = NEWEST if view.chosen is None else str(view.chosen)
    return ChooseScreen(tell(lang, "attempts.title"), tell(lang, "picker.hint"), options, chosen)


def attempt_line(attempt: AttemptSummary, lang: str) -> Content:
    """One start: number, how it ended, when, how long, why."""
    pill = pill_of_state(attempt.state)
    symbol, colour = PILLS[pill]
    # Clocks of logs and of this machine are shown in the zone of this machine, as `docker ps` does.
    when = "" if attempt.started is None else datetime.fromtimestamp(attempt.started).strftime("%H:%M:%S  ")  # noqa: DTZ006
    took = "" if attempt.seconds is None else f"{clock(attempt.seconds):>7}  "
    return Content.assemble(
        (f"{attempt.number:>3} ", "bold"),
        (f"{symbol} ", colour),
        (f"{when}{took}", MUTED),
        prose(attempt.title.in_language(lang)),
    )


def containers_screen(choices: Sequence[Choice], lang: str) -> ChooseScreen:
    """The containers that may be meant; it returns the name of one."""
    options = []
    for choice in choices:
        symbol, colour = ("●", "$success") if choice.running else ("■", MUTED)
        line = Content.assemble((f"{symbol} ", colour), plain(choice.name, "bold"), "  ", plain(choice.state, MUTED))
        detail = Content.assemble("\n  ", plain(choice.detail, MUTED)) if choice.detail else BLANK
        options.append((choice.name, line + detail))
    return ChooseScreen(tell(lang, "picker.title"), tell(lang, "picker.hint"), options, None)
