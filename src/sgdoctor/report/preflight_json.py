"""A preflight as one JSON object; its schema is ``preflight.schema.json``."""

from typing import Any, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.model import CardFacts, Check, Finding, HostFacts, Status
from sgdoctor.redaction import HIDDEN, Redactor, is_secret_field, unredacted
from sgdoctor.report.plan_json import as_plan_data
from sgdoctor.report.preflight_words import closing_line, redactor_of
from sgdoctor.report.safe import printable
from sgdoctor.texts import Text

SCHEMA: Final = 1
_STATES: Final = {Status.PASS: "ready", Status.WARN: "warnings", Status.FAIL: "fails"}


def as_preflight_data(
    answer: Preflight, lang: str, *, redact: bool = True, written: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A preflight as plain data.

    Args:
        answer: what is to be shown.
        lang: ``en`` or ``zh``.
        redact: whether secrets are hidden.
        written: names of the files that were written.
    """
    return _Writer(lang, redactor_of(answer, redact=redact)).data(answer, redact=redact, written=written)


class _Writer:
    def __init__(self, lang: str, hide: Redactor) -> None:
        self._lang = lang
        self._hide = hide

    def data(self, answer: Preflight, *, redact: bool, written: tuple[str, ...]) -> dict[str, Any]:
        situation = answer.situation
        fix = as_plan_data(answer.fix, self._lang, redact=redact) if answer.fix is not None else {}
        return {
            "schema": SCHEMA,
            "target": self._hide(answer.target) or None,
            "origin": fix.get("origin"),
            "engine": {
                "name": situation.launch.engine if situation.launch is not None else "sglang",
                "version": situation.version or "",
            },
            "verdict": {
                "state": _STATES[answer.status],
                "summary": self._safe(closing_line(answer, self._lang)),
                "fails": answer.count(Status.FAIL),
                "warns": answer.count(Status.WARN),
                "skipped": answer.count(Status.SKIPPED),
            },
            "host": _host(situation.host),
            "checks": [
                self._finding(checked.check, finding) for checked in answer.checked for finding in checked.findings
            ],
            "course": [
                {
                    "check": one.check.id,
                    "rule": one.rule,
                    "phase": one.phase.value,
                    "seconds": [round(seconds, 1) for seconds in one.seconds] if one.seconds is not None else None,
                    "title": self._text(one.finding.title),
                }
                for one in answer.course
            ],
            "repeated": answer.predicted.repeated,
            "launch": fix.get("launch"),
            "editable": fix.get("editable"),
            "plan": fix.get("plan"),
            "left": [
                {"change": self._change(left.change) if left.change else None, "why": self._text(left.why)}
                for left in answer.left
            ],
            "note": self._text(answer.note) if answer.note is not None else None,
            "written": list(written),
        }

    def _finding(self, check: Check, finding: Finding) -> dict[str, Any]:
        return {
            "id": check.id,
            "area": check.area.value,
            "check": self._text(check.title),
            "status": finding.status.value,
            "title": self._text(finding.title),
            "evidence": self._safe(finding.evidence),
            "prevents": finding.prevents,
            "where": self._text(finding.where) if finding.where is not None else None,
            "detail": self._text(finding.detail) if finding.detail is not None else None,
            "phase": finding.phase,
            "remote": finding.remote,
            "changes": [self._change(change) for change in finding.changes],
        }

    def _change(self, change: Change) -> dict[str, Any]:
        hidden = change.value and is_secret_field(change.name) and self._hide is not unredacted
        value = HIDDEN if hidden else None if change.value is None else self._hide(change.value)
        return {"kind": change.kind, "name": change.name, "value": value}

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))

    def _text(self, text: Text) -> str:
        return self._safe(text.in_language(self._lang))


def _host(host: HostFacts) -> dict[str, Any]:
    return {
        "remote": host.remote,
        "simulated": host.simulated,
        "driver": host.driver,
        "cuda": host.driver_cuda,
        "docker": (host.docker or {}).get("ServerVersion"),
        "cards": [_card(card) for card in host.cards],
    }


def _card(card: CardFacts) -> dict[str, Any]:
    return {
        "number": card.number,
        "name": card.name,
        "sm": card.sm,
        "total_mib": round(card.total_mib),
        "free_mib": round(card.free_mib),
        "holders": [{"name": name, "mib": round(mib)} for name, mib in card.holders],
    }
