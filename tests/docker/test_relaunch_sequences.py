"""The commands about relaunching in odd orders, with hands of others in between."""

from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from sgdoctor.relaunch.claim import LOCK
from sgdoctor.relaunch.journal import journals
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunch_command import BETTER, NAME, SERVE, WORSE, Bench, last, until

pytestmark = pytest.mark.slow

KEPT = f"{NAME}.sgd-old"
SLOW = {"STANDIN_PACE": "5"}


@pytest.fixture
def bench(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path) -> Bench:
    return Bench(docker_host, docker_client, standin_image, tmp_path / "state")


def container(bench: Bench, name: str = NAME) -> Container:
    return bench.client.containers.get(name)


def relaunched(bench: Bench) -> None:
    assert 0 == bench.run("relaunch", NAME, "--set", BETTER, "--yes").returncode


def test_old_one_that_was_put_back_by_hand_is_the_one(bench: Bench) -> None:
    """There is a way to the launch that was swapped away, and history says which one holds the name."""
    original = bench.serve()
    relaunched(bench)
    container(bench).rename(f"{NAME}.mine")
    container(bench, f"{NAME}.mine").stop()
    container(bench, KEPT).rename(NAME)
    container(bench).start()
    _, before = bench.data("history", NAME)
    code, back = bench.data("rollback", NAME, "--to", "1", "--yes")
    _, after = bench.data("history", NAME)

    assert [0] == [one["number"] for one in before["attempts"] if one["current"]]
    assert (0, "done") == (code, back["outcome"]["ending"])
    assert [*SERVE[:-1], "0.93"] == bench.command()
    assert original == bench.identity(KEPT)
    assert [2] == [one["number"] for one in after["attempts"] if one["current"]]


def test_container_that_somebody_else_made(bench: Bench) -> None:
    bench.serve()
    relaunched(bench)
    container(bench).remove(force=True)
    there = bench.serve()
    told = bench.run("history", NAME)
    back = bench.run("rollback", NAME, "--yes")

    assert "sgl: 2 launches; somebody else made the container that has the name now." == last(told.stdout)
    assert 2 == back.returncode
    assert "sgl is none of the launches that are known here" in back.stderr
    assert there == bench.identity()


def test_earlier_launch_that_runs_is_no_neighbour(bench: Bench) -> None:
    bench.serve()
    relaunched(bench)
    container(bench).stop()
    container(bench, KEPT).start()
    done = bench.run("relaunch", NAME, "--set", WORSE, "--yes")
    back = bench.run("rollback", NAME, "--yes")
    forgotten = bench.run("forget", NAME, "--yes")

    for refused in (done, back):
        assert 2 == refused.returncode
        assert last(refused.stdout).endswith("two servers do not fit on the GPU. First: docker stop sgl.sgd-old")
    assert "sgl.sgd-old runs; it was left alone" in forgotten.stderr
    # Of one that runs they are the way back.
    assert 1 == len(journals(root=bench.root))
    assert {NAME: "exited", KEPT: "running"} == bench.containers
    container(bench, KEPT).stop()
    assert 0 == bench.run("rollback", NAME, "--yes").returncode
    assert SERVE == bench.command()


def test_after_a_failure_there_is_nothing_to_go_back_to(bench: Bench) -> None:
    bench.serve()
    assert 3 == bench.run("relaunch", NAME, "--set", WORSE, "--yes").returncode
    back = bench.run("rollback", NAME, "--yes")

    assert 2 == back.returncode
    assert "sgl: no launch before this one is known to have served; there are: 0, 1" in back.stderr


@pytest.mark.parametrize("how", ["rollback", "resume"])
def test_killed_on_the_way_back_to_an_earlier_launch(bench: Bench, how: str) -> None:
    original = bench.serve(environment=SLOW)
    relaunched(bench)
    better = bench.identity()
    process = bench.begin("rollback", NAME, "--yes")
    until(lambda: len(journals(root=bench.root)) == 2)
    bench.until("ready begun")
    process.kill()
    process.communicate()
    seen = [bench.run("forget", NAME, "--yes"), bench.run("heal", NAME, "--yes")]
    if how == "rollback":
        code, data = bench.data("rollback", NAME, "--yes")
    else:
        code, data = bench.data("relaunch", NAME, "--resume", "--yes")

    assert [2, 2] == [done.returncode for done in seen]
    assert all("a relaunch of sgl was cut off on " in done.stderr for done in seen)
    assert 0 == code
    assert journals(root=bench.root)[-1].id == data["undoes" if how == "rollback" else "resumes"]
    assert bench.identity() == (better if how == "rollback" else original)
    assert [] == [one.name for one in bench.client.volumes.list() if LOCK in str(one.name)]


@pytest.mark.parametrize("gone", [(NAME,), (KEPT,), (NAME, KEPT)], ids=["new", "old", "both"])
def test_cut_off_and_then_cleaned_up_by_somebody(bench: Bench, gone: tuple[str, ...]) -> None:
    bench.serve(environment=SLOW)
    bench.killed("relaunch", NAME, "--set", BETTER, at="ready begun")
    for name in gone:
        container(bench, name).remove(force=True)
    done = bench.run("rollback", NAME, "--yes")

    assert (0, "sgl: the relaunch was undone; everything is as before.") == (done.returncode, last(done.stdout))
    assert {NAME: "running"} == bench.containers
    assert SERVE == bench.command()
    assert [] == [one.name for one in bench.client.volumes.list() if LOCK in str(one.name)]


def test_another_user_hears_what_they_can_do(bench: Bench, tmp_path: Path) -> None:
    old = bench.serve(environment=SLOW)
    bench.killed("relaunch", NAME, "--set", BETTER, at="ready begun")
    other = Bench(bench.host, bench.client, bench.image, tmp_path / "other")
    tried = [
        other.run("rollback", NAME, "--yes"),
        other.run("relaunch", NAME, "--set", WORSE, "--yes"),
        other.run("relaunch", NAME, "--resume", "--yes"),
        other.run("heal", NAME, "--yes"),
        other.run("forget", NAME, "--yes"),
    ]
    between = bench.containers
    command = tried[0].stderr.partition(" or root: ")[2].partition(";")[0]
    assert command == f"XDG_STATE_HOME={bench.home} sgdoctor rollback {NAME}"
    done = bench.run("rollback", NAME, "--yes")

    for one in tried:
        assert (2, 1) == (one.returncode, one.stderr.count("\n"))
        assert "A relaunch of sgl by root (" in one.stderr
        assert "; without it: docker rm -f -v sgl && docker rename sgl.sgd-old sgl && " in one.stderr
    assert {NAME: "running", KEPT: "exited"} == between
    assert 0 == done.returncode
    assert old == bench.identity()
    assert 0 == other.run("relaunch", NAME, "--set", BETTER, "--yes").returncode


def test_nothing_is_forgotten_beside_a_journal_that_cannot_be_read(bench: Bench) -> None:
    """The kept container may be the only server that there is."""
    bench.serve()
    relaunched(bench)
    (journal,) = journals(root=bench.root)
    journal.path.write_text("{\n")

    forgotten = bench.run("forget", NAME, "--yes")

    assert (2, "sgl: nothing was removed: a relaunch of it may have been cut off.\n") == (
        forgotten.returncode,
        forgotten.stdout,
    )
    assert "its first line is damaged" in forgotten.stderr
    assert {NAME, KEPT} == bench.containers.keys()
