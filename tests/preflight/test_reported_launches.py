"""Launches that people reported a failure of: what of its cause was to be seen before the start.

Each is built from the public report that is named; the list of all, with those that cannot be foreseen, is in
``docs/preflight.md``.
"""

from pathlib import Path

import pytest

from sgdoctor.preflight.registry import all_checks
from tests.preflight.launching import compose, host, image, shell, troubles

SERVE = "python -m sglang.launch_server --model-path /models/m"
IMAGE = image("NVIDIA_VISIBLE_DEVICES=all")


@pytest.mark.parametrize(
    ("text", "version", "rule"),
    [
        pytest.param(f"docker run --gpus all lmsysorg/sglang {SERVE} --tp 2", "0.5.15", "SGL601", id="shm-two-gpus"),
        pytest.param(
            f"docker run -d --rm --net=host --runtime nvidia lmsysorg/sglang {SERVE} --tp 2",
            "0.5.15",
            "SGL601",
            id="shm-host-network",
        ),
        pytest.param(
            f"{SERVE} --tp 2 --disable-radix-cache --trust-remote-code --tool-call-parser kimi_k2 "
            "--reasoning_parser kimi_k2 --context-length 262144",
            "0.5.5",
            "SGL101",
            id="flag-with-underscore",
        ),
        pytest.param(
            "sglang serve --model-path /models/m --cuda-graph-backend-decode breakable",
            "0.5.15",
            "SGL501",
            id="breakable-decode",
        ),
        pytest.param(
            "sglang serve --model-path Qwen/Qwen2.5-0.5B-Instruct --speculative-algorithm EAGLE3",
            "0.5.15",
            "SGL219",
            id="eagle-without-draft",
        ),
        pytest.param(
            f"http_proxy=http://10.0.0.1:3128 no_proxy=localhost,127.0.0.1 {SERVE} --host 0.0.0.0",
            "0.5.2",
            "SGL801",
            id="warm-up-through-proxy",
        ),
        pytest.param(
            f"http_proxy=http://10.0.0.1:3128 no_proxy='127.0.0.1,[::1]' {SERVE}",
            "0.5.13",
            "SGL802",
            id="no-proxy-ipv6",
        ),
        pytest.param(
            "python -m sglang.launch_server --model-path meta-llama/Llama-2-7b-chat-hf --port 30000",
            "0.5.15",
            "SGL310",
            id="gated-without-token",
        ),
        pytest.param(f"CUDA_HOME=:/usr/local/cuda-12.8 {SERVE}", "0.5.15", "SGL521", id="toolkit-with-colon"),
    ],
)
def test_causes_in_the_command(text: str, version: str, rule: str, tmp_path: Path) -> None:
    names = [check.id for check in all_checks()]

    assert rule in [found for _, found in troubles(shell(text, tmp_path, image=IMAGE, version=version), *names)]


def test_a_port_of_another_project_and_of_another_program(tmp_path: Path) -> None:
    text = f"""services:
  llm:
    image: lmsysorg/sglang:latest
    runtime: nvidia
    ports: ["8000:30000"]
    command: {SERVE} --host 0.0.0.0
"""
    published = [{"IP": "0.0.0.0", "PublicPort": 8000, "PrivatePort": 8000, "Type": "tcp"}]
    project = {"Id": "1", "Names": ["/rag-api-1"], "State": "running", "Ports": published, "Labels": {}}
    held = compose(text, tmp_path, host(containers=(project,)), image=IMAGE)
    listened = compose(text, tmp_path, host(listening={8000: "apache2"}), image=IMAGE)

    assert troubles(held, "launch-port") == [("fail", "SGL020")]
    assert troubles(listened, "launch-port") == [("fail", "SGL021")]


def test_a_variable_with_a_blank_before_its_name(tmp_path: Path) -> None:
    text = f"""services:
  llm:
    image: lmsysorg/sglang:latest
    runtime: nvidia
    environment:
      - "NVIDIA_VISIBLE_DEVICES =all"
    command: {SERVE}
"""

    assert ("fail", None) in troubles(compose(text, tmp_path, image=image("PATH=/bin")), "launch-written")


def test_a_launch_that_worked_is_only_open(tmp_path: Path) -> None:
    text = (
        "docker run -d --gpus device=0 --shm-size 32g --ipc=host -p 11434:30000 lmsysorg/sglang:latest "
        f"{SERVE} --dtype bfloat16 --reasoning-parser qwen3 --tool-call-parser qwen3_coder --context-length 65536 "
        "--host 0.0.0.0 --port 30000"
    )

    assert troubles(shell(text, tmp_path, image=IMAGE, version="0.5.14")) == [("warn", None)]
