"""The arithmetic of SGLang's pools: what they get, how a state cache and the KV cache share it, how many requests fit.

Everything else about memory rests on the functions here. They follow srt/model_executor/model_runner_kv_cache_mixin.py
and pool_configurator.py (0.5.9 to 0.5.15) and srt/mem_cache/kv_cache_configurator.py (0.5.16 to 0.5.23). "GB" in
SGLang's logs is GiB.
"""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.versions import version_key

GIB: Final = 1 << 30
MIB: Final = 1 << 20

SPECULATIVE_REQUESTS: Final = 48
"""Requests at once with speculative decoding unless asked otherwise (srt/arg_groups/speculative_hook.py, 0.5.15)."""

BASELINE_GIB: Final = 0.07
"""The static share is one of what was free before "Load weight begin" by so much: srt/model_executor/model_runner.py
takes its baseline at the end of the distributed set-up, 0.5.9 to 0.5.23; the size was seen in nine runs of 0.5.15."""

_LARGEST: Final = 1e9
_HALVINGS: Final = 40
_HUNDREDTHS: Final = 200
"""Fractions above 1 are tried as well: they say by how much a card is too small."""


class Sizing(NamedTuple):
    """What differs between versions.

    Attributes:
        padded: the state cache reserves one slot that serves no request (0.5.17 on).
        drafts_apart: states of draft tokens are taken off before the state cache gets its share (up to 0.5.12).
        state_checked: a state cache without room for one request ends the start (0.5.13 on).
        tokens_cap_asked: requests that were asked for are capped by half of the tokens too (0.5.14 on).
        rest_checked: weights above the static share end the start with the smallest viable fraction (0.5.14 on).
    """

    padded: bool = True
    drafts_apart: bool = False
    state_checked: bool = True
    tokens_cap_asked: bool = True
    rest_checked: bool = True


def sizing_of(version: str | None) -> Sizing:
    """The sizing of a version; of the newest one for an unknown version, which is also the most careful."""
    if version is None:
        return Sizing()
    key = version_key(version)
    return Sizing(
        padded=key >= (0, 5, 17),
        drafts_apart=key < (0, 5, 13),
        state_checked=key >= (0, 5, 13),
        tokens_cap_asked=key >= (0, 5, 14),
        rest_checked=key >= (0, 5, 14),
    )


def rest_for_pools(pre: float, post: float, fraction: float) -> float:
    """Memory for the pools in GiB: what is free after loading (``post``) less the share that stays out of them."""
    return post - pre * (1 - fraction)


class StateAsk(NamedTuple):
    """What decides on the size of a state cache.

    Attributes:
        slot_gib: size of one slot.
        per_request: slots that one request takes.
        ratio: of state cache to KV cache, ``--mamba-full-memory-ratio``.
        fixed: slots that were asked for; None if they follow from the memory.
        draft_tokens: of speculative decoding; their states are kept for each request. 0 without.
        requests: at once, where draft tokens count.
    """

    slot_gib: float
    per_request: int
    ratio: float = 0.9
    fixed: int | None = None
    draft_tokens: int = 0
    requests: int = SPECULATIVE_REQUESTS


class StateSplit(NamedTuple):
    """Slots of a state cache, and what it leaves for the KV cache in GiB; both may be negative."""

    slots: int
    kv_gib: float


def printed_number(value: Any) -> Any:
    """A number as an engine prints it; None for a text, and for what no card and no cache can hold."""
    return value if isinstance(value, int | float) and -_LARGEST < value < _LARGEST else None


def split_state(rest: float, ask: StateAsk, sizing: Sizing) -> StateSplit:
    """How the state cache and the KV cache share ``rest`` GiB."""
    spare = 1 if sizing.padded else 0
    drafts = ask.slot_gib * ask.draft_tokens
    if sizing.drafts_apart:
        rest -= drafts * ask.requests
        drafts = 0.0
    if ask.fixed is None:
        budget = rest * ask.ratio / (1 + ask.ratio)
        slots = math.floor((budget - spare * (ask.slot_gib + drafts)) / (ask.slot_gib + drafts / ask.per_request))
    else:
        slots = ask.fixed
    if drafts:
        rest -= drafts * (min(ask.requests, slots // ask.per_request) + spare)
    return StateSplit(slots, rest - (slots + spare) * ask.slot_gib)


def kv_between(low: float, high: float, ask: StateAsk, sizing: Sizing) -> tuple[float, float]:
    """The least and the most that is left for the KV cache where between ``low`` and ``high`` GiB are shared."""
    least, most = split_state(low, ask, sizing), split_state(high, ask, sizing)
    if least.slots == most.slots:
        return least.kv_gib, most.kv_gib
    # Where the memory is just enough for another slot, the KV cache loses that slot at once.
    step = ask.slot_gib * (1 + ask.draft_tokens)
    if most.slots > least.slots + 1:
        return least.kv_gib - step, most.kv_gib + step
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if split_state(middle, ask, sizing).slots == least.slots:
            low = middle
        else:
            high = middle
    before, after = split_state(low, ask, sizing).kv_gib, split_state(high, ask, sizing).kv_gib
    return min(least.kv_gib, after), max(before, most.kv_gib)


def kv_tokens(gib: float, cell_bytes: float, page: int) -> int:
    """Tokens that ``gib`` GiB hold, in whole pages; negative where the memory is."""
    return int(gib * GIB // cell_bytes) // page * page


def running_requests(
    tokens: int, context: int, asked: int | None, state: tuple[int, int] | None, sizing: Sizing
) -> int:
    """Requests at once.

    Args:
        tokens: capacity of the KV cache.
        context: tokens that a request may have.
        asked: ``--max-running-requests`` of one data-parallel worker; None if not given.
        state: slots, and slots that a request takes; None for a model without a state cache.
        sizing: of the version.
    """
    estimated = max(min(int(tokens / context * 512), 4096), 2048)
    if asked is None:
        requests = min(estimated, tokens // 2)
    else:
        requests = min(asked, tokens // 2 if sizing.tokens_cap_asked else estimated)
    if state is not None:
        slots, per_request = state
        requests = min(requests, slots // per_request)
    return requests


def slots_per_request(strategy: str | None, *, radix_off: bool, overlap_off: bool) -> int | None:
    """Slots that one request takes; None if the strategy is not known.

    Three for the request and its place in the prefix cache, and the buffers that swap during overlapped scheduling.
    """
    if radix_off:
        return 1
    if strategy == "no_buffer":
        return 3
    if strategy == "extra_buffer_lazy":
        return 4
    if strategy == "extra_buffer":
        return 4 if overlap_off else 5
    return None


def smallest_fraction(works: Callable[[float], bool]) -> float | None:
    """Smallest fraction of two digits that works; None if none up to 2 does.

    Args:
        works: must stay true above the first fraction for which it is true.
    """
    low, high = 1, _HUNDREDTHS
    if not works(high / 100):
        return None
    while low < high:
        middle = (low + high) // 2
        if works(middle / 100):
            high = middle
        else:
            low = middle + 1
    return low / 100


def largest_fraction(works: Callable[[float], bool], most: float) -> float | None:
    """Largest fraction of two digits up to ``most`` that works; None if none does.

    Args:
        works: must stay true below the last fraction for which it is true.
        most: of two digits.
    """
    low, high = 0, round(most * 100)
    while low < high:
        middle = (low + high + 1) // 2
        if works(middle / 100):
            low = middle
        else:
            high = middle - 1
    return low / 100 if low else None
