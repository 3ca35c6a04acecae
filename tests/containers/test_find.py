"""What is told of a container before it is watched."""

import pytest

from sgdoctor.containers.client import Listed
from sgdoctor.containers.find import model_of


@pytest.mark.parametrize(
    ("command", "model"),
    [
        ("python3 -m sglang.launch_server --model-path /models/Qwen3.5-27B/ --port 1", "Qwen3.5-27B"),
        ("sglang serve --model-path=Qwen/Qwen3-0.6B", "Qwen3-0.6B"),
        ("python3 -m sglang.launch_server --model llama", "llama"),
        ("bash /start.sh", ""),
    ],
)
def test_the_model_is_named_by_the_command(command: str, model: str) -> None:
    assert model_of(Listed("0" * 64, "sgl", "image", command, 0, running=True)) == model
