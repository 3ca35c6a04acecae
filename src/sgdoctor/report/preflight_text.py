"""A preflight on the terminal: what was checked by area, how the start would go, the plan; the verdict is last."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.messages import say
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.model import Finding, Status
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.plan_text import print_changes, written_text
from sgdoctor.report.preflight_words import (
    closing_line,
    heading_of,
    phase_text,
    redactor_of,
    rows_by_area,
    seconds_text,
    sees_engine,
    shown_rows,
)
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text

_STYLES: Final = {Status.PASS: "green", Status.WARN: "yellow", Status.FAIL: "bold red", Status.SKIPPED: "dim"}


def print_preflight(
    console: Console,
    answer: Preflight,
    lang: str,
    *,
    redact: bool = True,
    diff: bool = False,
    written: Sequence[str] = (),
) -> None:
    """Prints a preflight; its last line is the verdict.

    Args:
        console: where to.
        answer: what is to be shown.
        lang: ``en`` or ``zh``.
        redact: whether secrets are hidden.
        diff: whether the launch is shown with the changes of the plan.
        written: names of the files that were written.
    """
    sheet = _Sheet(console, answer, lang, redact=redact)
    sheet.top()
    if answer.fix is not None and (answer.fix.plan.steps or answer.fix.plan.left):
        print_changes(console, answer.fix, lang, redact=redact, diff=diff)
    sheet.bottom(written, diff=diff)


class _Sheet(Canvas):
    def __init__(self, console: Console, answer: Preflight, lang: str, *, redact: bool) -> None:
        super().__init__(console, lang)
        self._answer = answer
        self._hide = redactor_of(answer, redact=redact)

    def top(self) -> None:
        answer = self._answer
        self.line(Styled(f" {self.glyphs.dot} ".join(map(self._safe, heading_of(answer, self.lang))), style="dim"))
        if answer.note is not None:
            self.line(self.styled(self._text(answer.note), "dim"))
        for area, rows in rows_by_area(answer):
            self.blank()
            self.section(f"preflight.area.{area.value}")
            shown, rest = shown_rows(rows)
            for title, finding in shown:
                self._finding(title, finding)
            if rest:
                self.line(Styled(say(self.lang, "report.more_alike", count=rest), style="dim"), 4)
        self._course()

    def bottom(self, written: Sequence[str], *, diff: bool) -> None:
        answer = self._answer
        if answer.fix is None and answer.left:
            self.blank()
            self.section("fix.by_hand")
            for left in answer.left:
                self.line(self.styled(self._text(left.why)), 4, Styled(f"{self.glyphs.dot} "))
                if left.change is not None:
                    self.whole(Styled(self._safe(change_text(left.change, self.lang)), style="bold cyan"), 8)
        if answer.fix is not None and answer.fix.plan.diff and not diff and not written:
            self.blank()
            self.line(self.styled(say(self.lang, "preflight.more"), "dim"), 2)
        if written:
            self.blank()
        for name in written:
            self.line(Styled(written_text(self._safe(name), self.lang)))
        self.blank()
        self._closing()

    def _finding(self, title: Text, finding: Finding) -> None:
        style = _STYLES[finding.status]
        line = self.styled(self._text(finding.title))
        if title != finding.title:
            line = Styled(self._text(title) + (": " if self.lang == "en" else "：")) + line
        quiet = finding.status in (Status.PASS, Status.SKIPPED)
        if finding.where is not None:
            line.append(f" {self.glyphs.dot} {self._text(finding.where)}", style="dim")
        if finding.prevents and not quiet:
            line.append(f" {self.glyphs.dot} {finding.prevents}", style="dim")
        if finding.evidence and quiet:
            line.append(f" {self.glyphs.dot} {self._safe(finding.evidence)}", style="dim")
        self.line(line, 4, Styled(f"{self._glyph(finding.status)} ", style=style))
        if finding.evidence and not quiet:
            self.line(Styled(self._safe(finding.evidence), style="dim"), 6, Styled(f"{self.glyphs.bar} ", style="dim"))
        if finding.detail is not None:
            self.line(self.styled(self._text(finding.detail), "dim"), 6)

    def _glyph(self, status: Status) -> str:
        return {
            Status.PASS: self.glyphs.fine,
            Status.WARN: self.glyphs.warned,
            Status.FAIL: self.glyphs.failed,
            Status.SKIPPED: self.glyphs.unknown,
        }[status]

    def _course(self) -> None:
        answer = self._answer
        if not answer.course and not answer.silent:
            return
        self.blank()
        self.section("preflight.course")
        for number, one in enumerate(answer.course, 1):
            parts = [seconds_text(one, self.lang), phase_text(one.phase, self.lang), one.rule or ""]
            line = Styled(f" {self.glyphs.dot} ".join(filter(None, parts)), style="bold" if number == 1 else "")
            line.append_text(self.styled(f" {self.glyphs.dot} {self._text(one.finding.title)}"))
            self.line(line, 4, Styled(f"{number}. "))
        for finding in answer.silent:
            line = Styled(say(self.lang, "preflight.silently"))
            line.append_text(self.styled(f" {self.glyphs.dot} {self._text(finding.title)}"))
            self.line(line, 4, Styled(f"{self.glyphs.dot} "))
        if answer.predicted.repeated:
            self.line(self.styled(say(self.lang, "preflight.repeated"), "dim"), 4)

    def _closing(self) -> None:
        answer = self._answer
        unseen = bool(answer.target) and answer.status is Status.PASS and not sees_engine(answer)
        status = Status.SKIPPED if unseen else answer.status
        line = Styled(f"{self._glyph(status)} ", style=_STYLES[status])
        line.append(self._safe(closing_line(answer, self.lang)), style="bold")
        if self.console.is_terminal:
            self.line(line)
        else:  # one line, for `tail -1`
            self.console.print(line, no_wrap=True, crop=False, overflow="ignore")

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))

    def _text(self, text: Text) -> str:
        return self._safe(text.in_language(self.lang))
