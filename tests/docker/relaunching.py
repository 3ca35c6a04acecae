"""A small container that looks like a server, and what relaunching it is checked with."""

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.launches import container_document
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection
from sgdoctor.relaunch.engine import LABEL, Engine
from sgdoctor.relaunch.journal import journals, open_journals
from sgdoctor.relaunch.launches import To
from sgdoctor.relaunch.launching import quiet, relaunch
from sgdoctor.relaunch.model import NotReady, Outcome, Patience, Progress, Readiness, Ready, Watcher
from sgdoctor.relaunch.recovery import look_for_open, undo
from sgdoctor.relaunch.returning import go_back, plan_return
from sgdoctor.texts import Text
from tests.docker import launches
from tests.docker.dockerd import PrivateDockerd

FLAGS = schema("0.5.15")
NAME = "sgl"
CHANGE = Change("flag.set", "--mem-fraction-static", "0.92")
ADDED = ["--mem-fraction-static", "0.92"]
SERVE = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/m"]
POLICY = {"Name": "unless-stopped", "MaximumRetryCount": 0}
# Stopping takes no time, and a container that is gone takes nothing with it.
QUICK: dict[str, Any] = {"network_mode": "none", "stop_signal": "SIGKILL"}
HURRY = Patience(stop=5, ready=5, engine=0)


@dataclass
class Told:
    """A readiness that knows the answer: at once, after doing something."""

    answer: Ready | NotReady = field(default_factory=Ready)
    meanwhile: Callable[[str], object] = str

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready | NotReady:
        on_note(Text("asked", "已询问"))
        self.meanwhile(container)
        return self.answer

    def cancel(self) -> None:
        raise AssertionError


READY = Told()
NEVER = Told(NotReady(Text("never ready", "永不就绪")))


@dataclass
class Stage:
    """The daemon, and a state folder of the test's own."""

    host: PrivateDockerd
    client: docker.DockerClient
    root: Path
    since: float = 0.0

    @property
    def engine(self) -> str:
        """Id of the daemon."""
        return str(self.client.info()["ID"])

    def serve(self, name: str = NAME, **options: Any) -> str:
        """Start a server; its id."""
        settings = {**QUICK, "restart_policy": POLICY, "volumes": ["/data"], **options}
        self.since = time.time()
        container = self.client.containers.run(launches.IMAGE, SERVE, name=name, detach=True, **settings)
        return str(container.id)

    def document(self, name: str = NAME) -> Inspection:
        with Client(Endpoint(self.host.url)) as client:
            return container_document(client, name)

    def relaunch(self, document: Inspection | None = None, **options: Any) -> Outcome:
        url = options.pop("url", self.host.url)
        changes: Sequence[Change] = options.pop("changes", [CHANGE])
        settings = {"readiness": READY, "patience": HURRY, "root": self.root, "watcher": quiet, **options}
        document = document or self.document()
        with Client(Endpoint(url)) as client:
            return relaunch(client, document, changes, FLAGS, **settings)

    def inspect(self, name: str = NAME) -> dict[str, Any]:
        data: dict[str, Any] = self.client.api.inspect_container(name)
        return data

    @property
    def containers(self) -> dict[str, str]:
        """Status by name, and nothing that is going away."""
        return {one.name: one.status for one in self.client.containers.list(all=True, ignore_removed=True)}

    @property
    def running(self) -> int:
        return len(self.client.containers.list())

    def assert_never_two(self) -> None:
        """By the engine's own events no two containers ran at once, since there was one or none."""
        url = self.client.api._url("/events")
        filters = json.dumps({"type": ["container"], "event": ["start", "die"]})
        query = {"since": f"{self.since:.9f}", "until": f"{time.time():.9f}", "filters": filters}
        told = [json.loads(line) for line in self.client.api.get(url, params=query).content.splitlines()]
        running: set[str] = set()
        for event in told:
            if event["Action"] == "start":
                running.add(event["id"])
            else:
                running.discard(event["id"])

            assert len(running) <= 1, told

    def clear(self) -> None:
        """Remove containers and journals."""
        for container in self.client.containers.list(all=True):
            with contextlib.suppress(docker.errors.NotFound):
                container.remove(force=True, v=True)
        for journal in journals(root=self.root):
            journal.discard()

    def volumes(self, name: str = NAME) -> list[str]:
        return [mount["Name"] for mount in self.inspect(name)["Mounts"]]

    def assert_back(self, old: str) -> None:
        """Everything is as before the relaunch of the container ``old``, which ran."""
        self.assert_never_two()
        now = self.inspect()

        assert (old, "running") == (now["Id"], now["State"]["Status"])
        assert POLICY == now["HostConfig"]["RestartPolicy"]
        assert {NAME: "running"} == self.containers
        assert [] == open_journals(root=self.root)

    def assert_done(self, old: str) -> None:
        """The new container serves, and the old one is kept."""
        self.assert_never_two()
        now, kept = self.inspect(), self.inspect(f"{NAME}.sgd-old")

        assert SERVE + ADDED == now["Config"]["Cmd"]
        assert POLICY == now["HostConfig"]["RestartPolicy"]
        assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == self.containers
        assert (old, "no") == (kept["Id"], kept["HostConfig"]["RestartPolicy"]["Name"])
        assert self.volumes() == self.volumes(f"{NAME}.sgd-old")
        assert [] == open_journals(root=self.root)
        assert journals(root=self.root)[-1].id == now["Config"]["Labels"][LABEL]


def at(moment: str, act: Callable[[], object]) -> Watcher:
    """A watcher that does something when the journal says ``step state``."""

    def watch(progress: Progress) -> None:
        if f"{progress.step} {progress.state}" == moment and not progress.note:
            act()

    return watch


def rollback(
    client: Client,
    container: str,
    to: To = "last-good",
    *,
    accept_drift: bool = False,
    readiness: Readiness,
    patience: Patience | None = None,
    watcher: Watcher = quiet,
    root: Path | None = None,
) -> Outcome:
    """What `sgdoctor rollback` does once it is agreed to: undo what was cut off, or go back to an earlier launch."""
    if unfinished := look_for_open(container, root, Engine(client).identity()):
        return undo(client, unfinished[-1].journal, readiness=readiness, patience=patience, watcher=watcher, root=root)
    return go_back(
        client,
        plan_return(client, container, to, accept_drift=accept_drift, root=root),
        accept_drift=accept_drift,
        readiness=readiness,
        patience=patience,
        watcher=watcher,
        root=root,
    )
