"""The card on the terminal: root cause first, the verdict as the last line."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.diagnosis.model import Diagnosis, Evidence, Fix, Notice, State, Unknown, Verdict
from sgdoctor.diagnosis.wording import phase_label
from sgdoctor.engines.base import Fact
from sgdoctor.messages import say
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.redact import HIDDEN, Redactor, is_secret_field, redactor_for
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text, consequences_text, cost_of, heading_parts, last_line
from sgdoctor.rules.model import Severity
from sgdoctor.texts import Text

_PROOF_LINES: Final = 6
_NAME_WIDTH: Final = 40
_STATE_STYLES: Final = {
    State.FAILED: "bold red",
    State.DEGRADED: "bold yellow",
    State.HEALTHY: "bold green",
    State.STARTING: "bold cyan",
    State.STALLED: "bold yellow",
    State.UNDETERMINED: "bold magenta",
}
_SEVERITY_STYLES: Final = {Severity.FATAL: "bold red", Severity.ERROR: "red", Severity.DEGRADED: "yellow"}
_SAFETY_STYLES: Final = {"safe": "green", "unsafe": "yellow", "manual": "cyan"}


class Options(NamedTuple):
    """What of a verdict is shown.

    Attributes:
        lang: ``en`` or ``zh``.
        facts: a table of what was read.
        phases: the course of the start.
        notices: the harmless and informational lines one by one.
        redact: whether secrets are hidden.
    """

    lang: str = "en"
    facts: bool = False
    phases: bool = False
    notices: bool = False
    redact: bool = True


def print_verdict(console: Console, verdict: Verdict, name: str, options: Options) -> None:
    """Prints one card; its last line is the verdict."""
    _Card(console, options, redactor_for(verdict, redact=options.redact)).print(verdict, name)


class _Card(Canvas):
    def __init__(self, console: Console, options: Options, hide: Redactor) -> None:
        super().__init__(console, options.lang)
        self._options = options
        self._hide = hide

    def print(self, verdict: Verdict, name: str) -> None:
        parts = heading_parts(verdict, self._hide(printable(name)), self.lang)
        self.line(Styled(f" {self.glyphs.dot} ".join(parts), style="dim"))
        if self._options.phases:
            self._phases(verdict)
        if self._options.facts:
            self._facts(verdict)
        for index, diagnosis in enumerate(verdict.diagnoses):
            self.blank()
            if index == 0:
                self._root(diagnosis)
            else:
                self._further(diagnosis)
        if verdict.unexplained is not None:
            self._unexplained(verdict.unexplained, verdict.state)
        if verdict.unknown is not None and verdict.unexplained is not None:
            self._unknown(verdict.unknown, verdict.unexplained.line)
        self._notices(verdict.notices)
        if verdict.slow_rules:
            rules = ", ".join(map(printable, verdict.slow_rules))
            self.line(Styled(say(self.lang, "report.slow_rules", rules=rules), style="yellow"))
        if verdict.would_decide is not None:
            self.blank()
            self.line(self.styled(self._text(verdict.would_decide)))
        self.blank()
        self._verdict(verdict)

    # ---------------------------------------------------------------- parts

    def _root(self, diagnosis: Diagnosis) -> None:
        self._title(diagnosis)
        self.blank()
        self.section("report.why")
        self.line(self.styled(self._text(diagnosis.cause)), 4)
        if diagnosis.evidence:
            self.blank()
            self.section("report.evidence")
            self._quotes(diagnosis.evidence)
        self.blank()
        self.section("report.fixes")
        if not diagnosis.fixes:
            self.line(Styled(say(self.lang, "report.no_fix")), 4)
        for number, fix in enumerate(diagnosis.fixes, 1):
            self._fix(number, fix)
        if diagnosis.upgrade is not None:
            self.line(self.styled(self._text(diagnosis.upgrade), "bold"), 4)
        self._consequences(diagnosis)

    def _further(self, diagnosis: Diagnosis) -> None:
        self._title(diagnosis)
        self.line(self.styled(self._text(diagnosis.cause)), 4)
        for evidence in diagnosis.evidence[:1]:
            self._quote(evidence.line, evidence.text, 4, width=len(str(evidence.line)), proof=True)
        for number, fix in enumerate(diagnosis.fixes[:1], 1):
            self._fix(number, fix)
        if diagnosis.upgrade is not None:
            self.line(self.styled(self._text(diagnosis.upgrade), "bold"), 4)
        self._consequences(diagnosis)

    def _title(self, diagnosis: Diagnosis) -> None:
        style = _SEVERITY_STYLES.get(diagnosis.severity, "bold")
        glyph = self.glyphs.warned if diagnosis.severity is Severity.DEGRADED else self.glyphs.failed
        self.line(self.styled(self._text(diagnosis.title), "bold"), 0, Styled(f"{glyph} ", style=style))
        details = [
            f"{diagnosis.rule.id} {diagnosis.rule.name}",
            say(self.lang, f"severity.{diagnosis.severity.value}"),
            say(self.lang, f"confidence.{diagnosis.confidence.value}"),
        ]
        if diagnosis.ranks:
            details.append(", ".join(printable(rank) for rank in diagnosis.ranks))
        if diagnosis.occurrences > 1:
            details.append(say(self.lang, "report.count", count=diagnosis.occurrences))
        self.line(Styled(printable(f" {self.glyphs.dot} ".join(details)), style="dim"), 2)

    def _fix(self, number: int, fix: Fix) -> None:
        safety = say(self.lang, f"safety.{fix.safety}")
        line = self.styled(self._text(fix.summary))
        line.append(f" [{safety}]", style=_SAFETY_STYLES.get(fix.safety, ""))
        self.line(line, 4, Styled(f"{number}. "))
        for change in fix.changes:
            self.line(Styled(printable(change_text(change, self.lang)), style="bold cyan"), 9)
        if effect := printable(cost_of(fix.effect, self.lang)):
            self.line(self.styled(say(self.lang, "report.cost", text=effect), "dim"), 7)

    def _quotes(self, evidences: Sequence[Evidence]) -> None:
        width = len(str(max(number for evidence in evidences for number in _numbers(evidence))))
        shown: set[int] = set()
        proofs = {evidence.line for evidence in evidences}
        for index, evidence in enumerate(evidences):
            if evidence.line in shown:
                continue
            if index:
                self.line(Styled(self.glyphs.gap, style="dim"), 4 + width)
            for number, text in (*evidence.before, (evidence.line, evidence.text), *evidence.after):
                if number not in shown:
                    shown.add(number)
                    self._quote(number, text, 2, width=width, proof=number in proofs)

    def _quote(self, number: int, text: str, indent: int, *, width: int, proof: bool) -> None:
        pointer = self.glyphs.pointer if proof else " " * cell_len(self.glyphs.pointer)
        style = "" if proof else "dim"
        prefix = Styled(f"{pointer} {number:>{width}} {self.glyphs.bar} ", style="bold" if proof else "dim")
        # Context on one line, the proof on a few: a screen is for reading.
        room = (self.console.width - indent - prefix.cell_len) * (_PROOF_LINES if proof else 1)
        self.line(Styled(self.short(self._hide(printable(text)), room), style=style), indent, prefix)

    def _consequences(self, diagnosis: Diagnosis) -> None:
        if text := consequences_text(diagnosis.consequences, self.lang):
            self.blank()
            self.line(Styled(text, style="dim"), 2, Styled(f"{self.glyphs.follows} ", style="dim"))

    def _unexplained(self, evidence: Evidence, state: State) -> None:
        self.blank()
        key = "report.unexplained" if state is State.UNDETERMINED else "report.unexplained_exception"
        self.line(Styled(f"{self.glyphs.unknown} ", style="bold magenta") + Styled(say(self.lang, key), style="bold"))
        self._quotes((evidence,))

    def _unknown(self, unknown: Unknown, line: int) -> None:
        if unknown.phase is not None:
            phase = phase_label(unknown.phase).in_language(self.lang)
            self.line(Styled(say(self.lang, "report.unknown_phase", phase=phase)), 2)
        if unknown.unusual:
            self.blank()
            self.section("report.unusual")
            width = len(str(unknown.unusual[-1].line))
            for evidence in unknown.unusual:
                self._quote(evidence.line, evidence.text, 2, width=width, proof=False)
        if unknown.resembling:
            self.blank()
            self.section("report.resembling")
            for each in unknown.resembling:
                self.line(self.styled(self._text(each.title)), 4, Styled(f"{each.rule} ", style="dim"))
        self.blank()
        self.line(Styled(say(self.lang, "report.make_rule", line=line), style="dim"), 2)

    def _notices(self, notices: Sequence[Notice]) -> None:
        harmless = [notice for notice in notices if notice.severity is Severity.BENIGN]
        notes = [notice for notice in notices if notice.severity is not Severity.BENIGN]
        if not self._options.notices:
            folded = [
                say(self.lang, one if len(group) == 1 else several, count=len(group))
                for one, several, group in (
                    ("report.notices_one", "report.notices", harmless),
                    ("report.notes_one", "report.notes", notes),
                )
                if group
            ]
            if folded:
                self.blank()
            for text in folded:
                self.line(Styled(text, style="dim"))
            return
        for key, group in (("report.notices_title", harmless), ("report.notes_title", notes)):
            if not group:
                continue
            self.blank()
            self.section(key)
            for notice in group:
                title = self._text(notice.title)
                if notice.occurrences > 1:
                    title = say(self.lang, "report.times", title=title, count=notice.occurrences)
                where = say(self.lang, "report.line", line=notice.line)
                self.line(self.styled(f"{title} {self.glyphs.dot} {where}", "bold"), 2, Styled(f"{notice.rule}  "))
                self.line(self.styled(self._text(notice.cause)), 4)

    def _phases(self, verdict: Verdict) -> None:
        if not verdict.phases:
            return
        self.blank()
        self.section("report.phases_title")
        labels = [phase_label(phase.name).in_language(self.lang) for phase in verdict.phases]
        width = max(cell_len(label) for label in labels)
        last = verdict.phases[-1]
        for phase, label in zip(verdict.phases, labels, strict=True):
            broken = verdict.state is State.FAILED and phase is last
            glyph = self.glyphs.failed if broken else self.glyphs.fine if phase.done else self.glyphs.waiting
            line = Styled(f"{glyph} ", style="red" if broken else "green" if phase.done else "cyan")
            line.append(label + " " * (width - cell_len(label)))
            line.append(f"  {phase.seconds:8.1f} s" if phase.seconds is not None else " " * 12)
            line.append(f"  {phase.memory_gib:7.2f} GiB" if phase.memory_gib is not None else " " * 13)
            first, final = phase.start_line, phase.end_line
            key = "report.line" if first == final else "report.lines"
            line.append("  " + say(self.lang, key, line=first, first=first, last=final), style="dim")
            if not phase.done and phase is not last:
                line.append("  " + say(self.lang, "report.unfinished"), style="dim")
            line.rstrip()
            self.line(line, 2)

    def _facts(self, verdict: Verdict) -> None:
        if not verdict.facts:
            return
        self.blank()
        self.section("report.facts_title")
        shown = {name: fact for name, fact in sorted(verdict.facts.items()) if _is_told(name, fact)}
        width = min(_NAME_WIDTH, max(map(len, shown), default=0), self.console.width // 2)
        for name, fact in shown.items():
            line = Styled(self._fact(name, fact), style="bold")
            origin = "report.derived" if fact.derived else "report.line"
            line.append(f"  {say(self.lang, origin, line=fact.line)}", style="dim")
            if cell_len(name := printable(name)) <= width:
                self.line(line, 2, Styled(f"{name:<{width}}  "))
            else:
                self.line(Styled(name), 2)
                self.line(line, 4)

    def _fact(self, name: str, fact: Fact) -> str:
        if self._options.redact and is_secret_field(name) and fact.value not in (None, "", False):
            return HIDDEN
        return self.short(self._hide(printable(_plain(fact.value))), 2 * self.console.width)

    def _verdict(self, verdict: Verdict) -> None:
        style = _STATE_STYLES[verdict.state]
        head, rest = last_line(verdict, self.lang)
        line = Styled(printable(head), style=style) + self.styled(printable(rest))
        if self.console.is_terminal:
            self.line(line)
        else:  # one line, for `tail -1`
            self.console.print(line, no_wrap=True, crop=False, overflow="ignore")

    def _text(self, text: Text) -> str:
        return printable(text.in_language(self.lang))


def _is_told(name: str, fact: Fact) -> bool:
    """Whether a fact says anything: some five hundred arguments have no value or are switched off."""
    return not name.startswith("args.") or fact.value not in (None, False, "", (), [])


def _numbers(evidence: Evidence) -> list[int]:
    return [evidence.line, *(number for number, _ in (*evidence.before, *evidence.after))]


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(str(entry) for entry in value)
    return str(value)
