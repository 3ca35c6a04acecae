"""The follower against a real daemon: nothing lost, nothing repeated, every start with its end."""

import contextlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.follow import Follower
from sgdoctor.containers.records import AttemptEnded, AttemptStarted, LinesLost, LogChunk, Waiting, WaitReason
from tests.docker.dockerd import PrivateDockerd
from tests.docker.recorder import Recorder

COUNTED = re.compile(rb"[GH]-\d+")
# 100 lines, a line of three pieces in the middle of them, one on stderr; then a failure.
RUN = (
    "k=0; while [ $k -lt 100 ]; do echo G-$k; [ $k = 50 ] && head -c 40000 /dev/zero | tr '\\0' x && echo; "
    "k=$((k+1)); done; echo e >&2; exit 3"
)


@pytest.fixture
def follow(docker_host: PrivateDockerd) -> Iterator[Callable[[str], Recorder]]:
    with contextlib.ExitStack() as stack:

        def start(target: str) -> Recorder:
            recorder = Recorder(docker_host.url, target)
            stack.callback(recorder.close)
            return recorder

        yield start


@pytest.fixture
def create(docker_client: docker.DockerClient, busybox_image: str) -> Callable[..., Any]:
    def make(script: str, name: str = "sgl", **options: Any) -> Any:
        options = {"network_mode": "none", "stop_signal": "SIGKILL"} | options
        return docker_client.containers.create(busybox_image, ["sh", "-c", script], name=name, **options)

    return make


Follow = Callable[[str], Recorder]
Create = Callable[..., Any]


@pytest.mark.parametrize("tty", [False, True], ids=["pipe", "tty"])
@pytest.mark.parametrize("driver", ["json-file", "local"])
def test_late_creation_crash_loop_and_recreation(follow: Follow, create: Create, driver: str, tty: bool) -> None:
    recorder = follow("sgl")
    recorder.wait(lambda it: it.waits == [WaitReason.NO_CONTAINER])
    options = {"tty": tty, "log_config": {"type": driver}}
    policy = {"Name": "on-failure", "MaximumRetryCount": 2}
    looping = create(RUN, restart_policy=policy, **options)
    recorder.wait(lambda it: it.waits[-1] == WaitReason.NOT_STARTED)
    looping.start()
    recorder.wait(lambda it: it.waits[-1] == WaitReason.STOPPED)
    kept = looping.logs()
    looping.remove()
    again = create(RUN.replace("G-", "H-"), **options)
    again.start()
    recorder.wait(lambda it: len(it.codes) == 4)
    kept += again.logs()
    starts = recorder.lines_by_start

    assert recorder.codes == [3, 3, 3, 3]
    assert Counter(COUNTED.findall(b"".join(starts))) == Counter(COUNTED.findall(kept))
    for letter, output in zip("GGGH", starts, strict=True):
        lines = [f"{letter}-{k}".encode() for k in range(100)]
        # The daemon itself may keep less, where the machine is very busy ("Logger didn't exit in time").
        if kept.count(b"G-99") == 3 and b"H-99" in kept:
            assert sorted(output.splitlines()) == sorted([b"x" * 40000, b"e", *lines])
    assert [record.restart_count for record in recorder.of(AttemptStarted)] == [0, 1, 2, 0]
    assert recorder.of(LinesLost) == []


def test_900_of_900_over_a_loop_faster_than_the_follower_looks(follow: Follow, create: Create) -> None:
    recorder = follow("sgl")
    script = "k=0; while [ $k -lt 300 ]; do echo $k; k=$((k+1)); done; exit 1"
    create(script, restart_policy={"Name": "on-failure", "MaximumRetryCount": 2}).start()
    recorder.wait(lambda it: len(it.codes) == 3)

    assert recorder.lines_by_start == [b"".join(b"%d\n" % k for k in range(300))] * 3


def test_earlier_starts_are_told_apart_from_the_newest(follow: Follow, create: Create) -> None:
    made = create("echo run; [ -e /again ] && sleep 60; touch /again; exit 1", restart_policy={"Name": "on-failure"})
    made.start()
    _until(lambda: made.logs() == b"run\nrun\n")
    recorder = follow("sgl")
    recorder.wait(lambda it: it.lines_by_start == [b"run\n", b"run\n"])
    history, newest = recorder.of(AttemptStarted)

    assert history.history
    assert (newest.history, newest.restart_count) == (False, 1)


def test_start_that_is_over_does_not_count_the_restart_to_come(follow: Follow, create: Create) -> None:
    made = create("echo run; exit 1", restart_policy={"Name": "always"})
    made.start()
    # The engine waits longer from time to time; now for more than a second.
    _until(lambda: made.logs() == b"run\n" * 5)
    recorder = follow("sgl")
    recorder.wait(lambda it: len(it.of(AttemptStarted)) == 3)

    assert [record.restart_count for record in recorder.of(AttemptStarted)] == [0, 4, 5]


def test_restart_by_hand_and_rename(follow: Follow, create: Create) -> None:
    made = create("echo run; sleep 60")
    made.start()
    recorder = follow("sgl")
    recorder.wait(lambda it: it.text == b"run\n")
    made.rename("sgl-old")
    made.restart(timeout=0)
    recorder.wait(lambda it: it.lines_by_start == [b"run\n", b"run\n"])

    assert recorder.codes == [137]
    assert recorder.of(AttemptStarted)[1].container.name == "sgl-old"


