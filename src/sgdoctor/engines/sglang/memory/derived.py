"""What follows from the memory figures of one log, by the sizing rules of SGLang's pools (see ``pools``).

``pre`` is the memory that was free before the weights were loaded, ``post`` after them.
"""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.memory.pools import (
    BASELINE_GIB,
    SPECULATIVE_REQUESTS,
    Sizing,
    StateAsk,
    printed_number,
    rest_for_pools,
    sizing_of,
    slots_per_request,
    smallest_fraction,
    split_state,
)
from sgdoctor.patterns import lazy_pattern

_ROUNDING_GIB: Final = 0.005
"""Printed sizes are rounded to 0.01 GiB."""
SPARE_GIB: Final = 1.0
"""What should stay free for working memory once the pools are made."""
_USUAL_COSTS_GIB: Final = 0.6
"""Workspaces and graphs: the middle of what ``costs`` says of a card for workstations."""
_PREFILL_GRAPHS_GIB: Final = 0.1
_PREFILL_GRAPH_GIB: Final = 4 / 1024
"""Prefill graphs, and each of them: the middle of what ``costs`` says."""
_PREFILL: Final = lazy_pattern(r"prefill=PhaseConfig\(backend='(\w+)'[^()]*?\bbs=\[([\d, ]+)\]")
_CHUNK_GIB: Final = 0.165 / 1024
"""For each token of a prefill chunk: the middle of what ``costs`` says of a model of unknown width."""
_HIGHEST: Final = 0.96
"""A fraction above it is not advised without the numbers of the whole model."""
_SMALLEST_STEP: Final = 0.02
_SMALLEST_CHUNK: Final = 512


class Figures(NamedTuple):
    """Figures of one log; sizes in GiB, None where the log does not say.

    Attributes:
        pre: free when the engine took its baseline, before loading the weights.
        post: free after loading them, draft weights included.
        fraction: the static fraction in force.
        slots: slots of the state cache, negative if it did not fit.
        state: what decides on the size of the state cache; None if the size of a slot is not known.
        ratio: of state cache to KV cache.
        needed: slots that one request takes.
        fixed: the number of slots that was asked for instead of computed.
        sizing: of the version.
        printed_rest: memory for the pools as an error printed it.
    """

    pre: float | None
    post: float | None
    fraction: float | None
    slots: int | None
    state: StateAsk | None
    ratio: float
    needed: int | None
    fixed: int | None
    sizing: Sizing
    printed_rest: float | None = None

    @property
    def rest(self) -> float | None:
        """Memory for the pools; None if unknown.

        What the engine printed counts first: it may have taken its own baseline earlier than "Load weight begin".
        """
        if self.printed_rest is not None:
            return self.printed_rest
        if self.pre is None or self.post is None or self.fraction is None:
            return None
        return rest_for_pools(self.pre, self.post, self.fraction)


def slots_needed(value: Callable[[str], Any]) -> int | None:
    """Slots of the state cache that one request takes, by the arguments; None if the strategy was not resolved.

    Args:
        value: gives a fact by its name, None for an unknown one.
    """
    return slots_per_request(
        value("args.mamba_radix_cache_strategy") or value("args.mamba_scheduler_strategy"),
        radix_off=bool(value("args.disable_radix_cache")),
        overlap_off=bool(value("args.disable_overlap_schedule")),
    )


def slots_asked(value: Callable[[str], Any]) -> int | None:
    """Slots of the state cache that the arguments ask for; None where they follow from the memory."""
    fixed = value("args.max_mamba_cache_size")
    if isinstance(fixed, int):
        return fixed
    requests = value("args.max_running_requests")
    return requests if value("args.disable_radix_cache") and isinstance(requests, int) else None


def figures(value: Callable[[str], Any], *, slots_from_pool: bool, high: str | None) -> Figures:
    """Gather the figures of a log.

    Args:
        value: gives a fact by its name, None for an unknown one.
        slots_from_pool: whether the slots were allocated (their sizes are known) rather than refused.
        high: newest version that the log can be of; None if open.
    """

    def number(name: str) -> Any:
        return printed_number(value(name))

    slots, needed = number("state_slots"), number("state_slots_needed")
    slot_mib = number("state_slot_mib")
    slot_gib = slot_mib / 1024 if slot_mib else None
    conv, ssm = number("conv_state_gib"), number("ssm_state_gib")
    if slot_gib is None and slots_from_pool and slots and slots > 0 and conv is not None and ssm is not None:
        # The pool holds one slot more than it counts.
        slot_gib = (conv + ssm + 2 * _ROUNDING_GIB) / (slots + 1)
    given = number("args.mamba_full_memory_ratio")
    ratio = given if given is not None and given > 0 else 0.9
    fixed = slots_asked(number)
    before = number("mem_before_weights_gib")
    found = Figures(
        pre=None if before is None else before + BASELINE_GIB,
        post=number("mem_after_weights_gib"),
        fraction=number("fraction"),
        slots=slots,
        state=None,
        ratio=ratio,
        needed=needed,
        fixed=fixed,
        sizing=sizing_of(high),
        printed_rest=number("pools_rest_gib"),
    )
    if not needed:
        return found
    rest = found.rest
    if slot_gib is None and slots is not None and slots >= 1 and rest is not None and rest > 0 and fixed is None:
        # The largest size that agrees with the number of slots errs on the safe side.
        slot_gib = rest * ratio / (1 + ratio) / slots
    if slot_gib is None:
        return found
    drafts = number("args.speculative_num_draft_tokens") if value("args.speculative_algorithm") else None
    requests = number("args.max_running_requests")
    ask = StateAsk(
        slot_gib,
        needed,
        ratio,
        fixed,
        drafts if isinstance(drafts, int) else 0,
        requests if isinstance(requests, int) else SPECULATIVE_REQUESTS,
    )
    return found._replace(state=ask)


