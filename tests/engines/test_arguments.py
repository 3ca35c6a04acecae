from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.engines.sglang.argparse_errors import is_argument_error
from sgdoctor.engines.sglang.arguments import read_argument_error
from sgdoctor.engines.sglang.history import load_foreign, load_history
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.logs.event import Event

ERRORS: list[tuple[str, dict[str, Any]]] = [
    (
        "launch_server.py: error: unrecognized arguments: --reasoning_parser kimi_k2",
        {"kind": "unknown", "flag": "--reasoning_parser", "value": "kimi_k2", "underscore": True}
        | {"suggestion": "--reasoning-parser", "since": "0.4.6.post5", "until": "0.5.23"},
    ),
    (
        "launch_server.py: error: unrecognized arguments: --reasoning-parser deepseek-r1",
        {"kind": "unknown", "flag": "--reasoning-parser", "value": "deepseek-r1", "underscore": False}
        | {"since": "0.4.6.post5", "until": "0.5.23"},
    ),
    (
        "sglang serve: error: unrecognized arguments: --gpu-memory-utilization=0.9",
        {"kind": "unknown", "flag": "--gpu-memory-utilization", "value": "0.9", "underscore": False}
        | {"other_engine": "vllm", "suggestion": "--mem-fraction-static"},
    ),
    (
        "sglang serve: error: unrecognized arguments: -ngl 99",
        {"kind": "unknown", "flag": "-ngl", "value": "99", "underscore": False, "other_engine": "llama.cpp"},
    ),
    (
        "sglang serve: error: unrecognized arguments: --mem-fraction-statik 0.9",
        {"kind": "unknown", "flag": "--mem-fraction-statik", "value": "0.9", "underscore": False}
        | {"suggestion": "--mem-fraction-static"},
    ),
    (
        (
            "sglang serve: error: unrecognized arguments: --max-model-len 8192 --gpu-memory-utilization=0.9 "
            "--no-such-thing --max-model-len 1"
        ),
        {"kind": "unknown", "flag": "--max-model-len", "value": "8192", "underscore": False, "other_engine": "vllm"}
        | {"suggestion": "--context-length"}
        | {"flags": ("--max-model-len", "--gpu-memory-utilization", "--no-such-thing")}
        | {"others": "`--gpu-memory-utilization` -> `--mem-fraction-static`, `--no-such-thing`"},
    ),
    ("sglang serve: error: unrecognized arguments: 0.9", {"kind": "unknown", "value": "0.9"}),
    (
        "sglang serve: error: unrecognized arguments: --mamba-scheduler-strategy extra_buffer",
        {"kind": "unknown", "flag": "--mamba-scheduler-strategy", "value": "extra_buffer", "underscore": False}
        | {"since": "0.5.9", "until": "0.5.19", "renamed_to": "--mamba-radix-cache-strategy"}
        | {"suggestion": "--mamba-radix-cache-strategy"},
    ),
    (
        (
            "sglang serve: error: ambiguous option: --cuda-graph-max-bs=8 could match --cuda-graph-max-bs-decode, "
            "--cuda-graph-max-bs-prefill"
        ),
        {"kind": "ambiguous", "flag": "--cuda-graph-max-bs", "value": "8", "underscore": False}
        | {"choices": ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill"), "since": "0.4.6.post5"}
        | {"until": "0.5.19", "renamed_to": "--cuda-graph-max-bs-decode", "suggestion": "--cuda-graph-max-bs-decode"},
    ),
    (
        "launch_server.py: error: argument --tensor-parallel-size/--tp-size/--tp: expected one argument",
        {"kind": "value", "flag": "--tensor-parallel-size"},
    ),
    (
        "launch_server.py: error: argument --port: invalid int value: 'abc'",
        {"kind": "value", "flag": "--port", "value": "abc"},
    ),
    (
        "launch_server.py: error: argument --tool-call-parser: invalid choice: qwen3-coder (choose from qwen25, qwen3_coder)",
        {"kind": "choice", "flag": "--tool-call-parser", "value": "qwen3-coder", "choices": ("qwen25", "qwen3_coder")}
        | {"suggestion": "qwen3_coder"},
    ),
    (
        "launch.py: error: the following arguments are required: --model-path/--model",
        {"kind": "required", "flag": "--model-path"},
    ),
    (
        "sglang serve: error: unrecognized arguments: --disable-piecewise-cuda-graph",
        {"kind": "unknown", "flag": "--disable-piecewise-cuda-graph", "underscore": False, "since": "0.5.10.post1"}
        | {"until": "0.5.19", "renamed_to": "--cuda-graph-backend-prefill", "renamed_value": "disabled"}
        | {"suggestion": "--cuda-graph-backend-prefill"},
    ),
    ("sglang serve: error: something else", {"kind": "other"}),
]


@pytest.mark.parametrize(("text", "expected"), ERRORS, ids=range(len(ERRORS)))
def test_errors(text: str, expected: dict[str, Any]) -> None:
    assert is_argument_error(text)
    assert expected == read_argument_error(text, [])


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve: error: unrecognized arguments: --mem-fraction-static",
        "curl: error: something",
        "RuntimeError: error: unrecognized arguments",
        "docker: error: unrecognized arguments: --gpus",
    ],
)
def test_other_programs(text: str) -> None:
    assert not is_argument_error(text)


