"""How long a relaunch takes from consent to the start of the new container, beside what does the same without a way back.

Containers beside `docker compose up -d --force-recreate` of a service of the same kind where a Compose is there, and
else beside `docker rm` and `run`; services of Compose beside the same of the same service, for each generation of
Compose that is there. What is asked before consent is not counted, as the user reads meanwhile. Starts a private Docker
daemon as the tests do (root, docker.io and busybox-static of Debian) and removes it again:

    python -m benchmarks.relaunch [TIMES]
"""

import contextlib
import os
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.composes import first, modern, path_with_tools
from tests.docker import launches
from tests.docker.composing import Project
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import CHANGE, HURRY, NAME, READY, SERVE, Stage
from tests.launch.tables import FLAGS

from sgdoctor.containers.client import Client
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection
from sgdoctor.relaunch.compose import Edition, edition, open_service, rehearsed
from sgdoctor.relaunch.launching import relaunch
from sgdoctor.relaunch.model import Ending

PORTS = {"30000/tcp": ("127.0.0.1", 15433)}
PEER = "peer"
FILE = f"""\
services:
  {{service}}:
    image: {launches.IMAGE}
    restart: unless-stopped
    stop_signal: SIGKILL
    network_mode: bridge
    ports: ["127.0.0.1:15434:30000"]
    volumes: ["/data"]
    command: {shlex.join([*SERVE, CHANGE.name, "0.80"])}
"""


def started(data: dict[str, Any]) -> float:
    """When a container was started, in seconds since the epoch."""
    whole, _, fraction = data["State"]["StartedAt"].rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{fraction or 0}")


@dataclass(frozen=True)
class Duel:
    """Two ways to the same end; each act returns the inspection of the container that it started."""

    name: str
    peer: str
    ours: Callable[[], Callable[[], dict[str, Any]]]  # what is done before consent; returns what is done after it
    theirs: Callable[[], dict[str, Any]]

    def fight(self, times: int) -> str:
        """A line with both times and their ratio."""
        ours, theirs = [], []
        self.theirs()
        # In turns, so that whatever else the machine does falls on both.
        for _ in range(times):
            ours.append(seconds(self.ours()))
            theirs.append(seconds(self.theirs))
        mine, other = statistics.median(ours), statistics.median(theirs)
        return f"{self.name} {mine:.2f} s  {self.peer} {other:.2f} s  ratio {mine / other:.2f} (medians of {times})"


def seconds(act: Callable[[], dict[str, Any]]) -> float:
    """From consent until the new container was started."""
    began = time.time()
    return started(act()) - began


# ---------------------------------------------------------------- a container


def container(stage: Stage, project: Project | None) -> Duel:
    """A container by the engine's API."""
    stage.serve(network_mode="bridge", ports=PORTS)

    def ours() -> Callable[[], dict[str, Any]]:
        with contextlib.suppress(Exception):
            stage.client.containers.get(f"{NAME}.sgd-old").remove()
        return partial(agreed, stage.document())

    def agreed(document: Inspection) -> dict[str, Any]:
        outcome = stage.relaunch(document)
        assert outcome.ending is Ending.DONE, outcome
        return stage.inspect()

    def by_hand() -> dict[str, Any]:
        words = ("--restart", "unless-stopped", "--stop-signal", "KILL", "-p", "127.0.0.1:15434:30000", "-v", "/data")
        run = shlex.join(["docker", "run", "-d", "--name", PEER, *words, launches.IMAGE, *SERVE, CHANGE.name, "0.92"])
        launches.shell(stage.host, f"docker rm -f {PEER} && {run}")
        return stage.inspect(PEER)

    if project is None:
        return Duel("container", "docker rm, run", ours, by_hand)
    project.write(FILE.format(service=PEER))
    return Duel("container", f"{version(project)} up --force-recreate", ours, partial(recreated, project, PEER))


# ---------------------------------------------------------------- a service


def service(project: Project) -> Duel:
    """A service by its compose file."""
    project.write(FILE.format(service="llm"))

    def ours() -> Callable[[], dict[str, Any]]:
        value = "0.92" if "0.80" in project.file.read_text() else "0.80"
        changes = [Change(CHANGE.kind, CHANGE.name, value)]
        client = project.client()
        document = project.document(client)
        planned = rehearsed(edition(open_service(client, document), changes, FLAGS))
        return partial(agreed, client, document, planned)

    def agreed(client: Client, document: Inspection, planned: Edition) -> dict[str, Any]:
        with client:
            outcome = relaunch(
                client,
                document,
                planned.changes,
                FLAGS,
                planned=planned,
                readiness=READY,
                patience=HURRY,
                root=project.state,
            )
        assert outcome.ending is Ending.DONE, outcome
        for backup in project.folder.glob("*.bak-*"):
            backup.unlink()
        return project.container()

    name = version(project)
    return Duel(f"service of {name}", f"{name} up --force-recreate", ours, partial(recreated, project, "llm"))


def recreated(project: Project, service: str) -> dict[str, Any]:
    """The container of a service, made anew by Compose alone."""
    project.run("up", "-d", "--no-deps", "--force-recreate", service)
    return project.container(service)


def version(project: Project) -> str:
    """Of its Compose."""
    return f"Compose {project.run('version', '--short').strip()}"


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    os.environ["PATH"] = path_with_tools()
    host = PrivateDockerd()
    try:
        host.start()
        launches.build_images(host)
        with contextlib.closing(host.client()) as client, tempfile.TemporaryDirectory() as folder:
            found = [words for words in (modern(), first()) if words is not None]
            projects = [
                Project(host.url, words, Path(folder, f"folder{number}"), Path(folder, "state"), launches.IMAGE)
                for number, words in enumerate([*found[:1], *found])
            ]
            duels = [
                partial(container, Stage(host, client, Path(folder)), next(iter(projects), None)),
                *(partial(service, one) for one in projects[1:]),
            ]
            for duel in duels:
                print(duel().fight(times), flush=True)
                host.clear()
    finally:
        host.close()


if __name__ == "__main__":
    main()
