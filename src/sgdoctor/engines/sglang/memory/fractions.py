"""Between which fractions a start works on its card, and which of them is to be recommended."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sgdoctor.engines.base import Fact
from sgdoctor.engines.sglang.memory.defaults import choose
from sgdoctor.engines.sglang.memory.derived import SPARE_GIB, chunk_half, lacking_gib, lowered_fraction
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.pools import largest_fraction, printed_number, smallest_fraction
from sgdoctor.engines.sglang.memory.predict import Start, predict
from sgdoctor.engines.sglang.memory.prediction import Prediction, Range, known

TOO_LOW: Final = frozenset({"SGL401", "SGL402", "SGL421", "SGL422", "SGL447"})
"""Rules of pools that a larger fraction would make room for."""
_WORTH: Final = 1.1
"""A cut that gives less than a tenth more tokens is not worth its loss."""
_WORTH_A_RISK: Final = 1.05
"""So many times the tokens are worth a fraction that is expected to work, beside one that does for certain."""
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


class Relief(NamedTuple):
    """A start whose graphs or prompts take less, so that the pools keep more.

    Attributes:
        span: of fractions that work then.
        fraction: the one to be set with it; never above the one in force.
    """

    span: Span
    fraction: float


class Advice(NamedTuple):
    """What the numbers of a log say about its fraction.

    Attributes:
        span: of fractions that work; where the pools had room, after running out of memory.
        best: the recommended one; None if none works.
        too_low: whether the fraction in force leaves no room for the pools.
        chunk: tokens of a smaller prefill chunk, for a prompt that ran out of memory; None if none helps.
        relief: what goes with that chunk.
    """

    span: Span
    best: float | None
    too_low: bool
    chunk: int | None = None
    relief: Relief | None = None


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


def best_fraction(start: Start, span: Span, failed: Failed | None = None) -> float | None:
    """The fraction to be recommended: the largest that is expected to leave enough; None if none works.

    Enough is what a prompt is expected to take, and about 1 GiB in any case. Where some fractions work for certain, it
    is one of these, unless that costs a good part of the KV cache.

    Args:
        start: the launch on its card.
        span: of fractions that work.
        failed: bounds it as well.
    """
    low, safe, high = span
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
    found = round(max(low, largest_fraction(enough, max(0.01, most)) or 0.0), 2)
    if not low <= safe < found:
        return found
    larger, certain = (at_fraction(start, fraction).kv_tokens for fraction in (found, safe))
    # Where nobody knows how many tokens more there are, they are no reason.
    return found if larger and certain and larger >= _WORTH_A_RISK * certain else safe


def is_worth(found: Prediction, before: Prediction) -> bool:
    """Whether so many more tokens fit that they make up for what is lost."""
    return (found.kv_tokens or 0) >= _WORTH * (before.kv_tokens or 0)


def smaller_chunk(start: Start) -> int | None:
    """Tokens of the prefill chunk that is tried next; None where it is small already, or would be no whole pages."""
    chosen = choose(start.settings, start.shape, start.card.size_mib, start.version)
    # Beyond the chunk that SGLang itself takes on such a card half of it may still be too much.
    half = min(chunk_half(chosen.chunk) or 0, 2 * chosen.default_chunk)
    return half if half and half % start.settings.page == 0 else None


def relieved(start: Start, lighter: Start, failed: Failed, bound: Failed | None = None) -> Relief | None:
    """What becomes of a start that ran out of memory once its graphs or prompts take less; None if that cannot do.

    Only what is certain to save something counts, and what may save as much as was lacking: another start costs
    minutes.

    Args:
        start: that ran out of memory.
        lighter: the same with smaller graphs or prompts.
        failed: how it ran out of memory.
        bound: the same, where that failure says something of ``lighter`` as well.
    """
    now = at_fraction(start, None)
    saved = saved_beside_pools(now, at_fraction(lighter, now.fraction))
    if saved.low <= 0 or saved.high < failed.lacking_gib:
        return None
    span = span_of(lighter, bound)
    fraction = None if span is None else best_fraction(lighter, span, bound)
    if span is None or fraction is None:
        return None
    return Relief(span, min(fraction, failed.fraction))


def saved_beside_pools(before: Prediction, after: Prediction) -> Range:
    """What graphs and prompts take less (GiB) in ``after`` than in ``before``, two starts with equal pools."""
    saved = known(0.0)
    for one, other in (
        (before.after_pools_gib, after.after_pools_gib),
        (before.activations_gib, after.activations_gib),
    ):
        if one is not None and other is not None:
            saved = saved.plus(one.less(other))
    return saved


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
    if span is None:
        return None
    chunk = None if too_low else smaller_chunk(start)
    relief = None
    if chunk is not None:
        relief = relieved(start, start.under(replace(start.settings, chunk=chunk)), failed)
    return Advice(span, best_fraction(start, span, bound), too_low, chunk if relief is not None else None, relief)


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
