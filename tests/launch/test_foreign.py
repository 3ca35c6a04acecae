"""Other engines, and commands that run in another place, are refused in one line; everything else passes."""

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.commands import nothing_in
from sgdoctor.launch.compose import open_compose
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.foreign import refuse_elsewhere, refuse_other_engine, refuse_several

ENGINE = "python3 -m sglang.launch_server --model-path /m"


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("vllm serve m --max-model-len 4096", "vllm"),
        ("./llama-server -m x.gguf", "llama.cpp"),
        ("docker run vllm/vllm-openai:latest --model m", "vllm"),
        ("docker run ghcr.io/ggml-org/llama.cpp:server-cuda -m x.gguf", "llama.cpp"),
        ("docker run ghcr.io/huggingface/text-generation-inference:2 --model-id m", "text-generation-inference"),
    ],
)
def test_other_engines(text: str, engine: str) -> None:
    with pytest.raises(UserError, match=f"run.sh: this starts {engine};") as refused:
        refuse_other_engine(read_shell(text, "run.sh"))

    assert f"它启动的是 {engine}；" in refused.value.zh


@pytest.mark.parametrize(
    "text",
    [
        ENGINE,
        f"docker run lmsysorg/sglang {ENGINE}",
        "docker run lmsysorg/sglang /start.sh",
        "docker run me/llm:1 /start.sh",
        f"docker run me/vllm-and-more {ENGINE}",
        "docker run me/vllm-and-sglang:1 --model-path /m",
        "docker run me/revllm:1 --model-path /m",
    ],
)
def test_what_may_be_sglang(text: str) -> None:
    refuse_other_engine(read_shell(text))


@pytest.mark.parametrize(
    ("text", "carrier"),
    [
        (f"docker exec -it sgl {ENGINE}", "docker"),
        (f'sudo docker exec sgl bash -c "{ENGINE}"', "docker"),
        (f"docker compose run --rm sgl {ENGINE}", "docker"),
        (f"kubectl exec pod -- {ENGINE}", "kubectl"),
        (f"ssh gpu1 {ENGINE}", "ssh"),
    ],
)
def test_carried_to_another_place(text: str, carrier: str) -> None:
    with pytest.raises(UserError, match=f"run.sh: {carrier} starts the engine in another place") as refused:
        refuse_elsewhere(read_shell(text, "run.sh"))

    assert f"由 {carrier} 在别处启动" in refused.value.zh


@pytest.mark.parametrize(
    "text",
    [
        ENGINE,
        f"numactl -N 0 {ENGINE} --tokenizer-path ssh",
        f"docker run lmsysorg/sglang {ENGINE}",
        f"bash -c '{ENGINE}'",
    ],
)
def test_what_runs_here(text: str) -> None:
    refuse_elsewhere(read_shell(text))


def test_flags_alone_are_nothing_that_an_engine_starts_in() -> None:
    assert nothing_in(["--model-path", "/m"]).why == nothing_in([]).why


TWO = f'"{ENGINE} --port 1 & sglang serve --model-path /n --port=2"'
BOTH = r"`python3 -m sglang.launch_server --model-path /m --port 1` \(line 1\), `sglang serve --model-path /n --port=2`"


def test_two_launches_in_one_container() -> None:
    service = f"services:\n  sgl:\n    image: sglang\n    command: bash -c {TWO}\n"
    for document in (
        read_shell(f"docker run sglang bash -c {TWO}", "compose.yaml:sgl"),
        open_compose([("compose.yaml", service)], None, {}),
    ):
        with pytest.raises(UserError, match=f"compose.yaml:sgl: the engine is started more than once: {BOTH}"):
            refuse_several(document)


def test_two_launches_without_a_container() -> None:
    with pytest.raises(UserError, match=f"run.sh: the engine is started more than once: {BOTH}"):
        read_shell(TWO.strip('"'), "run.sh")


@pytest.mark.parametrize("text", [ENGINE, f"docker run sglang bash -c '{ENGINE}'", "docker run sglang bash /x.sh"])
def test_one_launch_or_none_to_be_seen(text: str) -> None:
    refuse_several(read_shell(text))
