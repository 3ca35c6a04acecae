"""A decided start as a run: everything that it prints, and when."""

import os
from typing import Final

from sgdoctor.engines.sglang.versions import version_key

from ..recorded import Run
from . import failures, server_args
from .arguments import RefusedError
from .decision import Decision, End, kv_value_gib
from .script import Clock, Script, cut, ranks, recorded

_KILLED: Final = -9
_CONFIG_SECONDS: Final = 12.0
_CHILD_SECONDS: Final = 18.0
_LOAD_SECONDS_PER_GIB: Final = 0.7
_SHARD_GIB: Final = 4.6
_GRAPH_SECONDS: Final = 0.9
_PREFILL_GRAPH_SECONDS: Final = 0.05
_WARM_UP_SECONDS: Final = 3.0
_WARM_UP_TOKENS: Final = {True: 23, False: 12}
_MAX_PREFILL_TOKENS: Final = 16384
_FIRST_CLIENT_PORT: Final = 46170


def refused(refusal: RefusedError, version: str, *, recommends: bool) -> Run:
    """The run of a command whose flags argparse refuses, or that asks for help.

    Args:
        refusal: what argparse says.
        version: of the engine.
        recommends: whether it recommends `sglang serve` first, as `python3 -m sglang.launch_server` does.
    """
    usage = refusal.usage
    if refusal.message and version == "0.5.15":
        usage = cut("cli-unknown-flag", "usage: sglang serve", "sglang serve: error:")
    text = (_recommendation() if recommends else "") + usage + refusal.message
    return _run([(_CONFIG_SECONDS, text.encode())], "exit", 2 if refusal.message else 0, _CONFIG_SECONDS)


def told(decision: Decision, clock: Clock, *, recommends: bool) -> Run:
    """The run of a decided start."""
    script = Script(clock)
    if recommends and decision.end is not End.NO_GPU:
        script.raw(_recommendation())
    for notice in decision.arguments.notices:
        script.raw(notice)
    script.wait(_CONFIG_SECONDS)
    if decision.end.by_main_process:
        if decision.end is End.NO_GPU:
            script.raw(cut("cli-no-gpu", "UserWarning: Triton", "Traceback (most"))
        script.raw(failures.refusal(decision))
        return _run(script.pieces, "exit", 1, script.at)
    _configured(script, decision)
    reached = _loaded(script, decision) and _pooled(script, decision) and _captured(script, decision)
    if reached:
        _served(script, decision)
    if decision.end is not End.SERVES:
        script.copy(failures.death(decision))
        return _run(script.pieces, "exit", _KILLED, script.at)
    stop = cut("skel27-mfs-0.88", "SIGTERM received.")
    script.copy(stop.replace("10803", str(os.getpid())))
    return _run(script.pieces, "serve", _KILLED, script.at)


def _recommendation() -> str:
    return "".join(recorded("cli-unknown-flag").splitlines(keepends=True)[:3])


def _run(pieces: list[tuple[float, bytes]], ending: str, exit_code: int, seconds: float) -> Run:
    log = b"".join(piece for _, piece in pieces)
    return Run("decide", log, [(at, len(piece)) for at, piece in pieces], ending, exit_code, seconds, [])


def _configured(script: Script, decision: Decision) -> None:
    """The main process: arguments and tokenizer; then its children set themselves up."""
    model, chosen, settings = decision.model, decision.chosen, decision.settings
    assert model is not None
    assert chosen is not None
    if decision.arguments.value("attention_backend") is None:
        script.line(f"Attention backend not specified. Use {decision.attention} backend by default.")
    multimodal = model.shape.vision is not None
    if multimodal and not chosen.prefill_sizes and settings.prefill_graph is None:
        script.line("Breakable CUDA graph is incompatible with multimodal model; disabling prefill CUDA graph.")
    script.line(server_args.line(decision))
    template = cut("boot-dense", "Using default HuggingFace chat template", "Init torch distributed begin.")
    script.copy(template)
    script.wait(_CHILD_SECONDS)
    renamed = version_key(decision.arguments.version) >= (0, 5, 21)
    for script.tag in ranks(settings.tp):
        script.line("Init parallel begin." if renamed else "Init torch distributed begin.")
    if decision.end is not End.NO_SUCH_GPU:
        for script.tag in ranks(settings.tp):
            if renamed:
                script.line("Init parallel ends. elapsed=0.20 s")
                script.line("Memory baseline taken. mem usage=0.09 GB")
            else:
                script.line("Init torch distributed ends. elapsed=0.20 s, mem usage=0.09 GB")
    script.tag = ""


