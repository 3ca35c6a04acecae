"""Lines of versions other than 0.5.15, as their sources word them (composed)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sgdoctor.engines.base import PhaseName
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event

Composed = Callable[..., Sequence[Event]]
Parse = Callable[[str], Sequence[Event]]

OLD = (
    "Init torch distributed begin.",
    "Init torch distributed ends. mem usage=0.10 GB",
    "Load weight begin. avail mem=23.00 GB",
    "Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=8.00 GB, mem usage=15.00 GB.",
    "KV Cache is allocated. #tokens: 32000, K size: 1.50 GB, V size: 1.50 GB",
    "Memory pool end. avail mem=5.00 GB",
    "Capture cuda graph begin. This can take up to several minutes. avail mem=4.90 GB",
    "Capture cuda graph end. Time elapsed: 12.50 s. mem usage=0.40 GB. avail mem=4.50 GB.",
    (
        "max_total_num_tokens=32000, chunked_prefill_size=2048, max_prefill_tokens=16384, max_running_requests=2048, "
        "context_len=32768, available_gpu_mem=4.50 GB"
    ),
)


def values(events: Sequence[Event]) -> dict[str, Any]:
    return {name: fact.value for name, fact in SGLANG.read(events).facts.items()}


def test_a_start_of_0_5_5_and_older(composed: Composed) -> None:
    reading = SGLANG.read(composed(*OLD))
    facts = {name: fact.value for name, fact in reading.facts.items()}

    assert facts["weights_gib"] == 15.0
    assert facts["weights_dtype"] == "torch.bfloat16"
    assert facts["kv_gib"] == 3.0
    assert facts["decode_graph_seconds"] == 12.5
    assert facts["mem_after_graphs_gib"] == 4.5
    assert facts["version_max"] == "0.5.8"
    assert all(phase.done for phase in reading.phases)
    assert {phase.name: phase.seconds for phase in reading.phases} == {
        PhaseName.DISTRIBUTED: 1.0,
        PhaseName.WEIGHTS: 1.0,
        PhaseName.KV_CACHE: 1.0,
        PhaseName.GRAPH_CAPTURE: 12.5,
    }


WORDINGS: list[tuple[str, dict[str, Any]]] = [
    (
        (
            "Load weight end. elapsed=13.30 s, type=Qwen3_5ForConditionalGeneration, quant=compressed-tensors, "
            "avail mem=4.17 GB, mem usage=19.05 GB."
        ),
        {"quantisation": "compressed-tensors", "weights_gib": 19.05, "weights_seconds": 13.3, "version_min": "0.5.12"},
    ),
    (
        "Load weight end. elapsed=13.30 s, type=X, dtype=torch.float16, avail mem=4.17 GB, mem usage=19.05 GB.",
        {"weights_dtype": "torch.float16", "version_min": "0.5.6", "version_max": "0.5.11"},
    ),
    (
        "Load weight end. Committed real weights after CUDA graph capture in 41.20 s",
        {"weights_seconds": 41.2, "weights_gib": None},
    ),
    (
        "Mamba Cache is allocated. conv_state size: 0.02GB, ssm_state size: 1.12GB",
        {"state_slots": None, "conv_state_gib": 0.02, "ssm_state_gib": 1.12, "state_gib": 1.14},
    ),
    (
        (
            "Mamba Cache is allocated. max_mamba_cache_size: 7, conv_state size: 0.02GB, ssm_state size: 1.12GB "
            "intermediate_ssm_state_cache size: 0.30GB intermediate_conv_window_cache size: 0.01GB"
        ),
        {"state_slots": 7, "state_gib": 1.45},
    ),
    ("Mamba Cache: conv_state 0.02GB, ssm_state 1.12GB", {"state_gib": 1.14, "is_hybrid": True}),
    (
        "KV Cache: dtype=torch.bfloat16, #tokens=21482, K 0.66GB, V 0.66GB",
        {"kv_tokens": 21482, "kv_gib": 1.32, "kv_dtype": "torch.bfloat16"},
    ),
    ("KV Cache is allocated. #tokens: 5000, KV size: 2.50 GB", {"kv_gib": 2.5, "version_max": "0.5.12"}),
    (
        "SWA KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 900, K size: 0.10 GB, V size: 0.10 GB",
        {"kv_tokens": 900, "kv_gib": 0.2, "version_min": "0.5.16"},
    ),
    (
        (
            "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 700, KV size: 0.50 GB, "
            "avail mem=1.00 GB"
        ),
        {"kv_tokens": 700, "kv_gib": 0.5},
    ),
    ("KV Cache skipped (no-op pool). Logical #tokens: 4096", {"kv_tokens": 4096, "kv_gib": None}),
    ("Init parallel ends. elapsed=0.80 s", {"distributed_seconds": 0.8, "version_min": "0.5.21"}),
    (
        "Capture piecewise CUDA graph end. Time elapsed: 20.00 s. mem usage=0.70 GB. avail mem=1.00 GB.",
        {"prefill_graph_seconds": 20.0, "prefill_graph_gib": 0.7, "decode_graph_gib": None, "version_max": "0.5.13"},
    ),
    (
        "Capture draft decode CUDA graph end. elapsed=5.32 s, mem usage=0.38 GB, avail mem=1.30 GB.",
        {"decode_graph_seconds": 5.32, "version_min": "0.5.14"},
    ),
    (
        "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=1.30 GB",
        {"version_min": "0.5.16", "version_max": None},
    ),
    (
        (
            "Decode batch. #running-req: 2, #token: 100, token usage: 0.25, cuda graph: False, "
            "gen throughput (token/s): 44.10, #queue-req: 3"
        ),
        {
            "decode_tokens_per_second": 44.1,
            "decode_eager_lines": 1,
            "token_usage": 0.25,
            "running_requests_max": 2,
            "queue_max": 3,
            "version_max": "0.5.4.post3",
        },
    ),
    (
        (
            "Decode batch, #running-req: 1, #full token: 4000, full token usage: 0.15, mamba num: 2, mamba usage: 0.40, "
            "accept len: 2.10, accept rate: 0.70, cuda graph: True, gen throughput (token/s): 90.00, #queue-req: 0"
        ),
        {"token_usage": 0.15, "decode_eager_lines": None, "decode_tokens_per_second": 90.0},
    ),
    (
        "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.40 -> 0.70",
        {"retractions": 1},
    ),
    ("Attention backend not specified. Use flashinfer backend by default.", {"attention_backend": "flashinfer"}),
    (
        (
            "Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a common cause is "
            "the OS OOM killer."
        ),
        {"child_exit_code": -9, "exit_code": -9},
    ),
    (
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 23.69 GiB total capacity; "
            "21.00 GiB already allocated; 512.00 MiB free; 22.00 GiB reserved in total by PyTorch)"
        ),
        {"oom_tried_mib": 1536.0, "gpu_total_gib": 23.69, "oom_free_mib": 512.0},
    ),
    ("docker pull lmsysorg/sglang:v0.5.14-cu129", {"version": "0.5.14", "version_min": "0.5.14"}),
    ("transformers==4.57.1", {"transformers_version": "4.57.1"}),
    ("INFO: Uvicorn running on http://[::1]:8080 (Press CTRL+C to quit)", {"host": "::1", "port": 8080}),
    ("Uvicorn running is what I wait for, Load weight end. mem usage=9 GB", {"weights_gib": None}),
]


@pytest.mark.parametrize(("text", "expected"), WORDINGS, ids=range(len(WORDINGS)))
def test_wordings(text: str, expected: dict[str, Any], composed: Composed) -> None:
    facts = values(composed(text))

    assert expected == {name: facts.get(name) for name in expected}


def test_a_wrapped_end_of_load_is_read_on(composed: Composed) -> None:
    facts = values(composed("Load weight end. elapsed=13.30 s, type=X", "quant=awq, mem usage=19.05 GB"))

    assert facts["quantisation"] == "awq"
    assert facts["weights_gib"] == 19.05
    assert "version_max" not in facts


def test_0_5_21_counts_the_baseline_to_the_distributed_phase(composed: Composed) -> None:
    reading = SGLANG.read(
        composed(
            "Init parallel begin.", "Init parallel ends. elapsed=0.80 s", "Memory baseline taken. mem usage=0.30 GB"
        )
    )

    assert [(phase.name, phase.seconds, phase.memory_gib) for phase in reading.phases] == [
        (PhaseName.DISTRIBUTED, 0.8, 0.3)
    ]


def test_the_first_card_speaks_for_all(composed: Composed) -> None:
    first = composed("Load weight begin. avail mem=23.00 GB", rank="TP0")
    second = composed("Load weight begin. avail mem=11.00 GB", "Memory pool end. avail mem=2.00 GB", rank="TP1")
    reading = SGLANG.read([*second, *first, *second])

    assert reading.facts["mem_before_weights_gib"].value == 23.0
    assert reading.facts["mem_after_pools_gib"].value == 2.0
    assert [phase.name for phase in reading.phases] == [PhaseName.WEIGHTS]


def test_draft_weights_after_the_pools_leave_the_arithmetic_alone(composed: Composed) -> None:
    facts = values(
        composed(
            *OLD[:6], "Load weight begin. avail mem=5.00 GB", "Load weight end. avail mem=4.00 GB, mem usage=1.00 GB."
        )
    )

    assert facts["mem_after_weights_gib"] == 8.0
    assert facts["draft_weights_gib"] == 1.0


def test_ready_before_uvicorn_stays_ready(composed: Composed) -> None:
    reading = SGLANG.read(
        composed(
            "Memory pool end. avail mem=5.00 GB",
            "The server is fired up and ready to roll!",
            "INFO:     Started server process [1]",
            "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
        )
    )

    assert reading.ready_line == 2
    assert reading.phases[-1].name is PhaseName.SERVING


@pytest.mark.parametrize("ready", ["Uvicorn running on http://0.0.0.0:1 (Press CTRL+C to quit)", "The server is up"])
def test_nothing_else_means_ready(ready: str, composed: Composed) -> None:
    assert SGLANG.read(composed(f"INFO:     {ready}", ready)).ready_line is None


def test_ctrl_c_is_asked_for_and_a_dying_child_is_not(composed: Composed) -> None:
    asked = SGLANG.read(composed("INFO:     Shutting down"))
    died = SGLANG.read(
        composed("Received sigquit from a child process. It usually means the child failed.", "INFO:     Shutting down")
    )

    compose = SGLANG.read(composed("Gracefully stopping... (press Ctrl+C again to force)"))

    assert asked.shutdown_line == 1
    assert compose.shutdown_line is None
    assert died.shutdown_line is None


def test_docker_lines_come_before_the_engine(composed: Composed) -> None:
    docker = [" Container sgl-1  Created", "Attaching to sgl-1"]
    events = [*composed(*docker), *composed(*docker, *OLD)[2:]]
    reading = SGLANG.read([event for event in events if not event.text.startswith("Container")])

    assert reading.phases[0].name is PhaseName.ARGS

    plain = [type(event)(event.kind, event.text, _unbracketed(event), event.first, event.last) for event in events[:2]]
    assert SGLANG.read([*plain, *events[2:]]).phases[0].name is PhaseName.DOCKER


def _unbracketed(event: Event) -> Any:
    line = event.line
    return type(line)(line.number, line.offset, line.text)


def test_refused_chat_requests_are_counted(composed: Composed) -> None:
    access = 'INFO:     127.0.0.1:43690 - "POST /v1/chat/completions HTTP/1.1" {}'
    spoken = f"Receive: obj=GenerateReqInput(rid='0', text='{access.format('400 Bad Request')}')"
    facts = SGLANG.read(composed(access.format("400 Bad Request"), access.format("200 OK"), spoken)).facts

    assert facts["chat_refused"].value == 1


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-30 10:00:00 TP3] Watchdog timeout (self.watchdog_timeout=300)",
        "[2026-11-30 10:00:00] Received sigquit from a child process. It usually means the child failed.",
        "[2026-11-30 10:00:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
        "[2026-11-30 10:00:00] Subprocess scheduler_1 (pid=8829) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
        '[2026-11-30 10:00:00] INFO:     10.0.0.1:48310 - "POST /v1/completions HTTP/1.1" 200 OK',
    ],
)
def test_an_excerpt_that_begins_after_the_arguments_has_no_phase(line: str, parse: Parse) -> None:
    assert SGLANG.read(parse(line + "\n")).phases == ()


@pytest.mark.parametrize(
    ("function", "phases"), [("<module>", [PhaseName.ARGS]), ("forward_cuda", []), ("run_scheduler_process", [])]
)
def test_only_the_stack_of_the_program_tells_a_phase(function: str, phases: list[PhaseName], parse: Parse) -> None:
    log = (
        "Traceback (most recent call last):\n"
        f'  File "/usr/lib/python3.12/dist-packages/sglang/launch.py", line 1, in {function}\n'
        "OSError: [Errno 28] No space left on device\n"
    )

    assert [phase.name for phase in SGLANG.read(parse(log)).phases] == phases
