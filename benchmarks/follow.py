"""How fast a container's log is followed: lines per second, live and of a finished container, beside `docker logs`.

Starts a private Docker daemon as the tests do (root, docker.io and busybox-static of Debian) and removes it again:

    python -m benchmarks.follow [LINES]
"""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable

from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import BUSYBOX, build_busybox

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.follow import Follower
from sgdoctor.containers.records import AttemptEnded, LogChunk

LINE = (
    "[2026-11-30 12:00:00 TP0] Decode batch. #running-req: 1, #token: 12345, token usage: 0.15, gen throughput: 130.12"
)
WARM_UP_S = 1.0


def ours(url: str) -> int:
    count = 0
    with Follower(Endpoint(url), "bench") as follower:
        for record in follower:
            if isinstance(record, LogChunk):
                count += record.data.count(b"\n")
            elif isinstance(record, AttemptEnded):
                return count
    raise AssertionError("the follower ended on its own")


def docker_logs(url: str) -> int:
    command = ["docker", "-H", url, "logs", "-f", "bench"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        count = 0
        while block := process.stdout.read(1 << 18):
            count += block.count(b"\n")
        return count


def measure(
    host: PrivateDockerd, reader: Callable[[str], int], lines: int, *, tty: bool, live: bool
) -> tuple[int, float]:
    """Lines read and lines per second."""
    with contextlib.closing(host.client()) as client:
        script = f"sleep {WARM_UP_S if live else 0}; yes '{LINE}' | head -n {lines}"
        made = client.containers.create(BUSYBOX, ["sh", "-c", script], name="bench", tty=tty, network_mode="none")
        made.start()
        if not live:
            made.wait()
        began = time.perf_counter()
        count = reader(host.url)
        seconds = time.perf_counter() - began - (WARM_UP_S if live else 0)
        made.remove(force=True)
    return count, count / seconds


def main() -> None:
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    host = PrivateDockerd()
    try:
        host.start()
        build_busybox(host)
        for tty in (False, True):
            for live in (True, False):
                count, speed = measure(host, ours, lines, tty=tty, live=live)
                peer_count, peer = measure(host, docker_logs, lines, tty=tty, live=live)
                what = f"{'tty ' if tty else 'pipe'} {'live    ' if live else 'finished'}"
                print(f"{what}  sgdoctor {count:,} of {lines:,} lines, {speed:,.0f}/s", end="")
                print(f"  docker logs {peer_count:,} lines, {peer:,.0f}/s  ratio {speed / peer:.2f}")
    finally:
        host.close()


if __name__ == "__main__":
    main()
