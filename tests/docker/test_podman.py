"""The follower and `diagnose` against podman's Docker API, which differs: its log streams go on over restarts, its older
versions tell times in whole seconds, and it does not say why it refused a start."""

import contextlib
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

from sgdoctor.containers.records import AttemptStarted, LinesLost, WaitReason
from tests.docker.images import BUSYBOX
from tests.docker.podman import PrivatePodman
from tests.docker.recorder import Recorder

# 100 lines, a line of many pieces in the middle of them, one on stderr; then a failure.
RUN = (
    "k=0; while [ $k -lt 100 ]; do echo G-$k; [ $k = 50 ] && head -c 40000 /dev/zero | tr '\\0' x && echo; "
    "k=$((k+1)); done; echo e >&2; exit 3"
)
LINES = sorted([b"x" * 40000, b"e", *(b"G-%d" % k for k in range(100))])

Follow = Callable[[str], Recorder]
Create = Callable[..., Any]


@pytest.fixture
def create(podman_host: PrivatePodman) -> Iterator[Create]:
    with contextlib.closing(podman_host.client()) as client:

        def make(script: str, name: str = "sgl", **options: Any) -> Any:
            options = {"network_mode": "none", "stop_signal": "SIGKILL"} | options
            return client.containers.create(BUSYBOX, ["sh", "-c", script], name=name, **options)

        yield make
    podman_host.clear()


@pytest.fixture
def follow(podman_host: PrivatePodman, create: Create) -> Iterator[Follow]:
    with contextlib.ExitStack() as stack:

        def start(target: str) -> Recorder:
            recorder = Recorder(podman_host.url, target)
            stack.callback(recorder.close)
            return recorder

        yield start


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
def test_late_creation_crash_loop_and_recreation(follow: Follow, create: Create, *, tty: bool) -> None:
    recorder = follow("sgl")
    recorder.wait(lambda it: it.waits == [WaitReason.NO_CONTAINER])
    looping = create(RUN, restart_policy={"Name": "on-failure", "MaximumRetryCount": 2}, tty=tty)
    recorder.wait(lambda it: it.waits[-1:] == [WaitReason.NOT_STARTED])
    looping.start()
    recorder.wait(lambda it: len(it.codes) == 3 and it.waits[-1:] == [WaitReason.STOPPED])
    looping.remove()
    create(RUN, tty=tty).start()
    recorder.wait(lambda it: len(it.codes) == 4)

    assert recorder.codes == [3, 3, 3, 3]
    # Attempts a tenth of a second apart, told apart by lines whose times are whole seconds.
    assert [sorted(output.splitlines()) for output in recorder.lines_by_start] == [LINES] * 4
    assert [record.restart_count for record in recorder.of(AttemptStarted)] == [0, 1, 2, 0]
    assert recorder.of(LinesLost) == []


def test_lines_come_as_they_are_written(follow: Follow, create: Create) -> None:
    recorder = follow("sgl")
    create("echo one; sleep 1.2; echo two >&2; sleep 60").start()
    recorder.wait(lambda it: it.text == b"one\n")
    recorder.wait(lambda it: it.text == b"one\ntwo\n", limit=3)

    assert recorder.codes == []


def test_restart_with_a_silent_beginning_is_noticed(follow: Follow, create: Create) -> None:
    made = create("[ -e /again ] || echo run; touch /again; sleep 60")
    made.start()
    recorder = follow("sgl")
    recorder.wait(lambda it: it.text == b"run\n")
    made.restart(timeout=0)
    recorder.wait(lambda it: it.lines_by_start == [b"run\n", b""], limit=4)

    assert recorder.codes == [137]


def test_earlier_starts_are_told_apart_from_the_newest(follow: Follow, create: Create) -> None:
    made = create("echo run; [ -e /again ] && sleep 60; touch /again; exit 1", restart_policy={"Name": "on-failure"})
    made.start()
    _until(lambda: made.logs() == b"run\nrun\n")
    recorder = follow("sgl")
    recorder.wait(lambda it: it.lines_by_start == [b"run\n", b"run\n"])
    history, newest = recorder.of(AttemptStarted)

    assert history.history
    assert (newest.history, newest.restart_count) == (False, 1)


def test_unfinished_last_line_is_given(follow: Follow, create: Create) -> None:
    recorder = follow("sgl")
    create("echo a; printf 'no end'; exit 4").start()
    recorder.wait(lambda it: it.codes == [4])

    assert recorder.text == b"a\nno end\n"


@pytest.mark.parametrize("tty", [False, True], ids=["no-tty", "tty"])
def test_what_a_start_left_unfinished_is_no_line_of_the_next(follow: Follow, create: Create, *, tty: bool) -> None:
    recorder = follow("sgl")
    create(
        "[ -e /again ] && sleep 2 && echo again && sleep 60; touch /again; echo first; printf '50%%|##'; exit 1",
        restart_policy={"Name": "on-failure"},
        tty=tty,
    ).start()
    recorder.wait(lambda it: it.text.endswith(b"again\n"))

    assert recorder.text == b"first\n50%|##\nagain\n"


def test_refused_start_has_no_reason_here_and_the_next_one_is_taken_up(follow: Follow, create: Create) -> None:
    made = create("", entrypoint=["no-such-program"])
    recorder = follow("sgl")
    with pytest.raises(docker.errors.APIError):
        made.start()
    recorder.wait(lambda it: it.waits[-1:] == [WaitReason.NOT_STARTED])
    made.remove()
    create("echo run; exit 5").start()
    recorder.wait(lambda it: it.codes == [5])

    assert recorder.lines_by_start == [b"run\n"]


def test_cancel_leaves_no_thread_and_no_socket(follow: Follow, create: Create) -> None:
    create("echo hi; sleep 60").start()
    threads, files = threading.active_count(), set(Path("/proc/self/fd").iterdir())
    recorder = follow("sgl")
    recorder.wait(lambda it: it.text == b"hi\n")
    began = time.monotonic()
    recorder.follower.cancel()
    recorder.thread.join(5)
    took = time.monotonic() - began

    assert took < 1
    assert threading.active_count() == threads
    assert set(Path("/proc/self/fd").iterdir()) == files


def test_a_dead_container_is_diagnosed(podman_host: PrivatePodman, create: Create, logs: Path) -> None:
    text = (logs / "real" / "article27-mfs-0.80.log").read_text()
    made = create(f"cat <<'END'\n{text}END\nexit 3")
    made.start()
    made.wait()
    command = [sys.executable, "-m", "sgdoctor", "diagnose", "sgl", "--format", "json"]
    environment = os.environ | {"DOCKER_HOST": podman_host.url}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 3, done.stderr
    assert '"rule": "SGL401"' in done.stdout


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)
