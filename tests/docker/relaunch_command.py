"""The commands about relaunching as a person runs them, on a private daemon."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker

from sgdoctor.relaunch.journal import journals
from tests.composes import path_with_tools
from tests.docker.dockerd import PrivateDockerd
from tests.schemas import validate

NAME = "sgl"
SERVE = [
    *("python3", "-m", "sglang.launch_server", "--model-path", "/models/27b", "--host", "0.0.0.0", "--port", "30000"),
    *("--mem-fraction-static", "0.92"),
]
BETTER, WORSE = "mem-fraction-static=0.93", "mem-fraction-static=0.80"
LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Bench:
    """The daemon, and a state folder of the test's own.

    Attributes:
        host: the daemon.
        client: of it.
        image: of the stand-in.
        home: XDG state folder.
    """

    host: PrivateDockerd
    client: docker.DockerClient
    image: str
    home: Path

    @property
    def root(self) -> Path:
        return self.home / "sgdoctor"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "DOCKER_HOST": self.host.url,
            "XDG_STATE_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": path_with_tools(),
        }

    @property
    def words(self) -> list[str]:
        """The program, run where the addresses of the containers are."""
        return ["nsenter", "-t", str(self.host.pid), "--net", sys.executable, "-m", "sgdoctor"]

    def serve(self, *flags: str, **options: Any) -> str:
        """Start a server that decides by its flags whether it serves; its id."""
        variables = {"STANDIN_SCENARIO": "decide", "STANDIN_MODEL": "qwen3.6-27b", "HF_TOKEN": "hf_abcdefghijkl1234"}
        variables |= options.pop("environment", {})
        container = self.client.containers.run(
            self.image,
            [*SERVE, *flags],
            name=NAME,
            environment=variables,
            restart_policy={"Name": "unless-stopped"},
            detach=True,
            **options,
        )
        return str(container.id)

    def run(self, *arguments: str, through: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run it with nobody at the terminal, by another program in front of it if wanted."""
        return subprocess.run(
            [*through, *self.words, *arguments],
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def data(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """Exit code and JSON, which follows the published schema."""
        done = self.run(*arguments, "--format", "json")
        data = json.loads(done.stdout)
        validate(data, "history" if arguments[0] == "history" else "relaunch")
        return done.returncode, data

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.words, *arguments],
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def killed(self, *arguments: str, at: str) -> int:
        """Run it with ``--yes`` and kill it once ``at`` (step and state) stands in the journal; its process id."""
        process = self.begin(*arguments, "--yes")
        self.until(at)
        process.kill()
        process.communicate()
        return process.pid

    def until(self, moment: str) -> None:
        """Wait until ``step state`` stands in the newest journal."""

        def stands() -> bool:
            progress = [entry for journal in journals(root=self.root)[-1:] for entry in journal.progress]
            return any(f"{entry.step} {entry.state}" == moment for entry in progress)

        until(stands)

    @property
    def containers(self) -> dict[str, str]:
        """Status by name."""
        return {one.name: one.status for one in self.client.containers.list(all=True)}

    def command(self, name: str = NAME) -> list[str]:
        data: dict[str, Any] = self.client.api.inspect_container(name)
        return [str(word) for word in data["Config"]["Cmd"]]

    def identity(self, name: str = NAME) -> str:
        return str(self.client.api.inspect_container(name)["Id"])


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def last(text: str) -> str:
    return text.rstrip("\n").split("\n")[-1]
