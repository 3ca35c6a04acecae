"""Readers of the lines that SGLang prints while it starts."""

from typing import Final

from sgdoctor.engines.base import PhaseName
from sgdoctor.engines.sglang import markers, serving
from sgdoctor.engines.sglang.attempt import Attempt
from sgdoctor.engines.sglang.facts import is_foremost, number, whole, word
from sgdoctor.logs.event import Event
from sgdoctor.patterns import lazy_pattern

_QUANT: Final = lazy_pattern(r"(?<!\w)quant=([\w.+-]+)")
_BACKEND: Final = lazy_pattern(r"Attention backend not specified\. Use (\w+) backend")
_LATE_WEIGHTS: Final = lazy_pattern(r"Committed real weights .*? in ([\d.]+) s")
_NAMED_CAPTURE: Final = lazy_pattern(r"(?:target|draft) \w+$")


def init(attempt: Attempt, event: Event, text: str) -> None:
    """``Init torch distributed begin/ends`` and, from 0.5.21 on, ``Init parallel begin/ends``."""
    old = text.startswith("Init torch distributed")
    if not old and not text.startswith("Init parallel"):
        return
    attempt.wording("init_torch" if old else "init_parallel", event)
    if " begin" in text:
        if is_foremost(event.rank):
            attempt.course.begin(PhaseName.DISTRIBUTED, event)
    elif " ends" in text:
        seconds = number(text, "elapsed")
        if old:
            attempt.wording("init_without_elapsed" if seconds is None else "init_elapsed", event)
        attempt.book.put_first("distributed_seconds", seconds, event.line)
        if is_foremost(event.rank) and not attempt.weights_loads:
            attempt.course.end(PhaseName.DISTRIBUTED, event, seconds, number(text, "mem usage"))


def memory_line(attempt: Attempt, event: Event, text: str) -> None:
    """``Memory pool end`` and, from 0.5.21 on, ``Memory baseline taken``."""
    if text.startswith("Memory pool end"):
        attempt.book.put("mem_after_pools_gib", number(text, "avail mem"), event.line)
        if is_foremost(event.rank):
            attempt.pools_done = True
            attempt.course.end(PhaseName.KV_CACHE, event)
    elif text.startswith("Memory baseline taken") and attempt.course.current is PhaseName.DISTRIBUTED:
        attempt.course.end(PhaseName.DISTRIBUTED, event, memory=number(text, "mem usage"))


def weights(attempt: Attempt, event: Event, text: str) -> None:
    """``Load weight begin/end``."""
    foremost = is_foremost(event.rank)
    if text.startswith("Load weight begin"):
        attempt.after_weights = False
        attempt.book.put_first("mem_before_weights_gib", number(text, "avail mem"), event.line)
        if foremost:
            attempt.weights_loads += 1
            attempt.course.begin_weights(event)
    elif late := _LATE_WEIGHTS.search(text):
        attempt.book.put("weights_seconds", float(late[1]), event.line)
    elif text.startswith("Load weight end"):
        seconds = number(text, "elapsed")
        attempt.wording("weights_without_elapsed" if seconds is None else "weights_elapsed", event)
        if "dtype=" in text:
            attempt.wording("weights_dtype", event)
        elif "avail mem=" in text:
            attempt.wording("weights_without_dtype", event)
        weights_end_parts(attempt, event, text)
        if foremost:
            attempt.after_weights = True
            attempt.course.end(PhaseName.WEIGHTS, event, seconds, number(text, "mem usage"))
            attempt.course.then(PhaseName.KV_CACHE, event)


def weights_end_parts(attempt: Attempt, event: Event, text: str) -> None:
    """What stands on "Load weight end", or on the line after it where a quotation was wrapped."""
    # The second load of a start is that of a draft model; the pools are made from what is left after both.
    name = "draft_weights_gib" if attempt.weights_loads > 1 else "weights_gib"
    attempt.book.put(name, number(text, "mem usage"), event.line)
    if not attempt.pools_done and attempt.book.value("kv_tokens") is None:
        attempt.book.put("mem_after_weights_gib", number(text, "avail mem"), event.line)
    if attempt.weights_loads < 2:
        attempt.book.put("weights_seconds", number(text, "elapsed"), event.line)
        attempt.book.put("architecture", word(text, "type"), event.line)
        attempt.book.put("weights_dtype", word(text, "dtype"), event.line)
        if quant := _QUANT.search(text):
            attempt.book.put("quantisation", quant[1], event.line)


def state_cache(attempt: Attempt, event: Event, text: str) -> None:
    """``Mamba Cache is allocated``, or its shortened form ``Mamba Cache: ...``."""
    if not text.startswith("Mamba Cache"):
        return
    sizes = {name: number(text, name) for name in ("conv_state", "ssm_state")}
    extra = [number(text, "intermediate_ssm_state_cache"), number(text, "intermediate_conv_window_cache")]
    known = [size for size in (*sizes.values(), *extra) if size is not None]
    total = round(sum(known), 4) if known else None
    for name, size in sizes.items():
        attempt.book.put_first(f"{name}_gib", size, event.line)
    attempt.book.put_first("state_slots", whole(text, "max_mamba_cache_size"), event.line)
    attempt.book.put_first("state_gib", total, event.line)
    attempt.book.put("is_hybrid", value=True, line=event.line)
    if is_foremost(event.rank):
        attempt.course.end_state_cache(event, total)


