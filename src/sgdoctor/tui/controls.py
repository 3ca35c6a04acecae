"""What can be pressed and ticked in windows."""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.message import Message

from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing

Draw = Callable[[View, int], list[Content]]


class Part(Drawing):
    """Lines that a function of the view and the width gives.

    Args:
        draw: that function.
    """

    def __init__(self, draw: Draw, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._draw = draw

    def lines(self, width: int) -> list[Content]:
        """See ``Drawing``."""
        return self._draw(self.view, width)


class Sheet(VerticalScroll, can_focus=False, inherit_bindings=False):
    """A page with controls in it: the arrow keys go from one to the next and do not scroll."""


class Press(Drawing, can_focus=True):
    """A button of one row.

    Args:
        name: what it is told apart by.
        label: what stands on it, in a language.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("enter,space", "press", "")]

    class Pressed(Message):
        """It was pressed."""

        def __init__(self, button: "Press") -> None:
            super().__init__()
            self.button = button
            self.choice = button.choice

    def __init__(self, name: str, label: Callable[[str], str], *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.choice = name
        self._label = label

    def lines(self, width: int) -> list[Content]:  # noqa: ARG002 - it is as wide as its label
        """Its label."""
        return [Content(f" {self._label(self.view.lang)} ")]

    def get_content_width(self, container: object, viewport: object) -> int:  # noqa: ARG002
        """That of the label."""
        return self.lines(0)[0].cell_length

    def on_click(self, event: events.Click) -> None:
        """A click presses it."""
        event.stop()
        self.action_press()

    def action_press(self) -> None:
        """Press it."""
        self.post_message(self.Pressed(self))


class Presses(Horizontal):
    """Buttons side by side; the arrow keys go from one to the next.

    Args:
        buttons: from left to right.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("left", "step(-1)", ""), ("right", "step(1)", "")]

    def __init__(self, *buttons: Press) -> None:
        super().__init__(*buttons, classes="buttons")
        self.buttons = buttons

    def action_step(self, way: int) -> None:
        """To the next button or the one before, over those that cannot be pressed."""
        there = [button for button in self.buttons if not button.disabled]
        if not there:
            return
        place = next((index for index, button in enumerate(there) if button.has_focus), -way)
        self.screen.set_focus(there[(place + way) % len(there)])


class Tick(Drawing, can_focus=True):
    """A line that is taken or left with the space bar.

    Args:
        draw: its lines.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("enter,space", "tick", "")]

    class Toggled(Message):
        """It was toggled."""

        def __init__(self, tick: "Tick") -> None:
            super().__init__()
            self.tick = tick

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self._draw = draw

    def lines(self, width: int) -> list[Content]:
        """See ``Drawing``."""
        return self._draw(self.view, width)

    def on_click(self, event: events.Click) -> None:
        """A click toggles it."""
        event.stop()
        self.screen.set_focus(self)
        self.action_tick()

    def action_tick(self) -> None:
        """Take it or leave it."""
        self.post_message(self.Toggled(self))
