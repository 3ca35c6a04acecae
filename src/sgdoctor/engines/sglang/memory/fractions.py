"""Between which fractions a start works on its card, and which of them is to be recommended."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sgdoctor.engines.base import Fact
from sgdoctor.engines.sglang.memory.derived import SPARE_GIB, lacking_gib, lowered_fraction
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.pools import largest_fraction, printed_number, smallest_fraction
from sgdoctor.engines.sglang.memory.predict import Start, predict
from sgdoctor.engines.sglang.memory.prediction import Prediction

TOO_LOW: Final = frozenset({"SGL401", "SGL402", "SGL421", "SGL422", "SGL447"})
"""Rules of pools that a larger fraction would make room for."""
_HIGHEST: Final = 0.98
"""Above it a desktop or the next driver decides."""


class Failed(NamedTuple):
    """A start of the same pools, graphs and prompts that ran out of memory.

    Attributes:
        fraction: in force.
        lacking_gib: what the allocation that failed had too little; 0 if unknown.
    """

    fraction: float
    lacking_gib: float = 0.0


class Span(NamedTuple):
    """Fractions of two digits that work; the attributes of the same name of ``fixes.memory.solution.Interval``."""

    low: float
    safe: float
    high: float


class Advice(NamedTuple):
    """What the numbers of a log say about its fraction.

    Attributes:
        span: of fractions that work; where the pools had room, after running out of memory.
        best: the recommended one; None if none works.
        too_low: whether the fraction in force leaves no room for the pools.
    """

    span: Span
    best: float | None
    too_low: bool


@lru_cache(maxsize=4096)
def at_fraction(start: Start, fraction: float | None) -> Prediction:
    """The prediction at a fraction; at the one of the launch for None. Searches of one launch ask for the same ones."""
    if fraction is None:
        return predict(start)
    return predict(start.under(replace(start.settings, fraction=fraction)))


def span_of(start: Start, failed: Failed | None = None) -> Span | None:
    """Where ``--mem-fraction-static`` can be with the other flags as they are; None if it has no say."""
    low = smallest_fraction(lambda fraction: not _too_low(at_fraction(start, fraction)))
    if low is None:
        return None
    most = _HIGHEST
    if failed is not None:
        step = max(0.01, failed.lacking_gib / start.card.free_gib)
        most = min(most, max(0.0, int((failed.fraction - step) * 100 + 1e-6) / 100))
    high = largest_fraction(lambda fraction: _leaves(at_fraction(start, fraction), at_worst=False), most) or 0.0
    safe = largest_fraction(lambda fraction: _leaves(at_fraction(start, fraction), at_worst=True), most) or 0.0
    return Span(low, safe, high)


def best_fraction(start: Start, low: float, high: float, failed: Failed | None = None) -> float | None:
    """The fraction to be recommended: the largest that is expected to leave enough; None if none works.

    Enough is what a prompt is expected to take, and about 1 GiB in any case.

    Args:
        start: the launch on its card.
        low: smallest fraction that works.
        high: largest one.
        failed: bounds it as well.
    """
    if low > high:
        return None

    def enough(fraction: float) -> bool:
        found = at_fraction(start, fraction)
        if found.left_gib is None:
            return True
        working = found.activations_gib.expected if found.activations_gib is not None else 0.0
        return found.left_gib.expected >= max(SPARE_GIB, working)

    most = high
    if failed is not None:
        left = at_fraction(start, failed.fraction).left_gib
        measured = left.expected if left is not None else 0.0
        most = min(most, lowered_fraction(failed.fraction, start.card.free_gib, measured, failed.lacking_gib))
    found = largest_fraction(enough, max(0.01, most))
    return round(max(low, found or 0.0), 2)


def advice_of(facts: Mapping[str, Fact]) -> Advice | None:
    """What a failed start says about its fraction; None where its log does not tell enough of the model."""

    def value(name: str) -> Any:
        fact = facts.get(name)
        return None if fact is None else printed_number(fact.value)

    start, fraction = start_of(facts), value("fraction")
    if start is None or fraction is None:
        return None
    return _advice(start, Failed(fraction, lacking_gib(value)))


@lru_cache(maxsize=16)
def _advice(start: Start, failed: Failed) -> Advice | None:
    now = at_fraction(start, failed.fraction)
    too_low = _too_low(now)
    if not too_low and now.left_gib is None:
        return None
    bound = None if too_low else failed
    span = span_of(start, bound)
    return None if span is None else Advice(span, best_fraction(start, span.low, span.high, bound), too_low)


def _too_low(found: Prediction) -> bool:
    return found.failure is not None and found.failure.rule in TOO_LOW


def _leaves(found: Prediction, *, at_worst: bool) -> bool:
    """Whether enough stays free; true where the pools do not even get made."""
    left, working = found.left_gib, found.activations_gib
    if left is None:
        return found.failure is None or found.failure.rule != "SGL411"
    if at_worst:
        return left.low >= (working.high if working is not None else 0.0)
    return left.high > 0 and left.high >= (working.low if working is not None else 0.0)
