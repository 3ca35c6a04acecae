"""Facts and phases of whole logs of 0.5.15."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sgdoctor.engines.base import PhaseName
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event

Real = Callable[[str], Sequence[Event]]

FACTS: list[tuple[str, dict[str, Any]]] = [
    (
        "boot-dense",
        {
            "args.mem_fraction_static": 0.833,
            "args.tp_size": 1,
            "args.context_length": None,
            "model_path": "/models/qwen3-dense",
            "attention_backend": "triton",
            "architecture": "Qwen3ForCausalLM",
            "distributed_seconds": 0.18,
            "mem_before_weights_gib": 22.85,
            "mem_after_weights_gib": 22.70,
            "weights_gib": 0.15,
            "weights_seconds": 0.12,
            "shards_total": 2,
            "shards_loaded": 2,
            "kv_tokens": 1236744,
            "kv_gib": 18.88,
            "kv_dtype": "torch.bfloat16",
            "mem_after_pools_gib": 3.20,
            "prefill_graph_seconds": 2.19,
            "prefill_graph_gib": 0.12,
            "decode_graph_seconds": 0.83,
            "decode_graph_gib": 0.04,
            "graph_seconds": 3.02,
            "graph_gib": 0.16,
            "mem_after_graphs_gib": 2.88,
            "max_total_num_tokens": 1236744,
            "max_running_requests": 4096,
            "context_len": 40960,
            "available_gpu_mem_gib": 2.88,
            "port": 30000,
            "decode_lines": 12,
            "decode_eager_lines": None,
            "running_requests_max": 6,
            "ready_seconds": 25.0,
            "version_min": "0.5.15",
            "version_max": "0.5.15.post1",
            "is_hybrid": None,
            "state_fraction_min": None,
            "lines": 151,
        },
    ),
    (
        "skel27-mfs-0.92",
        {
            "weights_gib": 17.90,
            "state_slots": 10,
            "conv_state_gib": 0.03,
            "ssm_state_gib": 1.55,
            "state_gib": 1.58,
            "kv_tokens": 27511,
            "kv_gib": 1.68,
            "max_running_requests": 2,
            "context_len": 65536,
            "is_hybrid": True,
            "state_slots_needed": 5,
            "capture_done": 2,
            "capture_total": 2,
            "capture_avail_gib": 1.51,
            "token_usage_max": 0.58,
        },
    ),
    (
        "boot-hybrid-flashinfer",
        {
            "args.attention_backend": "flashinfer",
            "args.uvicorn_access_log_exclude_prefixes": [],
            "state_slots": 3001,
            "state_gib": 9.0,
            "kv_tokens": 2621682,
            "decode_graph_seconds": 27.88,
            "prefill_graph_seconds": None,
            "prefill_graph_disabled": "cuda_graph_config resolved prefill.backend='disabled' (e.g. via "
            "--cuda-graph-backend-prefill=disabled or auto-disable rules)",
        },
    ),
    ("skel35moe-mfs-0.92", {"weights_gib": 19.31, "state_slots": 11, "kv_tokens": 52835, "max_running_requests": 2}),
    (
        "cli-speculative-eagle-no-draft",
        {
            "mem_before_weights_gib": 132.29,
            "mem_after_weights_gib": 132.05,
            "weights_gib": 0.15,
            "draft_weights_gib": 0.10,
            "kv_gib": 0.30,
            "decode_graph_seconds": 19.92,
            "decode_graph_gib": 0.67,
        },
    ),
    (
        "oom-weights",
        {
            "gpu_total_gib": 139.80,
            "oom_tried_mib": 192.0,
            "oom_free_mib": 22.75,
            "oom_other_pid": 9821,
            "oom_other_process_gib": 131.01,
            "mem_before_weights_gib": 8.11,
            "weights_gib": None,
        },
    ),
    ("oom-kv-alloc-a", {"oom_tried_mib": 104.0, "oom_free_mib": 54.75, "weights_gib": 15.28, "kv_tokens": None}),
    ("oom-runtime", {"oom_tried_mib": 128.0, "fraction": 0.97, "kv_tokens": 50179, "ready": True}),
    ("kill-scheduler", {"child_exit_code": -9, "exit_code": -9, "ready": True}),
    ("retract-dense", {"retractions": 3}),
    ("fp8-kv-dense", {"kv_dtype": "torch.float8_e4m3fn"}),
    ("weights-over-fraction", {"fraction": 0.5, "kv_fraction_min": 0.67}),
    ("cli-bad-dtype", {"args_error.kind": "choice", "args_error.flag": "--dtype", "args_error.suggestion": "float16"}),
    ("cli-no-model-path", {"args_error.kind": "required", "args_error.flag": "--model-path"}),
    (
        "cli-unknown-flag",
        {"args_error.kind": "unknown", "args_error.flag": "--enable-moe-magic", "args_error.suggestion": None},
    ),
    (
        "cli-bad-cuda-graph-backend",
        {
            "args_error.value": "piecewise",
            "args_error.choices": ("full", "breakable", "tc_piecewise", "disabled"),
            "args_error.suggestion": "tc_piecewise",
        },
    ),
]


@pytest.mark.parametrize(("name", "expected"), FACTS, ids=[name for name, _ in FACTS])
def test_facts(name: str, expected: dict[str, Any], real: Real) -> None:
    facts = SGLANG.read(real(name)).facts
    actual = {fact: facts[fact].value if fact in facts else None for fact in expected}

    assert expected == actual


def test_secrets_never_become_facts(real: Real, real_bytes: Callable[[str], bytes]) -> None:
    secret = real_bytes("api-key").decode().partition("api_key='")[2].partition("'")[0]

    facts = SGLANG.read(real("api-key")).facts

    assert secret
    assert facts["args.api_key"].value == "***"
    assert not any(secret in str(fact.value) for fact in facts.values())


# Two digits, rounded up. At 0.88 the log gives no slot size; the model of the same name has one that agrees with it.
FRACTIONS = [
    ("article27-mfs-0.80", -2, 0.89),
    ("article27-w19.28-mfs-0.88", 3, 0.90),
    ("article27-w19.28-mfs-0.92", 6, 0.90),
    ("skel27-mfs-0.80", 1, 0.86),
]


@pytest.mark.parametrize(("name", "slots", "fraction"), FRACTIONS)
def test_fraction_for_the_state_cache(name: str, slots: int, fraction: float, real: Real) -> None:
    facts = SGLANG.read(real(name)).facts

    assert facts["state_slots"].value == slots
    assert facts["state_slots_needed"].value == 5
    assert facts["state_fraction_min"].value == pytest.approx(fraction)
    assert facts["state_fraction_min"].derived


HEALTHY = [
    PhaseName.ARGS,
    PhaseName.CONFIG,
    PhaseName.DISTRIBUTED,
    PhaseName.WEIGHTS,
    PhaseName.KV_CACHE,
    PhaseName.GRAPH_CAPTURE,
    PhaseName.HTTP,
    PhaseName.WARMUP,
    PhaseName.SERVING,
    PhaseName.SHUTDOWN,
]
PHASES = [
    ("boot-dense", HEALTHY),
    ("skel27-mfs-0.92", [*HEALTHY[:4], PhaseName.STATE_CACHE, *HEALTHY[4:]]),
    ("article27-mfs-0.80", [*HEALTHY[:4], PhaseName.STATE_CACHE]),
    ("weights-over-fraction", HEALTHY[:5]),
    ("oom-weights", HEALTHY[:4]),
    ("cli-unknown-flag", HEALTHY[:1]),
    ("cfg-moe-40-layers-16-types", HEALTHY[:2]),
    ("cli-port-in-use", HEALTHY[:7]),
    ("kill-scheduler", HEALTHY[:9]),
]


@pytest.mark.parametrize(("name", "expected"), PHASES, ids=[name for name, _ in PHASES])
def test_phases(name: str, expected: list[PhaseName], real: Real) -> None:
    reading = SGLANG.read(real(name))

    assert expected == [phase.name for phase in reading.phases]
    assert all(phase.done for phase in reading.phases[:-1])
    assert not reading.phases[-1].done
    assert reading.recognised


def test_memory_that_another_process_let_go_of_is_no_memory_of_a_phase(real: Real) -> None:
    phases = {phase.name: phase for phase in SGLANG.read(real("api-key")).phases}

    assert phases[PhaseName.KV_CACHE].memory_gib == 0.3
    assert phases[PhaseName.GRAPH_CAPTURE].memory_gib is None


def test_phase_times_memory_and_lines(real: Real) -> None:
    reading = SGLANG.read(real("boot-dense"))
    phases = {phase.name: phase for phase in reading.phases}

    weights = phases[PhaseName.WEIGHTS]
    assert (weights.start_line, weights.end_line, weights.seconds, weights.memory_gib) == (44, 46, 0.12, 0.15)
    assert phases[PhaseName.GRAPH_CAPTURE].seconds == pytest.approx(3.02)
    assert phases[PhaseName.CONFIG].seconds == pytest.approx(20.0)
    assert reading.ready_line == 71
    assert reading.shutdown_line == 148
    assert reading.phase_at(45) is PhaseName.WEIGHTS
    assert reading.phase_at(72) is PhaseName.SERVING


@pytest.mark.parametrize(
    "name", ["kill-scheduler", "oom-runtime", "cli-port-in-use", "dtype-float16-hybrid-long-prompt"]
)
def test_a_death_is_no_asked_for_shutdown(name: str, real: Real) -> None:
    assert SGLANG.read(real(name)).shutdown_line is None


def test_every_real_log_is_read_and_ready_only_by_the_ready_line(
    real: Real, real_bytes: Callable[[str], bytes]
) -> None:
    for name in ("warm-moe", "cli-port-in-use", "watchdog-tiny", "exit-code-not-pid1", "file-dense-no-tokenizer"):
        reading = SGLANG.read(real(name))

        ready = b"fired up and ready to roll" in real_bytes(name)
        assert ready == (reading.ready_line is not None) == ("ready" in reading.facts)
