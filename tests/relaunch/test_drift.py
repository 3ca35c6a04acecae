"""What Compose would change of a container without any edit, in words."""

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sgdoctor.containers.client import Client
from sgdoctor.launch.compose.document import open_compose
from sgdoctor.launch.inspection import open_inspection
from sgdoctor.relaunch.compose.service import ComposeService, drift

IMAGE = "lmsysorg/sglang:v0.5.15"
COMMAND = ["python3", "-m", "sglang.launch_server", "--model-path", "/m"]
FILE = f"""\
services:
  llm:
    image: {IMAGE}
    environment:
      - HF_TOKEN
      - HF_HOME=/cache
    command: {" ".join(COMMAND)}
"""


def drifted(shell: Mapping[str, str], inside: list[str], *, same: bool = False) -> str:
    """What is said of a container with these variables inside, in a shell with those.

    Args:
        shell: its variables.
        inside: entries of the container's environment.
        same: whether Compose computes the hash that the container has.
    """
    data: dict[str, Any] = {
        "Id": "4d" * 32,
        "Name": "/llm",
        "Image": "sha256:1",
        "Config": {"Image": IMAGE, "Cmd": COMMAND, "Env": inside},
        "HostConfig": {},
    }
    service = SimpleNamespace(
        hashes={"llm": "a" if same else "b"},
        origin=SimpleNamespace(service="llm", config_hash="a", version="5.6.1"),
        compose=SimpleNamespace(version=(5, 6, 1)),
        document=open_compose([("compose.yaml", FILE)], "llm", shell),
    )
    client = SimpleNamespace(image_data=lambda _: {"Id": "sha256:1"})
    found = drift(cast("Client", client), open_inspection(json.dumps(data)), cast("ComposeService", service))
    return "" if found is None else found.en


TOKEN = ["HF_TOKEN=hf_abcdefghijkl", "HF_HOME=/cache"]


@pytest.mark.parametrize(
    ("shell", "inside", "told"),
    [
        ({}, TOKEN, "Not set in this shell: HF_TOKEN."),
        ({"HF_TOKEN": "hf_other0000000"}, TOKEN, "Different are: HF_TOKEN."),
        ({}, [TOKEN[0], "HF_HOME=/other"], "Different are: HF_HOME. Not set in this shell: HF_TOKEN."),
        # It was not set then, either.
        ({}, ["HF_HOME=/other"], "Different are: HF_HOME."),
    ],
)
def test_variables_that_are_not_as_they_were(shell: dict[str, str], inside: list[str], told: str) -> None:
    said = drifted(shell, inside)

    assert f"not as when the container was made. {told} The way back, too," in said
    assert "hf_" not in said


def test_the_same_hash_is_no_drift() -> None:
    assert "" == drifted({}, TOKEN, same=True)
