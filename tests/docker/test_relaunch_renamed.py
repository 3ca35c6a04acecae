"""A container that somebody renames keeps its launches and the way back."""

from pathlib import Path

import docker
import pytest

from sgdoctor.relaunch.journal import journals
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunch_command import BETTER, NAME, SERVE, Bench, last

pytestmark = pytest.mark.slow

KEPT, NEW = f"{NAME}.sgd-old", "prod"


@pytest.fixture
def bench(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path) -> Bench:
    docker_host.clear()  # of a project that goes on from test to test
    return Bench(docker_host, docker_client, standin_image, tmp_path / "state")


def renamed(bench: Bench) -> str:
    """A container that was relaunched and got another name; id of the original."""
    original = bench.serve()
    assert 0 == bench.run("relaunch", NAME, "--set", BETTER, "--yes").returncode
    bench.client.containers.get(NAME).rename(NEW)
    return original


def test_history_and_the_way_back_go_with_it(bench: Bench) -> None:
    original = renamed(bench)
    told, by_old_name = bench.run("history", NEW), bench.run("history", NAME)
    sent_on = bench.run("rollback", NAME, "--yes")
    back = bench.run("rollback", NEW, "--yes")
    _, after = bench.data("history", NEW)

    assert "prod: 2 launches; launch 1 holds the name." == last(told.stdout) == last(by_old_name.stdout)
    assert (2, "sgdoctor: sgl has another name now: sgdoctor rollback prod\n") == (sent_on.returncode, sent_on.stderr)
    assert (0, "") == (back.returncode, back.stderr)
    assert "Its container is still there and takes its place again." in back.stdout
    assert (original, SERVE) == (bench.identity(NEW), bench.command(NEW))
    assert {NEW: "running", f"{NEW}.sgd-old": "exited"} == bench.containers
    assert [0, 1, 2] == [one["number"] for one in after["attempts"]]

    forgotten = bench.run("forget", NEW, "--yes")
    assert (0, "prod: removed.") == (forgotten.returncode, last(forgotten.stdout))
    assert {NEW: "running"} == bench.containers
    assert [] == journals(root=bench.root)
    assert [] == list((bench.root / "spool").rglob("*.log"))


def test_name_that_somebody_else_took(bench: Bench) -> None:
    original = renamed(bench)
    bench.client.containers.get(NEW).stop()
    bench.serve()
    stranger = bench.run("rollback", NAME, "--yes")
    nothing = bench.run("forget", NAME, "--yes")
    back = bench.run("rollback", NEW, "--yes")

    assert "sgl is none of the launches that are known here" in stranger.stderr
    assert "sgl: nothing is kept of it.\n" == nothing.stdout
    assert (0, original) == (back.returncode, bench.identity(NEW))


def test_kept_one_that_was_named_to_be_used_beside_it(bench: Bench) -> None:
    bench.serve()
    assert 0 == bench.run("relaunch", NAME, "--set", BETTER, "--yes").returncode
    bench.client.containers.get(KEPT).rename(NEW)
    told, back = bench.run("history", NEW), bench.run("rollback", NEW, "--yes")

    for one in (told, back):
        assert (2, "sgdoctor: prod: no relaunch of this container is known here.\n") == (one.returncode, one.stderr)
    assert {NAME: "running", NEW: "exited"} == bench.containers


def test_earlier_launch_that_runs_is_no_neighbour_either(bench: Bench) -> None:
    renamed(bench)
    bench.client.containers.get(NEW).stop()
    bench.client.containers.get(KEPT).start()

    done = bench.run("relaunch", NEW, "--set", "mem-fraction-static=0.94", "--yes")

    assert 2 == done.returncode
    assert last(done.stdout).endswith(f"First: docker stop {KEPT}")


def test_relaunch_that_was_cut_off(bench: Bench) -> None:
    original = bench.serve()
    bench.killed("relaunch", NAME, "--set", BETTER, at="start done")
    bench.client.containers.get(NAME).rename(NEW)
    refused = bench.run("relaunch", NEW, "--set", BETTER, "--yes")
    back = bench.run("rollback", NEW, "--yes")

    assert 2 == refused.returncode
    assert "a relaunch of sgl was cut off" in refused.stderr
    assert 0 == back.returncode
    assert (original, {NAME: "running"}) == (bench.identity(), bench.containers)
