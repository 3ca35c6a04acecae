"""From the plain form of a rule (what the schema lets through, and what the cache holds) to a ``Rule``."""

from collections.abc import Mapping, Sequence
from typing import Any

from sgdoctor.launch.change import Change
from sgdoctor.rules.model import (
    Capture,
    Clause,
    Confidence,
    FixedIn,
    FixSpec,
    Pattern,
    Role,
    Rule,
    Severity,
)
from sgdoctor.texts import Text


def decode(plain: Mapping[str, Any]) -> Rule:
    """A rule from its plain form.

    Args:
        plain: keys as in ``docs/rule-format.md``; ``match`` a list, ``captures`` in the long form, ``changes`` as
            mappings of ``kind``, ``name`` and ``value``; absent keys have their default. ``origin`` names the file.
    """
    applies = plain.get("applies") or {}
    return Rule(
        id=plain["id"],
        name=plain["name"],
        severity=Severity(plain["severity"]),
        patterns=tuple(_pattern(entry) for entry in plain["match"]),
        title=_text(plain["title"]),
        cause=_text(plain["cause"]),
        status=plain.get("status", "stable"),
        engine=tuple(plain.get("engine", ("any",))),
        confidence=Confidence(plain.get("confidence", "certain")),
        role=Role(plain.get("role", "cause")),
        versions=applies.get("versions"),
        phases=tuple(applies.get("phase", ())),
        when=applies.get("when", ""),
        captures={name: Capture(**capture) for name, capture in plain.get("captures", {}).items()},
        explains=tuple(plain.get("explains", ())),
        fixes=tuple(_fix(entry) for entry in plain.get("fixes", ())),
        fixed_in=tuple(_fixed_in(entry) for entry in plain.get("fixed_in") or ()),
        references=tuple(plain.get("references", ())),
        not_this=_text(plain["not_this"]) if plain.get("not_this") else None,
        origin=plain.get("origin", ""),
    )


def _fixed_in(plain: Mapping[str, Any]) -> FixedIn:
    only = plain.get("only")
    return FixedIn(plain["package"], plain["version"], plain.get("when", ""), _text(only) if only else None)


def literals_of(plain: Mapping[str, Any]) -> list[str]:
    """The literals by which a rule, still in its plain form, is found."""
    return [literal for pattern in plain["match"] for literal in pattern.get("literals", ())]


def elsewhere_of(plain: Mapping[str, Any]) -> list[str]:
    """The texts that a rule looks for in other events: they have to be found too, and hit nothing."""
    return [
        clause["elsewhere"]
        for pattern in plain["match"]
        for clauses in (pattern.get("all_of", ()), pattern.get("none_of", ()))
        for clause in clauses
        if clause.get("elsewhere")
    ]


def _text(plain: Mapping[str, str]) -> Text:
    return Text(plain["en"], plain.get("zh", ""))


def _pattern(plain: Mapping[str, Any]) -> Pattern:
    return Pattern(
        event=plain.get("event", "any"),
        literals=tuple(plain.get("literals", ())),
        message=plain.get("message", ""),
        exception=plain.get("exception", ""),
        frame=plain.get("frame", ""),
        header=plain.get("header", ""),
        all_of=_clauses(plain.get("all_of", ())),
        none_of=_clauses(plain.get("none_of", ())),
        when=plain.get("when", ""),
        evidence=tuple(plain.get("evidence", ())),
    )


def _clauses(plain: Sequence[Mapping[str, str]]) -> tuple[Clause, ...]:
    return tuple(Clause(**entry) for entry in plain)


def _fix(plain: Mapping[str, Any]) -> FixSpec:
    return FixSpec(
        id=plain["id"],
        summary=_text(plain["summary"]),
        effect=_text(plain["effect"]) if plain.get("effect") else Text("", ""),
        changes=tuple(Change(**entry) for entry in plain.get("changes", ())),
        safety=plain.get("safety", "manual"),
        when=plain.get("when", ""),
        versions=plain.get("versions"),
        verify=plain.get("verify", ""),
    )
