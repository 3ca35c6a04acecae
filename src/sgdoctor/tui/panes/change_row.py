"""One step of the plan: whether it is taken, what it changes, with which values."""

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from sgdoctor.fixes.model import Basis
from sgdoctor.messages import say
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text, cost_of
from sgdoctor.texts import Text
from sgdoctor.tui.controls import Draw, Part, Tick
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.doctor import Draft
from sgdoctor.tui.drafting import Row, hint_for
from sgdoctor.tui.drawing import BUSY, CODE, GOOD, MUTED, ODD, cut, plain, prose, styled, wrap
from sgdoctor.tui.panes.cards import SAFETY_LOOK
from sgdoctor.tui.view import View
from sgdoctor.tui.widgets import Drawing

_INDENT = 6
_LEAST_FIELD = 8
_MOST_FIELD = 36
_SHOWN_CHOICES = 6
_TYPES = frozenset({"int", "float", "human_readable_int", "json.loads"})


class ChangeRow(Vertical):
    """A step; its values are fields where they can be edited.

    Args:
        place: of the row.
        row: what it says.
        draft: with the interval and the flags.
        view: for the language.
    """

    class Edited(Message):
        """A value was typed."""

        def __init__(self, place: int, number: int, value: str) -> None:
            super().__init__()
            self.place = place
            self.number = number
            self.value = value

    def __init__(self, place: int, row: Row, draft: Draft, view: View) -> None:
        super().__init__(classes="row")
        self.place = place
        self._view = view
        self.row = row
        self._draft = draft
        self._fields = {
            number: Input(value or "", compact=True, select_on_focus=True)
            for number, value in enumerate(row.values)
            if row.is_editable(number)
        }

    def compose(self) -> ComposeResult:
        """The line to tick, then a line for each change, then what is known about it."""
        yield Tick(self._head)
        for number, change in enumerate(self.row.step.changes):
            field = self._fields.get(number)
            if field is None:
                yield Part(self._fixed(number))
                continue
            with Horizontal(classes="value") as line:
                line.display = self.row.on
                yield Part(_name(change.name), classes="name")
                yield field
                yield Part(self._hint(number), classes="hint")
        yield Part(self._more)

    def on_mount(self) -> None:
        """Names and fields are as wide as they need to be."""
        for drawing in self.query(Drawing):
            drawing.show(self._view)
        for number, field in self._fields.items():
            change = self.row.step.changes[number]
            line = field.parent
            assert isinstance(line, Horizontal)
            line.query_one(".name", Part).styles.width = _INDENT + len(change.name) + 1
            field.styles.width = max(_LEAST_FIELD, min(_MOST_FIELD, cell_len(change.value or "") + 3))

    def on_input_changed(self, event: Input.Changed) -> None:
        """A value was typed."""
        event.stop()
        number = next(number for number, field in self._fields.items() if field is event.input)
        self.post_message(self.Edited(self.place, number, event.value))

    def take(self, row: Row, draft: Draft) -> None:
        """Show another state of the same step."""
        self.row, self._draft = row, draft
        for line in self.query(Horizontal):
            line.display = row.on
        for drawing in self.query(Drawing):
            drawing.redraw()

    # ------------------------------------------------------------ lines

    def _head(self, view: View, width: int) -> list[Content]:
        step, lang = self.row.step, view.lang
        mark = styled("[x] ", GOOD) if self.row.on else styled("[ ] ", MUTED)
        changes = self.row.changes
        title = step.title.in_language(lang) if changes == step.changes else ""
        title = title or ", ".join(change_text(change, lang) for change in changes)
        look, colour = SAFETY_LOOK[step.safety]
        tags = Content.assemble((f"  {look} {say(lang, f'safety.{step.safety}')}", colour))
        if step.basis is not Basis.FOUND and self.row.on:
            tags += styled(f" [{say(lang, f'basis.{step.basis.value}')}]", BUSY)
        text = prose(self._safe(title), "bold" if self.row.on else "")
        return wrap(text + tags, width, first=mark)

    def _fixed(self, number: int) -> Draw:
        def lines(view: View, width: int) -> list[Content]:
            step = self.row.step
            if not step.title.en or not self.row.on:
                return []
            text = self._safe(change_text(step.changes[number], view.lang))
            return wrap(styled(text, CODE), width, first=Content(" " * _INDENT))

        return lines

    def _hint(self, number: int) -> Draw:
        def lines(view: View, width: int) -> list[Content]:
            plan, lang = self._draft.answer.plan, view.lang
            hint = hint_for(self.row.changes[number], self._draft.answer.flags, plan.interval)
            if (interval := hint.interval) is not None:
                key = "plan.interval.none" if interval.empty else "plan.interval"
                text = say_cure(lang, key, low=interval.low, high=interval.high)
                return [cut(styled(text, ODD if hint.outside else MUTED), width)]
            choices = " | ".join(hint.choices[:_SHOWN_CHOICES])
            more = " …" if len(hint.choices) > _SHOWN_CHOICES else ""
            kind = say_cure(lang, f"type.{hint.type}") if hint.type in _TYPES else ""
            return [cut(plain(f"{choices}{more}" or kind, MUTED), width)]

        return lines

    def _more(self, view: View, width: int) -> list[Content]:
        step, lang = self.row.step, view.lang
        lines: list[Content] = []
        if not self.row.on:
            # What it would change; its price is told once it is taken.
            changes = ", ".join(change_text(change, lang) for change in step.changes) if step.title.en else ""
            return wrap(plain(self._safe(changes), MUTED), width, first=Content("    ")) if changes else lines
        verdict = self._draft.answer.verdict
        alone = verdict is not None and len(verdict.diagnoses) == 1 and step.basis is Basis.FOUND
        told: list[Text] = [] if alone or step.why == step.title else [step.why]
        for text in (*told, step.note):
            if text.en:
                lines += wrap(prose(self._safe(text.in_language(lang)), MUTED), width, first=Content("    "))
        if effect := cost_of(step.effect, lang):
            cost = say(lang, "report.cost", text=self._safe(effect))
            lines += wrap(prose(cost, ODD if step.safety == "unsafe" else MUTED), width, first=Content("    "))
        return lines

    def _safe(self, text: str) -> str:
        return self._draft.hide(printable(text))


def _name(flag: str) -> Draw:
    return lambda _, width: [cut(styled(f"{' ' * _INDENT}{flag} ", f"bold {CODE}"), width)]
