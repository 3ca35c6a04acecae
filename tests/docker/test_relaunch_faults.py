"""What can go wrong while a container is relaunched: nothing is lost, and the user is told what it was."""

import contextlib
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.journal import Journal, journals
from sgdoctor.relaunch.lock import locked
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Progress
from tests.docker import launches, relaunch_child
from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import BUSYBOX
from tests.docker.podman import PrivatePodman
from tests.docker.relaunching import HURRY, NAME, NEVER, POLICY, READY, SERVE, Stage, Told, at, rollback

REPO = Path(__file__).parents[2]
PORT = 15777


@pytest.fixture
def stage(docker_host: PrivateDockerd, docker_client: docker.DockerClient, tmp_path: Path) -> Stage:
    launches.build_images(docker_host)
    return Stage(docker_host, docker_client, tmp_path)


def rolled_back(stage: Stage) -> Outcome:
    with Client(Endpoint(stage.host.url)) as client:
        return rollback(client, NAME, readiness=READY, patience=HURRY, root=stage.root)


def said(outcome: Outcome) -> str:
    assert outcome.reason is not None
    assert outcome.reason.zh
    return outcome.reason.en


def test_never_ready(stage: Stage) -> None:
    old = stage.serve()

    outcome = stage.relaunch(readiness=NEVER)

    assert Ending.BACK is outcome.ending
    assert "never ready" == said(outcome)
    assert outcome.log is not None
    assert old == outcome.container
    stage.assert_back(old)


def test_image_is_gone(stage: Stage) -> None:
    stage.client.images.get(launches.IMAGE).tag("short-lived", "1")
    stage.client.api.import_image_from_data(b"\0" * 10240, repository="lone:1")
    lone = stage.client.images.get("lone:1").id
    stage.client.containers.create("lone:1", SERVE, name=NAME, network_mode="none")
    document = stage.document()
    stage.client.images.remove("lone:1", force=True)

    outcome = stage.relaunch(document)

    assert Ending.REFUSED is outcome.ending
    assert "docker pull" in said(outcome)
    assert lone == stage.inspect()["Image"]
    assert {NAME: "created"} == stage.containers


def test_new_image_is_not_there(stage: Stage) -> None:
    old = stage.serve()

    outcome = stage.relaunch(changes=[Change("image.tag", value="lmsysorg/sglang:v9")])

    assert Ending.REFUSED is outcome.ending
    assert "docker pull lmsysorg/sglang:v9" in said(outcome)
    stage.assert_back(old)


@pytest.fixture
def thief(stage: Stage) -> Iterator[Callable[[], socket.socket]]:
    """Takes the port on the engine's host."""
    taken: list[socket.socket] = []

    def take() -> socket.socket:
        with stage.host.network():
            taken.append(socket.socket())
        taken[0].bind(("127.0.0.1", PORT))
        taken[0].listen()
        return taken[0]

    yield take
    for one in taken:
        one.close()


def test_port_is_stolen_and_given_back(stage: Stage, thief: Callable[[], socket.socket]) -> None:
    old = stage.serve(network_mode="bridge", ports={"30000/tcp": ("127.0.0.1", PORT)})
    taken: list[socket.socket] = []

    def watch(progress: Progress) -> None:
        at("stop done", lambda: taken.append(thief()))(progress)
        at("remove done", lambda: taken[0].close())(progress)  # noqa: PLW0108 - there is none before

    outcome = stage.relaunch(watcher=watch)

    assert Ending.BACK is outcome.ending
    assert "address already in use" in said(outcome)
    assert outcome.verdict is not None
    assert "port" in outcome.verdict.diagnoses[0].title.en.lower()
    stage.assert_back(old)


def test_port_is_stolen_for_good(stage: Stage, thief: Callable[[], socket.socket]) -> None:
    old = stage.serve(network_mode="bridge", ports={"30000/tcp": ("127.0.0.1", PORT)})
    taken: list[socket.socket] = []

    outcome = stage.relaunch(watcher=at("stop done", lambda: taken.append(thief())))
    between = stage.containers
    taken[0].close()
    again = rolled_back(stage)

    assert Ending.OPEN is outcome.ending
    assert "The way back is not finished" in said(outcome)
    assert {NAME: "exited"} == between
    assert Ending.BACK is again.ending
    stage.assert_back(old)


