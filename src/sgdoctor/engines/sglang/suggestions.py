"""What was probably meant by a flag or a value that a version does not accept (loaded only when there is one)."""

import difflib
from collections.abc import Collection
from functools import lru_cache
from typing import Final, NamedTuple

from sgdoctor.engines.sglang.history import FlagHistory, load_foreign, load_history
from sgdoctor.patterns import lazy_pattern

_DECIMAL_COMMA: Final = lazy_pattern(r"^([0-9]{1,4}),([0-9]{1,6})$")
_PERCENT: Final = lazy_pattern(r"^[0-9]{1,3}%$")
_THOUSANDS: Final = lazy_pattern(r"^([0-9]{1,5}) ?[kK]$")
_GROUPED: Final = lazy_pattern(r"^[0-9]{1,3}(?:,[0-9]{3})+$")

_LIKENESS: Final = 0.8
_CHOICE_LIKENESS: Final = 0.6
_SHARE_ALONE: Final = 1 - _LIKENESS + 1e-9
_SLOTS: Final = 128
_TIMES: Final = 4
# Names of the same thing elsewhere, and choices that SGLang renamed (`nano_v3` in 0.5.10); used only where the choices
# hold the right-hand side.
_SYNONYMS: Final[dict[str, str]] = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "f16": "float16",
    "nano_v3": "nemotron_3",
}


class Placed(NamedTuple):
    """Where a flag that a version does not take comes from, and which one it does take.

    Attributes:
        underscore: whether it is a flag once ``_`` is written as ``-``.
        since: first known version that has it; None if none has.
        until: last known version that has it.
        renamed_to: its newest name, if that is accepted here.
        renamed_value: the value that the new name needs, where the old one was a switch.
        other_engine: ``vllm``, ``llama.cpp`` or ``tgi``, where it is theirs.
        suggestion: the accepted flag that was probably meant.
    """

    underscore: bool
    since: str | None
    until: str | None
    renamed_to: str | None
    renamed_value: str | None
    other_engine: str | None
    suggestion: str | None


def place(flag: str, here: Collection[str] | None, choices: Collection[str] = ()) -> Placed:
    """What is known of a flag that was refused.

    Args:
        flag: as typed.
        here: the flags that this version has; None where that is not known.
        choices: the flags that its own error message offers.
    """
    history = load_history()
    accepted = frozenset(history.flags) if here is None else here
    dashed = flag.replace("_", "-")
    known = dashed if dashed in history.flags else flag
    underscore = dashed != flag and (dashed in accepted or dashed in history.flags)
    successor = successor_of(known, accepted, history)
    foreign = None if known in history.flags else load_foreign().get(dashed)
    if underscore and dashed in accepted:
        suggestion: str | None = dashed
    elif successor:
        suggestion = successor[0]
    elif foreign:
        suggestion = foreign.flag if foreign.flag in accepted else None
    elif known in history.flags:
        # Another version has it: nothing was mistyped, but the flags of this one may hold its older name.
        older = None if here is None else predecessor_of(known, None, here)
        suggestion = older[0] if older else None
    else:
        suggestion = closest(dashed, frozenset(choices) or frozenset(accepted), flag)
    return Placed(
        underscore=underscore,
        since=history.since(known),
        until=history.until(known),
        renamed_to=successor[0] if successor else None,
        renamed_value=successor[1] if successor else None,
        other_engine=foreign.engine if foreign else None,
        suggestion=suggestion,
    )


def closest(word: str, names: frozenset[str], but: str = "") -> str | None:
    """The name that is most like a word, as ``difflib.get_close_matches`` has it; None if none is alike.

    Args:
        word: as typed.
        names: to choose from.
        but: one of them that does not count.
    """
    longest = max(map(len, names), default=0)
    if 2 * longest < _LIKENESS * (len(word) + longest):
        return None
    letters = _letters(word)
    matcher = difflib.SequenceMatcher(b=word)
    best: tuple[float, str] | None = None
    for name, length, others in _letters_of(names):
        # At least as many letters have no partner as one of the two words has more of than the other.
        alone = (letters ^ others).bit_count()
        if alone > _SHARE_ALONE * (len(word) + length) or name == but:
            continue
        matcher.set_seq1(name)
        likeness = matcher.ratio()
        if likeness >= _LIKENESS and (best is None or (likeness, name) > best):
            best = likeness, name
    return None if best is None else best[1]


@lru_cache(maxsize=64)
def _letters_of(names: frozenset[str]) -> tuple[tuple[str, int, int], ...]:
    return tuple((name, len(name), _letters(name)) for name in names if name)


def _letters(word: str) -> int:
    """How often each letter stands in a word, up to four times, as bits: one for the first, one for the second ..."""
    bits = 0
    for letter in word:
        place = ord(letter) % _SLOTS * _TIMES
        for bit in range(place, place + _TIMES):
            if not bits >> bit & 1:
                bits |= 1 << bit
                break
    return bits


def successor_of(flag: str, accepted: Collection[str], history: FlagHistory) -> tuple[str, str | None] | None:
    """The newest name of a renamed flag, and the value that it needs; None if that is not accepted."""
    found: tuple[str, str | None] | None = None
    seen = {flag}
    while (entry := history.renames.get(found[0] if found else flag)) and entry[0] not in seen:
        found = entry
        seen.add(entry[0])
    return found if found and found[0] in accepted else None


def closest_choice(value: str, choices: Collection[str]) -> str | None:
    """The choice that was probably meant: another spelling first, then the most alike."""
    plain = {_plain(choice): choice for choice in choices}
    for candidate in (_SYNONYMS.get(value.lower(), ""), value):
        if found := plain.get(_plain(candidate)):
            return found
    return next(iter(difflib.get_close_matches(value, list(choices), n=1, cutoff=_CHOICE_LIKENESS)), None)


def meant_number(value: str, kind: str) -> str | None:
    """The number that ``32k``, ``32,768``, ``0,85`` or ``85%`` stands for, as argparse reads it; None if unclear.

    Args:
        value: as typed.
        kind: the type in question, or a text that names it.
    """
    if "float" in kind:
        if comma := _DECIMAL_COMMA.match(value):
            return f"{comma[1]}.{comma[2]}"
        return f"{int(value[:-1]) / 100:g}" if _PERCENT.match(value) else None
    if "int" in kind:
        if thousands := _THOUSANDS.match(value):
            # Models count their lengths in binary thousands: a context of 32k is 32768 tokens.
            return str(int(thousands[1]) * 1024)
        return value.replace(",", "") if _GROUPED.match(value) else None
    return None


def predecessor_of(flag: str, value: str | None, accepted: Collection[str]) -> tuple[str, bool] | None:
    """The name that a flag had in a version that does not know it yet.

    Args:
        flag: that came later.
        value: that it was given; None if it has none or that does not matter.
        accepted: the flags of the version.

    Returns:
        The older name, and whether it is a switch that stands for flag and value together; None if it had none.
    """
    for old, (new, needed) in load_history().renames.items():
        if new == flag and old in accepted and (needed is None or needed == value):
            return old, needed is not None
    return None


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(".", "")
