"""What argparse complained about, and what was probably meant (loaded only when it complained)."""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from sgdoctor.engines.sglang.argparse_errors import ERROR, REQUIRED, UNKNOWN
from sgdoctor.engines.sglang.history import FlagHistory, load_foreign, load_history
from sgdoctor.engines.sglang.markers import FLAG, flags_in
from sgdoctor.patterns import lazy_pattern

_CHOICE: Final = lazy_pattern(
    r"^argument (?P<flag>\S+): invalid choice: (?P<value>.+?) \(choose from (?P<choices>.*)\)?$"
)
_VALUE: Final = lazy_pattern(r"^argument (?P<flag>\S+): (?P<why>.*)$")
_QUOTED: Final = lazy_pattern(r"^(?P<why>.*?): (?P<value>'[^']*'|\"[^\"]*\")$")
_AMBIGUOUS: Final = lazy_pattern(r"^ambiguous option: (?P<flag>\S+) could match (?P<choices>.+)$")

_DECIMAL_COMMA: Final = lazy_pattern(r"^([0-9]{1,4}),([0-9]{1,6})$")
_PERCENT: Final = lazy_pattern(r"^[0-9]{1,3}%$")
_THOUSANDS: Final = lazy_pattern(r"^([0-9]{1,5}) ?[kK]$")
_GROUPED: Final = lazy_pattern(r"^[0-9]{1,3}(?:,[0-9]{3})+$")

_USAGE_IS_WHOLE: Final = 20
"""A usage text with fewer flags than this is an excerpt: the history knows better."""
_LIKENESS: Final = 0.8
_CHOICE_LIKENESS: Final = 0.6
# Names of the same thing elsewhere; used only where the choices hold the right-hand side.
_SYNONYMS: Final[dict[str, str]] = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "f16": "float16"}


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
        facts["suggestion"] = _closest_choice(value, choices)
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
            facts["plain"] = _meant(facts["value"], quoted["why"])
    if facts["kind"] in ("unknown", "ambiguous") and "flag" in facts:
        accepted = flags_in(usage)
        facts |= _placed(facts["flag"], facts.get("choices", ()), accepted)
        facts |= _several(what.removeprefix(UNKNOWN), accepted) if facts["kind"] == "unknown" else {}
    return {name: value for name, value in facts.items() if value is not None}


def _meant(value: str, why: str) -> str | None:
    """The number that ``32k``, ``32,768``, ``0,85`` or ``85%`` stands for, as argparse reads it; None if unclear."""
    if "float" in why:
        if comma := _DECIMAL_COMMA.match(value):
            return f"{comma[1]}.{comma[2]}"
        return f"{int(value[:-1]) / 100:g}" if _PERCENT.match(value) else None
    if "int" in why:
        if thousands := _THOUSANDS.match(value):
            # Models count their lengths in binary thousands: a context of 32k is 32768 tokens.
            return str(int(thousands[1]) * 1024)
        return value.replace(",", "") if _GROUPED.match(value) else None
    return None


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
    """Where a flag that this version does not take comes from, and which one it does take."""
    history = load_history()
    accepted = usage if len(usage) >= _USAGE_IS_WHOLE else frozenset(history.flags)
    dashed = flag.replace("_", "-")
    known = dashed if dashed in history.flags else flag
    facts: dict[str, Any] = {
        "underscore": dashed != flag and (dashed in accepted or dashed in history.flags),
        "since": history.since(known),
        "until": history.until(known),
    }
    successor = _successor(known, accepted, history)
    if successor:
        facts["renamed_to"], facts["renamed_value"] = successor
    foreign = None if known in history.flags else load_foreign().get(dashed)
    if foreign:
        facts["other_engine"] = foreign.engine
    if facts["underscore"] and dashed in accepted:
        suggestion: str | None = dashed
    elif successor:
        suggestion = successor[0]
    elif foreign:
        suggestion = foreign.flag if foreign.flag in accepted else None
    elif known in history.flags:
        # Another version has it: nothing was mistyped. Where this log lists its flags, the older name may be there.
        suggestion = _predecessor(known, accepted, history) if accepted is usage else None
    else:
        candidates = tuple(choices) or sorted(accepted - {flag})
        suggestion = next(iter(difflib.get_close_matches(dashed, candidates, n=1, cutoff=_LIKENESS)), None)
    facts["suggestion"] = suggestion
    return facts


def _successor(flag: str, accepted: Collection[str], history: FlagHistory) -> tuple[str, str | None] | None:
    """The newest name of a renamed flag that is accepted here, and the value that it needs."""
    found: tuple[str, str | None] | None = None
    seen = {flag}
    while (entry := history.renames.get(found[0] if found else flag)) and entry[0] not in seen:
        found = entry
        seen.add(entry[0])
    return found if found and found[0] in accepted else None


def _predecessor(flag: str, accepted: Collection[str], history: FlagHistory) -> str | None:
    """The name that ``flag`` had in a version that does not know it yet."""
    return next((old for old, new in history.renames.items() if new == (flag, None) and old in accepted), None)


def _closest_choice(value: str, choices: Collection[str]) -> str | None:
    """The choice that was probably meant: another spelling first, then the most alike."""
    plain = {_plain(choice): choice for choice in choices}
    for candidate in (_SYNONYMS.get(value.lower(), ""), value):
        if found := plain.get(_plain(candidate)):
            return found
    return next(iter(difflib.get_close_matches(value, list(choices), n=1, cutoff=_CHOICE_LIKENESS)), None)


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(".", "")
