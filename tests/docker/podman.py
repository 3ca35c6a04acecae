"""A podman service of the test run's own, which leaves the machine's podman, links, mounts and cgroups alone.

Needs root and, on Debian (a missing one of these skips the tests here and fails them under `CI=true`):

    apt-get install --no-install-recommends podman runc busybox-static iproute2 util-linux
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.docker.engine import CannotStartError, Engine

PROGRAMS = ("podman", "runc", "conmon", "busybox", "ip", "unshare", "setpriv", "mount")
STOP_LIMIT_S = 20.0

# By default podman asks for more files and processes than may be given without CAP_SYS_RESOURCE.
CONFIGURATION = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
events_logger = "file"
"""

# Podman keeps its locks in /dev/shm and more in /run, whatever its folders are.
INSIDE = "mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && ip link set lo up && exec podman"


class PrivatePodman(Engine):
    """One private service in a network and a mount namespace of its own; `close` leaves nothing behind."""

    def __init__(self) -> None:
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            raise CannotStartError(f"not installed: {', '.join(missing)}")
        if os.geteuid() != 0:
            raise CannotStartError("not root")
        super().__init__("podman.sock", "libpod_parent")
        (self.folder / "containers.conf").write_text(CONFIGURATION)
        (self.folder / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{self.folder}/data"\nrunroot = "{self.folder}/run"\n'
        )

    def start(self) -> None:
        """Start the service and wait until it answers.

        Raises:
            CannotStartError: It ended or did not answer; with the end of its log.
        """
        command = [
            *("setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "sh", "-c", f'{INSIDE} "$@"', "sh"),
            *("--root", f"{self.folder}/data", "--runroot", f"{self.folder}/run", "--tmpdir", f"{self.folder}/tmp"),
            *("--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--runtime", "runc"),
            *("system", "service", "--time", "0", self.url),
        ]
        environment = os.environ | {
            "CONTAINERS_CONF": f"{self.folder}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{self.folder}/storage.conf",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=self.folder,  # its monitors write there
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_for_answer()

    def close(self) -> None:
        """Remove the containers, end the service, delete the folder."""
        if self._process is not None:
            if self._answers():
                self.clear()
            mounts = Path(f"/proc/{self._process.pid}/ns/mnt")
            inode = mounts.stat().st_ino if mounts.exists() else 0
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_LIMIT_S)
            finally:
                self._process.kill()
                self._process.wait()
            self._kill_left_overs(inode)
        shutil.rmtree(self.folder)
        self._remove_cgroups()
