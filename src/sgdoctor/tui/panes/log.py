"""The lines of the log, in a frame."""

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from sgdoctor.tui.drawing import MUTED, cut, plain, styled
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing
from sgdoctor.watching.model import Lines


class LogPane(Container, can_focus=True):
    """The newest lines."""

    title_key = "pane.log"

    def __init__(self, lines: Lines, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._tail = Tail(lines)

    def compose(self) -> ComposeResult:
        yield self._tail

    def show(self, view: View) -> None:
        self._tail.show(view)

    def wake(self) -> None:
        pass

    def jump(self, number: int) -> None:
        self._tail.at = number
        self._tail.redraw()

    def start_search(self) -> None:
        pass


class Tail(Drawing):
    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines_of_log = lines
        self.at = 0

    def lines(self, width: int) -> list[Content]:
        last = self.at or len(self._lines_of_log)
        rows = 40
        return [
            cut(Content.assemble(styled(f"{n:>5} ", MUTED), plain(self._lines_of_log.text(n))), width)
            for n in range(max(1, last - rows), min(last + 3, len(self._lines_of_log)) + 1)
        ]
