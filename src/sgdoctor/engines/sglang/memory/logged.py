"""A start as the facts of its log describe it: sizes from what was printed, costs from what was measured."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from sgdoctor.engines.base import Fact
from sgdoctor.engines.sglang.memory.beside_weights import experts_gib
from sgdoctor.engines.sglang.memory.costs import Measured
from sgdoctor.engines.sglang.memory.known import known_shapes
from sgdoctor.engines.sglang.memory.layout import layout_of, window_length
from sgdoctor.engines.sglang.memory.pools import BASELINE_GIB, GIB, printed_number, sizing_of
from sgdoctor.engines.sglang.memory.predict import Card, Start, cell_bytes, predict, state_ask
from sgdoctor.engines.sglang.memory.settings import Settings, settings_of_arguments, settings_of_flags
from sgdoctor.engines.sglang.memory.shape import AttentionShape, ModelShape, StateShape, shape_of
from sgdoctor.engines.sglang.memory.sparse import is_sparse
from sgdoctor.engines.sglang.memory.windows import WindowShape, may_have_pool

_ROUNDING_GIB: Final = 0.005
"""Printed sizes are rounded to 0.01 GiB."""
_BEFORE_PADDING: Final = "0.5.15"
_SAME_TOKENS: Final = 0.015
_CLOSE_GIB: Final = 0.1
"""A figure of the engine that differs by more is not of the same moment."""
_FREE_OFF_GIB: Final = 0.01
"""The printed memory before loading is rounded, and so is ``BASELINE_GIB``, which is added to it."""
_HELD_GIB: Final = 0.78
"""What driver and CUDA context hold of a card before the weights: seen on a 3090 (24 GiB) and, 0.68, on an H200."""
_KV_BYTES: Final = {"float8_e4m3fn": 1, "float8_e5m2": 1, "float32": 4}
_SMALL_CONV: Final = 0.02
"""Share of the convolution states in a slot where only the sum is printed; 2 to 4 % in all models known here."""
_RESOLVED: Final = (
    *("fraction", "chunk", "max_prefill", "decode_max_bs", "decode_graph", "prefill_graph", "prefill_max_bs"),
    *("strategy", "overlap_off", "page", "attention", "draft_tokens", "sparse_prefill", "sparse_decode"),
)
"""Arguments that a log lists as SGLang resolved them: they hold for a launch that does not give them too."""


def start_of(
    facts: Mapping[str, Fact],
    flags: Mapping[str, Any] | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    weights_gib: float | None = None,
    card_mib: float | None = None,
    version: str | None = None,
) -> Start | None:
    """The start that a log describes, or another one of the same model on the same card.

    Args:
        facts: of one attempt; may be empty where the other arguments say enough.
        flags: of the launch that is meant, value by flag with its dashes (True or None for a switch); None for the
            arguments that the log lists.
        config: the model's ``config.json``, where it is at hand.
        weights_gib: size of the weights (see ``weights``), used where the log does not tell it.
        card_mib: memory of the card as ``nvidia-smi`` shows it, in MiB.
        version: of SGLang; None for the one that the log tells.

    Returns:
        None where the free memory or the weights are neither told nor follow from what is told.
    """

    def value(name: str) -> Any:
        found = fact.value if (fact := facts.get(name)) is not None else None
        return printed_number(found) if isinstance(found, int | float) else found

    before = settings_of_arguments(lambda name: value(f"args.{name}"))
    if before.attention is None and isinstance(value("attention_backend"), str):
        before = replace(before, attention=value("attention_backend"))
    meant = before if flags is None else _meant(flags, before)
    then = meant if before.fraction is None else before
    told = Told(weights_gib, card_mib)
    read = value("version_max") if version is None else version
    # Without a version the numbers of the log tell the newer sizing from the older one.
    versions = (read,) if isinstance(read, str) else (None, _BEFORE_PADDING)
    possible = [
        sized
        for name in versions
        for shape in _shapes(value, then, name, config, flags or {})
        if (sized := _sized(value, Start(shape, then, Card(0.0), 0.0, name), told)) is not None
    ]
    found = next((start for start in possible if _agrees(start, value)), None)
    found = found or next((start for start in possible if start.shape.taken_for is None), None)
    return None if found is None else replace(found.under(meant), measured=_measured(value, before))


class Told(NamedTuple):
    """What is known beside the log: size of the weights in GiB, memory of the card in MiB."""

    weights_gib: float | None
    card_mib: float | None


def _meant(flags: Mapping[str, Any], before: Settings) -> Settings:
    """The settings of a command, with what SGLang resolved for it the last time."""
    given = settings_of_flags(flags)
    unset = Settings()
    resolved = {name: getattr(before, name) for name in _RESOLVED if getattr(given, name) == getattr(unset, name)}
    if given.strategy is not None or given.radix_off != before.radix_off:
        # `no_buffer` switches overlapping off by itself; another strategy does not keep that.
        resolved.pop("overlap_off", None)
    return replace(given, **resolved)


def _shapes(
    value: Callable[[str], Any],
    settings: Settings,
    version: str | None,
    config: Mapping[str, Any] | None,
    flags: Mapping[str, Any],
) -> Iterator[ModelShape]:
    """What the model may look like, the most certain first."""
    if config is not None:
        yield shape_of(config)
        return
    printed = shape_of_facts(value, settings, version)
    if printed.attention is not None and (printed.state is not None or not printed.hybrid):
        yield printed
    path = value("model_path") or flags.get("--model-path") or flags.get("--model")
    for shape in known_shapes(printed.architecture, path if isinstance(path, str) else None):
        if shape.hybrid or not printed.hybrid:
            yield replace(shape, kv_bytes=printed.kv_bytes)
    yield printed


def shape_of_facts(value: Callable[[str], Any], settings: Settings, version: str | None) -> ModelShape:
    """What the printed sizes say about the model.

    Args:
        value: gives a fact by its name, None for an unknown one.
        settings: the flags that it ran under.
        version: of SGLang; None for the newest.
    """
    kv_bytes = _KV_BYTES.get(str(value("kv_dtype") or "").removeprefix("torch."), 2)
    hybrid = bool(value("is_hybrid") or value("args.uses_mamba_radix_cache"))
    context, architecture = value("context_len"), value("architecture")
    architecture = architecture if isinstance(architecture, str) else None
    attention, windows = _printed(value, settings, kv_bytes)
    if is_sparse(architecture) and (settings.kv_bytes or kv_bytes) == 1:
        # What is printed is not what the memory was divided by.
        attention = None
    shape = ModelShape(
        architecture=architecture,
        attention=attention,
        windows=windows,
        pooled=(windows is not None) if may_have_pool(architecture) else None,
        hybrid=hybrid,
        context=context if isinstance(context, int) else None,
        kv_bytes=kv_bytes if settings.kv_bytes is None else 2,
    )
    if not hybrid:
        return shape
    pool = (value("kv_tokens") or 0) * (cell_bytes(shape, settings, version) or 0)
    return replace(shape, state=_state(value, settings, pool, version))


def _printed(
    value: Callable[[str], Any], settings: Settings, kv_bytes: int
) -> tuple[AttentionShape | None, WindowShape | None]:
    """The KV cache by its printed sizes: layers of full attention, and those with a window where they are apart."""
    tokens, gib = value("kv_tokens"), value("kv_gib")
    if not tokens or tokens <= 0 or not gib:
        return None, None
    swa_tokens, swa_gib = value("swa_tokens"), value("swa_gib")
    each = settings.kv_bytes or kv_bytes
    # As many heads as cards, so that fewer cards hold more of them.
    if not swa_tokens or swa_tokens <= 0 or not swa_gib or swa_gib >= gib:
        return AttentionShape(settings.tp, max(1, _cell(gib, tokens) // each), 1), None
    # Each pool holds one page more than it counts (srt/mem_cache/memory_pool.py MHATokenToKVPool).
    full = _cell(gib - swa_gib, tokens + settings.page)
    window = _cell(swa_gib, swa_tokens + settings.page)
    return (
        AttentionShape(settings.tp, max(1, full // each), 1),
        WindowShape(settings.tp, max(1, window // each), 1, window_length(swa_tokens, settings, settings.chunk)),
    )


def _cell(gib: float, tokens: int) -> int:
    return _roundest((gib - 2 * _ROUNDING_GIB) * GIB / tokens, (gib + 2 * _ROUNDING_GIB) * GIB / tokens)


def _state(value: Callable[[str], Any], settings: Settings, kv_bytes: float, version: str | None) -> StateShape | None:
    slot_mib, slots = value("state_slot_mib"), value("state_slots")
    ssm_bytes = settings.ssm_bytes or 4
    if slot_mib:
        size = slot_mib * 1024 * 1024 * settings.tp
        conv = int(size * _SMALL_CONV)
        return StateShape(conv // 2, int(size - conv) // ssm_bytes, ssm_bytes)
    conv_gib, ssm_gib = value("conv_state_gib"), value("ssm_state_gib")
    if not slots or slots <= 0 or conv_gib is None or ssm_gib is None:
        return None
    # The pool holds one slot more than it counts. A size that was rounded down would promise slots that are not there.
    held = slots + 1
    ssm = _roundest((ssm_gib - _ROUNDING_GIB) * GIB / held, (ssm_gib + _ROUNDING_GIB) * GIB / held)
    conv = int((conv_gib + _ROUNDING_GIB) * GIB / held)
    if kv_bytes and settings.asked_slots is None and settings.algorithm is None and settings.max_tokens is None:
        # The two pools share by the ratio, so that the number of slots leaves little room for the size of one.
        spare = 1 if sizing_of(version).padded else 0
        most = settings.ratio * kv_bytes / (slots + spare)
        least = settings.ratio * kv_bytes / (slots + spare + 1 + settings.ratio)
        conv = max(0, min(max(conv, math.ceil(least - ssm)), math.floor(most - ssm) - 1))
    return StateShape(conv * settings.tp // 2, ssm * settings.tp // ssm_bytes, ssm_bytes)


def _roundest(low: float, high: float) -> int:
    """The number between two bounds that the largest power of two divides: sizes are products of heads and widths."""
    if low <= 0:  # printed as 0.00 or 0.01; a size that is too large errs on the safe side
        return max(1, int(high))
    step = 1
    while -(-low // (step * 2)) * step * 2 <= high:
        step *= 2
    return int(-(-low // step) * step)


def _sized(value: Callable[[str], Any], start: Start, told: Told) -> Start | None:
    """The start with the memory of its card and its weights filled in, from whatever figures tell them."""
    free, post, rest = value("mem_before_weights_gib"), value("mem_after_weights_gib"), value("pools_rest_gib")
    fraction = start.settings.fraction if start.settings.fraction is not None else printed_number(value("fraction"))
    weights = told.weights_gib
    if value("weights_gib") is not None:
        weights = value("weights_gib") + (value("draft_weights_gib") or 0.0)
    experts = experts_gib(start.shape)
    if free is not None:
        free += BASELINE_GIB + experts
        weights = weights if post is None else free - post - experts
    elif rest is not None and weights is not None and fraction:
        free = (rest + weights + experts) / fraction
    elif told.card_mib is not None:
        free = told.card_mib / 1024 - _HELD_GIB
    if free is None:
        return None
    start = replace(start, card=Card(free, told.card_mib))
    if weights is None:
        weights = _weights_by_slots(start, value("state_slots"), fraction)
        start = replace(start, tables_of=start.settings)
    elif fraction:
        closer = _rest_by_pools(value, start) if rest is None else rest
        if closer is not None and abs(free * fraction - weights - experts - closer) <= _CLOSE_GIB:
            weights = free * fraction - closer - experts
            start = replace(start, tables_of=start.settings, measured_at=fraction)
        if post is not None or rest is not None:
            rounded = _ROUNDING_GIB if rest is not None or start.measured_at is None else 0.0
            start = replace(start, rounding_gib=rounded, free_off_gib=_FREE_OFF_GIB)
    return None if weights is None or weights < 0 else replace(start, weights_gib=weights)


def _rest_by_pools(value: Callable[[str], Any], start: Start) -> float | None:
    """Memory that the pools were made from, by what they hold: closer than the difference of two rounded sizes."""
    tokens = value("kv_tokens")
    layout = layout_of(
        start.shape, start.settings, start.version, chunk=start.settings.chunk, card_mib=start.card.size_mib
    )
    if not tokens or layout is None or start.settings.max_tokens is not None:
        return None
    rest = layout.budget_gib(tokens)
    if not start.shape.hybrid:
        return float(rest)
    ask = state_ask(start.shape, start.settings, start.version)
    slots = value("state_slots")
    if ask is None or not isinstance(slots, int) or ask.draft_tokens:
        return None
    return float(rest + (slots + (1 if sizing_of(start.version).padded else 0)) * ask.slot_gib)


def _weights_by_slots(start: Start, slots: Any, fraction: Any) -> float | None:
    """Weights that would have left room for just so many slots, the middle of what is possible, in GiB."""
    ask = state_ask(start.shape, start.settings, start.version)
    if ask is None or not isinstance(slots, int) or ask.fixed is not None or not fraction:
        return None
    share = ask.ratio / (1 + ask.ratio)
    return float(start.card.free_gib * fraction - (slots + 0.5) * ask.slot_gib / share)


def _agrees(start: Start, value: Callable[[str], Any]) -> bool:
    """Whether the model would have printed what the log says."""
    predicted = predict(start)
    slots, slot_mib, tokens = value("state_slots"), value("state_slot_mib"), value("kv_tokens")
    if start.shape.hybrid and start.shape.state is None:
        return False
    if not start.shape.hybrid and (value("is_hybrid") or slots is not None):
        return False
    if slot_mib is not None and (predicted.slot_mib is None or abs(predicted.slot_mib - slot_mib) > 0.01):
        return False
    bounds = predicted.slots_bounds
    if slots is not None and (bounds is None or not bounds.low <= slots <= bounds.high):
        return False
    if tokens is None:
        return True
    return predicted.kv_tokens is not None and abs(predicted.kv_tokens - tokens) <= _SAME_TOKENS * tokens


def _measured(value: Callable[[str], Any], settings: Settings) -> Measured | None:
    """What the start took outside its pools; None if it did not get that far."""
    pools = value("mem_after_pools_gib")
    ends = (value(name) for name in ("available_gpu_mem_gib", "mem_after_graphs_gib"))
    left = next((end for end in ends if end is not None), None)
    graphs = value("graph_gib")
    after = None if pools is None or left is None else max(0.0, pools - left)
    if value("available_gpu_mem_gib") is None:
        # Without the summary line the last capture may not have been the last one.
        after = None
    if after is None and graphs is None:
        return None
    return Measured(
        settings,
        after_pools=after,
        workspace=None if after is None else max(0.0, after - (graphs or 0.0)),
        decode_graphs=value("decode_graph_gib"),
        prefill_graphs=value("prefill_graph_gib"),
        requests=value("max_running_requests"),
    )
