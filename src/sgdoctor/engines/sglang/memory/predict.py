"""The memory model: a model, a card, a version and the flags in; what the start does with the memory out."""

from dataclasses import dataclass, replace
from typing import Final

from sgdoctor.engines.sglang.memory import costs
from sgdoctor.engines.sglang.memory.beside_weights import experts_gib, tables_gib
from sgdoctor.engines.sglang.memory.costs import Measured
from sgdoctor.engines.sglang.memory.defaults import Chosen, captured_sizes, choose
from sgdoctor.engines.sglang.memory.layout import Layout, layout_of
from sgdoctor.engines.sglang.memory.pools import (
    GIB,
    SPECULATIVE_REQUESTS,
    StateAsk,
    StateSplit,
    kv_between,
    rest_for_pools,
    running_requests,
    sizing_of,
    slots_per_request,
    split_state,
)
from sgdoctor.engines.sglang.memory.prediction import Bounds, Failure, Prediction, Range, Warned
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import ModelShape
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.texts import Text, counted

_LITTLE_GIB: Final = 0.6
"""Below this a long prompt is likely to fail; the rule SGL443 has the same bound."""
_WORKSTATION_MIB: Final = 35 * 1024
_CONTEXT_RESERVE_MIB: Final = 700
"""What the driver and the CUDA context hold of a card before anything is loaded, where its size is not known."""
_PRINTED_ROUNDED: Final = Text(
    "the log rounds free memory to 0.01 GB",
    "日志中的可用显存只精确到 0.01 GB",
)

_UNPROVEN: Final = Warned(
    "pools-unproven",
    Text(
        "How SGLang divides the KV cache of this model is read from its source; no recorded start has confirmed it.",
        "这个模型的 KV 缓存分配方式来自 SGLang 源码，尚未经实际启动日志验证。",
    ),
)


@dataclass(frozen=True, slots=True)
class Card:
    """One card, the fullest of several; sizes in GiB.

    Attributes:
        free_gib: free before the weights are loaded, when the engine takes its baseline.
        total_mib: all of its memory as ``nvidia-smi`` shows it, in MiB; None if unknown.
    """

    free_gib: float
    total_mib: float | None = None

    @property
    def size_mib(self) -> float:
        """``total_mib``, or an estimate of it."""
        return self.total_mib or self.free_gib * 1024 + _CONTEXT_RESERVE_MIB

    @property
    def small(self) -> bool:
        """Whether it is a card for workstations: those have no FlashAttention 3, so SGLang takes flashinfer."""
        return self.size_mib < _WORKSTATION_MIB


@dataclass(frozen=True, slots=True)
class Start:
    """One start: everything that decides on its memory.

    Attributes:
        shape: of the model.
        settings: the flags.
        card: its memory.
        weights_gib: what the weights take on it, those of a draft model included.
        version: of SGLang; None for the newest.
        measured: what an earlier start of this model on this card took; None if there was none.
        tables_of: the settings for whose context ``weights_gib`` includes the tables of positions; None where it is
            the weights alone.
        rounding_gib: how far the memory for the pools may be off either way because a printed size was rounded.
        free_off_gib: how far ``card.free_gib`` may be off either way.
        measured_at: the fraction at which the memory for the pools was seen; None if it was not.
    """

    shape: ModelShape
    settings: Settings
    card: Card
    weights_gib: float
    version: str | None = None
    measured: Measured | None = None
    tables_of: Settings | None = None
    rounding_gib: float = 0.0
    free_off_gib: float = 0.0
    measured_at: float | None = None

    @property
    def tables_gib(self) -> Range:
        """What the tables of positions take beyond ``weights_gib``."""
        now = tables_gib(self.shape, self.settings)
        return now if self.tables_of is None else now.less(tables_gib(self.shape, self.tables_of))

    @property
    def loaded_gib(self) -> float:
        """What is taken when the pools are measured, as far as it is expected."""
        return self.weights_gib + experts_gib(self.shape) + self.tables_gib.expected

    def under(self, settings: Settings) -> "Start":
        """The same start with other flags."""
        return replace(self, settings=settings)


