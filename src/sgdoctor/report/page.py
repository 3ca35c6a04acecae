"""The page of a rule on the terminal: what it means, what cures it, what it is not to be confused with."""

from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.messages import say
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text, cost_of
from sgdoctor.rules.model import FixSpec, Rule
from sgdoctor.rules.template import spoken
from sgdoctor.texts import Text


def print_page(console: Console, rule: Rule, lang: str, *, muted_by: str = "") -> None:
    """Prints everything that a rule knows, without the numbers that only a log can give.

    Args:
        console: where to.
        rule: which.
        lang: ``en`` or ``zh``.
        muted_by: the file that silences the rule; empty if none does.
    """
    _Page(console, rule, lang).print(muted_by)


class _Page(Canvas):
    def __init__(self, console: Console, rule: Rule, lang: str) -> None:
        super().__init__(console, lang)
        self._rule = rule

    def print(self, muted_by: str) -> None:
        rule = self._rule
        self.line(Styled(f"{rule.id} {rule.name}", style="bold"))
        self.line(self.styled(self._words(rule.title), "bold"))
        severity = say(self.lang, f"severity.{rule.severity.value}")
        confidence = say(self.lang, f"confidence.{rule.confidence.value}")
        self.line(Styled(say(self.lang, "explain.severity", severity=severity, confidence=confidence), style="dim"))
        if muted_by:
            self.line(Styled(say(self.lang, "explain.muted", file=printable(muted_by)), style="yellow"))
        self.blank()
        self.section("report.why")
        self.line(self.styled(self._words(rule.cause)), 4)
        literals = [literal for pattern in rule.patterns for literal in pattern.literals]
        if literals:
            self.blank()
            self.section("explain.looks_like")
            for literal in dict.fromkeys(literals):
                self.line(Styled(printable(literal)), 4)
        if rule.fixes:
            self.blank()
            self.section("explain.fixes")
            for number, fix in enumerate(rule.fixes, 1):
                self._fix(number, fix)
            if any(fix.when for fix in rule.fixes):
                self.line(Styled(say(self.lang, "explain.which"), style="dim"), 4)
        if rule.fixed_releases(self.lang):
            self.line(Styled(say(self.lang, "report.fixed_in", versions=printable(rule.fixed_releases(self.lang)))), 4)
        if rule.not_this is not None:
            self.blank()
            self.section("report.not_this")
            self.line(self.styled(self._words(rule.not_this)), 4)
        if rule.references:
            self.blank()
            self.section("report.references")
            for reference in rule.references:
                self.whole(Styled(printable(reference)), 4)

    def _fix(self, number: int, fix: FixSpec) -> None:
        line = self.styled(self._words(fix.summary))
        line.append(f" [{say(self.lang, f'safety.{fix.safety}')}]", style="dim")
        self.line(line, 4, Styled(f"{number}. "))
        for change in fix.changes:
            self.line(
                Styled(spoken(printable(change_text(change, self.lang, quote=False)), self.lang), style="bold cyan"), 9
            )
        if fix.versions:
            versions = ", ".join(f"{package}{version}" for package, version in fix.versions.items())
            self.line(Styled(say(self.lang, "explain.versions", versions=printable(versions)), style="dim"), 7)
        if cost_of(fix.effect, self.lang):
            effect = self._words(fix.effect)
            self.line(self.styled(say(self.lang, "report.cost", text=effect), "dim"), 7)

    def _words(self, text: Text) -> str:
        return spoken(printable(text.in_language(self.lang)), self.lang)
