"""The installed app in a real terminal acts on real containers: crash, plan, relaunch, way back, a lost terminal."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from sgdoctor.relaunch.journal import journals
from tests.docker.dockerd import PrivateDockerd
from tests.terminal.tmux import Screen

NAME = "sgl"
SERVE = [
    *("python3", "-m", "sglang.launch_server", "--model-path", "/models/27b", "--host", "0.0.0.0", "--port", "30000"),
    *("--context-length", "65536", "--mem-fraction-static"),
]
LOW, FITS = "0.88", "0.91"
LIMIT_S = 40.0

Start = Callable[..., Container]


@pytest.fixture
def start(docker_client: docker.DockerClient, standin_image: str) -> Start:
    """Start a container named sgl with a memory fraction: `start("0.88", STANDIN_PACE="0.2")`."""

    def starter(fraction: str, *, runs: bool = True, **options: Any) -> Container:
        variables = {name: options.pop(name) for name in list(options) if name.isupper()}
        environment = {"STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", **variables}
        make = docker_client.containers.run if runs else docker_client.containers.create
        settings = {"detach": True} if runs else {}
        return make(
            standin_image, [*SERVE, fraction], name=NAME, environment=environment, stop_signal="SIGKILL",
            **settings, **options,
        )  # fmt: skip

    return starter


@pytest.fixture
def environment(docker_host: PrivateDockerd, tmp_path: Path) -> dict[str, str]:
    return {"DOCKER_HOST": docker_host.url, "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def screen(environment: dict[str, str]) -> Iterator[Screen]:
    with Screen((120, 40), environment) as terminal:
        yield terminal


@pytest.fixture
def watch(docker_host: PrivateDockerd) -> str:
    """The command, run where the addresses of the containers are."""
    return f"nsenter -t {docker_host.pid} --net {Path(sys.executable).parent / 'sgdoctor'} watch {NAME}"


def fraction_of(client: docker.DockerClient) -> str:
    return str(client.containers.get(NAME).attrs["Config"]["Cmd"][-1])


def test_crash_plan_relaunch_and_back(
    screen: Screen, start: Start, watch: str, docker_client: docker.DockerClient
) -> None:
    crashed = start(LOW)
    screen.run(watch)
    screen.until("✖ FAILED", "SGL402 ●●●", "Plan (f)  1 change · works from 0.89 to 0.97", limit=LIMIT_S)

    screen.press("f")
    screen.until(f"Relaunch {NAME} ({crashed.id[:12]}) with 1 change", "--mem-fraction-static 0.9", "expected to serve")
    screen.press("Down", "Down")
    screen.type(FITS)
    screen.until(f"+   --mem-fraction-static {FITS}", lambda text: "computing" not in text)
    screen.press("Up", "Up", "Enter")
    screen.until(f"Relaunch {NAME} ({crashed.id[:12]})?", f"Relaunch {NAME} (", " No ")
    # Leaving the question leaves everything as it is.
    screen.escape("Please confirm")
    assert docker_client.containers.get(NAME).id == crashed.id

    screen.press("Enter")
    screen.until("Please confirm")
    screen.press("y")
    screen.until("✔ make the new container beside the old one", "✔ wait until it serves", limit=LIMIT_S)
    screen.until("✔ sgl serves with the new launch", "✔ READY", limit=LIMIT_S)
    assert fraction_of(docker_client) == FITS
    assert docker_client.containers.get(NAME).id != crashed.id

    screen.escape("serves with the new launch")
    screen.press("u")
    screen.until("Go back to launch 0 of sgl", "That launch failed", f"+ --mem-fraction-static {LOW}")
    screen.press("y")
    screen.until("sgl is at launch 0 again", "✖ FAILED", limit=LIMIT_S)
    assert docker_client.containers.get(NAME).id == crashed.id
    screen.escape("sgl is at launch 0 again")
    screen.press("q")
    assert screen.ended() == 3