@pytest.mark.parametrize("full", ["before", "meanwhile", "fails"])
def test_disk_is_full(stage: Stage, tmp_path: Path, full: str) -> None:
    old = stage.serve()
    began = stage.inspect()["State"]["StartedAt"]
    small = tmp_path / "small"
    small.mkdir()
    command = (
        f"mount -t tmpfs -o size=160k none {small} && exec {sys.executable} -m tests.docker.relaunch_child $0 $1 $2"
    )

    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", command, stage.host.url, str(small), full],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    if full == "before":
        assert done.stdout.startswith("refused "), done.stderr
        assert "No space left on device. Nothing was touched." in done.stdout
        stage.assert_back(old)
        assert began == stage.inspect()["State"]["StartedAt"]
    elif full == "fails":
        ending, log, *more = done.stdout.splitlines()
        assert ("back never ready", []) == (ending, more), done.stderr
        assert f"The log of {NAME} could not be kept ({small}/spool: No space left on device)" in log
        stage.assert_back(old)
    else:
        # The journal has its room.
        assert "done \n" == done.stdout
        assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == stage.containers
        assert old == stage.inspect(f"{NAME}.sgd-old")["Id"]


def test_engine_is_started_anew_in_the_middle(stage: Stage) -> None:
    old = stage.serve()

    def again() -> None:
        stage.host.stop()
        stage.host.start()

    outcome = stage.relaunch(watcher=at("take-name done", again))

    assert Ending.DONE is outcome.ending
    stage.assert_done(old)


def test_engine_goes_away_and_comes_back_later(stage: Stage) -> None:
    old = stage.serve()

    outcome = stage.relaunch(watcher=at("stop done", stage.host.stop))
    stage.host.start()
    between = stage.running
    again = rolled_back(stage)

    assert Ending.OPEN is outcome.ending
    assert "No container engine answers" in said(outcome)
    assert 0 == between
    assert Ending.BACK is again.ending
    stage.assert_back(old)


def test_name_is_taken_between_the_two_renames(stage: Stage) -> None:
    old = stage.serve()

    def take() -> None:
        stage.client.containers.create(launches.IMAGE, SERVE, name=NAME)

    outcome = stage.relaunch(watcher=at("step-aside done", take))
    between = stage.containers
    stage.client.containers.get(NAME).remove()
    again = rolled_back(stage)

    assert Ending.OPEN is outcome.ending
    assert f"The name {NAME} was taken" in said(outcome)
    assert {NAME: "created", f"{NAME}.sgd-old": "running"} == between
    assert Ending.BACK is again.ending
    stage.assert_back(old)


def test_name_of_the_new_one_is_taken_at_the_last_moment(stage: Stage) -> None:
    old = stage.serve()

    def take() -> None:
        stage.client.containers.create(launches.IMAGE, SERVE, name=f"{NAME}.sgd-new")

    outcome = stage.relaunch(watcher=at("create begun", take))

    assert Ending.REFUSED is outcome.ending
    assert f"The name {NAME}.sgd-new was taken" in said(outcome)
    assert {NAME: "running", f"{NAME}.sgd-new": "created"} == stage.containers
    assert old == stage.inspect()["Id"]


def test_names_that_are_taken_before_are_left_to_their_owners(stage: Stage) -> None:
    stage.serve()
    for end in ("new", "old"):
        stage.client.containers.create(launches.IMAGE, SERVE, name=f"{NAME}.sgd-{end}")

    outcome = stage.relaunch()

    assert Ending.DONE is outcome.ending
    assert {f"{NAME}.sgd-{end}" for end in ("new", "old", "old.2")} | {NAME} == stage.containers.keys()


def test_rest_of_a_relaunch_whose_journal_is_not_here(stage: Stage) -> None:
    stage.serve()
    stage.client.containers.create(
        launches.IMAGE, SERVE, name=f"{NAME}.sgd-new", labels={"sgdoctor.relaunch": "of-somebody-else"}
    )

    outcome = stage.relaunch()

    assert Ending.REFUSED is outcome.ending
    assert f"docker rm {NAME}.sgd-new" in said(outcome)


def remove(stage: Stage, name: str) -> Callable[[], None]:
    return lambda: stage.client.containers.get(name).remove(force=True)


def test_old_one_is_removed_by_somebody_before_it_is_touched(stage: Stage) -> None:
    stage.serve()

    outcome = stage.relaunch(watcher=at("create done", remove(stage, NAME)))

    assert Ending.REFUSED is outcome.ending
    assert f"{NAME} was removed by somebody else." == said(outcome)
    assert {} == stage.containers


