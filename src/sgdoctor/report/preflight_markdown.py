"""A preflight as Markdown, fit for an issue or a review."""

from typing import Final

from sgdoctor import __version__
from sgdoctor.messages import say
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.model import Finding, Status
from sgdoctor.report.markdown import escaped, fence_for, prose
from sgdoctor.report.preflight_words import (
    closing_line,
    heading_of,
    phase_text,
    redactor_of,
    rows_by_area,
    seconds_text,
    shown_rows,
)
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text

_MARKS: Final = {Status.PASS: "✅", Status.WARN: "⚠️", Status.FAIL: "❌", Status.SKIPPED: "❔"}


def preflight_markdown(answer: Preflight, lang: str, *, redact: bool = True) -> str:
    """A preflight as one Markdown document.

    Args:
        answer: what is to be shown.
        lang: ``en`` or ``zh``.
        redact: whether secrets are left out.
    """
    page = _Page(answer, lang, redact=redact)
    return "\n\n".join([*page.head(), *page.areas(), *page.course(), *page.plan(), page.foot()]) + "\n"


class _Page:
    def __init__(self, answer: Preflight, lang: str, *, redact: bool) -> None:
        self._answer = answer
        self._lang = lang
        self._redact = redact
        self._hide = redactor_of(answer, redact=redact)

    def head(self) -> list[str]:
        answer = self._answer
        parts = [f"## sgdoctor preflight: {self._safe(closing_line(answer, self._lang))}"]
        parts.append(" · ".join(map(self._safe, heading_of(answer, self._lang))))
        return parts if answer.note is None else [*parts, self._text(answer.note)]

    def areas(self) -> list[str]:
        parts = []
        for area, found in rows_by_area(self._answer):
            shown, rest = shown_rows(found)
            rows = [self._row(title, finding) for title, finding in shown]
            rows += [f"- {say(self._lang, 'report.more_alike', count=rest)}"] if rest else []
            parts.append(f"### {say(self._lang, f'preflight.area.{area.value}')}\n\n" + "\n".join(rows))
        return parts

    def _row(self, title: Text, finding: Finding) -> str:
        rule = f" (`{finding.prevents}`)" if finding.prevents and finding.status is not Status.PASS else ""
        where = f", {self._text(finding.where)}" if finding.where is not None else ""
        row = f"- {_MARKS[finding.status]} **{self._text(title)}** {self._text(finding.title)}{where}{rule}"
        return f"{row}<br>{self._safe(finding.evidence)}" if finding.evidence else row

    def course(self) -> list[str]:
        rows = []
        for number, one in enumerate(self._answer.course, 1):
            words = [seconds_text(one, self._lang), phase_text(one.phase, self._lang), one.rule or ""]
            rows.append(f"{number}. {', '.join(filter(None, words))}: {self._text(one.finding.title)}")
        silently = say(self._lang, "preflight.silently")
        rows += [f"- {silently}: {self._text(finding.title)}" for finding in self._answer.silent]
        rows += [f"\n{say(self._lang, 'preflight.repeated')}"] if self._answer.predicted.repeated else []
        return [f"### {say(self._lang, 'preflight.course')}\n\n" + "\n".join(rows)] if rows else []

    def plan(self) -> list[str]:
        fix = self._answer.fix
        left = fix.plan.left if fix is not None else self._answer.left
        rows = [
            f"- {self._text(one.why)}"
            + (f": `{self._plain(change_text(one.change, self._lang))}`" if one.change else "")
            for one in left
        ]
        parts = [f"### {say(self._lang, 'fix.left')}\n\n" + "\n".join(rows)] if rows else []
        if fix is None or not fix.plan.diff:
            return parts
        lines = list(map(self._plain, fix.plan.diff.rstrip("\n").split("\n")))
        fence = fence_for(lines)
        shown = "\n".join([f"{fence}diff", *lines, fence])
        return [f"### {say(self._lang, 'fix.changes')}\n\n{shown}", *parts]

    def foot(self) -> str:
        footer = "report.footer" if self._redact else "report.footer_plain"
        return f"<sub>{say(self._lang, footer, version=__version__)}</sub>"

    def _plain(self, text: str) -> str:
        return self._hide(printable(text))

    def _safe(self, text: str) -> str:
        return escaped(self._plain(text))

    def _text(self, text: Text) -> str:
        return prose(self._hide(text.in_language(self._lang)))