def predict(start: Start) -> Prediction:
    """What a start does with the memory of its card."""
    shape, settings, free = start.shape, start.settings, start.card.free_gib
    chosen = choose(settings, shape, start.card.size_mib, start.version)
    sizing = sizing_of(start.version)
    rest = rest_for_pools(free, free - start.loaded_gib, chosen.fraction)
    context = settings.context or shape.context
    found = Prediction(
        fraction=chosen.fraction,
        fraction_is_default=chosen.fraction_is_default,
        rest_gib=rest,
        rest_reason=_rest_reason(start, chosen.fraction),
        context=context,
        activations_gib=costs.activations(chosen, shape, context),
        decode_graphs=chosen.decode_sizes,
        prefill_graphs=chosen.prefill_sizes,
    )
    if start.loaded_gib >= free:
        return replace(found, failure=Failure("SGL411", "torch.OutOfMemoryError: CUDA out of memory."))
    kv_gib, ask = rest, None
    if shape.hybrid:
        ask = state_ask(shape, settings, start.version)
        if ask is None:
            return replace(found, slots_needed=slots_needed(shape, settings, start.version))
        split = split_state(rest, ask, sizing)
        kv_gib = split.kv_gib
        found = replace(_with_state(found, split, ask), slots_bounds=_slots_bounds(start, found, ask))
        if split.slots <= 0 and sizing.state_checked:
            return replace(found, failure=_state_empty(split.slots, ask, rest))
    if kv_gib <= 0 and sizing.rest_checked:
        return replace(found, failure=_rest_empty(start, chosen.fraction))
    layout = layout_of(shape, settings, start.version, chunk=chosen.chunk, card_mib=start.card.size_mib)
    if layout is None:
        return _with_left(found, start, chosen, kv_gib)
    tokens = layout.tokens(kv_gib, settings.max_tokens)
    bounds = _tokens_bounds(start, found, ask, layout)
    found = replace(found, kv_tokens=tokens, kv_tokens_bounds=bounds, kv_gib=layout.gib(max(tokens, 0)))
    found = replace(found, swa_tokens=layout.in_window(max(tokens, 0)))
    if tokens <= 0 and layout.window_tokens is not None:
        return replace(found, failure=_no_room_beside(layout, kv_gib))
    if tokens <= 0:
        return replace(found, failure=_no_tokens(settings))
    least = layout.smallest_window
    if least is not None and found.swa_tokens is not None and found.swa_tokens <= least:
        return replace(found, failure=_window_too_small(found.swa_tokens, least - settings.page, settings.page))
    state = None if ask is None or found.slots is None else (found.slots, ask.per_request)
    requests = running_requests(tokens, context or tokens, _asked_requests(settings), state, sizing)
    longest = min(tokens, found.swa_tokens or tokens) if layout.shortens else tokens
    found = replace(found, max_running_requests=max(requests, 0), longest_request=min(context or longest, longest))
    if requests <= 0 and ask is not None and sizing.state_checked:
        return replace(found, failure=_state_too_small(found.slots or 0, ask))
    found = _with_left(found, start, chosen, found.kv_gib or 0.0)
    return replace(found, warnings=(*_warnings(found, settings), *(() if layout.proven else (_UNPROVEN,))))


def _printed_off(start: Start, fraction: float) -> float:
    """How far the memory for the pools may be off either way because of what was printed, in GiB."""
    return start.rounding_gib + start.free_off_gib * abs((start.measured_at or 1.0) - fraction)


def _rest_reason(start: Start, fraction: float) -> Text | None:
    tables, printed = start.tables_gib, _printed_off(start, fraction)
    if tables.reason is not None and tables.high - tables.low >= 2 * printed:
        return tables.reason
    return _PRINTED_ROUNDED if printed else None


def _extremes(start: Start, found: Prediction) -> tuple[float, float]:
    """The least and the most memory that the pools may find, in GiB."""
    tables, rest = start.tables_gib, found.rest_gib or 0.0
    spread = (tables.high - tables.low) / 2 + _printed_off(start, found.fraction)
    return rest - spread, rest + spread


