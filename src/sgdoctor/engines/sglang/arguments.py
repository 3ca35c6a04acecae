"""What argparse complained about, and what was probably meant (loaded only when it complained)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from sgdoctor.engines.sglang.argparse_errors import ERROR, REQUIRED, UNKNOWN
from sgdoctor.engines.sglang.markers import FLAG, flags_in
from sgdoctor.engines.sglang.suggestions import closest_choice, meant_number, place
from sgdoctor.patterns import lazy_pattern

_CHOICE: Final = lazy_pattern(
    r"^argument (?P<flag>\S+): invalid choice: (?P<value>.+?) \(choose from (?P<choices>.*)\)?$"
)
_VALUE: Final = lazy_pattern(r"^argument (?P<flag>\S+): (?P<why>.*)$")
_QUOTED: Final = lazy_pattern(r"^(?P<why>.*?): (?P<value>'[^']*'|\"[^\"]*\")(?:$|\. )")
_AMBIGUOUS: Final = lazy_pattern(r"^ambiguous option: (?P<flag>\S+) could match (?P<choices>.+)$")


_USAGE_IS_WHOLE: Final = 20
"""A usage text with fewer flags than this is an excerpt: the history knows better."""


def read_argument_error(text: str, usage: Collection[str]) -> Mapping[str, Any]:
    """Facts of an argparse error, by their names in ``docs/facts.md`` without ``args_error.``.

    Args:
        text: the line ``prog: error: ...``.
        usage: the texts of the usage dump before it; empty if the log has none.
    """
    found = ERROR.match(text)
    if found is None:
        return {}
    what = found["what"].strip()
    facts: dict[str, Any] = {"kind": "other"}
    if what.startswith(UNKNOWN):
        facts |= _unknown(what.removeprefix(UNKNOWN))
    elif match := _CHOICE.match(what):
        choices = tuple(_words(match["choices"]))
        value = match["value"].strip("'\"")
        facts |= {"kind": "choice", "flag": _first(match["flag"]), "value": value, "choices": choices}
        facts["suggestion"] = closest_choice(value, choices)
    elif match := _AMBIGUOUS.match(what):
        flag, _, value = match["flag"].partition("=")
        facts |= {"kind": "ambiguous", "flag": flag, "choices": tuple(FLAG.findall(match["choices"]))}
        if value:
            facts["value"] = value
    elif what.startswith(REQUIRED):
        facts |= {"kind": "required", "flag": _first(what.removeprefix(REQUIRED).split(",")[0])}
    elif match := _VALUE.match(what):
        facts |= {"kind": "value", "flag": _first(match["flag"])}
        if quoted := _QUOTED.match(match["why"]):
            facts["value"] = quoted["value"][1:-1]
            facts["plain"] = meant_number(facts["value"], quoted["why"])
    if facts["kind"] in ("unknown", "ambiguous") and "flag" in facts:
        accepted = flags_in(usage)
        facts |= _placed(facts["flag"], facts.get("choices", ()), accepted)
        facts |= _several(what.removeprefix(UNKNOWN), accepted) if facts["kind"] == "unknown" else {}
    return {name: value for name, value in facts.items() if value is not None}


def _first(flags: str) -> str:
    """``--model-path/--model`` by its first name."""
    return flags.strip().split("/--")[0]


def _words(choices: str) -> Iterator[str]:
    """The choices of ``'a', 'b'`` (Python up to 3.12 and from 3.14 on quotes them) or ``a, b``."""
    for part in choices.rstrip(")").split(","):
        if bare := part.strip().strip("'\""):
            yield bare


def _unknown(rest: str) -> dict[str, Any]:
    """Flag and value of ``--flag value ...``; other words are left-over values."""
    tokens = rest.split()
    flags = _flag_places(tokens)
    if not flags:
        return {"kind": "unknown", "value": tokens[0] if tokens else None}
    flag, _, value = tokens[flags[0]].partition("=")
    if not value and flags[0] + 1 < len(tokens) and flags[0] + 1 not in flags:
        value = tokens[flags[0] + 1]
    return {"kind": "unknown", "flag": flag, "value": value or None}


def _flag_places(tokens: Sequence[str]) -> list[int]:
    return [index for index, token in enumerate(tokens) if token.startswith("-") and FLAG.match(token)]


def _several(rest: str, usage: frozenset[str]) -> dict[str, Any]:
    """All flags of an error that refuses more than one, and the further ones as text: ``--theirs`` -> ``--ours``."""
    tokens = rest.split()
    flags = tuple(dict.fromkeys(tokens[index].partition("=")[0] for index in _flag_places(tokens)))
    if len(flags) < 2:
        return {}
    return {"flags": flags, "others": ", ".join(_with_counterpart(flag, usage) for flag in flags[1:])}


def _with_counterpart(flag: str, usage: frozenset[str]) -> str:
    facts = _placed(flag, (), usage)
    ours = " ".join(part for part in (facts["suggestion"], facts.get("renamed_value")) if part)
    return f"`{flag}` -> `{ours}`" if ours else f"`{flag}`"


def _placed(flag: str, choices: Collection[str], usage: frozenset[str]) -> dict[str, Any]:
    """Where a flag that this version does not take comes from, and which one it does take, as facts."""
    return place(flag, usage if len(usage) >= _USAGE_IS_WHOLE else None, choices)._asdict()
