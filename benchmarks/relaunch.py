"""How long a relaunch takes from consent to the start of the new container, beside what does the same without a way back.

That is `docker compose up -d --force-recreate` of a service of the same kind where a Compose is there
(`COMPOSE="docker compose"` or another one), and else `docker rm` and `run`. Starts a private Docker daemon as the tests do (root, docker.io and
busybox-static of Debian) and removes it again:

    python -m benchmarks.relaunch [TIMES]
"""

import contextlib
import os
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from tests.docker import launches
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import CHANGE, NAME, SERVE, Stage

from sgdoctor.relaunch.model import Ending

PORTS = {"30000/tcp": ("127.0.0.1", 15433)}
PEER = "peer"
FILE = f"""\
services:
  {PEER}:
    image: {launches.IMAGE}
    container_name: {PEER}
    restart: unless-stopped
    stop_signal: SIGKILL
    network_mode: bridge
    ports: ["127.0.0.1:15434:30000"]
    volumes: ["/data"]
    command: {shlex.join(SERVE)}
"""


def compose() -> str:
    """The command of a Compose that is here; empty for none."""
    given = os.environ.get("COMPOSE", "")
    return given or next((name for name in ("docker-compose", "docker-compose-v2") if shutil.which(name)), "")


def started(stage: Stage, name: str) -> float:
    """When the container of this name was started, in seconds since the epoch."""
    text: str = stage.inspect(name)["State"]["StartedAt"]
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{fraction or 0}")


def relaunch(stage: Stage) -> None:
    outcome = stage.relaunch(stage.document())
    assert outcome.ending is Ending.DONE, outcome


def by_hand(stage: Stage) -> None:
    words = ("--restart", "unless-stopped", "--stop-signal", "KILL", "-p", "127.0.0.1:15434:30000", "-v", "/data")
    run = shlex.join(["docker", "run", "-d", "--name", PEER, *words, launches.IMAGE, *SERVE, CHANGE.name, "0.92"])
    launches.shell(stage.host, f"docker rm -f {PEER} && {run}")


def by_compose(stage: Stage, program: str) -> None:
    file = shlex.quote(str(stage.root / "compose.yaml"))
    launches.shell(stage.host, f"{program} -f {file} up -d --no-deps --force-recreate {PEER}")


def seconds(stage: Stage, name: str, act: Callable[[], None]) -> float:
    """From consent until the new container was started."""
    began = time.time()
    act()
    return started(stage, name) - began


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    program = compose()
    host = PrivateDockerd()
    try:
        host.start()
        launches.build_images(host)
        with contextlib.closing(host.client()) as client, tempfile.TemporaryDirectory() as folder:
            stage = Stage(host, client, Path(folder))
            stage.serve(network_mode="bridge", ports=PORTS)
            (stage.root / "compose.yaml").write_text(FILE)

            peer = partial(by_compose, stage, program) if program else partial(by_hand, stage)

            peer()
            ours, theirs = [], []
            # In turns, so that whatever else the machine does falls on both.
            for _ in range(times):
                ours.append(seconds(stage, NAME, partial(relaunch, stage)))
                client.containers.get(f"{NAME}.sgd-old").remove()
                theirs.append(seconds(stage, PEER, peer))
        name = f"{program} up --force-recreate" if program else "docker rm, run"
        mine, other = statistics.median(ours), statistics.median(theirs)
        print(f"sgdoctor relaunch {mine:.2f} s  {name} {other:.2f} s  ratio {mine / other:.2f} (medians of {times})")
    finally:
        host.close()


if __name__ == "__main__":
    main()