def test_old_one_is_cleaned_away_once_it_is_stopped(stage: Stage) -> None:
    stage.serve()

    done = stage.relaunch(watcher=at("stop done", stage.client.containers.prune))

    # A prune takes the new one as well, which does not run yet: made again from the journal.
    assert Ending.BACK is done.ending
    assert (SERVE, POLICY) == (
        stage.inspect()["Config"]["Cmd"],
        stage.inspect()["HostConfig"]["RestartPolicy"],
    )
    assert {NAME: "running"} == stage.containers


@pytest.mark.parametrize("moment", ["create done", "stop done"])
def test_new_one_is_removed_by_somebody(stage: Stage, moment: str) -> None:
    old = stage.serve()

    outcome = stage.relaunch(watcher=at(moment, remove(stage, f"{NAME}.sgd-new")))

    assert outcome.ending is (Ending.REFUSED if moment == "create done" else Ending.BACK)
    assert "The new container was removed by somebody else." == said(outcome)
    stage.assert_back(old)


def test_new_one_is_removed_while_it_gets_ready(stage: Stage) -> None:
    old = stage.serve()

    outcome = stage.relaunch(readiness=Told(meanwhile=lambda one: stage.client.containers.get(one).remove(force=True)))

    assert Ending.BACK is outcome.ending
    stage.assert_back(old)


@pytest.mark.parametrize("when", ["before", "create done"])
def test_container_is_changed_by_somebody(stage: Stage, when: str) -> None:
    old = stage.serve()
    document = stage.document()

    def change() -> None:
        stage.client.containers.get(old).update(mem_limit="1g", memswap_limit="1g")

    if when == "before":
        change()
    outcome = stage.relaunch(document, watcher=at(when, change))

    assert Ending.REFUSED is outcome.ending
    assert "was changed by somebody else since the plan was made (HostConfig.Memory, HostConfig.MemorySwap)" in said(
        outcome
    )
    stage.assert_back(old)
    assert 1 << 30 == stage.inspect()["HostConfig"]["Memory"]


def test_old_one_is_started_by_somebody_before_the_new_one(stage: Stage) -> None:
    old = stage.serve()

    outcome = stage.relaunch(watcher=at("take-name done", stage.client.containers.get(old).start))

    assert Ending.BACK is outcome.ending
    assert "started again by somebody else" in said(outcome)
    stage.assert_back(old)


def test_socket_that_may_not_be_used(stage: Stage) -> None:
    old = stage.serve()
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("forkserver")
    child = context.Process(
        target=relaunch_child.has_no_rights, args=(stage.host.url, stage.root, stage.document(), there)
    )
    stage.host.folder.chmod(0o755)
    child.start()
    child.join(30)
    outcome = here.recv()

    assert Ending.REFUSED is outcome.ending
    assert "Permission denied" in said(outcome)
    assert "docker $USER" in said(outcome)
    assert [] == journals(root=stage.root)
    stage.assert_back(old)


def test_crash_loop_is_ended_and_comes_back(stage: Stage) -> None:
    old = stage.serve(entrypoint=["sh", "-c", "sleep 0.1; exit 1"])
    during: list[str] = []

    outcome = stage.relaunch(
        changes=[Change("env.set", "A", "b")],
        readiness=NEVER,
        watcher=at("start begun", lambda: during.append(stage.inspect(old)["State"]["Status"])),
    )

    assert Ending.BACK is outcome.ending
    assert ["exited"] == during, outcome
    assert POLICY == stage.inspect()["HostConfig"]["RestartPolicy"]
    assert old == stage.inspect()["Id"]
    assert stage.inspect()["State"]["Status"] in ("running", "restarting")


def test_container_that_did_not_run_does_not_run_afterwards(stage: Stage) -> None:
    old = stage.serve()
    stage.client.containers.get(old).stop()

    outcome = stage.relaunch(readiness=NEVER)

    assert Ending.BACK is outcome.ending
    assert {NAME: "exited"} == stage.containers
    assert POLICY == stage.inspect()["HostConfig"]["RestartPolicy"]


def test_paused_container_is_left_alone(stage: Stage) -> None:
    old = stage.serve()
    stage.client.containers.get(old).pause()

    outcome = stage.relaunch()
    stage.client.containers.get(old).unpause()

    assert Ending.REFUSED is outcome.ending
    assert "docker unpause" in said(outcome)
    stage.assert_back(old)


