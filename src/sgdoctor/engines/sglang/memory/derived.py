"""What follows from the memory figures of one log, by the sizing rules of SGLang's pools.

``pre`` is the memory that was free before the weights were loaded, ``post`` after them, ``f`` the static fraction and
``r`` the share of the state cache against the KV cache. The pools get ``rest = post - pre * (1 - f)``; a hybrid model
gives ``rest * r / (1 + r)`` of it to its state cache. Sources: srt/model_executor/model_runner_kv_cache_mixin.py of
0.5.13 to 0.5.15 and srt/mem_cache/kv_cache_configurator.py later; compared with runs of 0.5.15.
"""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.versions import version_key

_ROUNDING_GIB: Final = 0.005
"""Printed sizes are rounded to 0.01 GiB."""
_SPARE_GIB: Final = 1.0
"""What should stay free for working memory once the pools are made."""
_SMALLEST_STEP: Final = 0.02
_SMALLEST_CHUNK: Final = 512
_PADDED_SINCE: Final = "0.5.17"
"""From here on the state cache reserves one slot that serves no request."""


class Figures(NamedTuple):
    """Figures of one log; sizes in GiB, None where the log does not say.

    Attributes:
        pre: free before loading the weights.
        post: free after loading them, draft weights included.
        fraction: the static fraction in force.
        ratio: of state cache to KV cache.
        slots: slots of the state cache, negative if it did not fit.
        slot_gib: size of one slot.
        slots_needed: slots that one request takes.
        slots_fixed: whether the number of slots was asked for instead of computed.
        padded: whether this version reserves one slot more.
        printed_rest: memory for the pools as an error printed it.
    """

    pre: float | None
    post: float | None
    fraction: float | None
    ratio: float
    slots: int | None
    slot_gib: float | None
    slots_needed: int | None
    slots_fixed: bool
    padded: bool
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
        return self.post - self.pre * (1 - self.fraction)


def slots_needed(value: Callable[[str], Any]) -> int | None:
    """Slots of the state cache that one request takes, by the arguments; None if the strategy was not resolved.

    Args:
        value: gives a fact by its name, None for an unknown one.
    """
    if value("args.disable_radix_cache"):
        return 1
    strategy = value("args.mamba_radix_cache_strategy") or value("args.mamba_scheduler_strategy")
    if strategy == "no_buffer":
        return 3
    if strategy == "extra_buffer_lazy":
        return 4
    if strategy == "extra_buffer":
        return 4 if value("args.disable_overlap_schedule") else 5
    return None


def figures(value: Callable[[str], Any], *, slots_from_pool: bool, high: str | None) -> Figures:
    """Gather the figures of a log.

    Args:
        value: gives a fact by its name, None for an unknown one.
        slots_from_pool: whether the slots were allocated (their sizes are known) rather than refused.
        high: newest version that the log can be of; None if open.
    """
    slots = value("state_slots")
    slot_gib = value("state_slot_mib") / 1024 if value("state_slot_mib") else None
    conv, ssm = value("conv_state_gib"), value("ssm_state_gib")
    if slot_gib is None and slots_from_pool and slots and slots > 0 and conv is not None and ssm is not None:
        # The pool holds one slot more than it counts.
        slot_gib = (conv + ssm + 2 * _ROUNDING_GIB) / (slots + 1)
    draft_tokens = value("args.speculative_num_draft_tokens")
    if slot_gib is not None and value("args.speculative_algorithm") and draft_tokens:
        # Each request keeps the states of its draft tokens beside its slots.
        slot_gib *= 1 + draft_tokens / (value("state_slots_needed") or 1)
    ratio = value("args.mamba_full_memory_ratio")
    fixed = value("args.max_mamba_cache_size") is not None or bool(
        value("args.disable_radix_cache") and value("args.max_running_requests")
    )
    return Figures(
        pre=value("mem_before_weights_gib"),
        post=value("mem_after_weights_gib"),
        fraction=value("fraction"),
        ratio=ratio if isinstance(ratio, int | float) else 0.9,
        slots=slots,
        slot_gib=slot_gib,
        slots_needed=value("state_slots_needed"),
        slots_fixed=fixed,
        padded=high is None or version_key(high) >= version_key(_PADDED_SINCE),
        printed_rest=value("pools_rest_gib"),
    )


def _rounded_up(fraction: float) -> float:
    # A fraction that is met exactly leaves nothing, so the next hundredth is taken; 1e-9 absorbs binary fractions.
    return math.floor(fraction * 100 + 1e-9) / 100 + 0.01


def state_fraction_min(known: Figures) -> float | None:
    """Smallest fraction (hundredths, rounded up) at which the state cache serves one request; None if not computable.

    Where the size of a slot is not printed, the largest size that agrees with the number of slots is taken: the result
    then errs on the safe side. A result of 1 or more means that no fraction helps.
    """
    rest = known.rest
    if rest is None or not known.pre or known.fraction is None or not known.slots_needed or known.slots_fixed:
        return None
    share = known.ratio / (1 + known.ratio)
    slot = known.slot_gib
    if slot is None:
        if known.slots is None or known.slots < 1 or rest <= 0:
            return None
        slot = rest * share / known.slots
    needed = (known.slots_needed + (1 if known.padded else 0)) * slot / share
    return round(_rounded_up(known.fraction + (needed - rest + _ROUNDING_GIB) / known.pre), 2)


def kv_fraction_min(known: Figures, printed: float | None) -> float | None:
    """Smallest fraction (hundredths, rounded up) that leaves anything for the pools beside these weights.

    Args:
        known: figures of the log.
        printed: the minimum that the engine itself printed; None if it did not.
    """
    if printed is not None:
        return round(_rounded_up(printed), 2)
    if known.pre is None or known.post is None or known.pre <= 0:
        return None
    return round(_rounded_up(1 - (known.post - _ROUNDING_GIB) / known.pre), 2)


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


def fraction_lower(value: Callable[[str], Any], floor: float | None) -> float | None:
    """A lower fraction (hundredths) that leaves about 1 GiB of working memory, or what an allocation lacked.

    Args:
        value: gives a fact by its name, None for an unknown one.
        floor: what ``fraction_floor`` gave.

    Returns:
        The fraction; None if the one in force or its floor is unknown, or where there is no room above the floor.
    """
    fraction, pre = value("fraction"), value("mem_before_weights_gib")
    if not isinstance(fraction, int | float) or floor is None or not pre or round(fraction - floor, 4) < 0.01:
        return None
    measured = (value(name) for name in ("available_gpu_mem_gib", "mem_after_graphs_gib", "mem_after_pools_gib"))
    left = next((free for free in measured if free is not None), pre * (1 - fraction))
    tried, free = value("oom_tried_mib"), value("oom_free_mib")
    lacking = (tried - free) / 1024 if tried is not None and free is not None else 0.0
    step = max(_SMALLEST_STEP, (_SPARE_GIB - left) / pre, lacking / pre)
    return float(round(max(floor, math.floor((fraction - step) * 100 + 1e-9) / 100), 2))


def chunk_half(chunk: Any) -> int | None:
    """Half of a prefill chunk (tokens), the next power of two below; None if it is unknown or small already."""
    if not isinstance(chunk, int) or chunk <= _SMALLEST_CHUNK:
        return None
    return max(_SMALLEST_CHUNK, 1 << ((chunk // 2).bit_length() - 1))
