"""Between which fractions a start works on its card, after what was tried."""

from typing import Final

from sgdoctor.engines.sglang.memory import fractions
from sgdoctor.engines.sglang.memory.fractions import Failed, Span, at_fraction
from sgdoctor.engines.sglang.memory.pools import smallest_fraction
from sgdoctor.engines.sglang.memory.predict import Start
from sgdoctor.fixes.memory.situation import Tried
from sgdoctor.fixes.memory.solution import Interval

_POOLS: Final = "SGL412"
_BEFORE_PROMPTS: Final = frozenset({_POOLS, "SGL413", "SGL414"})
"""Rules of allocations that failed before any prompt was read: no chunk is to blame."""


def interval_of(start: Start, tried: Tried | None) -> Interval | None:
    """Where ``--mem-fraction-static`` can be with the other flags as they are; None if it has no say.

    Args:
        start: the launch on its card.
        tried: an attempt that was seen; its failure bounds the interval while graphs and chunk are the same.
    """
    span = fractions.span_of(start, bound_of(start, tried))
    if span is None:
        return None
    low, safe, high = span
    wanted = start.settings.context
    context_low = None
    if wanted is not None:
        context_low = smallest_fraction(lambda fraction: (at_fraction(start, fraction).kv_tokens or 0) >= wanted)
        if context_low is not None and context_low > high:
            context_low = None
    left = at_fraction(start, max(low, min(high, safe))).left_gib
    return Interval(low, safe, high, context_low, None if left is None or safe == high else left.reason)


def best_fraction(start: Start, interval: Interval, tried: Tried | None) -> float | None:
    """The fraction to be recommended: the largest that is expected to leave enough; None if none works."""
    return fractions.best_fraction(start, Span(interval.low, interval.safe, interval.high), bound_of(start, tried))


def recommended(start: Start, tried: Tried | None) -> tuple[Interval | None, float | None]:
    """The interval of a launch, and the fraction to be recommended in it; each None as of its own function."""
    interval = interval_of(start, tried)
    return interval, None if interval is None else best_fraction(start, interval, tried)


def bound_of(start: Start, tried: Tried | None) -> Failed | None:
    """How the attempt ran out of memory, where that says something of this start; else None."""
    if tried is None or not tried.out_of_memory or tried.fraction is None or not _same_costs(start, tried):
        return None
    return Failed(tried.fraction, tried.lacking_gib)


def _same_costs(start: Start, tried: Tried) -> bool:
    """Whether what ran out of memory takes as much as it did in that attempt: the pools, graphs, or a prompt."""
    if tried.rule not in _BEFORE_PROMPTS and start.settings.chunk != tried.settings.chunk:
        return False
    if tried.rule == _POOLS or start.settings.graphs == tried.settings.graphs:
        return True
    now, then = at_fraction(start, tried.fraction), at_fraction(start.under(tried.settings), tried.fraction)
    return (now.decode_graphs, now.prefill_graphs) == (then.decode_graphs, then.prefill_graphs)
