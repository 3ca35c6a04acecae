"""The closing text of each way to fail: cut out of the recorded run that failed so, with the numbers of this one."""

import os
from collections.abc import Callable
from typing import Final

from sgdoctor.engines.sglang.versions import version_key

from .decision import Decision, End
from .models import MIXTURE
from .script import cut, put, recorded

MIB: Final = 1024
_SCHEDULER: Final = "Scheduler hit an exception"
_MODULE: Final = "Traceback (most recent call last)"
_SOLUTIONS: Final = """\
Possible solutions:
1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)
2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)
3. disable decode CUDA graph by --cuda-graph-backend-decode=disabled. (Not recommended. Huge performance loss)
Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n"""
_OLDER_SOLUTIONS: Final = """\
Possible solutions:
1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)
2. set --cuda-graph-max-bs to a smaller value (e.g., 16)
3. disable torch compile by not using --enable-torch-compile
4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)
Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n"""
_OF_TORCH: Final = "torch.OutOfMemoryError: "
"""What stands before the text of the exception where a traceback names it; the engine quotes the text alone."""
_RUNNER: Final = (
    '  File "/usr/local/lib/python3.12/dist-packages/sglang/srt/model_executor/runner/{file}", line {line}, in {name}\n'
)


def refusal(decision: Decision) -> str:
    """What the main process prints when it refuses a start, from the traceback on; it exits with 1."""
    path = decision.path
    match decision.end:
        case End.NO_GPU:
            return cut("cli-no-gpu", _MODULE)
        case End.NO_FOLDER if path.startswith(("/", ".")) or path.count("/") > 1:
            return put(cut("cli-model-path-missing", _MODULE), [("/models/nothing/here", path)])
        case End.NO_FOLDER:
            return cut("cli-model-hub-id-offline", _MODULE)
        case End.NO_CONFIG:
            return put(cut("file-dense-no-config", _MODULE), [("/models/dense-no-config", path)])
        case End.BROKEN_CONFIG:
            return put(cut("file-dense-broken-json", _MODULE), [("/models/dense-broken-json", path)])
        case End.LAYER_LISTS:
            assert decision.model is not None
            layers, entries = decision.model.wrong_layers or (0, 0)
            numbers = [
                (r"\(40\) must be", f"({layers}) must be"),
                (r"`layer_types` \(16\)", f"`layer_types` ({entries})"),
            ]
            return put(cut("cfg-moe-40-layers-16-types", _MODULE), numbers)
        case End.CONTEXT_TOO_LONG:
            assert decision.model is not None
            numbers = [
                (r"context_length \(1000000\)", f"context_length ({decision.settings.context})"),
                (r"context_length \(40960\)", f"context_length ({decision.model.shape.context})"),
            ]
            return put(cut("cli-context-length-too-long", _MODULE), numbers)
        case End.FLAGS_REFUSED:
            # Which of its methods said so is left open.
            method = r"(?s)    self\._handle_gpu_memory_settings\(gpu_mem\)\n.*"
            return put(cut("cli-context-length-too-long", _MODULE), [(method, f"{decision.message}\n")])
    raise AssertionError(decision.end)


def death(decision: Decision) -> str:
    """What is printed from the exception in the scheduler to the end of the main process."""
    return _DEATHS[decision.end](decision)


def _no_such_gpu(decision: Decision) -> str:
    tp = decision.settings.tp
    if tp == 1:
        base = decision.arguments.value("base_gpu_id")
        return put(cut("cli-base-gpu-id", "Context: self.device"), [("self.gpu_id=1", f"self.gpu_id={base}"), *_pids()])
    first = decision.situation.card.count
    numbers = [
        ("TP1", f"TP{first}"),
        ("self.gpu_id=1", f"self.gpu_id={first}"),
        ("self.tp_rank=1 self.tp_size=2", f"self.tp_rank={first} self.tp_size={tp}"),
    ]
    return put(cut("cli-tp2-one-gpu", "Context: self.device"), [*numbers, *_pids()])


def _no_weights(decision: Decision) -> str:
    return put(cut("file-dense-no-weights", _SCHEDULER), [("/models/dense-no-weights", decision.path), *_pids()])


def _not_quantised(decision: Decision) -> str:
    method = str(decision.arguments.value("quantization"))
    return put(cut("cli-awq-unquantised", _SCHEDULER), [("config file for awq", f"config file for {method}"), *_pids()])


def _weights(decision: Decision) -> str:
    message = out_of_memory(decision, tried_mib=192, free_gib=0.02)
    return put(cut("oom-weights", _SCHEDULER), [(_OUT_OF_MEMORY, message), *_pids()])


