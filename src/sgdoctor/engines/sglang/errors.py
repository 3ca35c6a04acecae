"""Figures inside error texts: out-of-memory reports and refusals to make a pool."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.facts import MEBI
from sgdoctor.patterns import lazy_pattern

_HINTS: Final = ("out of memory", "state cache", "mem-fraction-static", "mem_fraction_static")

_SIZE: Final = r"(\d+(?:\.\d+)?) ([KMGT]iB|B)\b"
_TRIED: Final = lazy_pattern(rf"Tried to allocate {_SIZE}")
# torch 2.2 and later, then the older wording.
_TOTAL: Final = lazy_pattern(rf"has a total capacit\w+ of {_SIZE}|; {_SIZE} total capacity")
_FREE: Final = lazy_pattern(rf"of which {_SIZE} is free|already allocated; {_SIZE} free")
_HOLDER: Final = lazy_pattern(rf"Process (\d+) has {_SIZE} memory in use")
_SLOTS: Final = lazy_pattern(r"max_mamba_cache_size=(-?\d+)")
_SLOT_SIZE: Final = lazy_pattern(r"mamba_cache_per_req=(\d+(?:\.\d+)?) MB")
_REST: Final = lazy_pattern(r"total_rest_memory=(-?\d+(?:\.\d+)?) GB")
_RATIO: Final = lazy_pattern(r"mamba_ratio=(\d+)")
_VIABLE: Final = lazy_pattern(r"minimum viable = 1 - available/pre = (\d\.\d+)")
_ABOVE: Final = lazy_pattern(r"Raise --mem-fraction-static above (\d\.\d+)")
_FRACTION: Final = lazy_pattern(r"under --mem-fraction-static=(\d\.\d+)|mem_fraction_static=(\d\.\d+)")


class ErrorFigures(NamedTuple):
    """What an error text says in numbers.

    Attributes:
        facts: by name.
        fraction_min: the smallest viable fraction, where the engine printed one.
        wordings: names of ``versions.WORDINGS`` that the text has.
    """

    facts: Mapping[str, Any]
    fraction_min: float | None
    wordings: tuple[str, ...]


def may_hold_figures(text: str) -> bool:
    """Whether ``read_figures`` can find anything."""
    return any(hint in text for hint in _HINTS)


def _mebi(found: re.Match[str] | None) -> float | None:
    if found is None:
        return None
    amount, unit = (part for part in found.groups() if part is not None)
    return round(float(amount) * MEBI[unit], 4)


def read_figures(text: str) -> ErrorFigures:
    """The figures of an error text; unknown ones are None or absent."""
    facts: dict[str, Any] = {}
    wordings: list[str] = []
    fraction_min: float | None = None
    if "out of memory" in text:
        total = _mebi(_TOTAL.search(text))
        facts["gpu_total_gib"] = None if total is None else round(total / 1024, 4)
        facts["oom_tried_mib"] = _mebi(_TRIED.search(text))
        facts["oom_free_mib"] = _mebi(_FREE.search(text))
        holders = [(float(size) * MEBI[unit] / 1024, int(pid)) for pid, size, unit in _HOLDER.findall(text)]
        if holders:
            size, facts["oom_other_pid"] = max(holders)
            facts["oom_other_process_gib"] = round(size, 4)
    if "state cache" in text and (slots := _SLOTS.search(text)):
        wordings.append("state_cache_check")
        facts["state_slots"] = int(slots[1])
        if size_found := _SLOT_SIZE.search(text):
            facts["state_slot_mib"] = float(size_found[1])
        if rest := _REST.search(text):
            facts["pools_rest_gib"] = float(rest[1])
        if ratio := _RATIO.search(text):
            facts["state_slots_needed"] = int(ratio[1])
    if "linear-attention) state cache" in text:
        facts["is_hybrid"] = True
    if viable := _VIABLE.search(text):
        wordings.append("weights_leave_nothing")
        fraction_min = float(viable[1])
    elif above := _ABOVE.search(text):
        # Rounded to three digits, and already the next one up.
        wordings.append("weights_leave_nothing")
        fraction_min = float(above[1]) - 0.0005
    if fraction := _FRACTION.search(text):
        facts["fraction"] = float(fraction[1] or fraction[2])
    return ErrorFigures(facts, fraction_min, tuple(wordings))