def _loaded(script: Script, decision: Decision) -> bool:
    """The weights; says whether they are loaded."""
    model, card, settings = decision.model, decision.situation.card, decision.settings
    assert model is not None
    if decision.end is End.NO_SUCH_GPU:
        return False
    for script.tag in ranks(settings.tp):
        script.line(f"Load weight begin. avail mem={card.free_gib:.2f} GB")
    script.tag = ""
    if decision.end in (End.NO_WEIGHTS, End.NOT_QUANTISED, End.WEIGHTS_TOO_LARGE):
        return False
    assert model.weights_gib is not None
    weights = model.weights_gib / (settings.tp * settings.pp)
    seconds = 0.2
    if decision.arguments.value("load_format") != "dummy":
        shards = max(round(model.weights_gib / _SHARD_GIB), 1)
        seconds = _LOAD_SECONDS_PER_GIB * model.weights_gib
        for done in (0, *range(1, shards + 1)):
            script.wait(seconds / shards if done else 0)
            left = f"[00:{int(seconds * done / shards):02}<00:{int(seconds * (1 - done / shards)):02}, {seconds / shards:5.2f}s/it]"
            script.raw(f"\rMulti-thread loading shards: {done / shards:4.0%} Completed | {done}/{shards} {left}")
        script.raw("\n")
    about = f"elapsed={seconds:.2f} s, type={model.architecture}"
    key = version_key(decision.arguments.version)
    if key < (0, 5, 12):
        about += f", dtype=torch.{'float16' if decision.half else 'bfloat16'}"
    elif model.quantisation is not None:
        about += f", quant={model.quantisation}"
    for script.tag in ranks(settings.tp):
        script.line(
            f"Load weight end. {about}, avail mem={card.free_gib - weights:.2f} GB, mem usage={weights:.2f} GB."
        )
    script.tag = ""
    return True


def _pooled(script: Script, decision: Decision) -> bool:
    """The pools; says whether they are allocated and what computes on them is ready."""
    pools, model, settings = decision.pools, decision.model, decision.settings
    assert pools is not None
    assert model is not None
    if decision.end.value < End.POOLS_TOO_LARGE.value:
        return False
    if model.shape.state is not None and pools.slots is not None:
        conv_bytes = model.shape.state.conv_values * 2 / settings.tp
        share = conv_bytes / model.shape.state.slot_bytes(settings.tp, settings.ssm_bytes)
        conv = (pools.state_gib or 0.0) * share
        state = (pools.state_gib or 0.0) - conv
        for script.tag in ranks(settings.tp):
            script.line(
                f"Mamba Cache is allocated. max_mamba_cache_size: {pools.slots}, "
                f"conv_state size: {conv:.2f}GB, ssm_state size: {state:.2f}GB "
            )
    script.tag = ""
    if decision.end is End.POOLS_TOO_LARGE:
        return False
    half = kv_value_gib(decision)
    dtype = f"dtype: {_kv_dtype(decision)}, " if version_key(decision.arguments.version) >= (0, 5, 13) else ""
    for script.tag in ranks(settings.tp):
        script.line(
            f"KV Cache is allocated. {dtype}#tokens: {pools.kv_tokens}, K size: {half:.2f} GB, V size: {half:.2f} GB"
        )
    for script.tag in ranks(settings.tp):
        script.line(f"Memory pool end. avail mem={decision.after_pools:.2f} GB")
    script.tag = ""
    if decision.end is End.NO_CUBLAS:
        return False
    if model.gated_delta:
        script.copy(cut("skel27-mfs-0.88", "Linear attention kernel backend", "Disable prefill CUDA graph"))
    return decision.end is not End.NOT_FOR_FA3