def test_paused_container_is_not_taken_back(stage: Stage) -> None:
    stage.serve()
    new = stage.relaunch().container
    stage.client.containers.get(new).pause()

    outcome = rolled_back(stage)
    stage.client.containers.get(new).unpause()

    assert Ending.REFUSED is outcome.ending
    assert "docker unpause" in said(outcome)
    assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == stage.containers


def test_kept_container_is_not_started_beside_the_one_that_took_its_place(stage: Stage) -> None:
    stage.serve()
    stage.relaunch()

    outcome = stage.relaunch(stage.document(f"{NAME}.sgd-old"), changes=[Change("flag.set", "--dtype", "float16")])

    assert Ending.REFUSED is outcome.ending
    assert f"sgdoctor rollback {NAME})" in said(outcome)
    assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == stage.containers


def test_journal_is_removed_by_somebody(stage: Stage) -> None:
    old = stage.serve()

    def remove() -> None:
        journals(root=stage.root)[-1].discard()

    outcome = stage.relaunch(watcher=at("stop done", remove))

    assert (Ending.BACK, "") == (outcome.ending, outcome.journal)
    assert "The journal cannot be written any more: No such file or directory." == said(outcome)
    stage.assert_back(old)


def test_new_one_is_renamed_by_somebody(stage: Stage) -> None:
    stage.serve()

    outcome = stage.relaunch(readiness=Told(meanwhile=lambda one: stage.client.containers.get(one).rename("other")))

    assert Ending.DONE is outcome.ending
    assert ["docker rename other sgl"] == [note.en.rpartition(": ")[2] for note in outcome.notes]


def test_container_of_the_same_name_on_another_engine_has_its_own_way_back(stage: Stage) -> None:
    old = stage.serve()
    stage.relaunch()
    elsewhere = Journal.begin(Intent(NAME, engine="elsewhere", old={"Id": "ab" * 32}), stage.root)
    elsewhere.finish(Outcome(Ending.DONE, container="cd" * 32))

    outcome = rolled_back(stage)

    assert (Ending.DONE, old) == (outcome.ending, outcome.container)


def test_command_that_is_not_there(stage: Stage) -> None:
    old = stage.serve(entrypoint=[""])

    outcome = stage.relaunch(changes=[Change("docker.command", value="pyhton3 -m sglang.launch_server")])

    assert Ending.BACK is outcome.ending
    assert "pyhton3" in said(outcome)
    assert outcome.verdict is not None
    stage.assert_back(old)


def test_second_process_is_told_who_is_at_work(stage: Stage) -> None:
    old = stage.serve()

    with locked(NAME, stage.root, stage.engine):
        outcome = stage.relaunch()

    assert Ending.REFUSED is outcome.ending
    assert f"by process {os.getpid()} (" in said(outcome)
    stage.assert_back(old)


def test_relaunch_that_was_cut_off_comes_first(stage: Stage) -> None:
    old = stage.serve()
    stage.relaunch(watcher=at("stop done", stage.host.stop))
    stage.host.start()

    outcome = stage.relaunch(stage.document())

    assert Ending.REFUSED is outcome.ending
    assert f"sgdoctor rollback {NAME}" in said(outcome)
    assert Ending.BACK is rolled_back(stage).ending
    stage.assert_back(old)


def test_stopped_by_the_user(stage: Stage) -> None:
    old = stage.serve()

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    outcome = stage.relaunch(readiness=Told(meanwhile=interrupt))

    assert Ending.BACK is outcome.ending
    assert "It was stopped by you." == said(outcome)
    stage.assert_back(old)


@pytest.mark.parametrize(
    ("label", "maker"), [("com.docker.swarm.service.name", "Swarm"), ("io.kubernetes.pod.name", "Kubernetes")]
)
def test_container_of_an_orchestrator_is_left_to_it(stage: Stage, label: str, maker: str) -> None:
    old = stage.serve(labels={label: "sgl"})

    outcome = stage.relaunch()

    assert Ending.REFUSED is outcome.ending
    assert said(outcome).startswith(f"{maker} made this container")
    stage.assert_back(old)


def test_podman_refuses(podman_host: PrivatePodman, tmp_path: Path) -> None:
    with contextlib.closing(podman_host.client()) as client:
        client.containers.create(BUSYBOX, SERVE, name=NAME)
        stage = Stage(podman_host, client, tmp_path)  # type: ignore[arg-type]

        outcome = stage.relaunch()

        assert Ending.REFUSED is outcome.ending
        assert said(outcome).startswith("podman cannot relaunch")
        assert {NAME} == stage.containers.keys()
        client.containers.get(NAME).remove()
