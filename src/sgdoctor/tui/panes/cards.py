"""A diagnosis as lines: what, why, the proof, what to do about it."""

from collections.abc import Sequence
from typing import Final

from textual.content import Content

from sgdoctor.diagnosis.model import Diagnosis, Evidence, Fix
from sgdoctor.messages import say
from sgdoctor.report.wording import change_text
from sgdoctor.rules.model import Confidence, Severity
from sgdoctor.tui.drawing import (
    BAD,
    BLANK,
    CODE,
    GOOD,
    MUTED,
    ODD,
    cut,
    plain,
    prose,
    shortened,
    spread,
    styled,
    wrap,
)
from sgdoctor.tui.panes.forecast import forecast_lines
from sgdoctor.tui.view import View
from sgdoctor.tui.words import tell, tell_count

SEVERITY_LOOK: Final = {
    Severity.FATAL: ("✖", f"bold {BAD}"),
    Severity.ERROR: ("✖", BAD),
    Severity.DEGRADED: ("▲", ODD),
    Severity.NOTICE: ("·", MUTED),
    Severity.BENIGN: ("✓", MUTED),
}
_DOTS: Final = {Confidence.CERTAIN: "●●●", Confidence.LIKELY: "●●○", Confidence.POSSIBLE: "●○○"}
SAFETY_LOOK: Final = {"safe": ("✔", GOOD), "unsafe": ("▲", ODD), "manual": ("✎", MUTED)}
_CAUSE_ROWS: Final = 4
_QUOTE_ROWS: Final = 2
_FIXES: Final = 3


def card_lines(diagnosis: Diagnosis, view: View, width: int, *, brief: bool = False) -> list[Content]:
    """One diagnosis.

    Args:
        diagnosis: which.
        view: for the language.
        width: in cells.
        brief: a further one, which gets less room than the root cause.
    """
    lang = view.lang
    symbol, colour = SEVERITY_LOOK[diagnosis.severity]
    tag = Content.assemble((diagnosis.rule.id, MUTED), " ", (_DOTS[diagnosis.confidence], colour.split()[-1]))
    title = wrap(prose(diagnosis.title.in_language(lang), "bold"), width, first=styled(f"{symbol} ", colour))
    room = width - tag.cell_length - 1
    if title[0].cell_length > room:
        title = wrap(
            prose(diagnosis.title.in_language(lang), "bold"), max(16, room), first=styled(f"{symbol} ", colour)
        )
    lines = [spread(title[0], tag, width), *title[1:]]
    cause = wrap(prose(diagnosis.cause.in_language(lang)), width, first=Content("  "))
    most = 3 if brief else _CAUSE_ROWS
    if len(cause) > most:
        cause = shortened(cause, most, width)
    lines += cause
    for evidence in diagnosis.evidence[:1]:
        lines += [BLANK, *quote_lines(evidence, view, width, rows=_QUOTE_ROWS, context=False)]
    count = len(diagnosis.consequences)
    if count:
        rules = dict.fromkeys(consequence.rule for consequence in diagnosis.consequences)
        names = tell(lang, "diagnosis.rules", names=("、" if lang == "zh" else ", ").join(rules))
        text = tell_count(lang, "diagnosis.consequences", count) + names
        lines.append(cut(Content.assemble(("  ↳ ", MUTED), (text, MUTED)), width))
    shown = diagnosis.fixes[: 1 if brief else _FIXES]
    for number, fix in enumerate(shown, 1):
        if number == 1:
            lines.append(BLANK)
        lines += fix_lines(fix, number, view, width, whole=False)
        if number == 1 and not brief:
            lines += forecast_lines(diagnosis, view, width)
    if not diagnosis.fixes:
        lines += [BLANK, *wrap(styled(say(lang, "report.no_fix"), MUTED), width, first=Content("  "))]
    if rest := len(diagnosis.fixes) - len(shown):
        lines.append(cut(styled(f"  {tell_count(lang, 'diagnosis.more_fixes', rest)}", MUTED), width))
    return lines


def fix_lines(fix: Fix, number: int, view: View, width: int, *, whole: bool) -> list[Content]:
    """One fix: its flags are what catches the eye; ``whole`` adds what it costs."""
    lang = view.lang
    symbol, colour = SAFETY_LOOK[fix.safety]
    safety = Content.assemble((f"{symbol} {say(lang, f'safety.{fix.safety}')}", colour))
    lead = Content.assemble("  ", (tell(lang, "diagnosis.fix", number=number), "bold"), "  ")
    lines = wrap(Content.assemble(safety, "  ", prose(fix.summary.in_language(lang))), width, first=lead, indent=4)
    for change in fix.changes:
        lines += wrap(plain(change_text(change, lang), f"bold {CODE}"), width, first=Content("      "), indent=8)
    if whole and (effect := fix.effect.in_language(lang)):
        lines += wrap(prose(say(lang, "report.cost", text=effect), MUTED), width, first=Content("    "))
    return lines


def quote_lines(evidence: Evidence, view: View, width: int, *, rows: int, context: bool) -> list[Content]:
    """A line of the log, with its number; of the proof at most ``rows`` rows, of its context one row each."""
    around = [*evidence.before, (evidence.line, evidence.text), *evidence.after] if context else []
    quoted: Sequence[tuple[int, str]] = around or [(evidence.line, evidence.text)]
    digits = max(len(str(number)) for number, _ in quoted)
    lines: list[Content] = []
    for number, text in quoted:
        proof = number == evidence.line
        first = Content.assemble(
            ("  ▶ " if proof else "    ", f"bold {ODD}"),
            (f"{number:>{digits}}", "bold" if proof else MUTED),
            (" │ ", MUTED),
        )
        content = plain(view.hide(text), "" if proof else MUTED)
        if not proof:
            lines.append(cut(first + content, width))
            continue
        wrapped = wrap(content, width, first=first)
        if len(wrapped) > rows:
            wrapped = shortened(wrapped, rows, width)
        lines += wrapped
    return lines
