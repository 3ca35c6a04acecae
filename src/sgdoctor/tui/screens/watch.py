"""The screen with the panes."""

from collections.abc import Collection
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from sgdoctor.config import PANES
from sgdoctor.tui.arrangement import Shape, arrange, shape_of
from sgdoctor.tui.compositing import FaithfulCompositor
from sgdoctor.tui.panes.bars import CourseLine, KeyBar, Tabs
from sgdoctor.tui.panes.diagnosis import Card, DiagnosisPane
from sgdoctor.tui.panes.gpu import GpuPane
from sgdoctor.tui.panes.header import Header, VerdictLine
from sgdoctor.tui.panes.log import EvidenceLog
from sgdoctor.tui.panes.startup import StartupPane, rows_wanted
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import entitle
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import Lines

_FRAMES: Final = {"startup": "pane.startup", "diagnosis": "pane.diagnosis", "log": "pane.log", "gpu": "pane.gpu"}


class WatchScreen(Screen[None]):
    """Header and verdict, the panes, the line of keys.

    Args:
        lines: of the log.
        shown: names of the panes.
        active: name of the one that has the keyboard.
        view: drawn at first.
    """

    AUTO_FOCUS = ""

    def __init__(self, lines: Lines, shown: Collection[str], active: str, view: View) -> None:
        super().__init__()
        self._compositor = FaithfulCompositor()
        self._shown = [name for name in PANES if name in shown]
        self.active = active if active in self._shown else self._shown[0]
        self._zoomed = False
        self._view = view
        self.log_pane = EvidenceLog(lines, hide=view.hide, id="log")
        self.diagnosis = DiagnosisPane(id="diagnosis")
        self._panes: dict[str, Widget] = {
            "startup": StartupPane(id="startup"),
            "diagnosis": self.diagnosis,
            "log": self.log_pane,
            "gpu": GpuPane(id="gpu"),
        }
        self._header, self._verdict = Header(id="header"), VerdictLine(id="verdict")
        self._tabs, self._keys = Tabs(id="tabs"), KeyBar(id="keys")
        self._course = CourseLine(id="course")

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield self._header
        yield self._verdict
        yield self._course
        yield self._tabs
        with Container(id="room"):
            yield from (self._panes[name] for name in self._shown)
        yield self._keys

    def on_mount(self) -> None:
        """The pane that had the keyboard last time has it."""
        self._tabs.names = self._shown
        self.show(self._view)
        self.activate(self.active)

    def show(self, view: View) -> None:
        """Draw a view in every pane."""
        self._view = view
        for drawing in (self._header, self._verdict, self._course, self._tabs, self._keys):
            drawing.show(view)
        for name in self._shown:
            pane = self._panes[name]
            assert isinstance(pane, StartupPane | DiagnosisPane | EvidenceLog | GpuPane)
            pane.show(view)
            if isinstance(pane, EvidenceLog):
                continue
            number = view.key(f"pane('{name}')")
            entitle(pane, f"{number} {tell(view.lang, _FRAMES[name])}".strip())
        self.place_panes()

    def activate(self, name: str) -> bool:
        """Give a pane the keyboard; False if it is not among those shown."""
        if name not in self._shown:
            return False
        self.active = name
        self.place_panes()
        pane = self._panes[name]
        # At once, and not with a later message: the next key may be waiting already.
        self.set_focus(pane.view if isinstance(pane, EvidenceLog) else pane, scroll_visible=False)
        return True

    def step(self, way: int) -> None:
        """To the next pane or the one before."""
        place = self._shown.index(self.active)
        self.activate(self._shown[(place + way) % len(self._shown)])

    def zoom(self) -> None:
        """The active pane alone, and back."""
        self._zoomed = not self._zoomed
        self.place_panes()

    def on_resize(self, event: events.Resize) -> None:
        """Other room."""
        self.place_panes(event.size.width, event.size.height)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """A click gives a pane the keyboard as well."""
        for node in event.widget.ancestors_with_self:
            if node.id in self._shown and node is self._panes.get(node.id or ""):
                if self.active != node.id:
                    self.active = node.id or self.active
                    self.place_panes()
                return

    def on_card_chosen(self, event: Card.Chosen) -> None:
        """A card was clicked."""
        self.diagnosis.select(event.number)
        self.activate("diagnosis")

    def place_panes(self, width: int = 0, height: int = 0) -> None:
        """Put the panes where they belong."""
        width, height = width or self.size.width, height or self.size.height
        if not self.is_mounted or not width or not height:
            return
        shape = shape_of(width, height)
        header, verdict, tabs = self._header, self._verdict, self._tabs
        header.compact = height < 20
        header.redraw()
        verdict.rows = 1 if shape is Shape.TINY else 2
        verdict.redraw()
        single = shape in (Shape.SINGLE, Shape.TINY) or self._zoomed
        tabs.active = self.active
        tabs.display = single and height >= 8
        tabs.redraw()
        keys = self._keys
        keys.active = self.active
        keys.redraw()
        keys.display = height >= 10
        self._course.display = self._course.goes_on
        bars = (tabs, keys, self._course)
        taken = len(header.lines(width)) + len(verdict.lines(width)) + sum(bool(one.display) for one in bars)
        boxes = arrange(
            Shape.SINGLE if single else shape,
            width,
            max(1, height - taken),
            shown=self._shown,
            active=self.active,
            trouble=self._view.trouble,
            rows=lambda room: rows_wanted(self._view, room - 4),
        )
        for name in self._shown:
            pane, box = self._panes[name], boxes.get(name)
            pane.display = box is not None
            if box is not None:
                pane.styles.offset = (box.x, box.y)
                pane.styles.width = box.width
                pane.styles.height = box.height
            pane.set_class(single, "alone")
