"""A relaunch whose process is killed, or whose connection breaks, at every moment; recovery brings a whole state."""

import multiprocessing
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.relaunch.model import Ending
from sgdoctor.relaunch.recovery import look_for_open, resume
from tests.docker import launches, relaunch_child
from tests.docker.dockerd import PrivateDockerd
from tests.docker.proxy import Proxy
from tests.docker.relaunching import ADDED, HURRY, NAME, NEVER, POLICY, READY, SERVE, Stage, rollback

FORWARD = ("create", "compare", "hold", "stop", "step-aside", "take-name", "start", "ready", "settle")
BACK = ("save-log", "remove", "give-name-back", "restore-policy", "restart-old")
MOMENTS = [f"{step} {state}" for step in FORWARD for state in ("begun", "done")]
# Both go back from here.
MOMENTS_BACK = [(f"{step} {state}", how) for step in BACK for state, how in (("begun", "rollback"), ("done", "resume"))]
WRITES = (
    ("POST /containers/create", 1),
    ("/update", 1),
    ("/stop", 1),
    ("/rename", 1),
    ("/rename", 2),
    ("/start", 1),
    ("/update", 2),
)
WRITES_BACK = (("DELETE ", 1), ("/rename", 3), ("/update", 2), ("/start", 2))


@pytest.fixture(scope="module")
def stage(docker_host: PrivateDockerd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage for all tests here: making the container anew each time would take most of their time."""
    launches.build_images(docker_host)
    with_client = docker_host.client()
    stage = Stage(docker_host, with_client, tmp_path_factory.mktemp("state"))
    yield stage
    stage.clear()
    with_client.close()


@pytest.fixture
def old(stage: Stage) -> str:
    """Id of a server that runs alone."""
    names = stage.containers
    if names != {NAME: "running"}:
        stage.clear()
        return stage.serve()
    return str(stage.inspect()["Id"])


def die(stage: Stage, moment: str, **options: bool) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.docker.relaunch_child"])
    child = context.Process(target=relaunch_child.dies, args=(stage.host.url, stage.root, moment), kwargs=options)
    child.start()
    child.join(30)
    assert child.exitcode == -signal.SIGKILL
    assert stage.running <= 1


def recover(stage: Stage, how: str) -> Ending:
    [unfinished] = look_for_open(NAME, stage.root)
    assert unfinished.holder is None
    with Client(Endpoint(stage.host.url)) as client:
        if how == "resume":
            outcome = resume(client, unfinished.journal, readiness=READY, patience=HURRY, root=stage.root)
        else:
            outcome = rollback(client, NAME, readiness=READY, patience=HURRY, root=stage.root)
    return outcome.ending


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_on_the_way_and_rolled_back(stage: Stage, old: str, moment: str) -> None:
    die(stage, moment)

    ending = recover(stage, "rollback")

    untouched = MOMENTS.index(moment) < MOMENTS.index("hold begun")
    assert ending is (Ending.REFUSED if untouched else Ending.BACK)
    stage.assert_back(old)


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_on_the_way_and_resumed(stage: Stage, old: str, moment: str) -> None:
    die(stage, moment)

    assert recover(stage, "resume") is Ending.DONE
    stage.assert_done(old)


@pytest.mark.parametrize(("moment", "how"), MOMENTS_BACK)
def test_killed_on_the_way_back(stage: Stage, old: str, moment: str, how: str) -> None:
    die(stage, moment, fails=True)

    assert recover(stage, how) is Ending.BACK
    stage.assert_back(old)


@pytest.mark.parametrize(("answered", "how"), [(False, "rollback"), (True, "resume")], ids=["not-done", "done"])
@pytest.mark.parametrize("call", WRITES, ids=str)
def test_connection_lost_for_good_in_a_call(
    stage: Stage, old: str, tmp_path: Path, call: tuple[str, int], how: str, *, answered: bool
) -> None:
    with Proxy(stage.host.url, tmp_path / "p") as proxy:
        proxy.drop(*call, answered=answered, for_good=True)
        outcome = stage.relaunch(url=proxy.url)

    assert outcome.ending is Ending.OPEN
    assert outcome.reason is not None
    assert "does not answer" in outcome.reason.en or "No container engine answers" in outcome.reason.en
    assert stage.running <= 1
    if how == "resume" and call == ("/update", 2):
        assert recover(stage, how) is Ending.DONE
        stage.assert_done(old)
    else:
        # The way back was begun when the engine went away.
        assert recover(stage, how) in (Ending.BACK, Ending.REFUSED)
        stage.assert_back(old)


@pytest.mark.parametrize("answered", [False, True], ids=["not-done", "done"])
@pytest.mark.parametrize("call", WRITES_BACK, ids=str)
def test_connection_lost_for_good_on_the_way_back(
    stage: Stage, old: str, tmp_path: Path, call: tuple[str, int], *, answered: bool
) -> None:
    with Proxy(stage.host.url, tmp_path / "p") as proxy:
        proxy.drop(*call, answered=answered, for_good=True)
        outcome = stage.relaunch(url=proxy.url, readiness=NEVER)

    assert outcome.ending is Ending.OPEN
    assert stage.running <= 1
    assert recover(stage, "rollback") is Ending.BACK
    stage.assert_back(old)


@pytest.mark.parametrize("answered", [False, True], ids=["not-done", "done"])
def test_each_call_broken_once_is_made_again(stage: Stage, old: str, tmp_path: Path, *, answered: bool) -> None:
    with Proxy(stage.host.url, tmp_path / "p") as proxy:
        for call in WRITES:
            proxy.drop(*call, answered=answered, for_good=False)
        outcome = stage.relaunch(url=proxy.url)
        broken = proxy.broken

    assert len(WRITES) == broken
    assert outcome.ending is Ending.DONE
    stage.assert_done(old)


TURNS = [
    (moment, how)
    for moment in ("hold done", "stop done", "step-aside done", "take-name done", "start done")
    for how in ("rollback", "resume")
]


@pytest.mark.parametrize(("moment", "how"), TURNS)
def test_killed_while_an_earlier_launch_is_taken_back(stage: Stage, old: str, moment: str, how: str) -> None:
    second = stage.relaunch().container

    die(stage, moment, back=True)

    ending = recover(stage, how)
    holds, kept = (second, old) if how == "rollback" else (old, second)
    assert ending is (Ending.BACK if how == "rollback" else Ending.DONE)
    assert 2 == len(stage.containers)
    assert (holds, "running") == (stage.inspect()["Id"], stage.inspect()["State"]["Status"])
    assert POLICY == stage.inspect()["HostConfig"]["RestartPolicy"]
    assert ("exited", "no") == (
        stage.inspect(kept)["State"]["Status"],
        stage.inspect(kept)["HostConfig"]["RestartPolicy"]["Name"],
    )


TURNS_OF_ITSELF = [
    (moment, how)
    for moment in ("save-log done", "stop begun", "stop done", "take-name done", "start done")
    for how in ("rollback", "resume")
]


@pytest.mark.parametrize(("moment", "how"), TURNS_OF_ITSELF)
def test_killed_while_a_container_that_removes_itself_is_relaunched(stage: Stage, moment: str, how: str) -> None:
    stage.clear()
    stage.serve(restart_policy=None, auto_remove=True)
    stage.client.containers.get(NAME).exec_run(["sh", "-c", "echo kept > /data/file"])

    die(stage, moment)

    back = Ending.REFUSED if moment == "save-log done" else Ending.BACK
    assert (Ending.DONE if how == "resume" else back) is recover(stage, how)
    now = stage.inspect()
    assert SERVE + (ADDED if how == "resume" else []) == now["Config"]["Cmd"]
    assert {NAME: "running"} == stage.containers
    assert now["HostConfig"]["AutoRemove"]
    assert b"kept" == stage.client.containers.get(NAME).exec_run(["cat", "/data/file"]).output.strip()
    stage.assert_never_two()
    stage.clear()
