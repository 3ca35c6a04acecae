"""A preflight as SARIF 2.1.0: findings beside the lines of the compose file or script that they are about."""

from collections.abc import Iterator
from typing import Any, Final

from sgdoctor.launch.model import Document
from sgdoctor.patterns import lazy_pattern
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.model import Check, Finding, Status
from sgdoctor.report.preflight_words import redactor_of
from sgdoctor.report.safe import printable
from sgdoctor.report.sarif import sarif_log, uri_of
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text

_LEVELS: Final = {Status.FAIL: "error", Status.WARN: "warning"}
_LINE: Final = lazy_pattern(r"(?:^|\b)lines? (\d+)")
_OF_ANOTHER: Final = lazy_pattern(r"^\S*[./]\S*\.\w+ line")
_FLAG: Final = lazy_pattern(r"--[a-z][a-z0-9-]+")
_VARIABLE: Final = lazy_pattern(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")


def preflight_sarif(answer: Preflight, file: str, lang: str, *, redact: bool = True) -> dict[str, Any]:
    """One SARIF run.

    Args:
        answer: what is to be shown.
        file: name of the file that the launch stands in; empty where it stands in none.
        lang: ``en`` or ``zh``.
        redact: whether secrets are left out.
    """
    writer = _Writer(answer, file, lang, redact=redact)
    results = list(writer.results())
    rules = {result["ruleId"]: writer.rule(result.pop("check")) for result in results}
    return sarif_log(rules, results, lang)


class _Writer:
    def __init__(self, answer: Preflight, file: str, lang: str, *, redact: bool) -> None:
        self._answer = answer
        self._file = file
        self._lang = lang
        self._hide = redactor_of(answer, redact=redact)

    def rule(self, check: Check) -> dict[str, Any]:
        return {
            "id": check.id,
            "name": "".join(part.capitalize() for part in check.id.split("-")),
            "shortDescription": {"text": self._text(check.title)},
            "properties": {"area": check.area.value},
        }

    def results(self) -> Iterator[dict[str, Any]]:
        for checked in self._answer.checked:
            for finding in checked.findings:
                if finding.status in _LEVELS:
                    yield self._result(checked.check, finding)

    def _result(self, check: Check, finding: Finding) -> dict[str, Any]:
        parts = [self._text(finding.title), self._safe(finding.evidence)]
        parts += [self._text(finding.detail)] if finding.detail is not None else []
        parts += [self._safe(change_text(change, self._lang)) for change in finding.changes]
        result: dict[str, Any] = {
            "check": check,
            "ruleId": check.id,
            "level": _LEVELS[finding.status],
            "message": {"text": "\n".join(filter(None, parts))},
            "properties": {"prevents": finding.prevents, "phase": finding.phase, "remote": finding.remote},
        }
        document = self._answer.situation.document
        if self._file and document is not None:
            result["locations"] = [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri_of(self._hide(self._file))},
                        "region": {"startLine": line_of(document, finding)},
                    }
                }
            ]
        elif document is not None:
            name = {"name": self._safe(document.name), "kind": "resource"}
            result["locations"] = [{"logicalLocations": [name]}]
        return result

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))

    def _text(self, text: Text) -> str:
        return self._safe(text.in_language(self._lang))


def line_of(document: Document, finding: Finding) -> int:
    """The line of a document that a finding is about: the one that it names, else the first that has its words."""
    where = finding.where.en if finding.where is not None else ""
    named = _LINE.search(where)
    lines = document.text.splitlines()
    if named is not None and not _OF_ANOTHER.match(where) and int(named[1]) <= len(lines):
        return int(named[1])
    for word in _words(finding):
        for number, line in enumerate(lines, 1):
            if word in line and not line.lstrip().startswith("#"):
                return number
    return 1


def _words(finding: Finding) -> Iterator[str]:
    """Words of the launch that a finding is about, the surest first."""
    yield from (change.name for change in finding.changes if change.name)
    for text in (finding.title.en, finding.evidence, finding.detail.en if finding.detail is not None else ""):
        yield from _FLAG.findall(text)
        yield from _VARIABLE.findall(text)
