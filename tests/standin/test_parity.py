"""The stand-in decides on the flags of recorded runs as the engine did."""

import re
from pathlib import Path

import pytest

from tests.standin.parity import CARD, RUNS, Decided, Log, again, recorded, start

# Run, and the shape of its model.
SHAPES = {
    "article27-mfs-0.80": "27b",
    "article27-w19.28-mfs-0.88": "27b",
    "article27-w19.28-mfs-0.92": "27b",
    "skel27-default": "27b",
    "skel27-mfs-0.80": "27b",
    "skel27-mfs-0.88": "27b",
    "skel27-mfs-0.92": "27b",
    "skel27-mfs-0.99": "27b",
    "skel35moe-mfs-0.92": "35b-a3b",
    "boot-dense": "tiny-dense",
    "boot-hybrid": "tiny-hybrid",
    "boot-hybrid-flashinfer": "tiny-hybrid",
    "long-context-over-pool": "dense-8b",
    "oom-kv-alloc-a": "dense-8b",
    "oom-runtime": "dense-8b",
    "weights-over-fraction": "dense-8b",
    "not-enough-memory-max-total-tokens": "dense-8b",
}
# What is 0.01 to 0.02 GiB off before the pools: see fixtures/memory/vectors.yaml.
TOKENS_WITHIN = {"skel35moe-mfs-0.92": 0.025}
SLOTS_WITHIN = {"boot-hybrid": 6, "boot-hybrid-flashinfer": 6}  # of 3001

# Runs that were not alone on their card: only their end and their messages count.
ENDS = {
    "api-key": "tiny-dense",
    "bcg-decode-dense": "tiny-dense",
    "bcg-decode-hybrid": "tiny-hybrid",
    "cli-awq-unquantised": "tiny-dense",
    "cli-bad-attention-backend": "tiny-dense",
    "cli-bad-cuda-graph-backend": "tiny-dense",
    "cli-bad-dtype": "tiny-dense",
    "cli-bad-quantization": "tiny-dense",
    "cli-bad-reasoning-tool-names": "tiny-hybrid",
    "cli-bad-tool-parser": "tiny-dense",
    "cli-base-gpu-id": "tiny-dense",
    "cli-context-length-too-long": "tiny-dense",
    "cli-mem-fraction-above-1": "tiny-dense",
    "cli-no-model-path": "tiny-dense",
    "cli-old-cuda-graph-max-bs": "tiny-dense",
    "cli-reasoning-qwen3-thinking-triton": "tiny-dense",
    "cli-tool-call-parser-auto": "tiny-hybrid",
    "cli-tp2-one-gpu": "tiny-dense",
    "cli-unknown-flag": "tiny-dense",
    "dtype-declared-f16-fixed": "tiny-hybrid",
    "dtype-float16-hybrid": "tiny-hybrid",
    "fp8-kv-dense": "tiny-dense",
    "graph-prefill-tc-piecewise": "tiny-dense",
    "max-running-1": "tiny-dense",
    "sglang-serve-entry": "tiny-dense",
    "sigterm-busy": "tiny-dense",
    "warm-dense": "tiny-dense",
}

PRINTED_GIB = 0.07
"""How far sizes in GiB may be off: of the graphs of these tiny models nothing is known beforehand."""


@pytest.mark.parametrize("name", SHAPES)
def test_numbers(name: str, tmp_path: Path) -> None:
    expected = recorded(name).facts

    actual = again(name, tmp_path, SHAPES[name]).log.facts

    if "state_slots" in expected:
        assert abs(actual["state_slots"] - expected["state_slots"]) <= SLOTS_WITHIN.get(name, 0)
    if "kv_tokens" in expected:
        assert actual["kv_tokens"] == pytest.approx(expected["kv_tokens"], rel=TOKENS_WITHIN.get(name, 0.01))
    for fact in (
        "mem_before_weights_gib",
        "mem_after_weights_gib",
        "state_gib",
        "pools_rest_gib",
        "mem_after_pools_gib",
    ):
        if fact in expected:
            assert actual[fact] == pytest.approx(expected[fact], abs=PRINTED_GIB), fact
    for fact in ("state_slot_mib", "state_slots_needed", "context_len", "chunked_prefill_size", "fraction"):
        if fact in expected:
            assert expected[fact] == pytest.approx(actual[fact], rel=1e-6), fact


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "oom-runtime"] + list(ENDS))
def test_end_and_diagnosis(name: str, tmp_path: Path) -> None:
    expected = recorded(name)

    started = again(name, tmp_path, (SHAPES | ENDS)[name])

    assert started.end == (RUNS[name]["ending"], RUNS[name]["exit_code"])
    # What requests brought up is not part of the start.
    assert [rule for rule in expected.rules if rule != "SGL718"] == started.log.rules
    assert [_without_sizes(line) for line in expected.errors] == [_without_sizes(line) for line in started.log.errors]


@pytest.mark.parametrize(
    "name", ["cli-unknown-flag", "cli-bad-tool-parser", "cli-no-model-path", "cli-bad-dtype", "cli-bad-quantization"]
)
def test_refused_arguments_are_printed_byte_for_byte(name: str, tmp_path: Path) -> None:
    started = again(name, tmp_path, "tiny-dense")

    # The engine has these choices in a set: their order is another one in every run.
    expected, actual = (
        [line for line in data.decode().splitlines() if "--sampling-backend" not in line]
        for data in (recorded(name).data, started.run.log)
    )
    assert expected == actual


