"""A verdict as plain data: the contract of ``docs/json-output.md``, published as ``diagnose.schema.json``."""

from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.diagnosis.model import Diagnosis, Evidence, Fix, Notice, Unknown, Verdict
from sgdoctor.engines.base import Fact, Phase
from sgdoctor.report.redact import HIDDEN, Redactor, is_secret_field, redactor_for
from sgdoctor.texts import Text

SCHEMA_VERSION: Final = 1


def as_data(verdict: Verdict, name: str, lang: str, *, redact: bool = True) -> dict[str, Any]:
    """The verdict as JSON-ready data.

    Args:
        verdict: of one attempt.
        name: of the log, as the user gave it.
        lang: ``en`` or ``zh``.
        redact: whether secrets are left out.
    """
    return _Writer(lang, redactor_for(verdict, redact=redact), redact=redact).verdict(verdict, name)


class _Writer:
    def __init__(self, lang: str, hide: Redactor, *, redact: bool) -> None:
        self._lang = lang
        self._hide = hide
        self._redact = redact

    def verdict(self, verdict: Verdict, name: str) -> dict[str, Any]:
        data: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "input": self._hide(name),
            "engine": {"name": verdict.engine, "version": verdict.version},
            "verdict": {
                "state": verdict.state.value,
                "attempt": verdict.attempt,
                "attempts": verdict.attempts,
                "first_line": verdict.first_line,
                "last_line": verdict.last_line,
                "summary": self._text(verdict.summary),
            },
            "diagnoses": [self._diagnosis(diagnosis) for diagnosis in verdict.diagnoses],
            "notices": [self._notice(notice) for notice in verdict.notices],
            "unexplained": self._evidence(verdict.unexplained) if verdict.unexplained else None,
            "unknown": self._unknown(verdict.unknown) if verdict.unknown else None,
            "facts": self._facts(verdict.facts),
            "phases": [_phase(phase) for phase in verdict.phases],
            "would_decide": self._text(verdict.would_decide) if verdict.would_decide else None,
            "slow_rules": list(verdict.slow_rules),
        }
        return data

    def _text(self, text: Text) -> str:
        return text.in_language(self._lang)

    def _evidence(self, evidence: Evidence) -> dict[str, Any]:
        return {
            "line": evidence.line,
            "text": self._hide(evidence.text),
            "before": [{"line": number, "text": self._hide(text)} for number, text in evidence.before],
            "after": [{"line": number, "text": self._hide(text)} for number, text in evidence.after],
        }

    def _unknown(self, unknown: Unknown) -> dict[str, Any]:
        return {
            "phase": unknown.phase.value if unknown.phase else None,
            "unusual": [self._evidence(evidence) for evidence in unknown.unusual],
            "resembling": [{"rule": each.rule, "title": self._text(each.title)} for each in unknown.resembling],
        }

    def _diagnosis(self, diagnosis: Diagnosis) -> dict[str, Any]:
        rule = diagnosis.rule
        return {
            "rule": rule.id,
            "name": rule.name,
            "severity": diagnosis.severity.value,
            "confidence": diagnosis.confidence.value,
            "title": self._text(diagnosis.title),
            "cause": self._text(diagnosis.cause),
            "evidence": [self._evidence(evidence) for evidence in diagnosis.evidence],
            "ranks": list(diagnosis.ranks),
            "count": diagnosis.occurrences,
            "consequences": [
                {"rule": consequence.rule, "title": self._text(consequence.title), "line": consequence.line}
                for consequence in diagnosis.consequences
            ],
            "fixes": [self._fix(fix) for fix in diagnosis.fixes],
            "fixed_in": rule.fixed_releases("en") or None,
            "upgrade": self._text(diagnosis.upgrade) if diagnosis.upgrade else None,
            "not_this": self._text(rule.not_this) if rule.not_this else None,
            "references": list(rule.references),
        }

    def _fix(self, fix: Fix) -> dict[str, Any]:
        return {
            "id": fix.id,
            "summary": self._text(fix.summary),
            "safety": fix.safety,
            "effect": self._text(fix.effect),
            "changes": [
                {
                    "kind": change.kind,
                    "name": change.name,
                    "value": change.value,
                }
                for change in fix.changes
            ],
        }

    def _notice(self, notice: Notice) -> dict[str, Any]:
        return {
            "rule": notice.rule,
            "severity": notice.severity.value,
            "title": self._text(notice.title),
            "cause": self._text(notice.cause),
            "line": notice.line,
            "count": notice.occurrences,
        }

    def _facts(self, facts: Mapping[str, Fact]) -> dict[str, Any]:
        return {name: self._value(name, facts[name].value) for name in sorted(facts)}

    def _value(self, name: str, value: Any) -> Any:
        if self._redact and is_secret_field(name) and value not in (None, "", False):
            return HIDDEN
        return self._plain(value)

    def _plain(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            # JSON has no infinity and no NaN.
            return value if abs(value) < float("inf") else None
        if isinstance(value, Mapping):
            return {str(key): self._value(str(key), entry) for key, entry in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._plain(entry) for entry in value]
        return self._hide(str(value))


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "name": phase.name.value,
        "start_line": phase.start_line,
        "end_line": phase.end_line,
        "start": phase.start.isoformat() if phase.start else None,
        "seconds": phase.seconds,
        "memory_gib": phase.memory_gib,
        "done": phase.done,
    }
