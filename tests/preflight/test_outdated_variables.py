"""Variables whose time is over, seen from the version that will read them."""

from pathlib import Path

import pytest

from sgdoctor.engines.sglang.variables import outdated_variables
from sgdoctor.launch.change import Change
from sgdoctor.preflight.model import Status
from tests.preflight.launching import found, shell

ENGINE = "python3 -m sglang.launch_server --model-path /models/m"


@pytest.mark.parametrize(
    ("name", "value", "version", "expected"),
    [
        ("SGL_ENABLE_JIT_DEEPGEMM", "0", "0.5.15", ["SGLANG_ENABLE_JIT_DEEPGEMM"]),
        ("SGL_ENABLE_JIT_DEEPGEMM", "0", "0.5.2", []),
        ("SGLANG_ENABLE_JIT_DEEPGEMM", "0", "0.5.15", []),
        ("TRANSFORMERS_CACHE", "/cache", "0.5.9", []),
        ("TRANSFORMERS_CACHE", "/cache", "0.5.10.post1", ["HF_HUB_CACHE"]),
        ("SGLANG_MAMBA_CONV_DTYPE", "bfloat16", "0.5.15", [""]),
        ("SGLANG_MAMBA_CONV_DTYPE", "float16", "0.5.15", []),
        ("SGLANG_MAMBA_CONV_DTYPE", None, "0.5.15", []),
        ("HF_TOKEN", "x", "0.5.23", []),
    ],
)
def test_what_is_outdated_depends_on_the_version(
    name: str, value: str | None, version: str, expected: list[str]
) -> None:
    assert expected == [one.becomes for one in outdated_variables({name: value}, version)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            "SGL_ENABLE_JIT_DEEPGEMM=0",
            (Change("env.unset", "SGL_ENABLE_JIT_DEEPGEMM"), Change("env.set", "SGLANG_ENABLE_JIT_DEEPGEMM", "0")),
        ),
        (
            "SGLANG_SUPPORT_CUTLASS_BLOCK_FP8=1",
            (
                Change("env.unset", "SGLANG_SUPPORT_CUTLASS_BLOCK_FP8"),
                Change("flag.set", "--fp8-gemm-backend", "cutlass"),
            ),
        ),
        ("HF_HUB_ENABLE_HF_TRANSFER=1", (Change("env.unset", "HF_HUB_ENABLE_HF_TRANSFER"),)),
    ],
)
def test_a_work_around_whose_time_is_over_is_to_be_removed(
    given: str, expected: tuple[Change, ...], tmp_path: Path
) -> None:
    situation = shell(f"docker run -e {given} lmsysorg/sglang:v0.5.15 {ENGINE}", tmp_path)

    [finding] = found(situation, "command-variables")

    assert finding.status is Status.WARN
    assert expected == finding.changes
    assert "since SGLang" in finding.title.en
    assert "起" in finding.title.zh


def test_variables_that_are_needed_pass(tmp_path: Path) -> None:
    situation = shell(f"docker run -e HF_TOKEN=x lmsysorg/sglang:v0.5.15 {ENGINE}", tmp_path)

    assert [Status.PASS] == [finding.status for finding in found(situation, "command-variables")]
