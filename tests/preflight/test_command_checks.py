"""Checks of commands: flags against the version, values, scripts, engines."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sgdoctor.preflight.model import Status
from sgdoctor.preflight.models.folder import read_folder
from tests.preflight.launching import cards, compose, found, host, shell, troubles

ENGINE = "python3 -m sglang.launch_server --model-path /models/m"
WORKING = """\
import sys
from sglang.launch_server import run_server
from sglang.srt.server_args import prepare_server_args
if __name__ == "__main__":
    run_server(prepare_server_args(sys.argv[1:]))
"""
WARN, FAIL, SKIPPED = "warn", "fail", "skipped"


@pytest.mark.parametrize(
    ("flags", "version", "expected"),
    [
        ("--dtype bfloat16", "0.5.15", []),
        ("--tp 2 --shm-size", "0.5.15", [(FAIL, "SGL109")]),
        ("--mem-fraction-statics 0.9", "0.5.15", [(FAIL, "SGL106")]),
        ("--gpu-memory-utilization 0.9", "0.5.15", [(FAIL, "SGL102")]),
        ("--cuda-graph-max-bs 8", "0.5.15", [(WARN, None)]),
        ("--cuda-graph-max-bs 8", "0.5.23", [(FAIL, "SGL111")]),
        ("--cuda-graph-max-bs-decode 8", "0.5.9", [(FAIL, "SGL104")]),
        ("--reasoning-parser qwen", "0.5.15", [(FAIL, "SGL110")]),
        ("--context-length 64K", "0.5.9", [(FAIL, "SGL113")]),
        ("--cuda-graph-backend-decode breakable", "0.5.15", [(FAIL, "SGL501")]),
        ("--mem-fraction-static 92", "0.5.15", [(FAIL, None)]),
        ("--enable-dynamic-chunking", "0.5.15", [(WARN, None)]),
        ("--attention-backend trtllm_mha", "0.5.15", [(FAIL, "SGL541")]),
        ("--cuda-graph-max-bs-decode 8", "0.5.99", [(SKIPPED, None)]),
    ],
)
def test_flags(flags: str, version: str, expected: list[object], tmp_path: Path) -> None:
    assert troubles(shell(f"{ENGINE} {flags}", tmp_path, version=version), "command-flags") == expected


def test_an_unknown_version_makes_only_what_holds_for_all_of_them_fail(tmp_path: Path) -> None:
    known = shell(f"{ENGINE} --cuda-graph-max-bs 8 --mem-fraction-statics 0.9", tmp_path, version="0.5.23")
    unknown = replace(known, version=None)

    assert troubles(known, "command-flags") == [(FAIL, "SGL111"), (FAIL, "SGL106")]
    assert troubles(unknown, "command-flags") == [(WARN, "SGL111"), (FAIL, "SGL106"), (SKIPPED, None)]


@pytest.mark.parametrize("flags", ["--tp-size 0", "--context-length -5", "--page-size 0", "--port 99999"])
def test_a_number_out_of_its_bounds_fails_in_every_version(flags: str, tmp_path: Path) -> None:
    situation = replace(shell(f"{ENGINE} {flags}", tmp_path, version="0.5.23"), version=None)

    assert (FAIL, None) == troubles(situation, "command-flags")[0]


def test_mistakes_of_writing_are_told_once(tmp_path: Path) -> None:
    text = f"""services:
  llm:
    image: lmsysorg/sglang:latest
    command: >
      {ENGINE}
      # the type
      --dtype bfloat16 –trust-remote-code
