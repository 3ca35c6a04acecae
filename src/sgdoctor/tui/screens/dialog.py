"""A window over the panes: title, text that scrolls, a line of keys."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from sgdoctor.tui.bindings import forwarded
from sgdoctor.tui.compositing import FaithfulCompositor
from sgdoctor.tui.drawing import MUTED, cut, styled
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing, entitle


class Dialog(ModalScreen[None]):
    """A window that is closed with Esc; it goes on drawing the newest view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *forwarded(("interrupt", "language", "theme")),
        ("escape,q", "dismiss", ""),
        ("j,down", "move(1)", ""),
        ("k,up", "move(-1)", ""),
        ("pagedown,ctrl+d,space", "page(1)", ""),
        ("pageup,ctrl+u", "page(-1)", ""),
        ("g,home", "edge(-1)", ""),
        ("G,end", "edge(1)", ""),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._compositor = FaithfulCompositor()
        self.view = view

    def compose(self) -> ComposeResult:
        """The window."""
        with Vertical(classes="window"):
            with VerticalScroll(classes="page"):
                yield Page(self)
            yield Foot(self)

    def on_mount(self) -> None:
        """Draw what there is."""
        self.show(self.view)
        self.query_one(".page").focus()

    def heading(self) -> str:
        """The title."""
        raise NotImplementedError

    def page(self, width: int) -> list[Content]:
        """The text."""
        raise NotImplementedError

    def subheading(self) -> str:
        """What the lower edge of the frame says."""
        return ""

    def keys_line(self) -> str:
        """The keys that do something here."""
        return ""

    def show(self, view: View) -> None:
        """Draw another view."""
        self.view = view
        if not self.is_running:
            return
        self.entitle()
        for drawing in self.query(Drawing):
            drawing.show(view)

    def entitle(self) -> None:
        """Write the headings on the frame."""
        entitle(self.query_one(".window", Vertical), self.heading(), self.subheading())

    def action_move(self, way: int) -> None:
        """A row up or down."""
        self._scroll.scroll_relative(y=way, animate=False)

    def action_page(self, way: int) -> None:
        """A page up or down."""
        self._scroll.scroll_relative(y=way * max(1, self._scroll.size.height - 2), animate=False)

    def action_edge(self, way: int) -> None:
        """To the top or to the end."""
        if way < 0:
            self._scroll.scroll_home(animate=False)
        else:
            self._scroll.scroll_end(animate=False)

    @property
    def _scroll(self) -> VerticalScroll:
        return self.query_one(".page", VerticalScroll)


class Page(Drawing):
    """The text of a window."""

    def __init__(self, dialog: Dialog) -> None:
        super().__init__()
        self._dialog = dialog

    def lines(self, width: int) -> list[Content]:
        """The dialog knows."""
        return self._dialog.page(width)


class Foot(Drawing):
    """Its line of keys."""

    def __init__(self, dialog: Dialog) -> None:
        super().__init__(classes="foot")
        self._dialog = dialog

    def lines(self, width: int) -> list[Content]:
        """One line, none where there is nothing to say."""
        text = self._dialog.keys_line()
        return [cut(styled(text, MUTED), width)] if text else []
