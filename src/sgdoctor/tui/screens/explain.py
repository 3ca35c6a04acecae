"""The page of a rule, and what a reserved key shows until it does something."""

from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content

from sgdoctor.diagnosis.model import Diagnosis
from sgdoctor.messages import say
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.rules.model import Rule
from sgdoctor.rules.template import spoken
from sgdoctor.texts import Text
from sgdoctor.tui.bindings import forwarded
from sgdoctor.tui.drawing import BLANK, CODE, MUTED, plain, prose, styled, wrap
from sgdoctor.tui.panes.cards import SAFETY_LOOK, SEVERITY_LOOK
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.view import View, flags_of
from sgdoctor.tui.words import tell


class ExplainScreen(Dialog):
    """What a rule knows, without the numbers of a log."""

    def __init__(self, view: View, rule: Rule) -> None:
        super().__init__(view)
        self._rule = rule

    def heading(self) -> str:
        """See ``Dialog``."""
        return tell(self.view.lang, "explain.title", rule=self._rule.id)

    def keys_line(self) -> str:
        """See ``Dialog``."""
        return tell(self.view.lang, "help.close")

    def page(self, width: int) -> list[Content]:
        """See ``rule_lines``."""
        return rule_lines(self._rule, self.view.lang, width)


def rule_lines(rule: Rule, lang: str, width: int) -> list[Content]:
    """The page of a rule."""

    def words(text: Text) -> str:
        return spoken(printable(text.in_language(lang)), lang)

    symbol, colour = SEVERITY_LOOK[rule.severity]
    severity = say(lang, f"severity.{rule.severity.value}")
    confidence = say(lang, f"confidence.{rule.confidence.value}")
    lines = wrap(prose(words(rule.title), "bold"), width, first=styled(f"{symbol} ", colour))
    lines += wrap(
        styled(f"{rule.name} · {say(lang, 'explain.severity', severity=severity, confidence=confidence)}", MUTED),
        width,
        first=Content("  "),
    )
    lines += [BLANK, *section("report.why", lang), *wrap(prose(words(rule.cause)), width, first=Content("  "))]
    literals = dict.fromkeys(literal for pattern in rule.patterns for literal in pattern.literals)
    if literals:
        lines += [BLANK, *section("explain.looks_like", lang)]
        for literal in literals:
            lines += wrap(plain(literal, MUTED), width, first=Content("  "))
    if rule.fixes:
        lines += [BLANK, *section("explain.fixes", lang)]
    for number, fix in enumerate(rule.fixes, 1):
        mark, tint = SAFETY_LOOK[fix.safety]
        head = Content.assemble(
            prose(words(fix.summary)), ("  " + mark + " " + say(lang, f"safety.{fix.safety}"), tint)
        )
        lines += wrap(head, width, first=styled(f"  {number}. "))
        for change in fix.changes:
            text = spoken(printable(change_text(change, lang, quote=False)), lang)
            lines += wrap(styled(text, f"bold {CODE}"), width, first=Content("       "))
        if fix.versions:
            versions = ", ".join(f"{package}{version}" for package, version in fix.versions.items())
            lines += wrap(plain(say(lang, "explain.versions", versions=versions), MUTED), width, first=Content("     "))
        if effect := words(fix.effect):
            lines += wrap(prose(say(lang, "report.cost", text=effect), MUTED), width, first=Content("     "))
    if releases := rule.fixed_releases(lang):
        lines += wrap(plain(say(lang, "report.fixed_in", versions=releases)), width, first=Content("  "))
    if rule.not_this is not None:
        lines += [BLANK, *section("report.not_this", lang)]
        lines += wrap(prose(words(rule.not_this)), width, first=Content("  "))
    if rule.references:
        lines += [BLANK, *section("report.references", lang)]
        for reference in rule.references:
            lines += wrap(plain(reference, MUTED), width, first=Content("  "))
    return lines


def section(key: str, lang: str) -> list[Content]:
    """A heading, given by its message."""
    return [styled(say(lang, key), "bold underline")]


class LaterScreen(Dialog):
    """What a reserved key will do, and the flags to type until then."""

    BINDINGS: ClassVar[list[BindingType]] = [*forwarded(("copy",))]

    def __init__(self, view: View, action: str, diagnosis: Diagnosis | None) -> None:
        super().__init__(view)
        self._action = action
        self._diagnosis = diagnosis

    def heading(self) -> str:
        """See ``Dialog``."""
        lang = self.view.lang
        return tell(lang, "later.title", action=tell(lang, f"later.{self._action}"))

    def keys_line(self) -> str:
        """See ``Dialog``."""
        if self._diagnosis is None or not flags_of(self._diagnosis, self.view.lang):
            return tell(self.view.lang, "help.close")
        return tell(self.view.lang, "later.copy", key=self.view.key("copy"))

    def page(self, width: int) -> list[Content]:
        """The corrected flags, each fix on its own."""
        lang, diagnosis = self.view.lang, self._diagnosis
        if diagnosis is None:
            return wrap(styled(tell(lang, "later.nothing_wrong")), width)
        fixes = [fix for fix in diagnosis.fixes if fix.changes]
        if not fixes:
            return wrap(styled(tell(lang, "later.none")), width)
        lines = [*wrap(styled(tell(lang, "later.flags")), width), BLANK]
        for number, fix in enumerate(fixes, 1):
            head = Content.assemble((tell(lang, "diagnosis.fix", number=number), "bold"), "  ")
            lines += wrap(prose(fix.summary.in_language(lang)), width, first=head, indent=2)
            for change in fix.changes:
                lines += wrap(plain(change_text(change, lang), f"bold {CODE}"), width, first=Content("    "), indent=6)
            lines.append(BLANK)
        return lines