def kv_cache(attempt: Attempt, event: Event, text: str) -> None:
    """``KV Cache is allocated`` in all its forms, and the retractions that begin with ``KV cache`` too."""
    attempt.recognised = True
    if "Retract requests" in text:
        serving.retraction(attempt, event, text)
        return
    tokens = whole(text, "#tokens")
    if tokens is None:
        return
    if "is allocated" in text:
        attempt.wording("kv_dtype" if "dtype" in text else "kv_without_dtype", event)
    elif "upper bound" in text or "Post-capture" in text:
        attempt.wording("kv_upper_bound", event)
    sizes = [size for key in ("K", "V", "KV") if (size := number(text, key)) is not None]
    total = round(sum(sizes), 4) if sizes else None
    if is_foremost(event.rank) and "Post-capture" in text:
        attempt.book.put("kv_tokens", tokens, event.line)
        attempt.book.put("kv_gib", total, event.line)
    elif not attempt.pools_done:
        # Models with sliding windows make several pools; the largest holds whole requests.
        if is_foremost(event.rank) and total is not None:
            total = round(total + (attempt.book.value("kv_gib") or 0), 4)
            attempt.course.add_kv_cache(event, sum(sizes))
            attempt.kv_pools.setdefault(tokens, sum(sizes))
        attempt.book.put("kv_gib", total, event.line)
        attempt.book.raise_to("kv_tokens", tokens, event.line)
        attempt.book.put("kv_dtype", word(text, "dtype"), event.line)


def window_pool(attempt: Attempt, event: Event, text: str) -> None:
    """``SWAKVPool mem usage: ..., swa size: ..., full size: ...``: windows have a pool of their own."""
    tokens, full = whole(text, "swa size"), whole(text, "full size")
    if attempt.pools_done or not is_foremost(event.rank) or tokens is None:
        return
    attempt.book.put("swa_tokens", tokens, event.line)
    attempt.book.put("swa_gib", attempt.kv_pools.get(tokens), event.line)
    if full:
        attempt.book.put("kv_tokens", full, event.line)


def capture(attempt: Attempt, event: Event, text: str) -> None:
    """Beginning and end of a graph capture: prefill, decode, verify; of the target or the draft model."""
    found = markers.CAPTURE.match(text)
    if found is None:
        return
    what, avail = found["what"], number(text, "avail mem")
    attempt.wording("capture_named" if _NAMED_CAPTURE.match(what) else "capture_unnamed", event)
    if "num_tokens_per_bs=" in text:
        attempt.wording("tokens_per_bs", event)
    elif "num_tokens_per_req=" in text:
        attempt.wording("tokens_per_req", event)
    foremost = is_foremost(event.rank)
    if found["edge"] == "begin":
        if foremost:
            attempt.course.begin(PhaseName.GRAPH_CAPTURE, event)
        return
    seconds = number(text, "elapsed")
    seconds = number(text, "Time elapsed") if seconds is None else seconds
    taken = number(text, "mem usage")
    kind = "prefill" if "prefill" in what or "piecewise" in what else "decode"
    if foremost:
        for name, value in ((f"{kind}_graph", (seconds, taken)), ("graph", (seconds, taken))):
            for unit, amount in zip(("seconds", "gib"), value, strict=True):
                if amount is not None:
                    before = attempt.book.value(f"{name}_{unit}") or 0
                    attempt.book.put(f"{name}_{unit}", round(before + amount, 4), event.line)
        attempt.course.end(PhaseName.GRAPH_CAPTURE, event, seconds, taken)
    attempt.book.put("mem_after_graphs_gib", avail, event.line)


def disabled_graph(attempt: Attempt, event: Event, text: str) -> None:
    """``Disable prefill CUDA graph because ...``."""
    _, because, reason = text.partition("prefill CUDA graph because ")
    if because:
        attempt.book.put("prefill_graph_disabled", reason.rstrip(".")[:200], event.line)


def breakable(attempt: Attempt, event: Event, text: str) -> None:
    """``Breakable CUDA graph is incompatible with ...; disabling prefill CUDA graph.``."""
    if "disabling prefill CUDA graph" in text:
        attempt.book.put_first("prefill_graph_disabled", text.partition(";")[0][:200], event.line)


def attention_backend(attempt: Attempt, event: Event, text: str) -> None:
    """``Attention backend not specified. Use X backend by default.``."""
    if found := _BACKEND.match(text):
        attempt.book.put_first("attention_backend", found[1], event.line)


def summary(attempt: Attempt, event: Event, text: str) -> None:
    """``max_total_num_tokens=..., context_len=..., available_gpu_mem=...``."""
    names = (
        "max_total_num_tokens",
        "chunked_prefill_size",
        "max_prefill_tokens",
        "max_running_requests",
        "context_len",
    )
    for name in names:
        attempt.book.put(name, whole(text, name), event.line)
    attempt.book.put("available_gpu_mem_gib", number(text, "available_gpu_mem"), event.line)


def http(attempt: Attempt, event: Event, text: str) -> None:
    """Uvicorn's own lines."""
    if markers.UVICORN_RUNNING in text:
        if url := markers.URL.search(text):
            attempt.book.put("host", url[1].strip("[]"), event.line)
            attempt.book.put("port", int(url[2]), event.line)
        attempt.course.end(PhaseName.HTTP, event)
        attempt.course.then(PhaseName.WARMUP, event)
    elif "Started server process" in text or "Waiting for application startup" in text:
        attempt.course.begin(PhaseName.HTTP, event)
    elif text.endswith("Shutting down"):
        serving.shutdown(attempt, event, text)