def test_relaunch_under_the_same_name_is_taken_up(follow: Follow, create: Create) -> None:
    old = create("echo old; sleep 60")
    old.start()
    recorder = follow("sgl")
    recorder.wait(lambda it: it.text == b"old\n")
    new = create("echo new; sleep 60", name="sgl.new")
    old.stop(timeout=0)
    old.rename("sgl.old")
    new.rename("sgl")
    new.start()
    recorder.wait(lambda it: it.lines_by_start == [b"old\n", b"new\n"])

    assert recorder.codes == [137]


def test_target_may_be_a_service_of_compose(follow: Follow, create: Create) -> None:
    create("echo hi; exit 2", name="project-sgl-1", labels={"com.docker.compose.service": "engine"}).start()
    recorder = follow("engine")
    recorder.wait(lambda it: it.codes == [2])

    assert recorder.text == b"hi\n"


def test_unfinished_last_line_is_given(follow: Follow, create: Create) -> None:
    recorder = follow("sgl")
    create("echo a; printf 'no end'; exit 4").start()
    recorder.wait(lambda it: it.codes == [4])

    assert recorder.text == b"a\nno end\n"


def test_container_that_removes_itself(follow: Follow, create: Create) -> None:
    made = create("echo hi; sleep 0.3; echo bye; exit 5", auto_remove=True)
    recorder = follow("sgl")
    made.start()
    recorder.wait(lambda it: it.waits[-1:] == [WaitReason.REMOVED])

    assert recorder.text == b"hi\nbye\n"
    assert recorder.codes == [5]


def test_refused_start_has_the_reason_and_no_output(follow: Follow, create: Create) -> None:
    made = create("", entrypoint=["no-such-program"])
    recorder = follow("sgl")
    for _ in range(2):
        with pytest.raises(docker.errors.APIError):
            made.start()
    recorder.wait(lambda it: len(it.codes) == 1)
    time.sleep(0.3)
    (ended,) = recorder.of(AttemptEnded)

    assert ended.facts.exit_code == 127
    assert "executable file not found" in ended.facts.error
    assert recorder.text == b""
    assert recorder.waits[-1] == WaitReason.NOT_STARTED


def test_unreadable_driver_gives_reason_and_exits(follow: Follow, create: Create) -> None:
    recorder = follow("sgl")
    create("echo unseen; sleep 0.4; exit 6", log_config={"type": "none"}).start()
    recorder.wait(lambda it: it.codes == [6])
    (told,) = [record for record in recorder.of(Waiting) if record.reason is WaitReason.UNREADABLE]

    assert "'none'" in told.message.en
    assert recorder.text == b""


def test_memory_kill_is_told(follow: Follow, create: Create) -> None:
    recorder = follow("sgl")
    create("tail /dev/zero", mem_limit="16m").start()
    recorder.wait(lambda it: it.codes == [137])

    assert recorder.of(AttemptEnded)[0].facts.oom_killed


@pytest.mark.parametrize("driver", ["json-file", "local"])
def test_log_that_is_rotated_away_is_marked(follow: Follow, create: Create, driver: str) -> None:
    config = {"type": driver, "config": {"max-size": "100k", "max-file": "2"}}
    text = "x" * 60
    script = f"k=0; while [ $k -lt 20000 ]; do echo $k {text}; k=$((k+1)); done; echo DONE"
    recorder = follow("sgl")
    create(script, log_config=config).start()
    recorder.wait(lambda it: it.codes == [0])
    lines = recorder.text.splitlines()
    numbers = [int(line.split()[0]) for line in lines[:-1]]

    assert recorder.of(LinesLost)
    assert lines[-1] == b"DONE"
    assert len(set(numbers)) == len(numbers)


def test_reader_slower_than_the_container_still_gets_all(docker_host: PrivateDockerd, create: Create) -> None:
    # The engine cuts the stream of a reader that is behind when the container ends.
    create("yes 0123456789012345678901234567890123456789 | head -n 60000").start()
    follower = Follower(Endpoint(docker_host.url), "sgl")
    count = 0
    for record in follower:
        if isinstance(record, LogChunk):
            count += record.data.count(b"\n")
            time.sleep(0.002)
        if isinstance(record, AttemptEnded):
            break
    follower.cancel()

    assert count == 60000


def test_daemon_that_dies_and_comes_back(docker_host: PrivateDockerd, follow: Follow, create: Create) -> None:
    made = create("k=0; while :; do echo $k; k=$((k+1)); sleep 0.05; done", restart_policy={"Name": "unless-stopped"})
    made.start()
    recorder = follow("sgl")
    recorder.wait(lambda it: len(it.text) > 10)
    docker_host.kill()
    recorder.wait(lambda it: WaitReason.ENGINE in it.waits)
    docker_host.start()
    recorder.wait(lambda it: len(it.codes) == 1)
    with contextlib.suppress(docker.errors.APIError):
        made.start()
    recorder.wait(lambda it: len(it.lines_by_start) == 2 and b"3\n" in it.lines_by_start[1])
    first, second = recorder.lines_by_start

    for output in (first, second):
        assert output.split() == [b"%d" % k for k in range(len(output.split()))]


def test_cancel_leaves_no_thread_and_no_socket(docker_host: PrivateDockerd, follow: Follow, create: Create) -> None:
    create("echo hi; sleep 60").start()
    threads, files = threading.active_count(), set(Path("/proc/self/fd").iterdir())
    recorder = follow("sgl")
    recorder.wait(lambda it: it.text == b"hi\n")
    time.sleep(0.2)
    began = time.monotonic()
    recorder.follower.cancel()
    recorder.thread.join(5)
    took = time.monotonic() - began

    assert took < 1
    assert threading.active_count() == threads
    assert set(Path("/proc/self/fd").iterdir()) == files
    assert list(recorder.follower) == []


def _until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)