def _kv_dtype(decision: Decision) -> str:
    given = decision.arguments.value("kv_cache_dtype")
    names = {"fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "bf16": "bfloat16", "bfloat16": "bfloat16"}
    return "torch." + names.get(str(given), "float16" if decision.half else "bfloat16")


def _captured(script: Script, decision: Decision) -> bool:
    """The graphs; says whether all are captured."""
    old = version_key(decision.arguments.version) < (0, 5, 14)
    first, second = (_capture_decode, _capture_prefill) if old else (_capture_prefill, _capture_decode)
    return first(script, decision) and second(script, decision)


def _capture_prefill(script: Script, decision: Decision) -> bool:
    chosen, settings = decision.chosen, decision.settings
    assert chosen is not None
    key = version_key(decision.arguments.version)
    if not chosen.prefill_sizes:
        if key >= (0, 5, 14):
            script.line(
                "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' (e.g. via "
                "--cuda-graph-backend-prefill=disabled or auto-disable rules)."
            )
        return True
    free = decision.before_graphs
    if key < (0, 5, 14):
        free -= sum(decision.decode_graphs)
        script.line(f"Capture piecewise CUDA graph begin. avail mem={free:.2f} GB")
    else:
        backend = settings.prefill_graph or ("tc_piecewise" if key < (0, 5, 15) else "breakable")
        script.line(
            f"Capture target prefill CUDA graph begin. backend={backend}, num_tokens={list(chosen.prefill_sizes)}, "
            f"avail mem={free:.2f} GB"
        )
    sizes = sorted(chosen.prefill_sizes, reverse=True)
    each = decision.prefill_graphs[0]
    failed = decision.end is End.PREFILL_GRAPHS_TOO_LARGE
    fail_at = max(min(int(free / each), len(sizes) - 1), 0) if failed else None
    labels = [
        f"Capturing num tokens (num_tokens={size} avail_mem={free - done * each:.2f} GB)"
        for done, size in enumerate(sizes)
    ]
    seconds = _PREFILL_GRAPH_SECONDS * len(sizes)
    script.bar(labels, seconds, fail_at=fail_at)
    if failed:
        return False
    _capture_end(
        script, decision, "prefill", seconds, sum(decision.prefill_graphs), free - sum(decision.prefill_graphs)
    )
    return True


def _capture_decode(script: Script, decision: Decision) -> bool:
    chosen, settings = decision.chosen, decision.settings
    assert chosen is not None
    if not decision.decode_graphs:
        return True
    sizes = list(decision.decode_sizes)
    key = version_key(decision.arguments.version)
    free = decision.before_graphs - (sum(decision.prefill_graphs) if key >= (0, 5, 14) else 0.0)
    if key < (0, 5, 14):
        script.line(f"Capture cuda graph begin. This can take up to several minutes. avail mem={free:.2f} GB")
        script.line(f"Capture cuda graph bs {sizes}")
    else:
        per = "num_tokens_per_bs" if key < (0, 5, 16) else "num_tokens_per_req"
        script.line(
            f"Capture target decode CUDA graph begin. backend={settings.decode_graph or 'full'}, {per}=1, bs={sizes}, "
            f"avail mem={free:.2f} GB"
        )
    lefts = [free - sum(decision.decode_graphs[:done]) for done in range(len(sizes))]
    fails = {
        End.BREAKABLE_DECODE: 0,
        End.DECODE_GRAPHS_TOO_LARGE: next(
            (at for at, (left, cost) in enumerate(zip(lefts, decision.decode_graphs, strict=True)) if left < cost),
            len(sizes) - 1,
        ),
    }
    fail_at = fails.get(decision.end)
    labels = [
        f"Capturing batches (bs={size} avail_mem={max(left, 0.0):.2f} GB)"
        for size, left in zip(reversed(sizes), lefts, strict=True)
    ]
    seconds = _GRAPH_SECONDS * len(sizes)
    script.bar(labels, seconds, fail_at=fail_at)
    if fail_at is not None:
        return False
    _capture_end(script, decision, "decode", seconds, sum(decision.decode_graphs), free - sum(decision.decode_graphs))
    return True


def _capture_end(script: Script, decision: Decision, phase: str, seconds: float, used: float, left: float) -> None:
    if version_key(decision.arguments.version) < (0, 5, 14):
        name = "piecewise CUDA graph" if phase == "prefill" else "cuda graph"
        script.line(
            f"Capture {name} end. Time elapsed: {seconds:.2f} s. mem usage={used:.2f} GB. avail mem={left:.2f} GB."
        )
        return
    script.line(
        f"Capture target {phase} CUDA graph end. elapsed={seconds:.2f} s, mem usage={used:.2f} GB, avail mem={left:.2f} GB."
    )


def _served(script: Script, decision: Decision) -> None:
    """From the summary to the first answer."""
    pools, chosen, model, arguments = decision.pools, decision.chosen, decision.model, decision.arguments
    assert pools is not None
    assert chosen is not None
    assert model is not None
    hybrid = model.shape.hybrid
    script.line(
        f"max_total_num_tokens={pools.kv_tokens}, chunked_prefill_size={chosen.chunk}, "
        f"max_prefill_tokens={decision.settings.max_prefill or _MAX_PREFILL_TOKENS}, "
        f"max_running_requests={pools.max_running_requests}, context_len={pools.context}, "
        f"available_gpu_mem={decision.left:.2f} GB"
    )
    cache = "MambaRadixCache" if hybrid else "RadixCache"
    script.line(
        f"Tree cache initialized: source=default impl={cache if not decision.settings.radix_off else 'ChunkCache'} "
        f"hybrid_swa=False hybrid_ssm={hybrid} hierarchical=False streaming_wrapped=False"
    )
    script.line(f"INFO:     Started server process [{os.getpid()}]")
    script.line("INFO:     Waiting for application startup.")
    script.copy(cut("skel27-mfs-0.88", "Using default chat sampling params", "Application startup complete."))
    skips = bool(arguments.value("skip_server_warmup"))
    ready = "The server is fired up and ready to roll!"
    if skips:
        script.line(ready)
    script.line("INFO:     Application startup complete.")
    host, port = arguments.value("host") or "127.0.0.1", arguments.value("port")
    script.line(f"INFO:     Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
    if skips:
        return
    script.wait(1.0)
    multimodal = model.shape.vision is not None
    script.line(f'INFO:     127.0.0.1:{_FIRST_CLIENT_PORT} - "GET /model_info HTTP/1.1" 200 OK')
    if multimodal:
        script.line("Warning: More image data items provided than corresponding tokens found in the prompt.")
    if decision.end is End.HALF_STATE:
        return
    script.wait(_WARM_UP_SECONDS)
    script.line(prefill_line(decision, _WARM_UP_TOKENS[multimodal]))
    route = "/v1/chat/completions" if multimodal else "/generate"
    script.line(f'INFO:     127.0.0.1:{_FIRST_CLIENT_PORT + 16} - "POST {route} HTTP/1.1" 200 OK')
    script.line(ready)


def prefill_line(decision: Decision, tokens: int, seconds: float = 1.0) -> str:
    """The line about one step of prefill."""
    assert decision.pools is not None
    assert decision.chosen is not None
    assert decision.model is not None
    used = tokens / (decision.pools.kv_tokens or 1)
    usage = f"token usage: {used:.2f}"
    if decision.model.shape.hybrid:
        share = min((decision.pools.slots_needed or 1) / (decision.pools.slots or 1), 1.0)
        usage = f"full token usage: {used:.2f}, mamba usage: {share * 0.6:.2f}"
    return (
        f"Prefill batch, #new-seq: 1, #new-token: {tokens}, #cached-token: 0, {usage}, #running-req: 0, #queue-req: 0, "
        f"#pending-token: 0, cuda graph: {bool(decision.prefill_graphs)}, "
        f"input throughput (token/s): {tokens / seconds:.2f}"
    )