PLAIN = [
    ("int", "32k", "32768"),
    ("int", "128K", "131072"),
    ("int", "32,768", "32768"),
    ("int", "0,85", None),
    ("int", "abc", None),
    ("float", "0,85", "0.85"),
    ("float", "0,05", "0.05"),
    ("float", "85%", "0.85"),
    ("float", "32k", None),
    ("loads", "32k", None),
]


@pytest.mark.parametrize(("kind", "typed", "plain"), PLAIN)
def test_number_that_was_meant(kind: str, typed: str, plain: str | None) -> None:
    text = f"sglang serve: error: argument --some-flag: invalid {kind} value: '{typed}'"

    assert plain == read_argument_error(text, ()).get("plain")


def test_a_usage_text_decides_what_exists(real: Callable[[str], Sequence[Event]]) -> None:
    usage = [event.text for event in real("cli-unknown-flag")[3:-1]]

    def suggested(flag: str) -> object:
        return read_argument_error(f"sglang serve: error: unrecognized arguments: {flag}", usage).get("suggestion")

    assert suggested("--enable-moe-magic") is None
    assert suggested("--max_running_requests") == "--max-running-requests"
    assert suggested("--max-model-len") == "--context-length"
    assert suggested("--mem-fraction-statc") == "--mem-fraction-static"


def test_the_older_name_where_the_newer_one_is_unknown() -> None:
    history = load_history()
    index = history.versions.index("0.5.9")
    usage = [" ".join(flag for flag, mask in history.flags.items() if mask >> index & 1)]
    facts = read_argument_error("sglang serve: error: unrecognized arguments: --cuda-graph-max-bs-decode 8", usage)

    assert facts["since"] == "0.5.14"
    assert facts["suggestion"] == "--cuda-graph-max-bs"


def test_renames_lead_to_flags_that_exist() -> None:
    history = load_history()
    for old, (new, _value) in history.renames.items():
        assert old in history.flags, old
        assert new in history.flags, old
        assert version_key(history.until(new) or "") >= version_key(history.until(old) or ""), old


def test_foreign_flags_are_foreign_and_their_counterparts_are_not() -> None:
    history = load_history()
    for flag, foreign in load_foreign().items():
        assert flag not in history.flags
        assert foreign.flag is None or foreign.flag in history.flags, flag


def test_version_bounds_by_the_flags_of_a_usage_text(real: Callable[[str], Sequence[Event]]) -> None:
    facts = SGLANG.read(real("cli-bad-dtype")).facts

    assert (facts["version_min"].value, facts["version_max"].value) == ("0.5.14", "0.5.16")
