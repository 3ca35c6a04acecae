"""What the private engines of the tests, Docker's daemon and podman's service, have in common."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import docker

START_LIMIT_S = 30.0
CGROUPS = Path("/sys/fs/cgroup")


class CannotStartError(Exception):
    """No private engine on this machine; the message says what is missing."""


class Engine:
    """An engine that answers to Docker's API on a socket in a folder of its own.

    Args:
        socket_name: of the socket in the folder.
        cgroup: name of the folder that the engine makes in every cgroup tree, and leaves there.

    Attributes:
        folder: Scratch folder with a short path (a socket path has at most 107 bytes).
        url: Value for DOCKER_HOST.
    """

    def __init__(self, socket_name: str, cgroup: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sgd-", dir="/tmp"))
        self._socket = self.folder / socket_name
        self.url = f"unix://{self._socket}"
        self._log = self.folder / "engine.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._cgroup = cgroup
        self._cgroups_before = self._cgroups()

    def client(self, timeout: float = 30) -> docker.DockerClient:
        """A new docker-py client; the caller closes it."""
        return docker.DockerClient(base_url=self.url, timeout=timeout)

    def clear(self) -> None:
        """Remove every container, running or not, and every volume."""
        with contextlib.closing(self.client()) as client:
            for container in client.containers.list(all=True, ignore_removed=True):
                with contextlib.suppress(docker.errors.NotFound):
                    container.remove(force=True, v=True)
            for volume in client.volumes.list():
                with contextlib.suppress(docker.errors.NotFound):
                    volume.remove(force=True)

    def _wait_for_answer(self) -> None:
        limit = time.monotonic() + START_LIMIT_S
        while not self._answers():
            if self._process is None or self._process.poll() is not None or time.monotonic() > limit:
                raise CannotStartError(f"no answer: {self._log.read_text(errors='replace')[-600:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            return False
        # Not with docker-py: it leaves its socket open when the connection is refused, which pytest takes for our leak.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in connection.recv(64)
            except OSError:
                return False

    def _kill_left_overs(self, mounts: int, *spared: int) -> None:
        """What an engine leaves running: programs in its mount namespace, given by its inode, and its containers."""
        containers = [
            folder.name
            for pattern in ("data/containers/*", "data/*-containers/*")
            for folder in self.folder.glob(pattern)
        ]
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                cgroup = (process / "cgroup").read_text()
                inside = (process / "ns/mnt").stat().st_ino == mounts and int(process.name) not in spared
                if inside or any(name in cgroup for name in containers):
                    os.kill(int(process.name), signal.SIGKILL)

    def _remove_cgroups(self) -> None:
        for cgroup in self._cgroups() - self._cgroups_before:
            with contextlib.suppress(OSError):  # not empty: another engine has come to use it meanwhile
                cgroup.rmdir()

    def _cgroups(self) -> set[Path]:
        return {*CGROUPS.glob(self._cgroup), *CGROUPS.glob(f"*/{self._cgroup}")}
