"""The installed app in a real terminal acts on real containers: crash, plan, relaunch, way back, a lost terminal."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from sgdoctor.relaunch.journal import journals
from tests.composes import first, modern, needed
from tests.docker.dockerd import PrivateDockerd
from tests.terminal.tmux import Screen

NAME = "sgl"
SERVE = [
    *("python3", "-m", "sglang.launch_server", "--model-path", "/models/27b", "--host", "0.0.0.0", "--port", "30000"),
    *("--context-length", "65536", "--mem-fraction-static"),
]
LOW, FITS, CHOSEN = "0.88", "0.91", "0.90"
LIMIT_S = 90.0

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


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Its path is short: a name in it is not cut where a line of the screen ends, wherever the tests run."""
    with tempfile.TemporaryDirectory(prefix="sgd-") as folder:
        yield Path(folder)


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


# ---------------------------------------------------------------- a service of Compose


COMPOSE = """\
services:
  llm: # the big one
    image: {image}
    container_name: sgl
    environment: {{STANDIN_SCENARIO: decide, STANDIN_MODEL: qwen3.6-27b}}
    stop_signal: SIGKILL
    command: >
      python3 -m sglang.launch_server --model-path /models/27b
      --host 0.0.0.0 --port 30000 --context-length 65536
      --mem-fraction-static {fraction}
"""


def test_crash_plan_relaunch_and_back_of_a_service(
    screen: Screen,
    watch: str,
    environment: dict[str, str],
    docker_client: docker.DockerClient,
    standin_image: str,
    short_folder: Path,
) -> None:
    file, text = short_folder / "compose.yaml", COMPOSE.format(image=standin_image, fraction=LOW)
    file.write_bytes(text.encode())
    words = [*needed(modern() or first()), "-f", file.name, "up", "-d"]
    subprocess.run(words, env=os.environ | environment, cwd=short_folder, check=True, capture_output=True)
    crashed = docker_client.containers.get(NAME).id
    screen.run(watch)
    screen.until("✖ FAILED", "SGL402 ●●●", "Plan (f)", limit=LIMIT_S)

    screen.press("f")
    screen.until(f"Relaunch {NAME} (", "command: >", "expected to serve")
    screen.press("Down", "Down")
    screen.type(CHOSEN)
    screen.until(f"+       --mem-fraction-static {CHOSEN}", lambda shown: "computing" not in shown)
    screen.press("Up", "Up", "Enter")
    screen.until(f"Relaunch {NAME} ({crashed[:12]})?", "Through", "compose.yaml", limit=LIMIT_S)
    # Nothing is written before the answer.
    assert [text, crashed] == [file.read_text(), docker_client.containers.get(NAME).id]
    assert ["compose.yaml"] == [one.name for one in short_folder.iterdir()]
    screen.press("y")
    screen.until("✔ copy the compose file", "✔ write the compose file", "✔ start the new server", limit=LIMIT_S)
    screen.until("✔ sgl serves with the new launch", "✔ READY", limit=LIMIT_S)
    relaunched = docker_client.containers.get(NAME)
    assert CHOSEN == relaunched.attrs["Config"]["Cmd"][-1]
    assert crashed != relaunched.id
    assert text.replace(LOW, CHOSEN) == file.read_text()

    screen.escape("serves with the new launch")
    screen.press("u")
    screen.until("Go back to launch 0 of sgl", "That launch failed", f"+ --mem-fraction-static {LOW}")
    screen.press("y")
    screen.until("sgl is at launch 0 again", "✖ FAILED", limit=LIMIT_S)
    assert text.encode() == file.read_bytes()
    assert LOW == docker_client.containers.get(NAME).attrs["Config"]["Cmd"][-1]
    screen.escape("sgl is at launch 0 again")
    screen.press("q")
    assert screen.ended() == 3
    assert [] == open_journals(environment)


# ---------------------------------------------------------------- in the middle


SLOW = {"STANDIN_PACE": "20"}


def open_journals(environment: dict[str, str]) -> list[str]:
    root = Path(environment["XDG_STATE_HOME"]) / "sgdoctor"
    return [f"{one.progress[-1].step} {one.progress[-1].state}" for one in journals(root=root) if one.outcome is None]


def begin_slow_relaunch(screen: Screen, watch: str) -> int:
    """Bring the app to where it waits for the new server; the process id of the app."""
    screen.run(watch)
    screen.until("✖ FAILED", "Plan (f)", limit=LIMIT_S)
    screen.press("r")
    screen.until("Please confirm", f"Relaunch {NAME} (")
    screen.press("y")
    screen.until("▶ wait until it serves", "▶ STARTING", limit=LIMIT_S)
    found = subprocess.run(
        ["pgrep", "-P", screen.ask("pane_pid"), "-f", "sgdoctor"], capture_output=True, text=True, check=True
    )
    return int(found.stdout.split()[0])