def _state_empty(decision: Decision) -> str:
    pools = decision.pools
    assert pools is not None
    numbers = [
        (r"max_mamba_cache_size=-2", f"max_mamba_cache_size={pools.slots}"),
        (r"total_rest_memory=-0.45 GB", f"total_rest_memory={pools.rest_gib:.2f} GB"),
        (r"mamba_cache_per_req=146.81 MB", f"mamba_cache_per_req={pools.slot_mib:.2f} MB"),
    ]
    return put(cut("article27-mfs-0.80", _SCHEDULER), [*numbers, *_pids()])


def _state_too_small(decision: Decision) -> str:
    pools = decision.pools
    assert pools is not None
    numbers = [
        ("max_mamba_cache_size=3", f"max_mamba_cache_size={pools.slots}"),
        ("mamba_ratio=5", f"mamba_ratio={pools.slots_needed}"),
    ]
    return put(cut("article27-w19.28-mfs-0.88", _SCHEDULER), [*numbers, *_pids()])


def _no_rest(decision: Decision) -> str:
    pools, model = decision.pools, decision.model
    assert pools is not None
    assert pools.rest_gib is not None
    assert model is not None
    # The fraction at which nothing is left: the rest grows with the fraction by all that was free.
    free = decision.situation.card.free_gib + 0.07
    least = pools.fraction - pools.rest_gib / free
    numbers = [
        ("--mem-fraction-static=0.5", f"--mem-fraction-static={pools.fraction:g}"),
        (r"above 0\.670", f"above {least + 0.0005:.3f}"),
        (r"available/pre = 0\.6694", f"available/pre = {least:.4f}"),
    ]
    return put(cut("weights-over-fraction", _SCHEDULER), [*numbers, *_pids()])


def _no_tokens(_: Decision) -> str:
    return put(cut("not-enough-memory-max-total-tokens", _SCHEDULER), _pids())


def _pools(decision: Decision) -> str:
    message = out_of_memory(decision, tried_mib=104, free_gib=0.05)
    return put(cut("oom-kv-alloc-a", _SCHEDULER), [(_OUT_OF_MEMORY, message), *_pids()])


def _no_cublas(_: Decision) -> str:
    return put(cut("skel27-mfs-0.99", _SCHEDULER), _pids())


def _not_for_fa3(_: Decision) -> str:
    asserted = (
        '  File "/usr/local/lib/python3.12/dist-packages/sglang/srt/layers/attention/attention_registry.py", line 151, '
        "in create_flashattention_v3_backend\n    assert (\n"
        "AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. "
        "Please use `--attention-backend flashinfer`.\n"
    )
    lines = cut("skel27-mfs-0.99", _SCHEDULER)
    return put(lines, [(r"(?s)    self\.init_cublas\(\)\n.*?`cublasCreate\(handle\)`\n", asserted), *_pids()])


def _breakable(decision: Decision) -> str:
    name = "bcg-decode-hybrid" if decision.model is not None and decision.model.shape.hybrid else "bcg-decode-dense"
    return put(cut(name, "TypeError: Unsupported BCG output type"), _pids())


def _prefill_graphs(decision: Decision) -> str:
    message = out_of_memory(decision, tried_mib=64, free_gib=max(decision.before_graphs, 0.01) / 2)
    hint = cut("bcg-decode-dense", "TypeError: Unsupported BCG output type", _SCHEDULER)
    assert decision.settings.prefill_graph != "disabled"
    backend = decision.settings.prefill_graph or "breakable"
    hint = put(hint, [(r"TypeError: .*", message), ("backend: breakable", f"backend: {backend}")])
    raised = cut("bcg-decode-dense", _SCHEDULER)
    frames = _RUNNER.format(file="prefill_cuda_graph_runner.py", line=512, name="capture_one_shape")
    frames += "    self.backend.capture_one(\n"
    numbers = [
        ("init_decode_cuda_graph", "init_prefill_cuda_graph"),
        ("self.decode_cuda_graph_runner = ", "self.prefill_cuda_graph_runner = "),
        (r'(?s)  File "[^"]*decode_cuda_graph_runner\.py", line 363.*?TypeError: [^\n]*\n', f"{frames}{message}\n"),
    ]
    return hint + put(raised, [*numbers, *_pids()])