"""
    situation = compose(text, tmp_path)

    assert troubles(situation, "launch-written", "command-flags") == [(FAIL, "SGL108"), (FAIL, "SGL107")]


def test_options_of_docker_among_the_flags_are_told_once(tmp_path: Path) -> None:
    situation = shell(f"docker run --gpus all lmsysorg/sglang:latest {ENGINE} --shm-size 32g", tmp_path)

    assert troubles(situation, "launch-written", "command-flags") == [(FAIL, "SGL109")]


@pytest.mark.parametrize(
    ("env", "flags", "expected"),
    [
        ("", "--mem-fraction-static 0.92", []),
        ("", "--mem-fraction-static 0.96", [(WARN, "SGL414")]),
        ("", "--watchdog-timeout 30", [(WARN, "SGL701")]),
        ("", "--watchdog-timeout 0.02", [(FAIL, "SGL701")]),
        ("", "--watchdog-timeout 300", []),
        ("", "--watchdog-timeout -1", []),
        ("SGLANG_WARMUP_TIMEOUT=20", "", [(WARN, "SGL711")]),
        ("SGLANG_WARMUP_TIMEOUT=-1", "", []),
        ("SGLANG_HEALTH_CHECK_TIMEOUT=5", "", [(WARN, "SGL703")]),
        ("SGLANG_HEALTH_CHECK_TIMEOUT=soon", "", []),
        ("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1", "--context-length 1000000", [(WARN, "SGL212")]),
        ("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1", "", []),
        ("CUDA_LAUNCH_BLOCKING=1", "", [(WARN, None)]),
        ("CUDA_HOME=:/usr/local/cuda-12.8", "", [(WARN, "SGL521")]),
        ("CUDA_HOME=/usr/local/cuda-12.8", "", []),
    ],
)
def test_values(env: str, flags: str, expected: list[object], tmp_path: Path) -> None:
    assert troubles(shell(f"{env} {ENGINE} {flags}", tmp_path), "command-constants") == expected


def test_a_high_fraction_is_usual_on_large_cards(tmp_path: Path) -> None:
    situation = shell(f"{ENGINE} --mem-fraction-static 0.95", tmp_path, host(cards=cards("h200")))

    assert troubles(situation, "command-constants") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGINE, []),
        ("docker run --gpus all lmsysorg/sglang:latest --model-path /m", [(FAIL, "SGL031")]),
        ("docker run --gpus all lmsysorg/sglang:latest bash /start.sh", [(SKIPPED, None)]),
        ("docker run --gpus all vllm/vllm-openai vllm serve /m", [(SKIPPED, None)]),
        # Told by the check of the writing.
        (f"docker run --gpus all lmsysorg/sglang:latest bash -c {ENGINE}", []),
    ],
)
def test_engines(text: str, expected: list[object], tmp_path: Path) -> None:
    found_here = troubles(shell(text, tmp_path), "command-engine")

    assert found_here == expected


def test_flags_of_other_engines_are_left_alone(tmp_path: Path) -> None:
    situation = shell("docker run --gpus all -p 1:1 vllm/vllm-openai vllm serve /m --max-model-len 4096", tmp_path)

    assert [one for one in found(situation) if one.status is Status.FAIL] == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (WORKING, []),
        (
            "from sglang.srt.server import launch_server_cli\nlaunch_server_cli()\n",
            [(FAIL, "SGL140"), (FAIL, "SGL141")],
        ),
        ("import sglang\ndef broken(:\n", [(FAIL, "SGL146")]),
    ],
)
def test_scripts(script: str, expected: list[object], tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(script, encoding="utf-8")
    situation = shell("python3 launch.py --model-path /m", tmp_path)

    assert troubles(situation, "command-script") == expected


@pytest.mark.parametrize(
    ("numbers", "flags", "expected", "fitting"),
    [
        ({"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336}, "--tp 2", [], None),
        ({"num_attention_heads": 40, "num_key_value_heads": 40}, "--tp 3", [(FAIL, "SGL622")], "2"),
        ({"num_attention_heads": 48, "num_key_value_heads": 8}, "--tp 3", [(FAIL, "SGL622")], "2"),
        ({"num_attention_heads": 32, "num_key_value_heads": 2}, "--tp 4", [], None),
        ({"num_attention_heads": 48, "num_key_value_heads": 8, "kv_lora_rank": 512}, "--tp 3", [], None),
        ({"num_attention_heads": 24, "intermediate_size": 1000}, "--tp 3", [(FAIL, "SGL621")], "2"),
        ({"num_attention_heads": 24, "intermediate_size": 1000, "num_experts": 8}, "--tp 3", [], None),
        ({"num_attention_heads": 20}, "--tp 8 --dp 2 --enable-dp-attention", [], None),
        ({"num_attention_heads": 20}, "--tp 8", [(FAIL, "SGL622")], "4"),
        ({"num_attention_heads": 5}, "", [], None),
    ],
)
def test_division_among_gpus(
    numbers: dict[str, int], flags: str, expected: list[object], fitting: str | None, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "x", "text_config": numbers}), encoding="utf-8")
    situation = shell(f"{ENGINE} {flags}", tmp_path, model=read_folder("/models/m", tmp_path))
    changes = [change.value for finding in found(situation, "command-split") for change in finding.changes]

    assert troubles(situation, "command-split") == expected
    assert changes == ([] if fitting is None else [fitting])
