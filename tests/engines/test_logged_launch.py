"""Commands made of the arguments that real engines printed, against those that were typed."""

from pathlib import Path
from typing import Any

import pytest

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.engines.sglang.logged_launch import logged_launch
from sgdoctor.engines.sglang.server_args import HEADS, read_server_args
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import EditState, Origin

LOGS = Path(__file__).parents[2] / "fixtures/logs/real"
FLAGS = schema("0.5.15")
SMALL = "--attention-backend triton --sampling-backend pytorch --max-total-tokens 20000"
HYBRID = "--attention-backend triton --sampling-backend pytorch --mm-attention-backend triton_attn"
# What was typed behind `python3 -m sglang.launch_server`, less values that are the defaults.
TYPED = {
    "article27-mfs-0.80": f"--model-path /models/skel27 {HYBRID} --load-format dummy --dtype bfloat16 "
    "--reasoning-parser qwen3 --tool-call-parser qwen3_coder --context-length 65536 --cuda-graph-max-bs-decode 8 "
    "--mem-fraction-static 0.8",
    "boot-hybrid": f"--model-path /models/qwen3_5-hybrid {HYBRID} --enable-metrics",
    "fp8-kv-dense": f"--model-path /models/qwen3-dense {SMALL} --max-mamba-cache-size 64 --max-running-requests 8 "
    "--cuda-graph-max-bs-decode 2 --cuda-graph-backend-prefill disabled --kv-cache-dtype fp8_e4m3 --port 31450",
    "skel35moe-mfs-0.92": f"--model-path /models/skel35moe {HYBRID} --load-format dummy --dtype bfloat16 "
    "--context-length 65536 --mamba-full-memory-ratio 0.7 --mamba-radix-cache-strategy extra_buffer "
    "--enable-mixed-chunk --trust-remote-code --disable-custom-all-reduce --tool-call-parser qwen3_coder "
    "--reasoning-parser qwen3 --cuda-graph-max-bs-decode 1 --mem-fraction-static 0.92 --enable-metrics",
    "max-running-1": f"--model-path /models/qwen3-dense {SMALL} --max-running-requests 1 --enable-metrics --port 31300",
    # The old name of a flag: the engine prints the new one.
    "cli-old-cuda-graph-max-bs": f"--model-path /models/qwen3-dense {SMALL} --max-mamba-cache-size 64 "
    "--max-running-requests 8 --cuda-graph-max-bs-decode 2 --disable-radix-cache --port 31800",
}
# What the engine chose itself, and so cannot be told from what was typed.
CHOSEN = {"--mem-fraction-static", "--chunked-prefill-size", "--page-size", "--mamba-radix-cache-strategy"}


def arguments(name: str) -> dict[str, Any]:
    text = (LOGS / f"{name}.log").read_text(errors="replace")
    line = next(line for line in text.splitlines() if HEADS[0] in line)
    return read_server_args(line[line.index(HEADS[0]) :])


def values(argv: tuple[str, ...] | list[str], start: int) -> dict[str, tuple[str, ...]]:
    return {given.flag: given.values for given in given_flags(argv, start, FLAGS)}


@pytest.mark.parametrize("name", sorted(TYPED))
def test_what_was_typed_is_there_and_little_else(name: str) -> None:
    launch = logged_launch(arguments(name), "0.5.15", name).launch

    typed = values(TYPED[name].split(), 0)
    made = values(launch.argv, launch.flags_at)
    assert typed == {flag: made.get(flag) for flag in typed}
    assert made.keys() - typed.keys() <= CHOSEN


def test_a_log_is_no_launch_but_gives_the_command() -> None:
    document = logged_launch(arguments("boot-hybrid"), "0.5.15", "server.log")

    edited = document.edited(
        [
            Change("flag.set", "--dtype", "bfloat16"),
            Change("flag.unset", "--enable-metrics"),
            Change("docker.ipc", value="host"),
        ],
        FLAGS,
    )

    assert "server.log" == document.name
    assert Origin.LOG == document.launch.origin
    assert EditState.NO == document.editable.state
    assert document.text.startswith("python3 -m sglang.launch_server \\\n  --model-path /models/qwen3_5-hybrid \\\n")
    assert edited.text.endswith(" \\\n  --dtype bfloat16")
    assert "--enable-metrics" not in edited.launch.argv
    assert ["docker.ipc"] == [change.kind for change, _ in edited.left]


def test_secret_is_asked_for() -> None:
    document = logged_launch(arguments("api-key"), "0.5.15")

    assert ["secret-left-out"] == [problem.id for problem in document.problems]
    assert "--api-key" in document.problems[0].title.en
    assert "***" not in document.text


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("disable_radix_cache", True, ["--disable-radix-cache"]),
        ("disable_radix_cache", False, []),
        ("context_length", 4096, ["--context-length", "4096"]),
        ("schedule_conservativeness", 0.3, ["--schedule-conservativeness", "0.3"]),
        ("cuda_graph_bs_decode", [1, 2, 4], ["--cuda-graph-bs-decode", "1", "2", "4"]),
        ("cuda_graph_bs_decode", [], []),
        ("mm_process_config", {}, []),
        ("mm_process_config", {"image": {"max_pixels": 10}}, ["--mm-process-config", '{"image": {"max_pixels": 10}}']),
        ("cuda_graph_config", "CudaGraphConfig(decode=PhaseConfig(backend='full'))", []),
        # Its flag has another name than the field.
        ("fp8_gemm_runner_backend", "triton", ["--fp8-gemm-backend", "triton"]),
        ("no_such_field", "x", []),
        ("lora_strict_loading", True, ["--lora-strict-loading"]),
        ("random_seed", 42, []),
        ("served_model_name", "/m", []),
        ("served_model_name", "qwen", ["--served-model-name", "qwen"]),
        ("chat_template", "a b; rm -rf /", ["--chat-template", "a b; rm -rf /"]),
    ],
)
def test_kinds_of_values(field: str, value: Any, words: list[str]) -> None:
    launch = logged_launch({"model_path": "/m", field: value}, "0.5.15").launch

    assert ["--model-path", "/m", *words] == list(launch.argv[launch.flags_at :])


def test_switch_that_is_off_against_its_default() -> None:
    launch = logged_launch({"dllm_fdfo": False}, "0.5.20").launch

    assert ("--no-dllm-fdfo",) == launch.argv[launch.flags_at :]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("port", "30000 -v /:/host"),
        ("context_length", "0.9; id"),
        ("cuda_graph_bs_decode", [1, "2; id"]),
        ("cuda_graph_bs_decode", [1, "--trust-remote-code"]),
        ("lora_paths", ["a=/a", "--trust-remote-code"]),
        ("dtype", "--trust-remote-code"),
    ],
)
def test_a_log_cannot_make_more_of_a_flag_than_one_value_of_its_kind(field: str, value: Any) -> None:
    launch = logged_launch({"model_path": "/m", field: value}, "0.5.15").launch

    assert ("--model-path", "/m") == launch.argv[launch.flags_at :]
