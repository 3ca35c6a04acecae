"""Whether the kernel killed for memory: by its log, and by the counter of a cgroup."""

from pathlib import Path

import pytest

from sgdoctor.processes.memory_kills import MemoryKills

BY_CGROUP = (
    "6,1041,98765432,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
    "oom_memcg=/user.slice,task_memcg=/user.slice,task=python3,pid=4711,uid=1000\n"
)
GLOBAL = "3,1042,98765500,-;Out of memory: Killed process 4712 (sglang::schedul) total-vm:1kB, anon-rss:1kB\n"
OTHER = "6,1043,98765600,-;usb 1-1: new device found, idVendor=4711\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "kmsg"
    path.write_text("3,1,1,-;Out of memory: Killed process 5 (earlier)\n")
    return path


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    path = tmp_path / "memory.events"
    path.write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n")
    return path


@pytest.mark.parametrize(
    ("pids", "expected"), [({4711}, True), ({9, 4712}, True), ({5}, False), ({471}, False), (set(), False)]
)
def test_by_the_log_of_the_kernel(log: Path, counter: Path, pids: set[int], expected: bool) -> None:
    kills = MemoryKills(log, counter)
    with log.open("a") as file:
        file.write(OTHER + BY_CGROUP + GLOBAL)

    assert expected is kills.hit(frozenset(pids))


@pytest.mark.parametrize(("count", "expected"), [(2, False), (3, True)])
def test_by_the_counter_where_the_log_cannot_be_read(counter: Path, count: int, expected: bool) -> None:
    kills = MemoryKills(counter.parent / "none", counter)
    counter.write_text(f"oom 9\noom_kill {count}\n")

    assert expected is kills.hit(frozenset({4711}))


def test_nothing_is_known_where_there_is_neither(tmp_path: Path) -> None:
    assert not MemoryKills(tmp_path / "none", tmp_path / "none").hit(frozenset({1}))


def test_of_this_machine() -> None:
    assert not MemoryKills().hit(frozenset())
