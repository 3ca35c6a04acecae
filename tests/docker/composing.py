"""Projects of Compose on the private daemon, and relaunches of their services."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.launches import container_document
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection
from sgdoctor.relaunch.launching import relaunch
from sgdoctor.relaunch.model import NotReady, Outcome, Patience, Progress, Ready, Step, StepState
from sgdoctor.texts import Text
from tests.docker.images import BUSYBOX
from tests.launch.tables import FLAGS

PATIENCE = Patience(stop=5, engine=20)
SCENARIO = "STANDIN_SCENARIO"
SERVES = "boot-dense"
FAILS = "cli-unknown-flag"


class QuickReadiness:
    """Whether a server serves: one that runs does, unless its environment says that it fails.

    Args:
        url: of the daemon.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready | NotReady:
        """See ``Readiness.wait``."""
        on_note(Text("asked", "已询问"))
        with Client(Endpoint(self._url)) as client:
            data = client.container_data(container)
        serves = data is not None and data["State"]["Running"] and f"{SCENARIO}={FAILS}" not in data["Config"]["Env"]
        return Ready() if serves else NotReady(Text("It does not serve.", "未提供服务。"))

    def cancel(self) -> None:
        """See ``Readiness.cancel``."""


@dataclass
class Project:
    """A project with a server as its service `llm`, and a sibling.

    Attributes:
        url: of the daemon.
        compose: words of the Compose that makes it.
        folder: of the file.
        state: folder of journals and logs.
        image: of the server.
        name: of the project.
    """

    url: str
    compose: list[str]
    folder: Path
    state: Path
    image: str
    name: str = "shop"
    told: list[Progress] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "compose.yaml"

    def text(self, scenario: str = SERVES, more: str = "") -> str:
        """The file: with comments, an anchor, a default of a variable, and lines of every style."""
        return f"""\
# served from the cellar
x-limits: &limits
  shm_size: 64m
services:
  llm:   # the model
    <<: *limits
    image: {self.image}
    restart: "no"
    environment:
      - {SCENARIO}={scenario}
      - "MARK=it's ${{MARK:-none}}"
    labels: {{team: "kitchen"}}
    volumes:
      - ./models:/models:ro
      - cache:/root/.cache
      - /scratch
    networks: [shop]
    stop_grace_period: 3s
    command: >
      python3 -m sglang.launch_server
        --model-path /models/x
        --mem-fraction-static 0.80
{more}
  side:
    image: {BUSYBOX}
    command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"]
    networks: [shop]
networks:
  shop: {{}}
volumes:
  cache: {{}}
"""

    def write(self, text: str) -> None:
        (self.folder / "models").mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(text.encode())

    def run(self, *words: str, **variables: str) -> str:
        """What Compose prints."""
        environment = {**os.environ, "DOCKER_HOST": self.url, **variables}
        done = subprocess.run(
            [*self.compose, "-p", self.name, *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        return done.stdout

    def up(self, text: str, **variables: str) -> None:
        """Write the file and start everything in it; the model is ready after it."""
        self.write(text)
        self.run("up", "-d", **variables)

    def client(self) -> Client:
        return Client(Endpoint(self.url))

    def containers(self, service: str = "llm") -> list[dict[str, Any]]:
        """Inspections of the containers of a service."""
        with self.client() as client:
            found = [client.container_data(entry.id) for entry in client.containers(service)]
        return [data for data in found if data is not None]

    def container(self, service: str = "llm") -> dict[str, Any]:
        """The only one."""
        (data,) = self.containers(service)
        return data

    def document(self, client: Client) -> Inspection:
        """Of its first container."""
        return container_document(client, str(self.containers()[0]["Id"]))

    def relaunch(self, *changes: Change, watcher: Callable[[Progress], None] | None = None, **options: Any) -> Outcome:
        """Relaunch the model."""
        with self.client() as client:
            return relaunch(
                client,
                self.document(client),
                changes,
                FLAGS,
                patience=PATIENCE,
                watcher=watcher or self.told.append,
                root=self.state,
                **{"readiness": QuickReadiness(self.url), **options},
            )


def fidelity(data: Mapping[str, Any]) -> dict[str, Any]:
    """What has to stay of a container, without what says which one it is."""
    config, host = dict(data["Config"]), dict(data["HostConfig"])
    labels = {
        name: value
        for name, value in config.pop("Labels").items()
        # `replace` names the container that it was made in the place of.
        if name not in ("com.docker.compose.config-hash", "com.docker.compose.replace")
    }
    config.pop("Hostname")
    mounts = sorted((mount["Destination"], mount.get("Name") or mount["Source"]) for mount in data["Mounts"])
    networks = data["NetworkSettings"]["Networks"]
    aliases = {name: sorted(set(one["Aliases"]) - {data["Id"][:12]}) for name, one in networks.items()}
    # The first generation adds it itself, for clusters that are gone.
    config["Env"] = sorted(one for one in config["Env"] if not one.startswith("affinity:container="))
    host["Binds"], host["Mounts"] = None, None  # the same volume may be asked for in either of two forms
    whole = {"config": config, "host": host, "labels": labels, "mounts": mounts, "aliases": aliases}
    whole["name"] = data["Name"]
    return json.loads(json.dumps(whole))  # type: ignore[no-any-return]


# ------------------------------------------------------------ a relaunch that is killed


class Killer:
    """Relaunches in processes of their own, which are killed; one process forks them all, so that each begins at once."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.docker.composing"],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self, project: Project, step: Step, moment: str, changes: list[Change]) -> None:
        """Relaunch, and be killed.

        Args:
            project: that runs.
            step: in which step.
            moment: ``begun`` or ``done``; ``made``: once Compose has made the new container, which goes on then;
                ``with-compose``: the same, and Compose is killed as well; ``back``: begun on the way back.
            changes: of the relaunch.
        """
        where = [project.url, project.compose, str(project.folder), str(project.state), project.image]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([*where, step, moment, changes, dict(os.environ)]) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        assert os.WIFSIGNALED(status), f"it was not killed: {status}"

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                _relaunch(*json.loads(line))
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


def _relaunch(
    url: str,
    compose: list[str],
    folder: str,
    state: str,
    image: str,
    step: str,
    moment: str,
    changes: list[list[str]],
    environment: dict[str, str],
) -> None:
    os.environ.update(environment)
    project = Project(url, compose, Path(folder), Path(state), image)
    steps: list[Step] = []

    def watcher(progress: Progress) -> None:
        steps.append(progress.step)
        if progress.step != step or progress.note is not None:
            return
        if progress.state == moment or (moment == "back" and Step.READY in steps):
            os.kill(os.getpid(), signal.SIGKILL)
        if progress.state is StepState.BEGUN and moment in ("made", "with-compose"):
            before = {data["Id"] for data in project.containers()}
            threading.Thread(target=kill_once_made, args=(before,), daemon=True).start()

    def kill_once_made(before: set[str]) -> None:
        with project.client() as client:
            while {entry.id for entry in client.containers("llm")} <= before:
                time.sleep(0.002)
        if moment == "with-compose":
            for child in Path("/proc/self/task").glob("*/children"):
                for pid in child.read_text().split():
                    os.kill(int(pid), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    project.relaunch(*(Change(*one) for one in changes), watcher=watcher)


if __name__ == "__main__":
    _serve()
