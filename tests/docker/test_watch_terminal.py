"""The installed program in a real terminal, on containers of a real daemon: starts, crashes, faults."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from tests.docker.dockerd import PrivateDockerd
from tests.terminal.tmux import Screen

MODULE = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/x", "--host", "0.0.0.0", "--port", "30000"]
FAILS, SERVES = "article27-mfs-0.80", "article27-w19.28-mfs-0.92"

Start = Callable[..., Container]


@pytest.fixture
def start(docker_client: docker.DockerClient, standin_image: str) -> Start:
    """Start a container, named sgl where nothing else is said: `start("scenario", pace="20", restart_policy=...)`."""

    def starter(scenario: str, **options: Any) -> Container:
        variables = {"STANDIN_SCENARIO": scenario, "STANDIN_PACE": options.pop("pace", "0")}
        options = {"name": "sgl", "environment": variables, "detach": True} | options
        return docker_client.containers.run(standin_image, MODULE, **options)

    return starter


@pytest.fixture
def environment(docker_host: PrivateDockerd, tmp_path: Path) -> dict[str, str]:
    return {"DOCKER_HOST": docker_host.url, "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def screen(environment: dict[str, str]) -> Iterator[Screen]:
    with Screen(environment=environment) as terminal:
        yield terminal


def test_from_the_first_line_to_a_crash_loop(screen: Screen, start: Start) -> None:
    screen.run("sgdoctor watch sgl")
    screen.until("◌ WAITING", "Waiting for a container named sgl")

    start(FAILS, pace="12", restart_policy={"Name": "always"})
    screen.until("▶ STARTING", "sgl", "sglang-standin:v0.5.15", "✔ arguments", "▶ model configuration")
    screen.until("✖ FAILED", "SGL401 ●●●", "▶ 141 │", "--mem-fraction-static 0.93")
    screen.press("n")
    screen.until("▶✖ 141")

    screen.until("start 2 of 2")
    screen.until("start 3 of 3", "2 restarts")
    screen.press("[")
    screen.until("start 2 of", "✖ FAILED", "SGL401 ●●●")
    screen.press("a")
    screen.until("always the newest")
    screen.escape("always the newest")
    screen.press("q")
    assert screen.ended() in (0, 3)


def test_which_of_several_containers_is_asked(screen: Screen, start: Start) -> None:
    start(SERVES)
    start(FAILS, name="failed").wait()
    start(SERVES, name="second")
    screen.run("sgdoctor watch")
    screen.until("Which container?", "● second  Up ", "● sgl  Up ", "■ failed  Exited ", "x · sglang-standin:v0.5.15")
    screen.press("C-c")
    assert screen.ended() == 130

    screen.run("sgdoctor watch")
    screen.until("Which container?")
    screen.press("G", "Enter")
    screen.until("✖ FAILED", "failed", "SGL401 ●●●")
    screen.press("q")
    assert screen.ended() == 3


def test_a_container_that_is_removed_and_made_again(screen: Screen, start: Start) -> None:
    failed = start(FAILS)
    screen.run("sgdoctor watch sgl")
    screen.until("✖ FAILED", "SGL401 ●●●")

    failed.remove(force=True)
    screen.until("sgl was removed")
    start(SERVES)
    screen.until("✔ READY", "start 2 of 2", "20,267 tokens")
    screen.press("[")
    screen.until("✖ FAILED", "start 1 of 2", "SGL401 ●●●")
    screen.press("q")
    assert screen.ended() == 0


def test_a_daemon_that_stops_and_returns(screen: Screen, start: Start, docker_host: PrivateDockerd) -> None:
    start(SERVES, restart_policy={"Name": "always"}, stop_signal="SIGKILL")
    screen.run("sgdoctor watch sgl")
    screen.until("✔ READY")

    docker_host.stop()
    try:
        screen.until("◌ ")
    finally:
        docker_host.start()
    screen.until("✔ READY", "start 2 of 2")
    screen.press("C-c")
    assert screen.ended() == 0


def test_no_room_for_what_the_container_says(environment: dict[str, str], start: Start, tmp_path: Path) -> None:
    start(SERVES)
    small = tmp_path / "small"
    small.mkdir()
    command = f"unshare --mount sh -c 'mount -t tmpfs -o size=8k none {small} && exec sgdoctor watch sgl'"
    with Screen(environment=environment | {"XDG_STATE_HOME": str(small)}) as screen:
        screen.run(command)
        screen.until("✔ READY", "The log cannot be kept in", "20,267 tokens")
        screen.press("s")
        screen.until("Not saved: No space left on device")
        screen.press("q")
        assert screen.ended() == 0


@pytest.mark.parametrize(("scenario", "code"), [(FAILS, 3), (SERVES, 0)])
def test_lines_until_it_is_ready_or_has_failed(screen: Screen, start: Start, scenario: str, code: int) -> None:
    start(scenario, restart_policy={"Name": "always"})

    screen.run("sgdoctor watch sgl --plain --until-ready")

    assert screen.ended() == code
