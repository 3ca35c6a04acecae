"""Verdicts as SARIF 2.1.0, for code hosts and editors that show findings beside a file."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from sgdoctor import __version__
from sgdoctor.diagnosis.model import Diagnosis, Evidence, State, Verdict
from sgdoctor.report.redact import Redactor, redactor_for
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.rules.model import Rule, Severity
from sgdoctor.texts import Text

SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {
    Severity.FATAL: "error",
    Severity.ERROR: "error",
    Severity.DEGRADED: "warning",
    Severity.NOTICE: "note",
    Severity.BENIGN: "none",
}
_UNEXPLAINED: Final = "unexplained"


def as_sarif(results: Sequence[tuple[str, Verdict]], lang: str, *, redact: bool = True) -> dict[str, Any]:
    """One SARIF run over several logs.

    Args:
        results: the name of each log and the verdict on its newest attempt.
        lang: ``en`` or ``zh``.
        redact: whether secrets are left out.
    """
    rules: dict[str, dict[str, Any]] = {}
    found: list[dict[str, Any]] = []
    for name, verdict in results:
        writer = _Results(name, lang, redactor_for(verdict, redact=redact))
        for diagnosis in verdict.diagnoses:
            rules.setdefault(diagnosis.rule.id, writer.rule(diagnosis.rule))
            found.append(writer.diagnosis(diagnosis))
        if verdict.unexplained is not None:
            rules.setdefault(_UNEXPLAINED, {"id": _UNEXPLAINED, "name": "Unexplained"})
            level = "error" if verdict.state is State.UNDETERMINED else "warning"
            found.append(writer.unexplained(verdict.unexplained, verdict.summary, level))
    return sarif_log(rules, found, lang)


def sarif_log(rules: Mapping[str, Any], results: Sequence[dict[str, Any]], lang: str) -> dict[str, Any]:
    """A SARIF log of one run.

    Args:
        rules: reporting descriptors by id.
        results: each names its rule as ``ruleId``; they get their ``ruleIndex`` here.
        lang: ``en`` or ``zh``.
    """
    order = {rule: index for index, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = order[result["ruleId"]]
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "sgdoctor", "semanticVersion": __version__, "rules": list(rules.values())}},
                "columnKind": "unicodeCodePoints",
                "language": "zh-CN" if lang == "zh" else "en-US",
                "results": list(results),
            }
        ],
    }


class _Results:
    def __init__(self, name: str, lang: str, hide: Redactor) -> None:
        self._uri = uri_of(hide(name))
        self._lang = lang
        self._hide = hide

    def rule(self, rule: Rule) -> dict[str, Any]:
        data: dict[str, Any] = {
            "id": rule.id,
            "name": "".join(part.capitalize() for part in rule.name.split("-")),
            "shortDescription": {"text": printable(rule.name.replace("-", " "))},
            "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        }
        if rule.references:
            data["helpUri"] = rule.references[0]
        return data

    def diagnosis(self, diagnosis: Diagnosis) -> dict[str, Any]:
        parts = [self._text(diagnosis.title), self._text(diagnosis.cause)]
        for number, fix in enumerate(diagnosis.fixes, 1):
            changes = "; ".join(printable(change_text(change, self._lang)) for change in fix.changes)
            parts.append(f"{number}. {self._text(fix.summary)}" + (f" ({changes})" if changes else ""))
        locations = [self._location(evidence) for evidence in diagnosis.evidence]
        result: dict[str, Any] = {
            "ruleId": diagnosis.rule.id,
            "level": _LEVELS[diagnosis.severity],
            "message": {"text": "\n".join(part for part in parts if part)},
            "locations": locations[:1],
            "properties": {"confidence": diagnosis.confidence.value, "ranks": list(diagnosis.ranks)},
        }
        related = locations[1:] + [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": self._uri},
                    "region": {"startLine": consequence.line},
                },
                "message": {"text": self._text(consequence.title)},
            }
            for consequence in diagnosis.consequences
        ]
        if related:
            result["relatedLocations"] = related
        return result

    def unexplained(self, evidence: Evidence, summary: Text, level: str) -> dict[str, Any]:
        return {
            "ruleId": _UNEXPLAINED,
            "level": level,
            "message": {"text": self._text(summary)},
            "locations": [self._location(evidence)],
        }

    def _location(self, evidence: Evidence) -> dict[str, Any]:
        return {
            "physicalLocation": {
                "artifactLocation": {"uri": self._uri},
                "region": {
                    "startLine": evidence.line,
                    "snippet": {"text": self._hide(printable(evidence.text))},
                },
            }
        }

    def _text(self, text: Text) -> str:
        return printable(text.in_language(self._lang))


def uri_of(name: str) -> str:
    """A file name as a URI: absolute ones as ``file:``, others relative to where the command ran."""
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