def _next_hundredth(fraction: float) -> float:
    # A fraction that is met exactly leaves nothing, so the next hundredth is taken; 1e-9 absorbs binary fractions.
    return round(math.floor(fraction * 100 + 1e-9) / 100 + 0.01, 2)


def state_fraction_min(known: Figures) -> float | None:
    """Smallest fraction (hundredths) at which the state cache serves one request; None if not computable.

    A result of 1 or more means that no fraction helps. Slots that were asked for do not depend on the fraction: fewer
    than one request needs are not its matter, and enough of them only have to fit.
    """
    rest, ask, pre, fraction = known.rest, known.state, known.pre, known.fraction
    if rest is None or ask is None or not pre or fraction is None:
        return None

    def serves(candidate: float) -> bool:
        split = split_state(rest + pre * (candidate - fraction) - _ROUNDING_GIB, ask, known.sizing)
        return split.slots >= ask.per_request and split.kv_gib > 0

    return smallest_fraction(serves)


def kv_fraction_min(known: Figures, printed: float | None) -> float | None:
    """Smallest fraction (hundredths, rounded up) that leaves anything for the pools beside these weights.

    Args:
        known: figures of the log.
        printed: the minimum that the engine itself printed; None if it did not.
    """
    if printed is not None:
        return _next_hundredth(printed)
    if known.pre is None or known.post is None or known.pre <= 0:
        return None
    return _next_hundredth(1 - (known.post - _ROUNDING_GIB) / known.pre)


def fraction_floor(kv_minimum: float | None, state_minimum: float | None, *, hybrid: bool) -> float | None:
    """Smallest fraction at which the pools can still be made beside these weights; None if not computable.

    Args:
        kv_minimum: what ``kv_fraction_min`` gave.
        state_minimum: what ``state_fraction_min`` gave.
        hybrid: whether the model has a state cache as well; without its minimum nothing can be said.
    """
    if kv_minimum is None or (hybrid and state_minimum is None):
        return None
    return max(kv_minimum, state_minimum or 0.0)


def prefill_graphs(config: Any) -> int:
    """How many prefill graphs the arguments ask for, by the object that tells it from 0.5.14 on; 0 if it does not."""
    found = _PREFILL.search(str(config or ""))
    return 0 if found is None or found[1] == "disabled" else found[2].count(",") + 1


def fitting_fraction(known: Figures, floor: float | None, chunk: Any, graphs: int = 0) -> float | None:
    """The fraction (hundredths) to be set where the one in force leaves no room for the pools.

    It leaves about 1 GiB beside what workspaces and graphs usually take. ``sgdoctor.fixes.memory`` computes the same
    from the whole model and all flags; this is what follows from the figures of one log alone.

    Args:
        known: figures of the log.
        floor: what ``fraction_floor`` gave.
        chunk: tokens of a prefill chunk, if known.
        graphs: how many prefill graphs there will be.

    Returns:
        None where the fraction in force is not too small, or where the pools would need nearly the whole card.
    """
    if floor is None or not known.pre or known.fraction is None or known.fraction >= floor:
        return None
    working = max(SPARE_GIB, chunk * _CHUNK_GIB if isinstance(chunk, int) else 0.0)
    costs = _USUAL_COSTS_GIB + (_PREFILL_GRAPHS_GIB + graphs * _PREFILL_GRAPH_GIB if graphs else 0.0)
    most = math.floor((1 - (working + costs) / known.pre) * 100 + 1e-9) / 100
    found = max(floor, most)
    return round(found, 2) if found <= _HIGHEST else None


def lacking_gib(value: Callable[[str], Any]) -> float:
    """What an allocation that failed had too little; 0 if none is known."""
    tried, free = value("oom_tried_mib"), value("oom_free_mib")
    return max(0.0, (tried - free) / 1024) if tried is not None and free is not None else 0.0


def lowered_fraction(fraction: float, pre: float, left: float, lacking: float) -> float:
    """A lower fraction (hundredths) that leaves about 1 GiB of working memory, or what an allocation lacked.

    Args:
        fraction: in force.
        pre: free before loading, in GiB.
        left: free after the pools or the graphs, in GiB.
        lacking: in GiB.
    """
    step = max(_SMALLEST_STEP, (SPARE_GIB - left) / pre, lacking / pre)
    return math.floor((fraction - step) * 100 + 1e-9) / 100


def fraction_lower(value: Callable[[str], Any], floor: float | None) -> float | None:
    """``lowered_fraction`` of this log, but not below the floor.

    Args:
        value: gives a fact by its name, None for an unknown one.
        floor: what ``fraction_floor`` gave.

    Returns:
        The fraction; None if the one in force or its floor is unknown, or where there is no room above the floor.
    """

    def number(name: str) -> Any:
        return printed_number(value(name))

    fraction, pre = number("fraction"), number("mem_before_weights_gib")
    if fraction is None or floor is None or not pre or round(fraction - floor, 4) < 0.01:
        return None
    measured = (number(name) for name in ("available_gpu_mem_gib", "mem_after_graphs_gib", "mem_after_pools_gib"))
    left = next((free for free in measured if free is not None), pre * (1 - fraction))
    return float(round(max(floor, lowered_fraction(fraction, pre, left, lacking_gib(number))), 2))


def chunk_half(chunk: Any) -> int | None:
    """Half of a prefill chunk (tokens), the next power of two below; None if it is unknown or small already."""
    if not isinstance(chunk, int) or chunk <= _SMALLEST_CHUNK:
        return None
    return max(_SMALLEST_CHUNK, 1 << ((chunk // 2).bit_length() - 1))
