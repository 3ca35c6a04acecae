"""Everything about one diagnosis."""

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from sgdoctor.diagnosis.model import Diagnosis
from sgdoctor.messages import say
from sgdoctor.report.safe import printable
from sgdoctor.rules.template import spoken
from sgdoctor.tui.bindings import forwarded
from sgdoctor.tui.drawing import BLANK, MUTED, plain, prose, styled, wrap
from sgdoctor.tui.panes.cards import SEVERITY_LOOK, fix_lines, quote_lines
from sgdoctor.tui.panes.forecast import forecast_lines
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.screens.explain import section
from sgdoctor.tui.view import View
from sgdoctor.tui.words import tell

_QUOTE_ROWS = 12


class DetailScreen(Dialog):
    """One diagnosis at a time; left and right go to the others. It follows a log that still grows."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *forwarded(("explain", "copy", "save", "evidence(1)", "evidence(-1)")),
        ("left", "turn(-1)", ""),
        ("right", "turn(1)", ""),
        ("enter", "dismiss", ""),
    ]

    def __init__(self, view: View, number: int) -> None:
        super().__init__(view)
        self.number = number

    def heading(self) -> str:
        """See ``Dialog``."""
        return tell(self.view.lang, "detail.title", number=self.number + 1, count=len(self.view.diagnoses))

    def keys_line(self) -> str:
        """See ``Dialog``."""
        view = self.view
        return tell(
            view.lang, "detail.keys", close="Esc", explain=view.key("explain"), copy=view.key("copy"),
            save=view.key("save"), evidence=view.key("evidence(1)"),
        )  # fmt: skip

    def page(self, width: int) -> list[Content]:
        """See ``detail_lines``."""
        if self.number >= len(self.view.diagnoses):
            return [styled(tell(self.view.lang, "detail.gone"), MUTED)]
        return detail_lines(self.view.diagnoses[self.number], self.view, width)

    def action_turn(self, way: int) -> None:
        """To another diagnosis."""
        self.number = max(0, min(len(self.view.diagnoses) - 1, self.number + way))
        self.show(self.view)
        self.action_edge(-1)


def detail_lines(diagnosis: Diagnosis, view: View, width: int) -> list[Content]:
    """What, why, evidence in its context, fixes with what they cost, look-alikes, references."""
    lang = view.lang
    symbol, colour = SEVERITY_LOOK[diagnosis.severity]
    lines = wrap(prose(diagnosis.title.in_language(lang), "bold"), width, first=styled(f"{symbol} ", colour))
    marks = [
        f"{diagnosis.rule.id} {diagnosis.rule.name}",
        say(lang, f"severity.{diagnosis.severity.value}"),
        say(lang, f"confidence.{diagnosis.confidence.value}"),
        *diagnosis.ranks,
    ]
    if diagnosis.occurrences > 1:
        marks.append(say(lang, "report.count", count=diagnosis.occurrences))
    lines += wrap(plain(" · ".join(marks), MUTED), width, first=Content("  "))
    lines += [BLANK, *section("report.why", lang)]
    lines += wrap(prose(diagnosis.cause.in_language(lang)), width, first=Content("  "))
    if diagnosis.evidence:
        lines += [BLANK, *section("report.evidence", lang)]
    for index, evidence in enumerate(diagnosis.evidence):
        if index:
            lines.append(styled("    ⋮", MUTED))
        lines += quote_lines(evidence, view, width, rows=_QUOTE_ROWS, context=True)
    lines += [BLANK, *section("report.fixes", lang)]
    for number, fix in enumerate(diagnosis.fixes, 1):
        forecast = forecast_lines(diagnosis, view, width) if number == 1 else []
        lines += [*fix_lines(fix, number, view, width, whole=True), *forecast, BLANK]
    if not diagnosis.fixes:
        lines += [*wrap(styled(say(lang, "report.no_fix"), MUTED), width, first=Content("  ")), BLANK]
    if diagnosis.upgrade is not None:
        text = printable(diagnosis.upgrade.in_language(lang))
        lines += [*wrap(styled(text, "bold"), width, first=Content("  ")), BLANK]
    if diagnosis.consequences:
        lines.append(styled(tell(lang, "detail.consequences"), "bold underline"))
        for consequence in diagnosis.consequences:
            place = f"{consequence.rule} · {say(lang, 'report.line', line=consequence.line)} · "
            title = spoken(printable(consequence.title.in_language(lang)), lang)
            lines += wrap(prose(title), width, first=styled(f"  ↳ {place}", MUTED), indent=4)
        lines.append(BLANK)
    if diagnosis.rule.not_this is not None:
        lines += section("report.not_this", lang)
        text = spoken(printable(diagnosis.rule.not_this.in_language(lang)), lang)
        lines += [*wrap(prose(text), width, first=Content("  ")), BLANK]
    if diagnosis.rule.references:
        lines += section("report.references", lang)
        for reference in diagnosis.rule.references:
            lines += wrap(plain(reference, MUTED), width, first=Content("  "))
    return lines
