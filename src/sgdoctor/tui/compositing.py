"""What has moved is drawn again, whoever has looked at it meanwhile."""

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual.geometry import Size
from textual.widget import Widget


class FaithfulCompositor(Compositor):
    """Compares a layout with the one that it drew last.

    Textual (8.2) compares it with its newest map. Where a hidden widget has changed, that map is made anew as soon as
    anybody asks where a widget is, also between a change of a height and its layout; the layout then finds nothing that
    has moved, and rows of before stay on the screen.
    """

    def __init__(self) -> None:
        super().__init__()
        self._laid_out: CompositorMap = {}

    def clear(self) -> None:
        """See ``Compositor``."""
        super().clear()
        self._laid_out = {}

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """See ``Compositor``."""
        self._full_map = self._laid_out
        result = super().reflow(parent, size)
        self._laid_out = self._full_map
        return result
