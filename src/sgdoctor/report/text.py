"""The card on the terminal: root cause first, the verdict as the last line."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text as Styled

from sgdoctor.diagnosis.model import Diagnosis, Evidence, Fix, Notice, State, Verdict
from sgdoctor.diagnosis.wording import phase_label, state_label
from sgdoctor.engines.base import Fact
from sgdoctor.messages import say
from sgdoctor.report.json import redactor_for
from sgdoctor.report.redact import HIDDEN, Redactor, is_secret_field
from sgdoctor.report.safe import Glyphs, glyphs_for, printable
from sgdoctor.report.wording import change_text, consequences_text, heading_parts
from sgdoctor.rules.model import Severity, Text

_MAX_WIDTH: Final = 110
_MIN_WIDTH: Final = 24
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


@dataclass(frozen=True, slots=True)
class Options:
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


def console_for(stream: IO[str], environment: dict[str, str] | None = None) -> Console:
    """A console that prints nothing but what it is told: no markup, no emoji codes, no highlighting of log text."""
    environment = dict(os.environ if environment is None else environment)
    console = Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
        no_color="NO_COLOR" in environment or None,
        _environ=environment,
    )
    console.width = max(_MIN_WIDTH, min(console.width, _MAX_WIDTH))
    return console


def print_verdict(console: Console, verdict: Verdict, name: str, options: Options) -> None:
    """Prints one card; its last line is the verdict."""
    _Card(console, options, redactor_for(verdict, redact=options.redact)).print(verdict, name)


class _Card:
    def __init__(self, console: Console, options: Options, hide: Redactor) -> None:
        self._console = console
        self._options = options
        self._lang = options.lang
        self._hide = hide
        self._glyphs: Glyphs = glyphs_for(console.encoding)

    def print(self, verdict: Verdict, name: str) -> None:
        parts = heading_parts(verdict, self._hide(printable(name)), self._lang)
        self._line(Styled(f" {self._glyphs.dot} ".join(parts), style="dim"))
        if self._options.phases:
            self._phases(verdict)
        if self._options.facts:
            self._facts(verdict)
        for index, diagnosis in enumerate(verdict.diagnoses):
            self._blank()
            if index == 0:
                self._root(diagnosis)
            else:
                self._further(diagnosis)
        if verdict.unexplained is not None:
            self._unexplained(verdict.unexplained, verdict.state)
        elif verdict.state is State.UNDETERMINED and not verdict.diagnoses:
            self._blank()
            self._line(Styled(say(self._lang, "report.would_decide")))
        self._notices(verdict.notices)
        self._blank()
        self._verdict(verdict)

    # ---------------------------------------------------------------- parts

    def _root(self, diagnosis: Diagnosis) -> None:
        self._title(diagnosis)
        self._blank()
        self._section("report.why")
        self._prose(diagnosis.cause, 4)
        if diagnosis.evidence:
            self._blank()
            self._section("report.evidence")
            self._quotes(diagnosis.evidence)
        self._blank()
        self._section("report.fixes")
        if not diagnosis.fixes:
            self._line(Styled(say(self._lang, "report.no_fix")), 4)
        for number, fix in enumerate(diagnosis.fixes, 1):
            self._fix(number, fix)
        if diagnosis.rule.fixed_in:
            self._line(Styled(say(self._lang, "report.fixed_in", versions=printable(diagnosis.rule.fixed_in))), 4)
        self._consequences(diagnosis)

    def _further(self, diagnosis: Diagnosis) -> None:
        self._title(diagnosis)
        self._prose(diagnosis.cause, 4)
        for evidence in diagnosis.evidence[:1]:
            self._quote(evidence.line, evidence.text, 4, width=len(str(evidence.line)), proof=True)
        for number, fix in enumerate(diagnosis.fixes[:1], 1):
            self._fix(number, fix)
        self._consequences(diagnosis)

    def _title(self, diagnosis: Diagnosis) -> None:
        style = _SEVERITY_STYLES.get(diagnosis.severity, "bold")
        glyph = self._glyphs.warned if diagnosis.severity is Severity.DEGRADED else self._glyphs.failed
        self._line(Styled(f"{glyph} ", style=style) + self._styled(self._text(diagnosis.title), "bold"))
        details = [
            f"{diagnosis.rule.id} {diagnosis.rule.name}",
            say(self._lang, f"severity.{diagnosis.severity.value}"),
            say(self._lang, f"confidence.{diagnosis.confidence.value}"),
        ]
        if diagnosis.ranks:
            details.append(", ".join(printable(rank) for rank in diagnosis.ranks))
        if diagnosis.count > 1:
            details.append(say(self._lang, "report.count", count=diagnosis.count))
        self._line(Styled(printable(f" {self._glyphs.dot} ".join(details)), style="dim"), 2)

    def _fix(self, number: int, fix: Fix) -> None:
        safety = say(self._lang, f"safety.{fix.safety}")
        line = Styled(f"{number}. ")
        line += self._styled(self._text(fix.summary))
        line.append(f" [{safety}]", style=_SAFETY_STYLES.get(fix.safety, ""))
        self._line(line, 4, hanging=3)
        for change in fix.changes:
            self._line(Styled(self._hide(printable(change_text(change, self._lang))), style="bold cyan"), 9, hanging=2)
        effect = self._text(fix.effect)
        if effect:
            self._line(self._styled(say(self._lang, "report.cost", text=effect), "dim"), 7)

    def _quotes(self, evidences: Sequence[Evidence]) -> None:
        width = len(str(max(number for evidence in evidences for number in _numbers(evidence))))
        shown: set[int] = set()
        proofs = {evidence.line for evidence in evidences}
        for index, evidence in enumerate(evidences):
            if evidence.line in shown:
                continue
            if index:
                self._line(Styled("..." if self._glyphs.bar == "|" else "⋮", style="dim"), 4 + width)
            for number, text in (*evidence.before, (evidence.line, evidence.text), *evidence.after):
                if number not in shown:
                    shown.add(number)
                    self._quote(number, text, 2, width=width, proof=number in proofs)

    def _quote(self, number: int, text: str, indent: int, *, width: int, proof: bool) -> None:
        pointer = self._glyphs.pointer if proof else " " * cell_len(self._glyphs.pointer)
        style = "" if proof else "dim"
        line = Styled(f"{pointer} {number:>{width}} {self._glyphs.bar} ", style="bold" if proof else "dim")
        line.append(self._short(self._hide(printable(text)), proof=proof), style=style)
        self._line(line, indent, hanging=width + 5)

    def _short(self, text: str, *, proof: bool) -> str:
        """Context on one line, the proof on a few: a screen is for reading."""
        room = self._console.width * (6 if proof else 1) - 16
        return text if cell_len(text) <= room else text[: max(8, room)] + ("..." if self._glyphs.bar == "|" else "…")

    def _consequences(self, diagnosis: Diagnosis) -> None:
        if text := consequences_text(diagnosis.consequences, self._lang):
            self._blank()
            self._line(Styled(f"{self._glyphs.follows} {text}", style="dim"), 2, hanging=2)

    def _unexplained(self, evidence: Evidence, state: State) -> None:
        self._blank()
        key = "report.unexplained" if state is State.UNDETERMINED else "report.unexplained_exception"
        self._line(
            Styled(f"{self._glyphs.unknown} ", style="bold magenta") + Styled(say(self._lang, key), style="bold")
        )
        self._quotes((evidence,))
        if state is State.UNDETERMINED:
            self._line(Styled(say(self._lang, "report.would_decide"), style="dim"), 2)

    def _notices(self, notices: Sequence[Notice]) -> None:
        harmless = [notice for notice in notices if notice.severity is Severity.BENIGN]
        notes = [notice for notice in notices if notice.severity is not Severity.BENIGN]
        if not self._options.notices:
            folded = [
                say(self._lang, key, count=len(group))
                for key, group in (("report.notices", harmless), ("report.notes", notes))
                if group
            ]
            if folded:
                self._blank()
            for text in folded:
                self._line(Styled(text, style="dim"))
            return
        for key, group in (("report.notices_title", harmless), ("report.notes_title", notes)):
            if not group:
                continue
            self._blank()
            self._section(key)
            for notice in group:
                title = self._text(notice.title)
                if notice.count > 1:
                    title = say(self._lang, "report.times", title=title, count=notice.count)
                where = say(self._lang, "report.line", line=notice.line)
                self._line(self._styled(f"{notice.rule}  {title} {self._glyphs.dot} {where}", "bold"), 2, hanging=2)
                self._prose(notice.cause, 4)

    def _phases(self, verdict: Verdict) -> None:
        if not verdict.phases:
            return
        self._blank()
        self._section("report.phases_title")
        labels = [phase_label(phase.name).in_language(self._lang) for phase in verdict.phases]
        width = max(cell_len(label) for label in labels)
        last = verdict.phases[-1]
        for phase, label in zip(verdict.phases, labels, strict=True):
            broken = verdict.state is State.FAILED and phase is last
            glyph = self._glyphs.failed if broken else self._glyphs.fine if phase.done else self._glyphs.waiting
            line = Styled(f"{glyph} ", style="red" if broken else "green" if phase.done else "cyan")
            line.append(label + " " * (width - cell_len(label)))
            line.append(f"  {phase.seconds:8.1f} s" if phase.seconds is not None else " " * 12)
            line.append(f"  {phase.memory_gib:7.2f} GiB" if phase.memory_gib is not None else " " * 13)
            line.append(
                "  " + say(self._lang, "report.lines", first=phase.start_line, last=phase.end_line), style="dim"
            )
            if not phase.done and phase is not last:
                line.append("  " + say(self._lang, "report.unfinished"), style="dim")
            line.rstrip()
            self._line(line, 2)

    def _facts(self, verdict: Verdict) -> None:
        if not verdict.facts:
            return
        self._blank()
        self._section("report.facts_title")
        width = min(40, max(len(name) for name in verdict.facts))
        for name in sorted(verdict.facts):
            fact = verdict.facts[name]
            line = Styled(f"{printable(name):<{width}}  ")
            line.append(self._fact(name, fact), style="bold")
            origin = "report.derived" if fact.derived else "report.line"
            line.append(f"  {say(self._lang, origin, line=fact.line)}", style="dim")
            self._line(line, 2, hanging=width + 2)

    def _fact(self, name: str, fact: Fact) -> str:
        if self._options.redact and is_secret_field(name) and fact.value not in (None, "", False):
            return HIDDEN
        return self._short(self._hide(printable(_plain(fact.value))), proof=False)

    def _verdict(self, verdict: Verdict) -> None:
        style = _STATE_STYLES[verdict.state]
        label = state_label(verdict.state).in_language(self._lang)
        separator = "：" if self._lang == "zh" else ": "
        self._line(Styled(f"{label}{separator}", style=style) + self._styled(self._text(verdict.summary)))

    # ---------------------------------------------------------------- lines

    def _text(self, text: Text) -> str:
        return self._hide(printable(text.in_language(self._lang)))

    def _styled(self, text: str, style: str = "") -> Styled:
        """Engine texts stand between backticks: bold where the terminal can show it, in backticks where it cannot."""
        if not self._console.is_terminal or self._console.no_color or text.count("`") % 2:
            return Styled(text, style=style)
        styled = Styled()
        for index, part in enumerate(text.split("`")):
            styled.append(part, style=f"{style} bold" if index % 2 else style)
        return styled

    def _section(self, key: str) -> None:
        self._line(Styled(say(self._lang, key), style="bold underline" if self._console.is_terminal else ""), 2)

    def _prose(self, text: Text, indent: int) -> None:
        self._line(self._styled(self._text(text)), indent)

    def _blank(self) -> None:
        self._console.print()

    def _line(self, text: Styled, indent: int = 0, hanging: int = 0) -> None:
        """Prints ``text`` wrapped inside the console, its further lines ``hanging`` columns deeper."""
        room = max(16, self._console.width - indent)
        lines = text.wrap(self._console, max(12, room - hanging), overflow="fold") if hanging else None
        if lines is None:
            self._console.print(Padding(text, (0, 0, 0, indent)), overflow="fold")
            return
        for index, line in enumerate(lines):
            line.rstrip()
            self._console.print(Styled(" " * (indent + (hanging if index else 0))) + line, no_wrap=True, crop=False)


def _numbers(evidence: Evidence) -> list[int]:
    return [evidence.line, *(number for number, _ in (*evidence.before, *evidence.after))]


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return ", ".join(str(entry) for entry in value)
    return str(value)