def _slots_bounds(start: Start, found: Prediction, ask: StateAsk) -> Bounds:
    sizing = sizing_of(start.version)
    low, high = (split_state(extreme, ask, sizing).slots for extreme in _extremes(start, found))
    return Bounds(low, high)


def _tokens_bounds(start: Start, found: Prediction, ask: StateAsk | None, layout: Layout) -> Bounds:
    low, high = _extremes(start, found)
    if ask is not None:
        low, high = kv_between(low, high, ask, sizing_of(start.version))
    return Bounds(*(layout.tokens(gib, start.settings.max_tokens) for gib in (low, high)))


def _asked_requests(settings: Settings) -> int | None:
    asked = settings.requests
    if asked is None and settings.algorithm is not None:
        asked = SPECULATIVE_REQUESTS
    return None if asked is None else asked // settings.dp


def _with_state(found: Prediction, split: StateSplit, ask: StateAsk) -> Prediction:
    # The pool holds one slot more than it counts (srt/mem_cache/memory_pool.py MambaPool), in every version.
    slots = max(split.slots, 0)
    drafts = ask.draft_tokens * min(ask.requests, slots // ask.per_request)
    return replace(
        found,
        slots=split.slots,
        slots_needed=ask.per_request,
        slot_mib=ask.slot_gib * 1024,
        state_gib=(slots + 1 + drafts) * ask.slot_gib,
    )


def _with_left(found: Prediction, start: Start, chosen: Chosen, kv_gib: float) -> Prediction:
    """What stays free, and how the start ends if that cannot be enough."""
    shape, settings = start.shape, start.settings
    used = start.loaded_gib + (found.state_gib or 0.0) + kv_gib
    table = costs.request_table(found.max_running_requests, found.context, settings.draft_tokens)
    pools = costs.rounding(shape).plus(table).taken_from(start.card.free_gib - used)
    requests = found.max_running_requests
    captured = captured_sizes(chosen.decode_sizes, requests)
    after = costs.after_pools(chosen, settings, shape, start.measured, small_card=start.card.small, requests=requests)
    left = Range(pools.low - after.high, pools.high - after.low, after.reason or pools.reason)
    working = found.activations_gib
    failure = None
    if pools.high <= 0:
        failure = Failure("SGL412", "torch.OutOfMemoryError: CUDA out of memory.")
    elif left.high <= 0:
        failure = Failure("SGL414", "Exception: Capture cuda graph failed: CUDA out of memory.")
    elif working is not None and left.high < working.low:
        failure = Failure("SGL415", "torch.OutOfMemoryError: CUDA out of memory.")
    return replace(
        found, left_after_pools_gib=pools, left_gib=left, after_pools_gib=after, decode_graphs=captured, failure=failure
    )


def state_ask(shape: ModelShape, settings: Settings, version: str | None) -> StateAsk | None:
    """What decides on the state cache; None for a model without one or of unknown size."""
    needed = slots_needed(shape, settings, version)
    if shape.state is None or needed is None:
        return None
    return StateAsk(
        slot_gib=shape.state.slot_bytes(settings.tp, settings.ssm_bytes) / GIB,
        per_request=needed,
        ratio=settings.ratio,
        fixed=None if settings.asked_slots is None else settings.asked_slots // settings.dp,
        draft_tokens=(settings.draft_tokens or 0) if settings.algorithm is not None else 0,
        requests=(settings.requests or SPECULATIVE_REQUESTS) // settings.dp,
    )


def cell_bytes(shape: ModelShape, settings: Settings, version: str | None = None) -> float | None:
    """Bytes of the KV cache that one token takes on one card, its share of windows included; None if not determined."""
    layout = layout_of(shape, settings, version)
    return None if layout is None else layout.counted


def strategy_in_force(shape: ModelShape, settings: Settings, version: str | None) -> str | None:
    """The radix cache strategy that ``auto`` becomes.

    Up to 0.5.13 it is ``no_buffer`` (srt/server_args.py); from 0.5.14 on ``extra_buffer`` where the architecture has
    it and overlapped scheduling or pages want it (srt/arg_groups/overrides.py).
    """
    given = settings.strategy
    if given not in (None, "auto"):
        return given
    if version is not None and version_key(version) < (0, 5, 14):
        return "no_buffer"
    if shape.extra_buffer and (not settings.overlap_off or settings.page > 1):
        return "extra_buffer"
    return "no_buffer" if shape.architecture is not None else None


def slots_needed(shape: ModelShape, settings: Settings, version: str | None) -> int | None:
    """Slots of the state cache that one request takes; None if the strategy is not known."""
    return slots_per_request(
        strategy_in_force(shape, settings, version),
        radix_off=settings.radix_off,
        overlap_off=settings.overlap_off,
    )


def _state_empty(slots: int, ask: StateAsk, rest: float) -> Failure:
    return Failure(
        "SGL401",
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed "
        f"max_mamba_cache_size={slots} (total_rest_memory={rest:.2f} GB, "
        f"mamba_cache_per_req={ask.slot_gib * 1024:.2f} MB).",
    )


def _state_too_small(slots: int, ask: StateAsk) -> Failure:
    return Failure(
        "SGL402",
        "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
        f"max_mamba_cache_size={slots}, mamba_ratio={ask.per_request}, resulting max_num_reqs=0.",
    )


def _rest_empty(start: Start, fraction: float) -> Failure:
    minimum = start.loaded_gib / start.card.free_gib
    return Failure(
        "SGL421",
        "ValueError: Loaded weights leave no GPU memory for the KV cache under "
        f"--mem-fraction-static={fraction:g} (minimum viable = {minimum:.4f}).",
    )


def _no_tokens(settings: Settings) -> Failure:
    capped = settings.max_tokens is not None and settings.max_tokens < settings.page
    return Failure(
        "SGL423" if capped else "SGL422",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    )


def _no_room_beside(layout: Layout, kv_gib: float) -> Failure:
    tokens, taken = layout.window_tokens or 0, layout.gib(0)
    return Failure(
        "SGL447",
        f"RuntimeError: SWA pool cap ({tokens} tokens, {taken:.2f} GiB) leaves no room for the full KV pool within the "
        f"available {kv_gib:.2f} GiB.",
    )


def _window_too_small(tokens: int, window: int, page: int) -> Failure:
    return Failure(
        "SGL447",
        f"ValueError: SWA pool ({tokens} tokens) cannot hold even one request: the prefill admission floor is "
        f"sliding_window_size ({window}) + page_size ({page}).",
    )


def _warnings(found: Prediction, settings: Settings) -> tuple[Warned, ...]:
    warned = []
    tokens, context = found.kv_tokens, found.context
    if tokens is not None and context is not None and tokens < context:
        warned.append(
            Warned(
                "context-over-pool",
                Text(
                    f"The context of {context:,} tokens cannot be served: no request can be longer than the KV cache "
                    f"of {tokens:,} tokens.",
                    f"无法服务 {context:,} 个 token 的上下文：单个请求不能超过 KV 缓存的 {tokens:,} 个 token。",
                ),
                "SGL441",
            )
        )
    asked, given = settings.requests, found.max_running_requests
    if asked is not None and found.slots is not None and given is not None and given < asked // settings.dp:
        warned.append(
            Warned(
                "requests-capped",
                Text(
                    f"{counted(asked, 'request at once')} {'was' if asked == 1 else 'were'} asked for; "
                    f"the state cache allows {given:,}.",
                    f"要求同时 {asked:,} 个请求；状态缓存只允许 {given:,} 个。",
                ),
                "SGL404",
            )
        )
    left = found.left_gib
    if left is not None and left.expected < _LITTLE_GIB:
        warned.append(
            Warned(
                "little-left",
                Text(
                    f"Only about {max(left.expected, 0):.1f} GiB stay free for working memory.",
                    f"只剩约 {max(left.expected, 0):.1f} GiB 显存可作临时使用。",
                ),
                "SGL443",
            )
        )
    return tuple(warned)