def _decode_graphs(decision: Decision) -> str:
    free = decision.before_graphs - sum(decision.prefill_graphs)
    solutions = _SOLUTIONS if version_key(decision.arguments.version) >= (0, 5, 14) else _OLDER_SOLUTIONS
    message = out_of_memory(decision, tried_mib=64, free_gib=max(min(free, 0.06), 0.01))
    text = cut("bcg-decode-dense", _SCHEDULER)
    raised = (
        f"{message}\n\nDuring handling of the above exception, another exception occurred:\n\n"
        + text[text.index(_MODULE) : text.index("    self.capture()\n")].replace("line 363", "line 365")
        + f"    raise Exception(\nException: Capture cuda graph failed: {message.removeprefix(_OF_TORCH)}\n{solutions}"
    )
    # The frames of the backend that failed there are left out: another one was at work here.
    return put(text, [(r'(?s)  File "[^"]*breakable_cuda_graph_backend\.py".*?TypeError: [^\n]*\n', raised), *_pids()])


def half_state_early(decision: Decision) -> str:
    """States of the convolution in another type than the model computes in: the first prompt ends the server."""
    mixture = decision.model is not None and decision.model.architecture == MIXTURE
    name = "dtype-float16-moe" if mixture else "dtype-float16-hybrid"
    log = recorded(name)
    pid = log.split("Started server process [")[1].split("]")[0]
    child = (
        []
        if not mixture
        else [(r"PID 7226|pid 7226", f"PID {os.getpid() + 509}"), ("vm.7226", f"vm.{os.getpid() + 509}")]
    )
    return put(cut(name, _SCHEDULER), [(f"pid={pid}", f"pid={os.getpid()}"), *child])


def half_state_late() -> str:
    """The same mistake found by a prompt that is long enough for states to be kept on the way."""
    return put(cut("dtype-float16-hybrid-long-prompt", _SCHEDULER), _pids())


def prompt_too_large(decision: Decision, free_gib: float) -> str:
    """A prompt for which the working memory does not suffice; `free_gib` is what was free."""
    message = out_of_memory(decision, tried_mib=128, free_gib=max(free_gib, 0.02))
    return put(cut("oom-runtime", _SCHEDULER), [(_OUT_OF_MEMORY, message), *_pids()])


_OUT_OF_MEMORY: Final = r"torch\.OutOfMemoryError: CUDA out of memory\..*"
_RECORDED: Final = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried} MiB. GPU 0 has a total capacity of "
    "{total:.2f} GiB of which {free:.2f} MiB is free. {others}Including non-PyTorch memory, this process has {used:.2f} "
    "GiB memory in use. Of the allocated memory {torch:.2f} GiB is allocated by PyTorch, and 83.29 MiB is reserved by "
    "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
    "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)"
)
_OUTSIDE_TORCH_GIB: Final = 0.6
_OTHERS_FROM_GIB: Final = 0.1


def out_of_memory(decision: Decision, *, tried_mib: float, free_gib: float) -> str:
    """The message of torch; other holders of the card are named, as torch does."""
    card = decision.situation.card
    others = card.others_gib
    named = f"Process 2715 has {others:.2f} GiB memory in use. " if others > _OTHERS_FROM_GIB else ""
    used = card.capacity_gib - free_gib - others
    return _RECORDED.format(
        tried=f"{max(tried_mib, free_gib * MIB + 10):.2f}",
        total=card.capacity_gib,
        free=free_gib * MIB,
        others=named,
        used=used,
        torch=used - _OUTSIDE_TORCH_GIB,
    )


def _pids() -> list[tuple[str, str]]:
    return [
        (
            r"parent_pid=\d+, include_parent=True, pid=\d+",
            f"parent_pid={os.getpid()}, include_parent=True, pid={os.getpid()}",
        )
    ]


_DEATHS: Final[dict[End, Callable[[Decision], str]]] = {
    End.NO_SUCH_GPU: _no_such_gpu,
    End.NO_WEIGHTS: _no_weights,
    End.NOT_QUANTISED: _not_quantised,
    End.WEIGHTS_TOO_LARGE: _weights,
    End.STATE_EMPTY: _state_empty,
    End.STATE_TOO_SMALL: _state_too_small,
    End.NO_REST: _no_rest,
    End.NO_TOKENS: _no_tokens,
    End.POOLS_TOO_LARGE: _pools,
    End.NO_CUBLAS: _no_cublas,
    End.NOT_FOR_FA3: _not_for_fa3,
    End.BREAKABLE_DECODE: _breakable,
    End.PREFILL_GRAPHS_TOO_LARGE: _prefill_graphs,
    End.DECODE_GRAPHS_TOO_LARGE: _decode_graphs,
    End.HALF_STATE: half_state_early,
}
