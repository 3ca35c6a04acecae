"""Which fixes of a rule apply to this log, with the numbers of this log in them."""

from collections.abc import Mapping
from typing import Any

from sgdoctor.diagnosis import wording
from sgdoctor.diagnosis.course import Course
from sgdoctor.diagnosis.evidence import printable
from sgdoctor.diagnosis.explain import Finding
from sgdoctor.diagnosis.model import Fix
from sgdoctor.launch.change import Change
from sgdoctor.redaction import Redactor, hidden_value, unredacted
from sgdoctor.rules.conditions import holds
from sgdoctor.rules.model import FixSpec, Rule
from sgdoctor.rules.template import Guard, fill, fill_value, placeholders
from sgdoctor.rules.versions import PACKAGES, applies, known_since
from sgdoctor.texts import Text


def names_of(finding: Finding, course: Course) -> dict[str, Any]:
    """What the texts and conditions of a rule may name: facts, captures, and what became of the attempt."""
    hit = finding.first
    return {
        **{name: fact.value for name, fact in course.reading.facts.items()},
        **{name: value for name, value in finding.captures.items() if value is not None},
        "phase": hit.phase.value if hit.phase else None,
        "ready": course.ready,
        "survived": course.survived(hit.event),
        "ranks": len(finding.ranks),
        "architecture_since": _architecture_since(finding),
    }


def _architecture_since(finding: Finding) -> str | None:
    if not any("architecture_since" in one.version for one in finding.rule.fixed_in):
        return None
    from sgdoctor.engines.sglang.models import first_with_architecture  # noqa: PLC0415 - 30 KB that few logs need

    return first_with_architecture(str(finding.captures.get("arch") or ""))


def fill_text(text: Text, names: Mapping[str, Any], hide: Redactor = unredacted) -> Text:
    """A text of a rule with the names filled in; harmless to a terminal, whatever stood in the log.

    Args:
        text: of a rule.
        names: values by name.
        hide: applied to the values, never to the rule's own words.
    """
    guard = _guard(hide)
    return Text(printable(fill(text.en, names, guard)), printable(fill(text.zh, names, guard)))


def fixes_for(rule: Rule, names: Mapping[str, Any], hide: Redactor = unredacted) -> tuple[Fix, ...]:
    """The fixes of ``rule`` that apply, in the order of the rule; ``hide`` as in ``fill_text``."""
    return tuple(_fix(spec, names, hide) for spec in rule.fixes if _applies(spec, names))


def upgrade_for(rule: Rule, names: Mapping[str, Any]) -> Text | None:
    """What the releases that cure ``rule`` mean for the version that ran; None where no release is known to."""
    releases = [
        one._replace(version=version)
        for one in rule.fixed_in
        if _met(one.when, names) and (version := fill_value(one.version, names)) is not None
    ]
    texts = [
        wording.fixed_in(one.release, _running(one.package, names), since=known_since(one.package, one.version, names))
        for one in releases
    ]
    return Text(" ".join(text.en for text in texts), "".join(text.zh for text in texts)) if texts else None


def _running(package: str, names: Mapping[str, Any]) -> str:
    exact, low, high = (names.get(name) for name in PACKAGES.get(package, ("", "", "")))
    if exact or low == high:
        return str(exact or low or "")
    return f"{low or ''}-{high or ''}"


def _guard(hide: Redactor, before: str = "") -> Guard | None:
    if hide is unredacted:
        return None
    return lambda value, words: hidden_value(value, before + words, hide)


def _met(condition: str, names: Mapping[str, Any]) -> bool:
    try:
        return holds(condition, names)
    except ValueError:  # one that cannot be read (a rule of the user) offers nothing
        return False


def _applies(spec: FixSpec, names: Mapping[str, Any]) -> bool:
    try:
        if not applies(spec.versions, names):
            return False
    except ValueError:  # nor does such a range
        return False
    if not _met(spec.when, names):
        return False
    # Without its numbers such a summary would tell the reader to set a flag to "?".
    return all(optional or names.get(name) is not None for name, _, optional in placeholders(spec.summary.en))


def _fix(spec: FixSpec, names: Mapping[str, Any], hide: Redactor) -> Fix:
    return Fix(
        id=spec.id,
        summary=fill_text(spec.summary, names, hide),
        effect=fill_text(spec.effect, names, hide),
        changes=tuple(change for entry in spec.changes if (change := _change(entry, names, hide)) is not None),
        safety=spec.safety,
        verify=spec.verify,
    )


def _change(change: Change, names: Mapping[str, Any], hide: Redactor) -> Change | None:
    """The change with its value filled in; None where the log lacks what it needs."""
    name = fill_value(change.name, names, _guard(hide))
    # The name in front of it (`--api-key`) says whether the value is a secret.
    value = None if change.value is None else fill_value(change.value, names, _guard(hide, f"{name}="))
    if name is None or (value is None and change.value is not None):
        return None
    return change._replace(name=printable(name), value=None if value is None else printable(value))
