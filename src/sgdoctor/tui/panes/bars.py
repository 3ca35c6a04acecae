"""The line of keys at the bottom, and the line that says which pane is shown where there is room for one only."""

from collections.abc import Sequence
from typing import Final

from textual.content import Content
from textual.style import Style

from sgdoctor.tui.drawing import CODE, MUTED
from sgdoctor.tui.keys import Key, Scope, shown_key
from sgdoctor.tui.panes.course import course_line
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing
from sgdoctor.tui.words import tell

_TICK: Final = 0.5
_ACTING: Final = frozenset({"relaunch", "rollback", "heal"})
"""Keys that are of no use on a log; who presses one is told why."""


class KeyBar(Drawing):
    """Keys and what they do; a click does it too.

    Attributes:
        active: the pane that has the keyboard.
    """

    auto_links = False
    active = ""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.keys, view.acts)

    def lines(self, width: int) -> list[Content]:
        """One line."""
        log = self.active == "log"
        keys = [key for key in self.view.keys if key.scope is Scope.APP or (log and key.scope is Scope.LOG)]
        if not self.view.acts:
            keys = [key for key in keys if key.action not in _ACTING]
        # The keys of the log come first while it has the keyboard.
        keys.sort(key=lambda key: key.scope is not Scope.LOG)
        return [key_bar(keys, self.view.lang, width)]


class Tabs(Drawing):
    """The panes by number.

    Attributes:
        names: of the panes that there are.
        active: the one that is shown.
    """

    auto_links = False
    names: Sequence[str] = ()
    active = ""

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.keys,)

    def lines(self, width: int) -> list[Content]:
        """One line."""
        line = Content(" ")
        for name in self.names:
            action = f"pane('{name}')"
            text = f" {self.view.key(action)} {tell(self.view.lang, f'pane.{name}')} "
            part = Content.styled(text, "bold reverse" if name == self.active else MUTED)
            part = _clickable(part, action)
            if line.cell_length + part.cell_length + 1 <= width:
                line = Content.assemble(line, part, " ")
        return [line]


class CourseLine(Drawing):
    """What is being done to the server at this moment."""

    def on_mount(self) -> None:
        """Time goes by."""
        self.set_interval(_TICK, self._tick)

    @property
    def goes_on(self) -> bool:
        """Whether something is being done."""
        return self.view.course is not None and self.view.course.ended is None

    def part(self, view: View) -> tuple[object, ...]:
        """See ``Drawing``."""
        return (view.course,)

    def lines(self, width: int) -> list[Content]:
        """One line."""
        course = self.view.course
        if course is None:
            return []
        return [course_line(course, self.view, width)]

    def _tick(self) -> None:
        if self.goes_on:
            self.redraw()


def key_bar(keys: Sequence[Key], lang: str, width: int) -> Content:
    """The keys that have a label, in the order of the table, as many as fit; help and the way out always."""
    labelled = [key for key in keys if key.keys and key.label.in_language(lang)]
    parts = {key.action: _entry(key, lang) for key in labelled}
    room = width - 1
    kept: list[str] = [action for action in ("help", "leave") if action in parts]
    used = sum(parts[action].cell_length + 2 for action in kept)
    for key in labelled:
        if key.action in kept:
            continue
        if used + parts[key.action].cell_length + 2 > room:
            break
        used += parts[key.action].cell_length + 2
        kept.append(key.action)
    shown = [parts[key.action] for key in labelled if key.action in kept]
    return Content.assemble(" ", Content("  ").join(shown))


def _entry(key: Key, lang: str) -> Content:
    entry = Content.assemble((shown_key(key.keys[0]), f"bold {CODE}"), " ", (key.label.in_language(lang), MUTED))
    return _clickable(entry, key.action) if key.scope is Scope.APP else entry


def _clickable(content: Content, action: str) -> Content:
    return content.stylize(Style.from_meta({"@click": f"app.{action}"}))
