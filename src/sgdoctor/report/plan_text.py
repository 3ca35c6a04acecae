"""A plan on the terminal: what was found, what to change, the diff, the memory; the verdict is the last line."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.diagnosis.model import Diagnosis, State, Verdict
from sgdoctor.engines.sglang.memory.prediction import Prediction, Range
from sgdoctor.fixes.model import Answer, Basis, Plan, Step
from sgdoctor.launch.model import Problem
from sgdoctor.messages import say
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.safe import printable
from sgdoctor.report.shortening import first_of_each, grouped
from sgdoctor.report.wording import change_text, cost_of, last_line, version_text
from sgdoctor.rules.model import Severity
from sgdoctor.texts import Text, listed
from sgdoctor.writing import is_backup

_SAFETY_STYLES: Final = {"safe": "green", "unsafe": "yellow", "manual": "cyan"}
_SEVERITY_STYLES: Final = {"fatal": "bold red", "error": "red", "degraded": "yellow"}
_WRONG: Final = frozenset({"fatal", "error"})
_SHOWN_ALTERNATIVES: Final = 5
_TYPED: Final = 40
"""Changes of one kind that are listed where they are to be typed by hand."""
_UNKNOWN: Final = "-"


def print_plan(
    console: Console,
    answer: Answer,
    lang: str,
    *,
    redact: bool = True,
    written: Sequence[str] = (),
    option: str = "--choose",
    closes: bool = True,
) -> None:
    """Prints a plan; its last line is the verdict.

    Args:
        console: where to.
        answer: what is to be shown.
        lang: ``en`` or ``zh``.
        redact: whether secrets are hidden.
        written: names of the files that were written.
        option: that takes another way.
        closes: whether the verdict is printed.
    """
    _Sheet(console, answer, lang, redact=redact, option=option).print(written, closes=closes)


def print_changes(console: Console, answer: Answer, lang: str, *, redact: bool = True, diff: bool = True) -> None:
    """Prints what a plan changes, and what comes of it; without a heading, and without a verdict.

    Args:
        console: where to.
        answer: what is to be shown.
        lang: ``en`` or ``zh``.
        redact: whether secrets are hidden.
        diff: whether the launch is shown with its changes.
    """
    _Sheet(console, answer, lang, redact=redact, option="--choose").changes(diff=diff)


def written_text(name: str, lang: str) -> str:
    """That a file was written, or that it is the copy of what stood there before."""
    return say(lang, "fix.kept" if is_backup(name) else "fix.written", name=name)


class _Sheet(Canvas):
    def __init__(self, console: Console, answer: Answer, lang: str, *, redact: bool, option: str) -> None:
        super().__init__(console, lang)
        self._answer = answer
        self._option = option
        self._hide = plan_redactor(answer, redact=redact)

    def print(self, written: Sequence[str], *, closes: bool) -> None:
        answer, plan = self._answer, self._answer.plan
        self._heading()
        if answer.verdict is not None:
            self._found(answer.verdict)
        self._problems(answer.problems)
        self.changes(diff=True)
        if written:
            self.blank()
        for name in written:
            self.line(Styled(written_text(self._safe(name), self.lang)))
        if closes:
            self.blank()
            self._closing(plan)

    def changes(self, *, diff: bool) -> None:
        """What is changed, and what comes of it."""
        plan = self._answer.plan
        if self._only_by_hand(plan):
            self.blank()
            self.section("fix.by_hand")
            self._lefts(plan)
        else:
            self._steps(plan)
        if plan.diff and diff:
            self.blank()
            self.section("fix.diff")
            self._diff(plan.diff)
        self._memory(plan)
        self._warnings(plan.warnings)
        self._left(plan)
        self._alternatives(plan.alternatives)

    # ---------------------------------------------------------------- parts

    def _heading(self) -> None:
        answer = self._answer
        launch = answer.document.launch
        parts = [self._safe(answer.target), say(self.lang, f"fix.origin.{launch.origin.value}")]
        if answer.version:
            parts.append(printable(f"{launch.engine} {self._version()}"))
        if answer.log and answer.log != answer.target:
            parts.append(say(self.lang, "fix.log", name=self._safe(answer.log)))
        self.line(Styled(f" {self.glyphs.dot} ".join(parts), style="dim"))
        if answer.note is not None:
            self.line(self.styled(self._text(answer.note), "dim"))

    def _version(self) -> str:
        """The version; what the log only narrows down is called a guess."""
        answer = self._answer
        verdict = answer.verdict
        if verdict is not None and "version" not in verdict.facts:
            bounds = verdict.facts.get("version_max")
            if bounds is not None and bounds.value == answer.version:
                return version_text(verdict, self.lang)
        return answer.version

    def _found(self, verdict: Verdict) -> None:
        """The diagnosis in two lines."""
        self.blank()
        if not verdict.diagnoses:
            head, rest = last_line(verdict, self.lang)
            fine = verdict.state in (State.HEALTHY, State.STARTING)
            glyph = self.glyphs.fine if fine else self.glyphs.unknown
            self.line(
                self.styled(self._safe(head + rest)), 0, Styled(f"{glyph} ", style="green" if fine else "magenta")
            )
        for diagnosis in verdict.diagnoses:
            self._diagnosis(diagnosis)

    def _diagnosis(self, diagnosis: Diagnosis) -> None:
        style = _SEVERITY_STYLES.get(diagnosis.severity.value, "bold")
        glyph = self.glyphs.warned if diagnosis.severity.value == "degraded" else self.glyphs.failed
        self.line(self.styled(self._text(diagnosis.title), "bold"), 0, Styled(f"{glyph} ", style=style))
        parts = [f"{diagnosis.rule.id} {diagnosis.rule.name}", say(self.lang, f"severity.{diagnosis.severity.value}")]
        if diagnosis.evidence:
            parts.append(say(self.lang, "report.line", line=diagnosis.evidence[0].line))
        parts.append(say(self.lang, "fix.explain", rule=diagnosis.rule.id))
        self.line(Styled(printable(f" {self.glyphs.dot} ".join(parts)), style="dim"), 2)

    def _problems(self, problems: Sequence[Problem]) -> None:
        for key, noticed in (("fix.problems", False), ("fix.notices", True)):
            if some := [problem for problem in problems if (problem.severity == "notice") is noticed]:
                self.blank()
                self.section(key)
                self._list(some)

    def _list(self, problems: Sequence[Problem]) -> None:
        shown, rest = first_of_each(problems, attrgetter("id"))
        for problem in shown:
            style = _SEVERITY_STYLES.get(problem.severity, "dim")
            line = self.styled(self._text(problem.title))
            if problem.where is not None:
                line.append(f" {self.glyphs.dot} {self._text(problem.where)}", style="dim")
            if problem.rule:
                line.append(f" {self.glyphs.dot} {problem.rule}", style="dim")
            self.line(line, 4, Styled(f"{self.glyphs.dot} ", style=style))
            if problem.detail is not None:
                self.line(self.styled(self._text(problem.detail), "dim"), 6)
        self._rest(rest)

    def _rest(self, count: int) -> None:
        if count:
            self.line(Styled(say(self.lang, "report.more_alike", count=count), style="dim"), 4)

    def _steps(self, plan: Plan) -> None:
        self.blank()
        self.section("fix.changes")
        if not plan.steps:
            self.line(Styled(say(self.lang, "fix.no_changes")), 4)
        shown, rest = first_of_each(
            plan.steps, lambda step: (step.basis, step.rule, *(one.kind for one in step.changes))
        )
        for number, step in enumerate(shown, 1):
            self._step(f"{number}. ", step)
        self._rest(rest)

    def _step(self, number: str, step: Step, *, short: bool = False) -> None:
        line = Styled()
        if step.title.en:
            line = self.styled(self._text(step.title))
        else:
            typed = listed(change_text(change, self.lang) for change in step.changes)
            line.append(self._text(typed))
        line.append(f" [{say(self.lang, f'safety.{step.safety}')}]", style=_SAFETY_STYLES.get(step.safety, ""))
        if not short and step.basis is not Basis.FOUND:
            line.append(f" [{say(self.lang, f'basis.{step.basis.value}')}]", style="magenta")
        if short:
            line.append(f" {self._option} {step.id}", style="dim")
        self.line(line, 4, Styled(number))
        indent = 4 + len(number)
        if step.title.en:
            for change in step.changes:
                self.line(Styled(self._safe(change_text(change, self.lang)), style="bold cyan"), indent + 2)
        if not short and self._tells_why(step):
            self.line(self.styled(say(self.lang, "fix.why", text=self._text(step.why)), "dim"), indent)
        if step.note.en:
            self.line(self.styled(self._text(step.note), "dim"), indent)
        if cost_of(step.effect, self.lang):
            self.line(self.styled(say(self.lang, "report.cost", text=self._text(step.effect)), "dim"), indent)

    def _tells_why(self, step: Step) -> bool:
        """Whether the reason stands nowhere else: that of the only diagnosis is the first line of all."""
        if not step.why.en or step.why == step.title:
            return False
        verdict = self._answer.verdict
        return step.basis is not Basis.FOUND or verdict is None or len(verdict.diagnoses) > 1

    def _diff(self, diff: str) -> None:
        styles = {"+": "green", "-": "red", "@": "cyan"}
        for row in diff.rstrip("\n").split("\n"):
            header = row.startswith(("--- ", "+++ "))
            self.whole(Styled(self._safe(row), style="bold" if header else styles.get(row[:1], "")), 4)

    def _memory(self, plan: Plan) -> None:
        before, after = plan.predicted_before, plan.predicted
        if before is None and after is None:
            if (why := self._answer.unmeasured) is not None:
                self.blank()
                self.line(self.styled(say(self.lang, "fix.note", text=self._text(why)), "dim"), 2)
            return
        # Where nothing is changed there is no time after it.
        times = {"now": before, "then": after} if plan.steps else {"now": before or after}
        columns = [_column(prediction, self.lang) for prediction in times.values()]
        rows = [
            (say(self.lang, f"fix.memory.{key}"), *(column[key] for column in columns))
            for key in columns[0]
            if any(column[key] != _UNKNOWN for column in columns)
        ]
        if not rows:
            return
        self.blank()
        self.section("fix.memory")
        rows.insert(0, ("", *(say(self.lang, f"fix.memory.{time}") for time in times)))
        label = max(cell_len(row[0]) for row in rows)
        width = max(cell_len(cell) for row in rows for cell in row[1:])
        for index, (name, *cells) in enumerate(rows):
            line = Styled(name + " " * (label - cell_len(name)))
            for place, cell in enumerate(cells):
                changed = index and place and cell != cells[0]
                padding = " " * (width - cell_len(cell) + 3)
                line.append(padding + cell, style="bold" if changed else "" if index else "dim")
            self.line(line, 4)
        for key, prediction in times.items():
            if prediction is not None and prediction.failure is not None:
                text = say(self.lang, f"fix.memory.fails_{key}", message=self._safe(prediction.failure.message))
                self.line(self.styled(text, "red"), 4)
        for note in after.not_measured if after is not None else ():
            self.line(self.styled(say(self.lang, "fix.note", text=self._text(note)), "dim"), 4)

    def _warnings(self, warnings: Iterable[Text]) -> None:
        for index, warning in enumerate(warnings):
            if not index:
                self.blank()
            self.line(self.styled(self._text(warning)), 2, Styled(f"{self.glyphs.warned} ", style="yellow"))

    def _left(self, plan: Plan) -> None:
        """What cannot be done here; and where the launch cannot be edited, what to type instead."""
        if plan.refused is not None:
            self.blank()
            self.line(
                self.styled(say(self.lang, "fix.refused", why=self._text(plan.refused))),
                2,
                Styled(f"{self.glyphs.warned} ", style="yellow"),
            )
            shown, rest = first_of_each(plan.changes, attrgetter("kind"), _TYPED)
            for change in shown:
                self.whole(Styled(self._safe(change_text(change, self.lang)), style="bold cyan"), 6)
            self._rest(rest)
        elif (editable := self._answer.document.editable).why is not None:
            self.blank()
            self.line(self.styled(say(self.lang, "fix.note", text=self._text(editable.why)), "dim"), 2)
        if plan.left and not self._only_by_hand(plan):
            self.blank()
            self.section("fix.left")
            self._lefts(plan)

    def _only_by_hand(self, plan: Plan) -> bool:
        """Whether all that can be done is to be done by hand: then that comes first."""
        return bool(plan.left) and not plan.steps and plan.impossible is None

    def _lefts(self, plan: Plan) -> None:
        for why, group in grouped(plan.left):
            self.line(self.styled(self._text(why)), 4, Styled(f"{self.glyphs.dot} "))
            for left in group:
                if left.change is not None:
                    self.whole(Styled(self._safe(change_text(left.change, self.lang)), style="bold cyan"), 8)

    def _alternatives(self, alternatives: Sequence[Step]) -> None:
        if not alternatives:
            return
        self.blank()
        self.section("fix.alternatives")
        for step in alternatives[:_SHOWN_ALTERNATIVES]:
            self._step(f"{self.glyphs.dot} ", step, short=True)
        if (rest := len(alternatives) - _SHOWN_ALTERNATIVES) > 0:
            self.line(Styled(say(self.lang, "report.and_more", count=rest), style="dim"), 4)

    def _closing(self, plan: Plan) -> None:
        text = closing_line(self._answer, self.lang)
        style = "bold" if plan.changes or plan.left or _warning_count(self._answer) else "bold green"
        if self.console.is_terminal:
            self.line(self.styled(self._safe(text), style))
        else:  # one line, for `tail -1`
            self.console.print(Styled(self._safe(text), style=style), no_wrap=True, crop=False, overflow="ignore")

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))

    def _text(self, text: Text) -> str:
        return self._safe(text.in_language(self.lang))


def closing_line(answer: Answer, lang: str) -> str:
    """The verdict on a plan, one sentence."""
    plan = answer.plan
    if not plan.changes and plan.left:
        if plan.impossible is not None:
            return say(lang, "fix.closing.impossible")
        return say(lang, "fix.closing.by_hand", count=len(grouped(plan.left)))
    if not plan.changes and (wrong := sum(problem.severity in _WRONG for problem in answer.problems)):
        return say(lang, "fix.closing.wrong", count=wrong)
    if not plan.changes:
        warned = _warning_count(answer)
        if warned:
            return say(lang, "fix.closing.warned", count=warned)
        return say(lang, "fix.closing.nothing" if answer.unmeasured is None else "fix.closing.unmeasured")
    values = {
        "count": len(plan.changes),
        "predicted": sum(len(step.changes) for step in plan.steps if step.basis is Basis.PREDICTED),
        "safety": say(lang, f"safety.{plan.safety}"),
    }
    key = "fix.closing.one" if len(plan.changes) == 1 else "fix.closing.several"
    if plan.refused is not None:
        key = "fix.closing.to_type"
    text = say(lang, key, **values)
    if values["predicted"]:
        text += say(lang, "fix.closing.predicted", **values)
    if plan.left:
        text += say(lang, "fix.closing.left")
    return text + ("。" if lang == "zh" else ".")


def _warning_count(answer: Answer) -> int:
    """How many things are shown that get worse without being wrong."""
    problems = sum(problem.severity == Severity.DEGRADED for problem in answer.problems)
    diagnoses = answer.verdict.diagnoses if answer.verdict is not None else ()
    return len(answer.plan.warnings) + problems + sum(one.severity is Severity.DEGRADED for one in diagnoses)


def _column(prediction: Prediction | None, lang: str) -> dict[str, str]:
    """The cells of one column, by row."""
    if prediction is None:
        return dict.fromkeys(("fraction", "slots", "tokens", "windows", "requests", "longest", "left"), _UNKNOWN)
    return {
        "fraction": f"{prediction.fraction:.3g}",
        "slots": _count(prediction.slots),
        "tokens": _count(prediction.kv_tokens),
        "windows": _count(prediction.swa_tokens),
        "requests": _count(prediction.max_running_requests),
        "longest": _count(prediction.longest_request),
        "left": _amount(prediction.left_gib, lang),
    }


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _amount(size: Range | None, lang: str) -> str:
    if size is None:
        return _UNKNOWN
    return f"{size.text.in_language(lang)} GiB"