@pytest.mark.parametrize("name", ["skel27-mfs-0.88", "article27-w19.28-mfs-0.92", "skel35moe-mfs-0.92"])
def test_arguments_are_resolved_as_there(name: str, tmp_path: Path) -> None:
    started = again(name, tmp_path, SHAPES[name])

    expected, actual = (_arguments(log.lines) for log in (recorded(name), started.log))
    for own in ("model_path", "tokenizer_path", "served_model_name", "random_seed"):
        expected.pop(own)
        actual.pop(own)
    assert expected == {key: value for key, value in actual.items() if key in expected}


@pytest.mark.parametrize("name", ["skel27-mfs-0.88", "boot-dense", "sglang-serve-entry"])
def test_lines_of_a_healthy_start_stand_in_the_same_order(name: str, tmp_path: Path) -> None:
    started = again(name, tmp_path, (SHAPES | ENDS)[name])

    kinds = [_kind(line) for line in started.log.lines if _kind(line)]
    ready = kinds.index("[] The server is fired up and ready to roll!")
    there = [_kind(line) for line in recorded(name).lines]
    positions = [there.index(kind) for kind in kinds[: ready + 1]]
    assert sorted(positions) == positions


def test_prompt_that_does_not_fit_ends_the_server(tmp_path: Path) -> None:
    started = again("oom-runtime", tmp_path, "dense-8b")

    death = started.post("/v1/completions", prompt="import os " * 20000).death
    assert death is not None
    assert ("serve", -9) == started.end
    assert recorded("oom-runtime").rules == _with(started, death).rules == ["SGL415"]
    assert "total capacity of 23.51 GiB" in death


def test_weights_that_do_not_fit(tmp_path: Path) -> None:
    started = again("oom-weights", tmp_path, "dense-8b", STANDIN_WEIGHTS_GIB="15.28", STANDIN_CARD=f"{CARD}:8.11GiB")

    assert ("exit", -9) == started.end
    assert recorded("oom-weights").rules == started.log.rules
    assert "Process 2715 has 15.10 GiB memory in use." in started.log.errors[-1]


def test_long_prompt_in_half_precision(tmp_path: Path) -> None:
    started = again("dtype-float16-hybrid-long-prompt", tmp_path, "tiny-hybrid")

    long, short = started.chat("word " * 300).death, started.chat("Hello.").death
    assert long is not None
    assert short is not None
    assert recorded("dtype-float16-hybrid-long-prompt").rules == _with(started, long).rules == ["SGL201"]
    assert recorded("dtype-float16-hybrid").rules == _with(started, short).rules


def test_half_precision_of_a_mixture_leaves_it_up_for_a_minute() -> None:
    started = start("--model-path /m --dtype float16 --mem-fraction-static 0.92", STANDIN_MODEL="qwen3.6-35b-a3b")

    assert recorded("dtype-float16-moe").rules == started.log.rules
    waits = next(at for at, line in enumerate(started.log.lines) if "Waiting 60.0 seconds" in line)
    assert "kill_process_tree" in started.log.lines[-1]
    assert waits < len(started.log.lines) - 1


@pytest.mark.parametrize(
    ("name", "long"), [("long-context-over-pool", 38000), ("skel27-mfs-0.92", 40000), ("skel27-mfs-0.92", 50000)]
)
def test_prompts_over_the_pool_are_refused(name: str, long: int, tmp_path: Path) -> None:
    started = again(name, tmp_path, SHAPES[name])

    answer = started.post("/v1/completions", prompt="os " * long, max_tokens=8)
    most = int(re.findall(r"maximum allowed length \((\d+) tokens\)", recorded(name).data.decode())[0])
    found = re.fullmatch(
        rf"Input length \({long + 1} tokens\) exceeds the maximum allowed length \((\d+) tokens\)\. "
        r"Use a shorter input or enable --allow-auto-truncate\.",
        answer.body["message"],
    )
    assert 400 == answer.status
    assert found is not None
    assert int(found[1]) == pytest.approx(most, rel=0.01)


def _with(started: Decided, death: str) -> Log:
    return Log(started.log.data + death.encode())


def _without_sizes(line: str) -> str:
    # The engine's ratio is of sizes that the log rounds to 0.01 GB, so its fourth decimal cannot be had from them.
    line = re.sub(r"(available/pre = 0\.\d{3})\d", r"\1", line)
    return re.sub(r"-?\d+(\.\d+)? (GB|MB|GiB|MiB)|Process \d+ has", "N", line)


def _arguments(lines: list[str]) -> dict[str, str]:
    line = next(line for line in lines if "server_args=ServerArgs(" in line)
    return dict(re.findall(r"(\w+)=('[^']*'|\[[^\]]*\]|\{[^}]*\}|[^,()]+)", line))


def _kind(line: str) -> str:
    """A line without its numbers; empty for what belongs to other lines."""
    if not line.startswith("[]") or "server_args" in line or "Ignore import" in line:
        return ""
    return re.sub(r"[\d.]+|\[[\d, ]*\d\]", "0", line)
