"""The plan: what changes in the launch, with values that can be edited, and what comes of it."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from sgdoctor.errors import UserError
from sgdoctor.report.safe import printable
from sgdoctor.texts import Text
from sgdoctor.tui.controls import Part, Press, Presses, Sheet, Tick
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.doctor import Choice, Draft
from sgdoctor.tui.drafting import Row, choice_of, edited, rows_of, toggled, with_wish
from sgdoctor.tui.drawing import BAD, BLANK, MUTED, cut, prose, styled, wrap
from sgdoctor.tui.panes.change_row import ChangeRow
from sgdoctor.tui.panes.plan import diff_lines, heading_of, meaning_lines, memory_lines, section_lines
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing

_PAUSE: Final = 0.15
"""Seconds without a key before a value is computed with."""
_BUTTONS: Final = ("relaunch", "write", "copy", "check", "cancel")
_LETTERS: Final = {"r": "relaunch", "w": "write", "c": "copy", "p": "check"}


class PlanScreen(Dialog):
    """One screen, one decision. It acts on nothing itself: it says what was chosen, and the app asks.

    Args:
        view: for the language.
        draft: the plan.
        recompute: asked in a thread of its own for the plan with another choice; answers through ``take``.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        ("down", "step(1)", ""),
        ("up", "step(-1)", ""),
        *((key, f"choose('{name}')", "") for key, name in _LETTERS.items()),
    ]

    class Chosen(Message):
        """What is to be done with the plan: a name of ``_BUTTONS``."""

        def __init__(self, choice: str, draft: Draft) -> None:
            super().__init__()
            self.choice = choice
            self.draft = draft

    def __init__(self, view: View, draft: Draft, recompute: Callable[[Choice, int], None]) -> None:
        super().__init__(view)
        self.draft = draft
        self.rows = rows_of(draft.answer.plan)
        self._recompute = recompute
        self._edition = 0
        """Goes up with every change of the user: an answer for an older one is of no use."""
        self._settled = 0
        self._problem: Text | None = None
        self._buttons = [Press(name, _label(name), classes="acts" if name == "relaunch" else "") for name in _BUTTONS]
        self._wish = Input(compact=True, classes="wish")
        self._taken = Vertical(*self._rows(offered=False), classes="rows")
        self._others = Vertical(*self._rows(offered=True), classes="rows")

    def compose(self) -> ComposeResult:
        """The window."""
        with Vertical(classes="window"):
            with Sheet(classes="page"):
                yield Part(self._found)
                yield self._taken
                yield self._wish
                yield Part(self._body)
                yield self._others
            yield Part(self._state, classes="state")
            yield Presses(*self._buttons)

    def on_mount(self) -> None:
        """The keyboard is on the way on, where there is one."""
        self.show(self.view)
        self._enable()
        self.set_focus(next((button for button in self._buttons if not button.disabled), self._wish))

    # ------------------------------------------------------------ what is seen

    def heading(self) -> str:
        """See ``Dialog``."""
        return heading_of(self.draft, self.view.lang)

    def subheading(self) -> str:
        """See ``Dialog``."""
        return say_cure(self.view.lang, "plan.keys")

    def show(self, view: View) -> None:
        """See ``Dialog``."""
        super().show(view)
        if self.is_running:
            self._wish.placeholder = say_cure(view.lang, "plan.wish")

    @property
    def settled(self) -> bool:
        """Whether the plan that is shown is the one that the rows say."""
        return self._settled == self._edition and self._problem is None

    def _redraw(self) -> None:
        for drawing in self.query(Drawing):
            drawing.redraw()
        self.entitle()

    def _found(self, view: View, width: int) -> list[Content]:
        """What the plan is against, one line."""
        verdict = self.draft.answer.verdict
        if verdict is not None and verdict.diagnoses:
            first = verdict.diagnoses[0]
            text = prose(self.draft.hide(printable(first.title.in_language(view.lang))), "bold")
            return wrap(text, width, first=styled("✖ ", BAD))
        if not self.rows:
            return wrap(styled(say_cure(view.lang, "plan.nothing"), MUTED), width)
        return []

    def _body(self, view: View, width: int) -> list[Content]:
        """The launch, the memory, what it means."""
        draft, lang = self.draft, view.lang
        plan, verdict = draft.answer.plan, draft.answer.verdict
        fact = verdict.facts.get("weights_gib") if verdict is not None else None
        weights = fact.value if fact is not None and isinstance(fact.value, int | float) else None
        return [
            *section_lines(say_cure(lang, "plan.launch"), diff_lines(plan.diff, draft.hide, width)),
            *section_lines(say_cure(lang, "plan.memory"), memory_lines(plan, weights, lang, width)),
            *section_lines(say_cure(lang, "plan.means"), meaning_lines(draft, lang, width)),
        ]

    def _state(self, view: View, width: int) -> list[Content]:
        """What is wrong with the newest change, or that it is being computed with."""
        lang = view.lang
        if self._problem is not None:
            text = self.draft.hide(printable(self._problem.in_language(lang)))
            return wrap(prose(text), width, first=styled("✖ ", BAD))
        return [cut(styled("" if self.settled else say_cure(lang, "computing"), MUTED), width)]

    # ------------------------------------------------------------ what the user does

    def on_tick_toggled(self, event: Tick.Toggled) -> None:
        """A step is taken, or left."""
        row = event.tick.parent
        if isinstance(row, ChangeRow):
            self._change(toggled(self.rows, row.place, self.draft.answer.flags))

    def on_change_row_edited(self, event: ChangeRow.Edited) -> None:
        """A value is another one."""
        rows = edited(self.rows, event.place, event.number, event.value)
        if rows != self.rows:
            taken = rows if rows[event.place].on else toggled(rows, event.place, self.draft.answer.flags)
            self._change(taken)

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """A further wish; in the value of a row, on to the next."""
        event.stop()
        if event.input is not self._wish or not event.value.strip():
            self.focus_next()
            return
        try:
            rows = with_wish(self.rows, event.value, self.draft.answer.flags)
        except UserError as error:
            self._problem = error.message
            self._redraw()
            return
        event.input.clear()
        self.rows = rows
        for there in (self._taken, self._others):
            await there.remove_children()
            await there.mount(*self._rows(offered=there is self._others))
        self.show(self.view)
        self._change(rows)
        # A flag that needs a value has none yet.
        empty = next((field for field in self._taken.query(Input) if not field.value), None)
        if empty is not None:
            self.set_focus(empty)

    def on_press_pressed(self, event: Press.Pressed) -> None:
        """A button."""
        event.stop()
        self.action_choose(event.choice)

    def on_key(self, event: events.Key) -> None:
        """What is typed into the line of wishes stays there."""
        if event.key == "escape" and self._wish.has_focus and self._wish.value:
            event.stop()
            self._wish.clear()

    def action_step(self, way: int) -> None:
        """To the next control, or the one before; the buttons are one stop, left and right go through them."""
        buttons = [button for button in self._buttons if not button.disabled]
        stops = [control for control in self.focus_chain if not isinstance(control, Press)]
        focused = self.focused
        at = stops.index(focused) if focused in stops else -1 if way > 0 else len(stops)
        there = at + way
        self.set_focus(stops[there] if 0 <= there < len(stops) else buttons[0])

    def action_choose(self, name: str) -> None:
        """What is to be done; nothing is, while the plan on the screen is not the one of the rows."""
        if name == "cancel":
            self.dismiss()
            return
        button = next(button for button in self._buttons if button.choice == name)
        if button.disabled:
            self.notify(printable(self._why_not(name)), severity="warning", markup=False)
        elif self.settled:
            self.post_message(self.Chosen(name, self.draft))

    def _why_not(self, name: str) -> str:
        draft, lang = self.draft, self.view.lang
        if name == "write":
            return say_cure(lang, "no_file")
        why = draft.refused or draft.answer.plan.refused
        return say_cure(lang, "no_changes.here") if why is None else draft.hide(why.in_language(lang))

    # ------------------------------------------------------------ the plan with what was changed

    def _change(self, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)
        self._edition += 1
        self._problem = None
        for widget in self.query(ChangeRow):
            widget.take(self.rows[widget.place], self.draft)
        self._enable()
        self._redraw()
        edition = self._edition
        self.set_timer(_PAUSE, lambda: self._ask(edition))

    def _ask(self, edition: int) -> None:
        if edition != self._edition:
            return
        try:
            choice = choice_of(self.rows, self.draft.answer.flags)
        except UserError as error:
            self.refuse(error.message, edition)
        else:
            self._recompute(choice, edition)

    def take(self, draft: Draft, edition: int) -> None:
        """The plan for the rows as they were at an edition."""
        if edition != self._edition or not self.is_running:
            return
        self.draft, self._settled, self._problem = draft, edition, None
        for widget in self.query(ChangeRow):
            widget.take(self.rows[widget.place], draft)
        self._enable()
        self._redraw()

    def refuse(self, why: Text, edition: int) -> None:
        """The rows as they were at an edition cannot become a plan."""
        if edition == self._edition and self.is_running:
            self._problem = why
            self._enable()
            self._redraw()

    # ------------------------------------------------------------ widgets

    def _rows(self, *, offered: bool) -> list[Widget]:
        """The steps of the plan, or the other ways; with a title, where there are any."""
        rows = [
            ChangeRow(place, row, self.draft, self.view)
            for place, row in enumerate(self.rows)
            if row.offered is offered
        ]
        return [Part(_title("plan.others" if offered else "plan.changes")), *rows] if rows else []

    def _enable(self) -> None:
        draft, plan = self.draft, self.draft.answer.plan
        possible = {
            "relaunch": bool(draft.container) and draft.refused is None and plan.refused is None and bool(plan.changes),
            "write": bool(draft.file) and plan.text is not None,
            "copy": plan.text is not None or bool(plan.changes),
            "check": True,
            "cancel": True,
        }
        for button in self._buttons:
            button.disabled = not possible[button.choice]
            button.redraw()


def _label(name: str) -> Callable[[str], str]:
    return lambda lang: say_cure(lang, f"button.{name}")


def _title(key: str) -> Callable[[View, int], list[Content]]:
    return lambda view, _: [BLANK, styled(say_cure(view.lang, key), "bold underline")]
