"""Containers of one name on two engines: each has its own history, way back and lock, in one state folder."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.errors import UserError
from sgdoctor.relaunch.journal import journals, open_journals
from sgdoctor.relaunch.launches import history
from sgdoctor.relaunch.model import Ending
from sgdoctor.relaunch.recovery import look_for_open
from tests.docker import launches
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import HURRY, NAME, READY, SERVE, Stage, rollback
from tests.docker.test_relaunch_crash import die

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def second_host() -> Iterator[PrivateDockerd]:
    host = PrivateDockerd()
    try:
        host.start()
        launches.build_images(host)
        yield host
    finally:
        host.close()


@pytest.fixture
def here(docker_host: PrivateDockerd, docker_client: docker.DockerClient, tmp_path: Path) -> Stage:
    launches.build_images(docker_host)
    return Stage(docker_host, docker_client, tmp_path / "sgdoctor")


@pytest.fixture
def there(second_host: PrivateDockerd, tmp_path: Path) -> Iterator[Stage]:
    with closing(second_host.client()) as client:
        yield Stage(second_host, client, tmp_path / "sgdoctor")
    second_host.clear()


def run(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = {"DOCKER_HOST": stage.host.url, "XDG_STATE_HOME": str(stage.root.parent), "LANG": "C.UTF-8"}
    return subprocess.run(
        [sys.executable, "-m", "sgdoctor", *arguments],
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_has_its_own_history_and_way_back(here: Stage, there: Stage) -> None:
    first, other = here.serve(), there.serve()
    assert Ending.DONE is here.relaunch().ending
    assert Ending.DONE is there.relaunch().ending
    ours, theirs = (history(NAME, stage.root, stage.engine) for stage in (here, there))
    shown = run(here, "history", NAME)
    with Client(Endpoint(here.host.url)) as client:
        back = rollback(client, NAME, "original", readiness=READY, patience=HURRY, root=here.root)

    assert [first, other] == [attempts[0].container for attempts in (ours, theirs)]
    assert [2, 2] == [len(ours), len(theirs)]
    assert f"on other engines: 1 ({there.host.url})" in " ".join(shown.stdout.split())
    assert f"{NAME}: 2 launches; launch 1 holds the name." == shown.stdout.splitlines()[-1]
    assert (Ending.DONE, first) == (back.ending, back.container)
    assert SERVE != there.inspect()["Config"]["Cmd"]


def test_one_that_was_cut_off_elsewhere_is_none_of_this_one(here: Stage, there: Stage) -> None:
    here.serve()
    there.serve()
    die(there, "stop done")
    [cut_off] = open_journals(root=here.root)
    shown = run(here, "relaunch", NAME, "--set", "dtype=float16", "--dry-run")
    done = here.relaunch()
    forgotten = run(here, "forget", NAME, "--yes")
    back = run(here, "rollback", NAME, "--yes")

    assert [] == look_for_open(NAME, here.root, here.engine)
    assert 0 == shown.returncode
    assert 1 == shown.stderr.count("\n")
    assert f"a relaunch of {NAME} on another container engine ({there.host.url}) has no end" in shown.stderr
    assert Ending.DONE is done.ending
    assert 0 == forgotten.returncode
    assert [cut_off.id] == [one.id for one in journals(root=here.root)]
    assert f"was relaunched on another container engine ({there.host.url}) than the one in use" in back.stderr
    with Client(Endpoint(there.host.url)) as client:
        assert Ending.BACK is rollback(client, NAME, readiness=READY, patience=HURRY, root=there.root).ending
    assert {NAME: "running"} == there.containers


def test_record_without_an_engine_is_taken_back_where_its_containers_are(here: Stage, there: Stage) -> None:
    here.serve()
    there.serve()
    die(here, "take-name done")
    [cut_off] = open_journals(root=here.root)
    text = cut_off.path.read_text()
    cut_off.path.write_text(text.replace(f'"engine":"{here.engine}"', '"engine":""'))

    with Client(Endpoint(there.host.url)) as client, pytest.raises(UserError, match="on another container engine"):
        rollback(client, NAME, readiness=READY, patience=HURRY, root=there.root)
    with Client(Endpoint(here.host.url)) as client:
        outcome = rollback(client, NAME, readiness=READY, patience=HURRY, root=here.root)

    assert Ending.BACK is outcome.ending
    assert {NAME: "running"} == here.containers == there.containers


def test_engine_that_does_not_answer_leaves_the_history(here: Stage) -> None:
    here.serve()
    here.relaunch()
    attempts = len(history(NAME, here.root, here.engine))
    here.host.stop()
    try:
        shown = run(here, "history", NAME)
    finally:
        here.host.start()

    assert (0, "") == (shown.returncode, shown.stderr)
    assert f"{NAME}: {attempts} launches; launch 1 holds the name." == shown.stdout.splitlines()[-1]
