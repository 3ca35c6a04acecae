"""The question before anything acts."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen

from sgdoctor.redaction import Redactor
from sgdoctor.report.safe import printable
from sgdoctor.texts import Text
from sgdoctor.tui.bindings import forwarded
from sgdoctor.tui.controls import Part, Press, Presses, Sheet
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.doctor import Errand
from sgdoctor.tui.drawing import BLANK, MUTED, ODD, plain, prose, styled, wrap
from sgdoctor.tui.panes.plan import diff_lines
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import entitle

_SHORT_ID = 12


class ConfirmScreen(ModalScreen[bool]):
    """Yes or no; no is what the keyboard is on, and what leaving means.

    Args:
        view: for the language.
        heading: the question.
        lines: what has to be known.
        yes: what stands on the button that agrees.
        warning: stands below the question, so that nobody overlooks it.
        diff: of the launch.
        hide: hides secrets.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *forwarded(("interrupt", "theme")),
        ("escape,q,n", "answer(False)", ""),
        ("y", "answer(True)", ""),
        ("down", "step(1)", ""),
        ("up", "step(-1)", ""),
        ("pagedown,ctrl+d", "page(1)", ""),
        ("pageup,ctrl+u", "page(-1)", ""),
    ]

    def __init__(
        self,
        view: View,
        heading: Callable[[str], str],
        lines: Sequence[Text],
        yes: Callable[[str], str],
        *,
        warning: Callable[[str], str] = lambda _: "",
        diff: str = "",
        hide: Redactor,
    ) -> None:
        super().__init__()
        self._view = view
        self._heading = heading
        self._lines = lines
        self._warning = warning
        self._diff = diff
        self._hide = hide
        self._no = Press("no", lambda lang: say_cure(lang, "confirm.no"))
        self._yes = Press("yes", yes, classes="acts")

    def compose(self) -> ComposeResult:
        """The window."""
        with Vertical(classes="window small") as window:
            lang = self._view.lang
            entitle(window, say_cure(lang, "confirm.title"), say_cure(lang, "confirm.keys"))
            with Sheet(classes="page"):
                yield Part(self._body)
            yield Presses(self._no, self._yes)

    def on_mount(self) -> None:
        """Draw it; the keyboard is on no."""
        for part in self.query(Part):
            part.show(self._view)
        for button in (self._no, self._yes):
            button.show(self._view)
        self.set_focus(self._no)

    def on_press_pressed(self, event: Press.Pressed) -> None:
        """Answered."""
        self.dismiss(event.choice == "yes")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - an action of Textual
        """Answered by a key."""
        self.dismiss(yes)

    def action_step(self, way: int) -> None:
        """To the other button."""
        self.query_one(Presses).action_step(way)

    def action_page(self, way: int) -> None:
        """Scroll what has to be known."""
        page = self.query_one(Sheet)
        page.scroll_relative(y=way * max(1, page.size.height - 2), animate=False)

    def _body(self, view: View, width: int) -> list[Content]:
        lang = view.lang

        def safe(text: str) -> str:
            return self._hide(printable(text))

        lines = wrap(prose(safe(self._heading(lang)), "bold"), width)
        if warning := self._warning(lang):
            lines += wrap(plain(warning), width, first=styled("▲ ", ODD))
        if self._diff:
            lines += [BLANK, *diff_lines(self._diff, self._hide, width), BLANK]
        for line in self._lines:
            lines += wrap(prose(safe(line.in_language(lang))), width, first=styled("· ", MUTED))
        return lines


def consent_screen(view: View, errand: Errand) -> ConfirmScreen:
    """Whether an errand is agreed to; it names the container."""
    name = printable(errand.container)
    identity = f" ({errand.id[:_SHORT_ID]})" if errand.id else ""
    return ConfirmScreen(
        view,
        errand.heading.in_language,
        errand.lines,
        lambda lang: say_cure(lang, f"confirm.yes.{errand.kind}", name=f"{name}{identity}"),
        warning=lambda lang: say_cure(lang, "confirm.stops") if errand.stops else "",
        diff=errand.diff,
        hide=errand.hide,
    )


def stop_screen(view: View, errand: Errand, *, leaves: bool) -> ConfirmScreen:
    """Whether an errand that goes on is to go back; ``leaves``: because the user wants to leave the app."""
    goes_too = leaves and errand.leave is not None
    quits = _both("stop.owned_line" if goes_too else "stop.quit_line")
    back = () if goes_too else (errand.way_back or _both("stop.line"),)
    return ConfirmScreen(
        view,
        lambda lang: say_cure(lang, "stop.owned" if goes_too else "stop.heading", name=errand.container),
        (*back, quits) if leaves else back,
        lambda lang: say_cure(lang, "stop.owned_yes" if goes_too else "stop.leave" if leaves else "stop.yes"),
        hide=errand.hide,
    )


def _both(key: str) -> Text:
    return Text(say_cure("en", key), say_cure("zh", key))
