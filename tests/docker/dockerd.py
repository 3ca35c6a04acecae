"""A Docker daemon of the test run's own, which leaves the machine's Docker, links, mounts and firewall alone.

Needs root and, on Debian (a missing one of these skips the tests here and fails them under `CI=true`):

    apt-get install --no-install-recommends docker.io busybox-static iptables iproute2 util-linux

(`docker.io` brings containerd, runc and iptables; `iproute2` and `util-linux` are in most images already.)
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.docker.engine import CannotStartError, Engine

PROGRAMS = ("dockerd", "containerd", "runc", "iptables", "busybox", "ip", "unshare", "nsenter", "setpriv", "mount")
STOP_LIMIT_S = 40.0
CLONE_NEWNET = 0x40000000

# dockerd offers `--gpus` only if it finds this program on its PATH when it starts; runc then calls it before the
# container's first process. `gpu-broken` beside it makes it fail the way a missing driver does.
GPU_HOOK = """#!/bin/sh
cat > "$SGDOCTOR_LAB/gpu-hook.json"
[ -e "$SGDOCTOR_LAB/gpu-broken" ] || exit 0
echo "nvidia-container-cli: initialization error: nvml error: driver not loaded" >&2
exit 1
"""


class PrivateDockerd(Engine):
    """One private daemon: start, stop, kill, start again on the same data; `close` leaves nothing behind.

    The daemon lives in a network and a mount namespace that a holder process keeps alive. Its own network namespace,
    because a second daemon in the host's deletes the first one's bridge and rewrites its firewall rules. Its own mount
    namespace, because overlay mounts then go with the last process and cannot be left on the host. The holder, because
    containers that outlive a killed daemon must still be found by its successor.
    """

    def __init__(self) -> None:
        self._holder = _hold_namespaces()
        super().__init__("docker.sock", "docker")
        (self.folder / "daemon.json").write_text("{}")
        (self.folder / "bin").mkdir()
        self._program("nvidia-container-runtime-hook", GPU_HOOK)
        self._program("nvidia-container-runtime", '#!/bin/sh\nexec runc "$@"\n')

    @property
    def pid(self) -> int:
        """Process id of a process inside the daemon's network namespace."""
        return self._holder.pid

    def run_inside(self, argv: Sequence[str], timeout: float = 30) -> subprocess.CompletedProcess[str]:
        """Run a program where the published ports of the containers are: in the daemon's network namespace."""
        command = ["nsenter", "-t", str(self.pid), "--net", *argv]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    @contextlib.contextmanager
    def network(self) -> Iterator[None]:
        """Within it, the sockets that this thread opens are in the daemon's network namespace."""
        own, theirs = Path("/proc/thread-self/ns/net"), Path(f"/proc/{self.pid}/ns/net")
        with own.open() as home, theirs.open() as away:
            _enter_network(away.fileno())
            try:
                yield
            finally:
                _enter_network(home.fileno())

    def start(self) -> None:
        """Start the daemon and wait until it answers.

        Raises:
            CannotStartError: It ended or did not answer; with the end of its log.
        """
        command = [
            *("setpriv", "--pdeathsig", "TERM", "nsenter", "-t", str(self.pid), "--net", "--mount", "dockerd"),
            *("--config-file", f"{self.folder}/daemon.json", "--data-root", f"{self.folder}/data"),
            *("--exec-root", f"{self.folder}/exec", "--pidfile", f"{self.folder}/pid", "--host", self.url),
            *("--add-runtime", f"nvidia={self.folder}/bin/nvidia-container-runtime"),
        ]
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SGDOCTOR_LAB": str(self.folder)}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._wait_for_answer()

    def stop(self) -> None:
        """SIGTERM, as a service manager sends it: containers are stopped, then the daemon ends."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: the daemon and its containerd vanish, the containers' processes go on."""
        containerd = Path("/proc") / (self.folder / "exec/containerd/containerd.pid").read_text()
        self._end(signal.SIGKILL)
        # The next daemon takes containerd's zombie for a running one and waits for its socket in vain.
        while containerd.exists():
            time.sleep(0.01)

    def close(self) -> None:
        """Remove the containers, end the daemon and the namespaces, delete the folder."""
        if self._answers():
            # Before the stop: a container that ignores SIGTERM would hold it up for ten seconds.
            self.clear()
        self._end(signal.SIGTERM)
        self._kill_left_overs(Path(f"/proc/{self.pid}/ns/mnt").stat().st_ino, self.pid)
        self._holder.kill()
        self._holder.wait()
        shutil.rmtree(self.folder)
        self._remove_cgroups()

    def _program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(STOP_LIMIT_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._process = None


def _enter_network(descriptor: int) -> None:
    # os.setns came with Python 3.12.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def _hold_namespaces() -> subprocess.Popen[bytes]:
    # /run of its own: containerd keeps its shims' sockets in /run/containerd whatever its folders are
    # (containerd 1.6 runtime/v2/shim/util_unix.go), iptables its lock in /run/xtables.lock.
    # /etc/docker of its own: up to Docker 23 the id of the engine is made from a key there, and two would have the same.
    script = (
        "mkdir -p /etc/docker && mount -t tmpfs none /etc/docker && mount -t tmpfs none /run && ip link set lo up && "
        "echo ready && exec sleep infinity"
    )
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise CannotStartError(f"not installed: {', '.join(missing)}")
    if os.geteuid() != 0:
        raise CannotStartError("not root")
    holder = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "sh", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stderr is not None
    with holder.stdout, holder.stderr:
        if holder.stdout.readline() != b"ready\n":
            holder.wait()
            raise CannotStartError(f"no namespaces: {holder.stderr.read().decode(errors='replace').strip()}")
    return holder
