"""What the panes are made of."""

from collections.abc import Hashable
from typing import ClassVar

from textual.app import RenderResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from sgdoctor.tui.bindings import pane_bindings
from sgdoctor.tui.view import View


def entitle(frame: Widget, title: str, subtitle: str = "") -> None:
    """Write on the frame around a widget. One that reads so already is not drawn again, and Textual would."""
    for name, text in (("border_title", title), ("border_subtitle", subtitle)):
        content = Content(text) if text else None
        if getattr(frame, name) != (content.markup if content is not None else None):
            setattr(frame, name, content)


class Drawing(Widget):
    """Lines that a pure function of the view and the width draws; redrawn only when they changed."""

    DEFAULT_CSS = """
    Drawing { height: auto; width: 1fr; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._view = View()
        self._drawn: tuple[int, list[Content]] | None = None

    @property
    def view(self) -> View:
        """What is drawn."""
        return self._view

    def lines(self, width: int) -> list[Content]:
        """The lines for a width in cells, none of them wider."""
        raise NotImplementedError

    def part(self, view: View) -> Hashable | tuple[object, ...]:
        """What of a view it draws: as long as that stays the same, nothing is done."""
        return (view,)

    def show(self, view: View) -> None:
        """Draw another view."""
        before, self._view = self._view, view
        if self._drawn is None or before.lang != view.lang or self.part(before) != self.part(view):
            self.redraw()

    def redraw(self) -> None:
        """Draw again, if that makes a difference."""
        before = self._drawn
        self._drawn = None
        if before is None:
            self.refresh(layout=True)
            return
        fresh = self._lines(before[0])
        if len(fresh) != len(before[1]):
            self.refresh(layout=True)
        elif any(one.is_same(other) is False for one, other in zip(fresh, before[1], strict=True)):
            self.refresh()

    def render(self) -> RenderResult:
        """As Textual wants it."""
        return Content("\n").join(self._lines(self.content_size.width))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """One row for each line."""
        return len(self._lines(width))

    def _lines(self, width: int) -> list[Content]:
        if self._drawn is None or self._drawn[0] != width:
            self._drawn = (width, self.lines(width) if width > 0 else [])
        return self._drawn[1]


class Pane(VerticalScroll):
    """A framed part of the screen that can have the keyboard and scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [*pane_bindings()]

    def action_line_up(self) -> None:
        """Up by a row."""
        self.scroll_up(animate=False)

    def action_line_down(self) -> None:
        """Down by a row."""
        self.scroll_down(animate=False)

    def action_page_up(self) -> None:
        """Up by a page."""
        self.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        """Down by a page."""
        self.scroll_page_down(animate=False)

    def action_scroll_home(self) -> None:
        """To the top."""
        self.scroll_home(animate=False)

    def action_scroll_end(self) -> None:
        """To the end."""
        self.scroll_end(animate=False)

    def show(self, view: View) -> None:
        """Draw a view; the title follows its language."""
        for drawing in self.query(Drawing):
            drawing.show(view)
