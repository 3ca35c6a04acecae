"""One container, several users of its engine: each has a state folder of their own, and the engine's lock in common."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sgdoctor.cli.open_relaunch import check_free
from sgdoctor.cli.watch_doctor import ContainerDoctor
from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.claim import LOCK, claim_of
from sgdoctor.relaunch.journal import Journal, journals, open_journals
from sgdoctor.relaunch.model import Ending, Intent, Outcome
from sgdoctor.relaunch.recovery import look_for_open, resume
from sgdoctor.rules.base import load_rule_base
from tests.docker import launches
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import HURRY, NAME, NEVER, POLICY, READY, SERVE, Stage, Told, at, rollback
from tests.docker.test_relaunch_crash import die

MOMENTS = ("create done", "hold done", "stop done", "step-aside done", "take-name done", "start done", "ready begun")


@pytest.fixture
def alice(docker_host: PrivateDockerd, docker_client: docker.DockerClient, tmp_path: Path) -> Iterator[Stage]:
    launches.build_images(docker_host)
    stage = Stage(docker_host, docker_client, tmp_path / "alice" / "sgdoctor")
    yield stage
    for name in locks(stage):
        docker_client.volumes.get(name).remove()


@pytest.fixture
def bob(alice: Stage, tmp_path: Path) -> Stage:
    return Stage(alice.host, alice.client, tmp_path / "bob" / "sgdoctor")


def locks(stage: Stage) -> list[str]:
    return [str(one.name) for one in stage.client.volumes.list() if LOCK in str(one.name)]


def said(outcome: Outcome) -> str:
    assert outcome.reason is not None
    assert outcome.reason.zh
    return outcome.reason.en


def recovered(stage: Stage, how: str) -> Outcome:
    with Client(Endpoint(stage.host.url)) as client:
        if how == "rollback":
            return rollback(client, NAME, readiness=READY, patience=HURRY, root=stage.root)
        [unfinished] = look_for_open(NAME, stage.root)
        return resume(client, unfinished.journal, readiness=READY, patience=HURRY, root=stage.root)


@pytest.mark.parametrize("moment", ["create done", "take-name done", "start done", "settle done"])
def test_another_user_is_refused_while_one_is_at_work(alice: Stage, bob: Stage, moment: str) -> None:
    alice.serve()
    others: list[Outcome] = []

    outcome = alice.relaunch(watcher=at(moment, lambda: others.append(bob.relaunch())))

    assert Ending.DONE is outcome.ending
    [other] = others
    assert Ending.REFUSED is other.ending
    assert f"{NAME} is being relaunched already, by process " in said(other)
    assert " of root, since " in said(other)
    assert [] == journals(root=bob.root)
    alice.assert_never_two()
    assert [] == locks(alice)


def test_of_many_at_the_same_moment_one_relaunches(alice: Stage, tmp_path: Path) -> None:
    alice.serve()
    document = alice.document()
    users = [Stage(alice.host, alice.client, tmp_path / f"user{number}") for number in range(4)]
    starts = threading.Barrier(len(users))
    outcomes: list[Outcome] = []

    def relaunch(user: Stage) -> None:
        starts.wait()
        outcomes.append(user.relaunch(document))

    threads = [threading.Thread(target=relaunch, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ["done", "refused", "refused", "refused"] == sorted(outcome.ending for outcome in outcomes)
    alice.assert_never_two()
    assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == alice.containers
    assert [] == [journal for user in users for journal in open_journals(root=user.root)]
    assert [] == locks(alice)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("how", ["rollback", "resume"])
def test_who_was_cut_off_keeps_others_off_until_they_recover(alice: Stage, bob: Stage, moment: str, how: str) -> None:
    alice.serve()
    document = bob.document()
    die(alice, moment)

    refused = bob.relaunch(document)
    between = recovered(alice, how)
    after = bob.relaunch(changes=[Change("flag.set", "--dtype", "float16")])

    assert "A relaunch of sgl by root (" in said(refused)
    assert (Ending.REFUSED, Ending.DONE) == (refused.ending, after.ending)
    assert between.ending in ((Ending.BACK, Ending.REFUSED) if how == "rollback" else (Ending.DONE,))
    alice.assert_never_two()
    assert [] == locks(alice)


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_anybody_is_told_to_type_puts_everything_back(alice: Stage, bob: Stage, moment: str) -> None:
    old = alice.serve()
    die(alice, moment)

    with Client(Endpoint(alice.host.url)) as client, pytest.raises(UserError, match="was cut off") as refusal:
        check_free(client, NAME)
    told = refusal.value.en
    done = subprocess.run(
        ["sh", "-c", told.rpartition("without it: ")[2]],
        env={"DOCKER_HOST": alice.host.url, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done
    assert "A relaunch of sgl by root (" in told
    assert f"XDG_STATE_HOME={alice.root.parent} sgdoctor rollback {NAME}" in told
    assert str(journals(root=alice.root)[-1].path) in told
    now = alice.inspect()
    assert (old, "running", POLICY) == (now["Id"], now["State"]["Status"], now["HostConfig"]["RestartPolicy"])
    assert {NAME: "running"} == alice.containers
    assert [] == locks(alice)
    alice.assert_never_two()
    assert Ending.DONE is bob.relaunch().ending


def test_who_comes_back_to_a_container_that_others_went_on_with(alice: Stage, bob: Stage) -> None:
    alice.serve()
    die(alice, "take-name done")
    for name, to in ((NAME, None), (f"{NAME}.sgd-old", NAME)):
        container = alice.client.containers.get(name)
        container.rename(to) if to else container.remove(force=True)
    alice.client.containers.get(NAME).start()
    alice.client.volumes.get(NAME + LOCK).remove()
    assert Ending.DONE is bob.relaunch().ending
    there = alice.containers

    outcome = recovered(alice, "rollback")

    assert Ending.OPEN is outcome.ending
    assert f"{NAME} is another container by now, and it runs" in said(outcome)
    assert there == alice.containers
    assert "no" == alice.inspect(f"{NAME}.sgd-old")["HostConfig"]["RestartPolicy"]["Name"]
    alice.assert_never_two()


def test_whoever_goes_on_is_named_while_they_do(alice: Stage, bob: Stage) -> None:
    alice.serve()
    die(alice, "start done")
    others: list[Outcome] = []
    [unfinished] = look_for_open(NAME, alice.root)
    readiness = Told(meanwhile=lambda _: others.append(bob.relaunch()))
    with Client(Endpoint(alice.host.url)) as client:
        done = resume(client, unfinished.journal, readiness=readiness, patience=HURRY, root=alice.root)

    assert Ending.DONE is done.ending
    assert "is being relaunched already, by process " in said(others[0])
    assert [] == locks(alice)


def test_journal_that_is_lost_leaves_the_commands(alice: Stage) -> None:
    alice.serve()
    die(alice, "step-aside done")
    journals(root=alice.root)[-1].discard()

    with Client(Endpoint(alice.host.url)) as client:
        there = claim_of(client, NAME)
        assert there is not None
        assert there.lives is False
        with pytest.raises(UserError, match=r"is gone or cannot be read; by hand: docker rm -f -v sgl\.sgd-new && "):
            check_free(client, NAME)


def test_claim_whose_relaunch_has_ended_is_nobodys(alice: Stage, bob: Stage) -> None:
    """Its process was killed between the end and giving the claim away."""
    alice.serve()
    alice.relaunch()
    ended = journals(root=alice.root)[-1]
    holder = json.dumps({"path": str(ended.path), "user": "alice", "since": "2026"})
    labels = {"sgdoctor.lock": ended.id, "sgdoctor.holder": holder}
    alice.client.volumes.create(NAME + LOCK, labels=labels)

    assert Ending.DONE is bob.relaunch(changes=[]).ending
    assert [] == locks(alice)


def test_somebody_on_another_machine_is_named(alice: Stage, bob: Stage) -> None:
    alice.serve()
    path = "/home/al/.local/state/sgdoctor/relaunch/x.jsonl"
    holder = {"path": path, "user": "al", "host": "gpu1", "process": 7}
    alice.client.volumes.create(NAME + LOCK, labels={"sgdoctor.lock": "x", "sgdoctor.holder": json.dumps(holder)})

    outcome = bob.relaunch()

    assert Ending.REFUSED is outcome.ending
    assert "sgl is being relaunched by al (7) on gpu1" in said(outcome)
    assert "as al or root on gpu1: XDG_STATE_HOME=/home/al/.local/state sgdoctor rollback sgl" in said(outcome)


def test_volume_of_somebody_under_the_name_of_the_lock(alice: Stage) -> None:
    alice.serve()
    alice.client.volumes.create(NAME + LOCK)

    outcome = alice.relaunch()

    assert Ending.DONE is outcome.ending
    assert ["Other users are not kept from relaunching sgl meanwhile" in note.en for note in outcome.notes] == [True]
    assert [NAME + LOCK] == locks(alice)


def test_old_one_is_started_by_hand_while_the_new_one_gets_ready(alice: Stage) -> None:
    old = alice.serve()

    def start(_: str) -> None:
        alice.client.containers.get(old).start()

    outcome = alice.relaunch(readiness=Told(meanwhile=start))

    assert Ending.BACK is outcome.ending
    assert "was started by somebody else while the new one of sgl was getting ready" in said(outcome)
    assert outcome.verdict is None
    now = alice.inspect()
    assert (old, "running", POLICY) == (now["Id"], now["State"]["Status"], now["HostConfig"]["RestartPolicy"])
    assert {NAME: "running"} == alice.containers
    assert [] == open_journals(root=alice.root)


def test_failed_relaunch_gives_the_container_free(alice: Stage, bob: Stage) -> None:
    alice.serve()

    failed = alice.relaunch(readiness=NEVER)

    assert Ending.BACK is failed.ending
    assert [] == locks(alice)
    assert Ending.DONE is bob.relaunch().ending
    assert SERVE != alice.inspect()["Config"]["Cmd"]


class KnowsName(ContainerDoctor):
    """The doctor of the app before there is anything on its screen but a name."""

    @property
    def container(self) -> str:
        return NAME


def doctor(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> ContainerDoctor:
    monkeypatch.setenv("XDG_STATE_HOME", str(stage.root.parent))
    return KnowsName(Endpoint(stage.host.url), load_rule_base(), lambda: None)


def test_app_of_another_user_acts_on_nothing(alice: Stage, bob: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    alice.serve()
    die(alice, "start done")
    theirs = doctor(bob, monkeypatch)

    for act in (theirs.rollback, theirs.heal):
        with pytest.raises(UserError, match=r"A relaunch of sgl by root \("):
            act()
    assert theirs.unfinished() is None
    assert doctor(alice, monkeypatch).unfinished() is not None


def test_app_knows_the_launches_of_its_engine(alice: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    alice.serve()
    now = alice.relaunch().container
    for ending in (Ending.DONE, Ending.OPEN):
        elsewhere = Journal.begin(Intent(NAME, engine="elsewhere", old={"Id": "ab" * 32}), alice.root)
        elsewhere.finish(Outcome(ending, container="cd" * 32))
    app = doctor(alice, monkeypatch)

    errand = app.rollback()

    assert app.unfinished() is None
    assert (now, "rollback") == (errand.id, errand.kind)
    assert "launch 0" in errand.heading.en


def test_app_says_what_speaks_against_the_way_back_before_it_asks(
    alice: Stage, monkeypatch: pytest.MonkeyPatch, docker_client: docker.DockerClient
) -> None:
    alice.serve()
    alice.relaunch()
    docker_client.containers.get(NAME).pause()

    with pytest.raises(UserError, match="docker unpause"):
        doctor(alice, monkeypatch).rollback()
