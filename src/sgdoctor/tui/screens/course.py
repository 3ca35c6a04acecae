"""The steps of an errand while they are taken; the panes above go on showing the server."""

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from sgdoctor.tui.bindings import forwarded
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.panes.course import course_lines, heading_of
from sgdoctor.tui.screens.dialog import Dialog, Foot, Page

_TICK: Final = 0.25


class CourseScreen(Dialog):
    """A window at the bottom. Closing it stops nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *forwarded(("leave", "save")),
        ("c", "app.stop_errand", ""),
        ("enter", "app.errand_report", ""),
        ("escape", "dismiss", ""),
        ("q", "app.leave", ""),
    ]

    def compose(self) -> ComposeResult:
        """The window."""
        with Vertical(classes="window low"):
            with VerticalScroll(classes="page"):
                yield Page(self)
            yield Foot(self)

    def on_mount(self) -> None:
        """Time goes by on the step that is being taken; what comes last is in sight.

        The end is looked for when the text has its new height, and not when it was told to grow: a layout in between
        leaves the last lines below the edge. ``Widget.anchor`` (Textual 8.2) moves a text that is shorter than its
        window away from the top.
        """
        super().on_mount()
        self.set_interval(_TICK, self._tick)
        self.watch(self._scroll, "virtual_size", lambda: self.action_edge(1))

    def heading(self) -> str:
        """See ``Dialog``."""
        course = self.view.course
        return heading_of(course, self.view.lang) if course is not None else ""

    def keys_line(self) -> str:
        """See ``Dialog``."""
        view, course = self.view, self.view.course
        if course is None or course.ended is None:
            return say_cure(view.lang, "course.keys", key=view.key("fix"))
        return say_cure(view.lang, "course.keys.report" if course.ended.report else "course.keys.over")

    def page(self, width: int) -> list[Content]:
        """See ``course_lines``."""
        course = self.view.course
        return course_lines(course, self.view, width) if course is not None else []

    def _tick(self) -> None:
        course = self.view.course
        if course is not None and course.ended is None:
            self.query_one(Page).redraw()