def test_a_terminal_that_is_closed_does_not_leave_the_server_down(
    environment: dict[str, str], start: Start, watch: str, docker_client: docker.DockerClient
) -> None:
    crashed = start(LOW, **SLOW)
    with Screen((120, 40), environment) as closed:
        pid = begin_slow_relaunch(closed, watch)
    # The terminal is gone, and with it the app; the relaunch goes on.
    with Screen((120, 40), environment) as screen:
        screen.run(watch)
        screen.until(f"is being relaunched at this moment by process {pid}")
        screen.press("u")
        screen.until("is being relaunched at this moment", lambda text: "Please confirm" not in text)
        os.kill(pid, signal.SIGKILL)
        screen.press("q")
        screen.ended()
        assert ["ready begun"] == open_journals(environment)

        screen.run(watch)
        screen.until("! a relaunch of sgl was cut off", "at: wait until it serves")
        screen.press("r")
        screen.until("Go on with the relaunch of sgl")
        screen.press("y")
        screen.until("✔ sgl serves with the new launch", limit=LIMIT_S)
        screen.escape("serves with the new launch")
        screen.until("✔ READY", lambda text: "cut off" not in text)
        screen.press("q")
        assert screen.ended() == 0
    assert [] == open_journals(environment)
    assert crashed.id != docker_client.containers.get(NAME).id


def test_killed_in_the_middle_and_undone(
    environment: dict[str, str], start: Start, watch: str, docker_client: docker.DockerClient
) -> None:
    crashed = start(LOW, **SLOW)
    with Screen((120, 40), environment) as screen:
        pid = begin_slow_relaunch(screen, watch)
        os.kill(pid, signal.SIGKILL)
        screen.until("code:137")
    with Screen((120, 40), environment) as screen:
        screen.run(watch)
        screen.until("! a relaunch of sgl was cut off")
        screen.press("f")
        screen.until("Relaunch sgl (", "What it means")
        screen.escape("What it means")
        screen.press("u")
        screen.until("Undo the relaunch of sgl that was cut off at: wait until it serves?")
        screen.press("y")
        screen.until("✔ sgl: the relaunch was undone; everything is as before.", limit=LIMIT_S)
        screen.escape("everything is as before")
        screen.press("q")
        screen.ended()
    assert [] == open_journals(environment)
    assert crashed.id == docker_client.containers.get(NAME).id


def test_stopped_in_the_middle_it_goes_back(
    screen: Screen, start: Start, watch: str, docker_client: docker.DockerClient
) -> None:
    crashed = start(LOW, **SLOW)
    begin_slow_relaunch(screen, watch)
    # Esc hides the steps; the line above the panes stays, and quitting asks.
    screen.escape("▶ wait until it serves")
    screen.until("▶ Relaunching sgl", "wait until it serves")
    screen.press("q")
    screen.until("Stop and go back to what sgl was?")
    screen.press("n")
    screen.until(lambda text: "Please confirm" not in text)
    screen.press("f")
    screen.until("✔ start the new server")
    screen.press("c")
    screen.until("Stop and go back to what sgl was?")
    screen.press("y")
    screen.until("sgl: stopped by you; everything is as before.", limit=LIMIT_S)
    screen.escape("stopped by you")
    screen.press("q")
    screen.ended()
    assert crashed.id == docker_client.containers.get(NAME).id


def test_read_only_acts_on_nothing(
    screen: Screen, start: Start, watch: str, docker_client: docker.DockerClient
) -> None:
    crashed = start(LOW)
    screen.run(f"{watch} --read-only")
    screen.until("✖ FAILED", "Plan (f)", limit=LIMIT_S)
    for key in ("r", "u", "h"):
        screen.press(key)
        screen.until("Read-only: nothing is changed here.")
    screen.press("f")
    screen.until("What it means", "[x] Set")
    screen.press("Enter")
    screen.wait(0.5)
    screen.until(lambda text: "Please confirm" not in text)
    screen.escape("What it means")
    screen.press("q")
    screen.ended()
    assert [crashed.id] == [one.id for one in docker_client.containers.list(all=True)]


# ---------------------------------------------------------------- healing, checking


def test_heal_ends_on_a_verified_server(
    screen: Screen, start: Start, watch: str, docker_client: docker.DockerClient
) -> None:
    start(LOW)
    screen.run(watch)
    screen.until("✖ FAILED", limit=LIMIT_S)
    screen.press("h")
    screen.until("Heal sgl (", "Up to 3 relaunches", "-   --mem-fraction-static 0.88")
    screen.press("y")
    screen.until("Relaunch 1 of at most 3: --mem-fraction-static", limit=LIMIT_S)
    screen.until("✔ sgl is healed after", "its answers were checked", "Enter shows the report", limit=LIMIT_S)
    screen.press("Enter")
    screen.until("Report: sgl", "What was tried", "As it was found: failed", "ready and verified")
    screen.escape("What was tried")
    screen.escape("Enter shows the report")
    screen.until("✔ READY")
    screen.press("q")
    assert screen.ended() == 0
    assert LOW != fraction_of(docker_client)


def test_a_container_that_was_never_started_is_checked(screen: Screen, start: Start, watch: str) -> None:
    start(LOW, runs=False)
    screen.run(watch)
    screen.until("never started", "p checks its launch first")
    screen.press("p")
    screen.until("Preflight: sgl", "Command", limit=LIMIT_S)
    screen.escape("Preflight: sgl")
    screen.press("q")
    screen.ended()
