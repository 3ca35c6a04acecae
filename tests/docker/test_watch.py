"""Watching containers of a real daemon, line by line, as a user of the installed program does."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.models.containers import Container

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.spool import Spool
from sgdoctor.diagnosis.model import State
from sgdoctor.rules.base import load_rule_base
from sgdoctor.watching.container_feed import ContainerFeed
from sgdoctor.watching.model import LineKind, Link, Snapshot
from sgdoctor.watching.session import Session
from tests.conftest import LOGS
from tests.docker.dockerd import PrivateDockerd

MODULE = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/x"]
WATCH = [sys.executable, "-m", "sgdoctor", "watch"]

Start = Callable[..., Container]


@pytest.fixture
def start(docker_client: docker.DockerClient, standin_image: str) -> Start:
    """Start a container: `start("name", "scenario", restart_policy=...)`."""

    def starter(name: str, scenario: str, **options: Any) -> Container:
        variables = {"STANDIN_SCENARIO": scenario, "STANDIN_PACE": options.pop("pace", "0")}
        return docker_client.containers.run(
            standin_image, MODULE, name=name, environment=variables, detach=True, **options
        )

    return starter


@pytest.fixture
def environment(docker_host: PrivateDockerd, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "DOCKER_HOST": docker_host.url, "XDG_STATE_HOME": str(tmp_path / "state"), "LANG": "C.UTF-8"}


class Watcher:
    """A session on a container, and its newest snapshot."""

    def __init__(self, host: PrivateDockerd, name: str, state: Path) -> None:
        self.feed = ContainerFeed(Endpoint(host.url), name, spool=Spool(state))
        self.session = Session(self.feed, load_rule_base())
        self._changed = threading.Condition()
        self._newest: Snapshot | None = None
        self.session.start(self._take)

    def _take(self, snapshot: Snapshot) -> None:
        with self._changed:
            self._newest = snapshot
            self._changed.notify_all()

    def wait(self, enough: Callable[[Snapshot], bool]) -> Snapshot:
        with self._changed:
            assert self._changed.wait_for(lambda: self._newest is not None and enough(self._newest), 30), self._newest
            assert self._newest is not None
            return self._newest


@pytest.fixture
def watch(docker_host: PrivateDockerd, tmp_path: Path) -> Iterator[Callable[[str], Watcher]]:
    watchers: list[Watcher] = []

    def watcher(name: str) -> Watcher:
        watchers.append(Watcher(docker_host, name, tmp_path))
        return watchers[-1]

    yield watcher
    for opened in watchers:
        opened.session.stop()


def recorded(name: str) -> bytes:
    return (LOGS / "real" / f"{name}.log").read_bytes()


def test_a_crash_loop_is_told_start_by_start(start: Start, watch: Callable[[str], Watcher], tmp_path: Path) -> None:
    names = ["cli-unknown-flag", "bcg-decode-hybrid", "skel27-mfs-0.88"]
    watcher = watch("sgl")
    waiting = watcher.wait(lambda snapshot: snapshot.note.en.startswith("Waiting for a container named sgl"))

    start("sgl", ",".join(names), restart_policy={"Name": "always"}, ports={"30000/tcp": 15433})
    newest = watcher.wait(
        lambda snapshot: (
            len(snapshot.attempts) == 3 and snapshot.verdict.state is State.HEALTHY and snapshot.uptime is not None
        )
    )

    assert waiting.link is Link.WAITING
    assert [attempt.state for attempt in newest.attempts] == [State.FAILED, State.FAILED, State.HEALTHY]
    assert newest.subject.name == "sgl"
    assert newest.subject.ports == "15433->30000"
    assert newest.subject.restarts == 2
    assert newest.link is Link.FOLLOWING
    lines = watcher.session.lines
    added = [lines.text(number) for number in lines.select(frozenset({LineKind.ADDED}))]
    assert [text.removesuffix(" (restarting)") for text in added] == [f"sgl exited with code {code}" for code in (2, 0)]
    assert len(lines.select(None, attempt=1)) == recorded(names[0]).count(b"\n") + 1
    assert len(list((tmp_path / "spool" / "sgl").glob("*.log"))) == 3


def test_a_container_that_ended_long_ago_is_told_and_over(start: Start, watch: Callable[[str], Watcher]) -> None:
    start("sgl", "bcg-decode-hybrid").wait()

    watcher = watch("sgl")
    last = watcher.wait(lambda snapshot: snapshot.verdict.state is State.FAILED and snapshot.link is Link.WAITING)
    limit = time.monotonic() + 10
    while not watcher.session.over and time.monotonic() < limit:
        time.sleep(0.02)

    assert watcher.session.over
    assert last.verdict.diagnoses[0].rule.name == "bcg-decode-output"


def test_stopping_is_quick_and_leaves_nothing(start: Start, watch: Callable[[str], Watcher]) -> None:
    start("sgl", "boot-dense")
    watcher = watch("sgl")
    watcher.wait(lambda snapshot: snapshot.lines > 100)
    began = time.monotonic()

    watcher.session.stop()

    assert time.monotonic() - began < 2
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("sgdoctor")] == []


def test_line_mode_waits_for_a_container_and_leaves_when_it_serves(start: Start, environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [*WATCH, "sgl", "--until-ready"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    start("sgl", "skel27-mfs-0.88", pace="20")
    out, err = process.communicate(timeout=60)

    assert first.startswith("sgdoctor: Waiting for a container named sgl")
    # Between its creation and its start the container may have been seen.
    assert err in ("", "sgdoctor: The container sgl was created and never started: docker start sgl\n")
    assert " Serving on http://" in out.splitlines()[-1]
    assert process.returncode == 0


def test_line_mode_ends_with_the_container(start: Start, environment: dict[str, str]) -> None:
    start("sgl", "article27-mfs-0.80")

    done = subprocess.run([*WATCH], env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.splitlines()[-1].startswith("failed at state cache: ")


def test_several_servers_are_named(start: Start, environment: dict[str, str]) -> None:
    for name in ("one", "two"):
        start(name, "boot-dense")

    done = subprocess.run([*WATCH], env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert "two, one" in done.stderr
    assert "sgdoctor watch two" in done.stderr
