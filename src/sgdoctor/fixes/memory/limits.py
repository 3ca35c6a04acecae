"""Between which fractions a start works on its card."""

from dataclasses import replace
from typing import Final

from sgdoctor.engines.sglang.memory.derived import SPARE_GIB, lowered_fraction
from sgdoctor.engines.sglang.memory.pools import largest_fraction, smallest_fraction
from sgdoctor.engines.sglang.memory.predict import Start, predict
from sgdoctor.engines.sglang.memory.prediction import Prediction, Range, known
from sgdoctor.fixes.memory.situation import Tried
from sgdoctor.fixes.memory.solution import Interval

TOO_LOW: Final = frozenset({"SGL401", "SGL402", "SGL421", "SGL422", "SGL447"})
"""Rules of pools that a larger fraction would make room for."""
_POOLS: Final = "SGL412"
_BEFORE_PROMPTS: Final = frozenset({_POOLS, "SGL413", "SGL414"})
"""Rules of allocations that failed before any prompt was read: no chunk is to blame."""
_HIGHEST: Final = 0.98
"""Above it a desktop or the next driver decides."""


def at_fraction(start: Start, fraction: float | None) -> Prediction:
    """The prediction at a fraction; at the one of the launch for None."""
    if fraction is None:
        return predict(start)
    return predict(start.under(replace(start.settings, fraction=fraction)))


def interval_of(start: Start, tried: Tried | None) -> Interval | None:
    """Where ``--mem-fraction-static`` can be with the other flags as they are; None if it has no say.

    Args:
        start: the launch on its card.
        tried: an attempt that was seen; its failure bounds the interval while graphs and chunk are the same.
    """
    low = smallest_fraction(lambda fraction: not _too_low(at_fraction(start, fraction)))
    if low is None:
        return None
    most = _HIGHEST
    if tried is not None and tried.out_of_memory and tried.fraction is not None and _same_costs(start, tried):
        step = max(0.01, tried.lacking_gib / start.card.free_gib)
        most = min(most, max(0.0, int((tried.fraction - step) * 100 + 1e-6) / 100))
    high = largest_fraction(lambda fraction: _leaves(at_fraction(start, fraction), at_worst=False), most) or 0.0
    safe = largest_fraction(lambda fraction: _leaves(at_fraction(start, fraction), at_worst=True), most) or 0.0
    wanted = start.settings.context
    context_low = None
    if wanted is not None:
        context_low = smallest_fraction(lambda fraction: (at_fraction(start, fraction).kv_tokens or 0) >= wanted)
        if context_low is not None and context_low > high:
            context_low = None
    left = at_fraction(start, max(low, min(high, safe))).left_gib
    return Interval(low, safe, high, context_low, None if left is None or safe == high else left.reason)


def best_fraction(start: Start, interval: Interval, tried: Tried | None) -> float | None:
    """The fraction to be recommended: the largest that is expected to leave enough; None if none works.

    Enough is what a prompt is expected to take, and about 1 GiB in any case.
    """
    if interval.empty:
        return None

    def enough(fraction: float) -> bool:
        found = at_fraction(start, fraction)
        if found.left_gib is None:
            return True
        working = found.activations_gib.expected if found.activations_gib is not None else 0.0
        return found.left_gib.expected >= max(SPARE_GIB, working)

    most = interval.high
    if tried is not None and tried.out_of_memory and tried.fraction is not None and _same_costs(start, tried):
        left = at_fraction(start, tried.fraction).left_gib
        measured = left.expected if left is not None else 0.0
        most = min(most, lowered_fraction(tried.fraction, start.card.free_gib, measured, tried.lacking_gib))
    found = largest_fraction(enough, max(0.01, most))
    return round(max(interval.low, found or 0.0), 2)


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


def _same_costs(start: Start, tried: Tried) -> bool:
    """Whether what ran out of memory takes as much as it did in that attempt: the pools, graphs, or a prompt."""
    if tried.rule not in _BEFORE_PROMPTS and start.settings.chunk != tried.settings.chunk:
        return False
    if tried.rule == _POOLS or start.settings.graphs == tried.settings.graphs:
        return True
    now, then = at_fraction(start, tried.fraction), at_fraction(start.under(tried.settings), tried.fraction)
    return (now.decode_graphs, now.prefill_graphs) == (then.decode_graphs, then.prefill_graphs)


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
