"""What is told of a container before it is watched."""

from types import SimpleNamespace
from typing import cast

import pytest

from sgdoctor.containers.client import Client, Listed
from sgdoctor.containers.find import find, model_of
from sgdoctor.containers.transport import target_of
from sgdoctor.errors import UserError


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


class Listing:
    """A client of an engine with services of Compose.

    Args:
        members: project and name of each container of the service `llm`.
    """

    def __init__(self, *members: tuple[str, str]) -> None:
        self._members = [
            Listed(str(number) * 64, name, "image", "", 0, running=True, service="llm", project=project)
            for number, (project, name) in enumerate(members, 1)
        ]

    def inspect(self, target: str) -> SimpleNamespace | None:
        found = [one for one in self._members if one.name == target or one.id.startswith(target)]
        return SimpleNamespace(container=SimpleNamespace(id=found[0].id, name=found[0].name)) if found else None

    def containers(self, service: str = "") -> list[Listed]:
        return self._members if service == "llm" else []


def found_as(target: str, *members: tuple[str, str]) -> str:
    return find(cast("Client", Listing(*members)), target).container.name


def test_service_of_several_projects_is_no_certain_container() -> None:
    two = ("alpha", "alpha-llm-1"), ("beta", "beta-llm-1")

    with pytest.raises(UserError, match=r"several Compose projects .*: alpha-llm-1, beta-llm-1"):
        found_as("llm", *two)
    assert "beta-llm-1" == found_as("beta-llm-1", *two) == found_as("2222", *two)
    assert "llm" == found_as("llm", ("alpha", "llm"), ("beta", "beta-llm-1"))
    assert "a-llm-1" == found_as("llm", ("a", "a-llm-1"), ("a", "a-llm-2"))


def test_name_that_is_no_text_can_be_asked_for() -> None:
    assert "/containers/%FF/json?a=%FE" == target_of("/containers/\udcff/json", {"a": "\udcfe"})
