"""Services of Compose are relaunched through their file, by the Compose that made them, on a real daemon."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import docker
import pytest

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.diagnosis.model import State
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.compose import Edition, edition, open_service, rehearsed
from sgdoctor.relaunch.compose.service import config_hash
from sgdoctor.relaunch.journal import journals, open_journals
from sgdoctor.relaunch.launches import history
from sgdoctor.relaunch.model import Ending, Outcome, Progress, Step, StepState
from sgdoctor.relaunch.readiness import EngineReadiness
from sgdoctor.relaunch.recovery import resume
from sgdoctor.relaunch.returning import go_back, plan_return
from sgdoctor.rules.base import load_rule_base
from tests.composes import first, modern, needed, path_with_tools
from tests.docker import launches
from tests.docker.composing import FAILS, PATIENCE, Killer, Project, QuickReadiness, fidelity
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunching import rollback
from tests.launch.tables import FLAGS

pytestmark = pytest.mark.slow

NAME = "shop-llm-1"
RAISE = Change("flag.set", "--mem-fraction-static", "0.88")
BREAK = Change("env.set", "STANDIN_SCENARIO", FAILS)


def words_of(generation: str) -> list[str]:
    return needed(modern() if generation == "modern" else first())


@pytest.fixture
def generation() -> str:
    """Which Compose."""
    return "modern"


@pytest.fixture(scope="module")
def server_image(docker_host: PrivateDockerd, busybox_image: str) -> str:
    """Name of an image whose engine does nothing but run, and ends when it is told to."""
    launches.build_images(docker_host)
    return launches.IMAGE


@pytest.fixture
def project(
    generation: str,
    docker_host: PrivateDockerd,
    docker_client: docker.DockerClient,
    server_image: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Project]:
    """A project that was not started yet."""
    words = words_of(generation)
    monkeypatch.setenv("PATH", path_with_tools())
    yield Project(docker_host.url, words, tmp_path / "shop", tmp_path / "state", server_image)
    docker_host.clear()
    docker_client.networks.prune()
    docker_client.volumes.prune()


@pytest.fixture(scope="module")
def kept_folder(docker_host: PrivateDockerd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Of the project that goes through all interruptions."""
    yield tmp_path_factory.mktemp("kept")
    docker_host.clear()


@pytest.fixture
def standing(
    generation: str,
    docker_host: PrivateDockerd,
    server_image: str,
    kept_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Project:
    """A project that runs, as the test before left it."""
    monkeypatch.setenv("PATH", path_with_tools())
    folder = kept_folder / generation
    project = Project(docker_host.url, words_of(generation), folder, kept_folder / "state", server_image)
    if not project.file.exists() or not project.containers():
        docker_host.clear()
        project.up(project.text())
    for backup in folder.glob("*.bak-*"):
        backup.unlink()
    return project


both = pytest.mark.parametrize("generation", ["modern", "first"])


@both
def test_flag_is_changed_and_nothing_else(project: Project) -> None:
    text = project.text()
    project.up(text)
    before, side = project.container(), project.container("side")

    outcome = project.relaunch(RAISE)

    after = project.container()
    expected = fidelity(before)
    expected["config"]["Cmd"][-1] = "0.88"
    assert (Ending.DONE, None) == (outcome.ending, outcome.reason)
    assert after["Id"] == outcome.container != before["Id"]
    assert expected == fidelity(after)
    assert side == project.container("side")
    assert text.replace("0.80", "0.88") == project.file.read_text()
    (backup,) = project.folder.glob("compose.yaml.bak-*")
    assert text == backup.read_text()
    assert {"compose.yaml", "models", backup.name} == {one.name for one in project.folder.iterdir()}


@both
def test_failing_start_is_undone(project: Project, standin_image: str) -> None:
    project.image = standin_image
    text = project.text()
    project.up(text)
    before, side = project.container(), project.container("side")

    outcome = project.relaunch(RAISE, BREAK, readiness=EngineReadiness(Endpoint(project.url), load_rule_base()))

    after = project.container()
    assert Ending.BACK == outcome.ending
    assert outcome.log is not None
    assert b"unrecognized arguments" in Path(outcome.log).read_bytes()
    assert outcome.verdict is not None
    assert State.FAILED == outcome.verdict.state
    assert text == project.file.read_text()
    assert ["compose.yaml", "models"] == sorted(one.name for one in project.folder.iterdir())
    assert fidelity(before) == fidelity(after)
    assert after["Id"] == outcome.container
    assert after["State"]["Running"]
    assert side == project.container("side")


def test_start_that_compose_lets_the_engine_repeat_is_undone(project: Project, standin_image: str) -> None:
    project.image = standin_image
    text = project.text().replace('restart: "no"', "restart: always")
    project.up(text)
    readiness = EngineReadiness(Endpoint(project.url), load_rule_base(), limit=40)

    outcome = project.relaunch(RAISE, BREAK, readiness=readiness)

    assert Ending.BACK == outcome.ending
    assert outcome.reason is not None
    assert "not ready within" not in outcome.reason.en
    assert outcome.verdict is not None
    assert State.FAILED == outcome.verdict.state
    assert text == project.file.read_text()


def test_service_that_did_not_run_does_not_run_after_a_failure(project: Project) -> None:
    text = project.text()
    project.up(text)
    project.run("stop", "llm")
    before = project.container()

    outcome = project.relaunch(BREAK)

    after = project.container()
    assert Ending.BACK == outcome.ending
    assert text == project.file.read_text()
    assert fidelity(before) == fidelity(after)
    assert not after["State"]["Running"]


def test_volumes_keep_what_is_in_them(project: Project) -> None:
    project.up(project.text())
    note = ["sh", "-c", "echo kept > /scratch/note && echo kept > /root/.cache/note"]
    in_container(project, *note)

    first = project.relaunch(RAISE)
    second = project.relaunch(BREAK)

    assert (Ending.DONE, Ending.BACK) == (first.ending, second.ending)
    assert "kept\nkept\n" == in_container(project, "cat", "/scratch/note", "/root/.cache/note")


def in_container(project: Project, *words: str) -> str:
    return project.run("exec", "-T", "llm", *words)


def test_steps_are_told_and_kept(project: Project, standin_image: str) -> None:
    project.image = standin_image
    project.up(project.text())
    while "ready to roll" not in project.run("logs", "llm"):
        pass

    outcome = project.relaunch(RAISE)

    done = [entry.step for entry in project.told if entry.state is StepState.DONE]
    (journal,) = journals(NAME, project.state)
    (log,) = project.state.rglob("*.log")
    assert [Step.BACKUP, Step.COMPARE, Step.SAVE_LOG, Step.WRITE, Step.START, Step.READY] == done
    assert [(entry.step, entry.state) for entry in journal.progress] == [
        (step, state) for step in done for state in (StepState.BEGUN, StepState.DONE)
    ]
    assert (outcome.journal, outcome.container) == (journal.id, journal.known["new"])
    assert b"ready to roll" in log.read_bytes()
    # Its container is gone: this is what tells later how it did.
    assert [str(log), None] == [one.last_log for one in history(NAME, project.state)]


# ------------------------------------------------------------ what is asked before consent


@pytest.fixture
def asked(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Tells the commands that Compose was started with since it was last asked."""
    log, program = tmp_path / "asked", tmp_path / "bin" / "docker-compose"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {project.compose[0]} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    def lines() -> list[str]:
        found = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    return lines


def planned(project: Project, *changes: Change) -> Edition:
    """What is known before anybody agrees."""
    with project.client() as client:
        return rehearsed(edition(open_service(client, project.document(client)), changes, FLAGS))


@both
def test_compose_is_started_once_after_consent(project: Project, asked: Callable[[], list[str]]) -> None:
    text = project.text()
    project.up(text)
    there = sorted(one.name for one in project.folder.iterdir())
    before = fidelity(project.container())

    plan = planned(project, RAISE)
    questions, untouched = asked(), sorted(one.name for one in project.folder.iterdir())
    outcome = project.relaunch(RAISE, planned=plan)
    answers = asked()

    before["config"]["Cmd"][-1] = "0.88"
    assert any("config --hash" in one for one in questions)
    assert (there, text) == (untouched, plan.service.document.text)
    assert Ending.DONE == outcome.ending
    assert [True] == [" up -d --no-deps " in one for one in answers], answers
    assert before == fidelity(project.container())
    assert plan.hash == config_hash(project.container())


def test_launch_that_is_back_was_not_asked_about_either(project: Project, asked: Callable[[], list[str]]) -> None:
    text = project.text()
    project.up(text)
    plan = planned(project, BREAK)
    asked()

    outcome = project.relaunch(BREAK, planned=plan)

    assert Ending.BACK == outcome.ending
    assert [True, True] == [" up -d " in one for one in asked()]
    assert text == project.file.read_text()


@pytest.fixture
def with_env_file(project: Project) -> Path:
    """A project that runs, with an environment file of its sibling."""
    more = project.folder / "side.env"
    project.write(project.text().replace("  side:\n", "  side:\n    env_file: side.env\n"))
    more.write_text("A=1\n")
    project.run("up", "-d")
    return more


def test_files_that_were_edited_since_are_asked_about_again(
    project: Project, asked: Callable[[], list[str]], with_env_file: Path
) -> None:
    plan = planned(project, RAISE)
    project.write(project.file.read_text().replace("from the cellar", "from the attic"))
    asked()
    commented = project.relaunch(RAISE, planned=plan)
    again = asked()
    plan = planned(project, Change("flag.set", "--mem-fraction-static", "0.9"))
    with_env_file.write_text("A=2\n")
    asked()
    beside = project.relaunch(*plan.changes, planned=plan)

    assert (Ending.DONE, Ending.DONE) == (commented.ending, beside.ending)
    assert any("config --hash" in one for one in again)
    assert any("config --hash" in one for one in asked())
    assert "from the attic" in project.file.read_text()


def test_service_that_is_not_the_same_any_more_is_not_relaunched(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.up(project.text())
    before = project.container()["Id"]
    plan = planned(project, RAISE)
    project.write(project.text().replace("shm_size: 64m", "shm_size: 128m"))
    in_file = refused(project, project.relaunch(RAISE, planned=plan), before)
    project.write(project.text())
    monkeypatch.setenv("MARK", "shell")
    in_shell = refused(project, project.relaunch(RAISE, planned=plan), before)
    monkeypatch.delenv("MARK")
    project.run("up", "-d", "--scale", "llm=2")
    scaled = project.relaunch(RAISE, planned=plan)

    assert "Different are: shm_size." in in_file
    assert "Different are: MARK." in in_shell
    assert Ending.REFUSED == scaled.ending
    assert "2 containers" in (scaled.reason.en if scaled.reason else "")
    assert project.text() == project.file.read_text()


def test_environment_file_that_is_edited_in_the_middle_is_asked_about(
    project: Project, asked: Callable[[], list[str]], with_env_file: Path
) -> None:
    before = project.container()["Id"]
    plan = planned(project, RAISE)
    edit = at(Step.COMPARE, StepState.BEGUN, lambda: with_env_file.write_text("A=2\n"))

    reason = refused(project, project.relaunch(RAISE, planned=plan, watcher=edit), before)

    assert "side" in reason


def test_file_that_is_only_extended_is_asked_about_in_its_place(project: Project) -> None:
    base = project.folder / "base.yaml"
    text = project.text()
    project.write(text)
    service = text[text.index("  llm:") : text.index("  side:")]
    base.write_text(f"x-limits: &limits\n  shm_size: 64m\nservices:\n{service}")
    project.write(text.replace(service, "  llm:\n    extends: {file: base.yaml, service: llm}\n    networks: [shop]\n"))
    project.run("up", "-d")

    plan = planned(project, RAISE)
    outcome = project.relaunch(RAISE, planned=plan)

    assert ("", base) == (plan.hash, plan.service.path)
    assert (Ending.DONE, None) == (outcome.ending, outcome.reason)
    assert "0.88" in base.read_text()
    assert "0.88" == project.container()["Config"]["Cmd"][-1]


# ------------------------------------------------------------ refused


def refused(project: Project, outcome: Outcome, before: str) -> str:
    """The reason, once it is known that nothing was touched."""
    assert outcome.reason is not None
    assert Ending.REFUSED == outcome.ending, outcome.reason.en
    assert [] == open_journals(root=project.state)
    assert before == project.container()["Id"]
    assert not list(project.folder.glob("*.bak-*"))
    assert not list(project.folder.glob(".compose*"))
    return outcome.reason.en


def test_file_that_is_not_as_the_container_is_not_used_without_a_word(project: Project) -> None:
    project.up(project.text(), MARK="shell")
    project.write(project.text().replace("shm_size: 64m", "shm_size: 128m"))
    before = project.container()["Id"]

    reason = refused(project, project.relaunch(RAISE), before)
    accepted = project.relaunch(RAISE, accept_drift=True)

    assert "Different are: MARK, shm_size." in reason
    assert Ending.DONE == accepted.ending
    assert 128 << 20 == project.container()["HostConfig"]["ShmSize"]


def test_tag_that_is_another_image_now(project: Project, docker_client: docker.DockerClient) -> None:
    project.image = "sgdoctor-test/moving:1"
    docker_client.images.get(launches.IMAGE).tag(project.image)
    project.up(project.text())
    docker_client.images.get("sgdoctor-test/busybox:1").tag(project.image)
    before = project.container()["Id"]

    reason = refused(project, project.relaunch(RAISE), before)

    assert "sgdoctor-test/moving:1 is another image now" in reason


def at(step: Step, state: StepState, act: Callable[[], object]) -> Callable[[Progress], None]:
    """A watcher that acts once a step has come so far."""

    def watcher(progress: Progress) -> None:
        if (progress.step, progress.state, progress.note) == (step, state, None):
            act()

    return watcher


def test_edits_of_others_outlive_the_way_back(project: Project) -> None:
    text = project.text(FAILS)
    project.up(project.text())

    def edit() -> None:
        project.write(project.file.read_text().replace("from the cellar", "from the attic"))

    outcome = project.relaunch(BREAK, watcher=at(Step.READY, StepState.BEGUN, edit))

    assert Ending.BACK == outcome.ending
    assert project.text().replace("from the cellar", "from the attic") == project.file.read_text() != text
    assert project.container()["State"]["Running"]


def test_linked_file_with_windows_line_ends(project: Project) -> None:
    real = project.folder.parent / "kept" / "shop.yaml"
    real.parent.mkdir()
    project.write("")
    project.file.unlink()
    project.file.symlink_to(real)
    text = project.text().replace("\n", "\r\n")
    real.write_bytes(text.encode())
    real.chmod(0o640)
    project.run("up", "-d")

    outcome = project.relaunch(RAISE)

    assert Ending.DONE == outcome.ending
    assert project.file.is_symlink()
    assert text.replace("0.80", "0.88").encode() == real.read_bytes()
    assert 0o640 == real.stat().st_mode & 0o777


def test_more_than_one_container(project: Project) -> None:
    project.up(project.text())
    project.run("up", "-d", "--scale", "llm=2")
    with project.client() as client:
        ids = {entry.id for entry in client.containers("llm")}

    outcome = project.relaunch(RAISE)

    with project.client() as client:
        assert ids == {entry.id for entry in client.containers("llm")}
    assert "2 containers" in (outcome.reason.en if outcome.reason else "")


def test_sibling_that_lives_in_the_container(project: Project) -> None:
    project.up(project.text().replace("    networks: [shop]\nnetworks:", "    network_mode: service:llm\nnetworks:"))
    before = project.container()["Id"]

    reason = refused(project, project.relaunch(RAISE), before)

    assert reason.startswith("side lives in the network")


def test_start_that_docker_refuses(project: Project) -> None:
    project.up(project.text())
    before = project.container()

    outcome = project.relaunch(Change("docker.volume", value="/dev/null:/etc/passwd/inner"))

    assert Ending.BACK == outcome.ending
    assert "ot a directory" in (outcome.reason.en if outcome.reason else "")
    assert fidelity(before) == fidelity(project.container())
    assert project.container()["State"]["Running"]


# ------------------------------------------------------------ back to an earlier launch


def test_back_to_earlier_launches(project: Project) -> None:
    text = project.text()
    project.up(text)
    before = project.container()
    project.relaunch(RAISE)
    project.relaunch(Change("flag.set", "--mem-fraction-static", "0.9"))
    # What somebody else edits in the meantime stays.
    project.file.write_text(project.file.read_text().replace("from the cellar", "from the attic"))

    good = taken_back(project, "last-good")
    last = project.file.read_text()
    original = taken_back(project, "original")

    edited = text.replace("from the cellar", "from the attic")
    ended = [attempt.ending for attempt in history(NAME, project.state)]
    assert (Ending.DONE, Ending.DONE) == (good.ending, original.ending)
    assert (edited.replace("0.80", "0.88"), edited) == (last, project.file.read_text())
    assert fidelity(before) == fidelity(project.container())
    assert [None, *[Ending.DONE] * 4] == ended


def test_compose_is_started_once_after_consent_to_go_back(project: Project, asked: Callable[[], list[str]]) -> None:
    text = project.text()
    project.up(text)
    project.relaunch(RAISE)
    asked()

    with project.client() as client:
        plan = plan_return(client, NAME, root=project.state)
        questions, untouched = asked(), project.file.read_text()
        outcome = go_back(client, plan, readiness=QuickReadiness(project.url), patience=PATIENCE, root=project.state)

    assert plan.refused is None
    assert any("config --hash" in one for one in questions)
    assert text.replace("0.80", "0.88") == untouched
    assert (Ending.DONE, text) == (outcome.ending, project.file.read_text())
    assert [True] == [" up -d --no-deps " in one for one in asked()]


def test_file_that_is_edited_after_consent_to_go_back_is_asked_about_again(project: Project) -> None:
    project.up(project.text())
    project.relaunch(RAISE)

    with project.client() as client:
        plan = plan_return(client, NAME, root=project.state)
        project.write(project.file.read_text().replace("from the cellar", "from the attic"))
        outcome = go_back(client, plan, readiness=QuickReadiness(project.url), patience=PATIENCE, root=project.state)

    assert Ending.DONE == outcome.ending
    assert project.text().replace("from the cellar", "from the attic") == project.file.read_text()


def taken_back(project: Project, to: Literal["last-good", "original"]) -> Outcome:
    with project.client() as client:
        return rollback(client, NAME, to, readiness=QuickReadiness(project.url), patience=PATIENCE, root=project.state)


# ------------------------------------------------------------ refused, by a project that goes on


def test_file_that_is_edited_in_the_middle_is_left_alone(standing: Project) -> None:
    before = standing.container()["Id"]
    edited = standing.text().replace("from the cellar", "from the attic")

    outcome = standing.relaunch(RAISE, watcher=at(Step.WRITE, StepState.BEGUN, lambda: standing.write(edited)))

    assert "was edited meanwhile" in refused(standing, outcome, before)
    assert edited == standing.file.read_text()


def test_read_only_file(standing: Project) -> None:
    before = standing.container()["Id"]
    standing.file.chmod(0o444)

    reason = refused(standing, standing.relaunch(RAISE), before)
    standing.file.chmod(0o644)

    assert f"{standing.file}: read-only; nothing was written" == reason


def test_files_of_another_machine(standing: Project) -> None:
    before = standing.container()["Id"]
    elsewhere = shutil.move(standing.file, standing.folder / "elsewhere.yaml")

    reason = refused(standing, standing.relaunch(RAISE), before)
    shutil.move(elsewhere, standing.file)

    assert reason.startswith(f"It was made from {standing.file}, which is not here")


def test_compose_is_not_installed(standing: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = standing.container()["Id"]
    monkeypatch.setenv("PATH", str(standing.folder))

    reason = refused(standing, standing.relaunch(RAISE), before)

    assert f"sgdoctor fix {standing.file}:llm --write" in reason


def test_change_that_is_there_already(standing: Project) -> None:
    before = standing.container()["Id"]

    reason = refused(standing, standing.relaunch(Change("flag.set", "--mem-fraction-static", "0.80")), before)

    assert "The file says all that already." == reason


# ------------------------------------------------------------ cut off

CUT = [
    *(
        ("modern", step, "done")
        for step in (Step.BACKUP, Step.COMPARE, Step.SAVE_LOG, Step.WRITE, Step.START, Step.READY)
    ),
    ("modern", Step.START, "made"),
    ("modern", Step.START, "with-compose"),
    ("first", Step.START, "with-compose"),
]
CUT_ON_THE_WAY_BACK = [
    (Step.SAVE_LOG, "back", "resume"),
    (Step.RESTORE, "done", "rollback"),
    (Step.RESTART_OLD, "with-compose", "resume"),
    (Step.RESTART_OLD, "done", "rollback"),
]


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    """Kills relaunches."""
    killer = Killer()
    yield killer
    killer.close()


def another(project: Project) -> Change:
    """A change of the flag to what it is not."""
    value = "0.88" if "0.80" in project.file.read_text() else "0.80"
    return Change("flag.set", "--mem-fraction-static", value)


def taken_up(project: Project, way: str) -> Outcome:
    """What comes of a relaunch that was cut off, going on or back from its journal."""
    (journal,) = open_journals(root=project.state)
    readiness = QuickReadiness(project.url)
    with project.client() as client:
        if way == "resume":
            return resume(client, journal, readiness=readiness, patience=PATIENCE, root=project.state)
        return rollback(client, journal.intent.container, readiness=readiness, patience=PATIENCE, root=project.state)


@pytest.mark.parametrize("way", ["rollback", "resume"])
@pytest.mark.parametrize(("generation", "step", "moment"), CUT)
def test_killed_relaunch_has_an_end(standing: Project, killer: Killer, step: Step, moment: str, way: str) -> None:
    text, change = standing.file.read_text(), another(standing)
    before, side = standing.container(), standing.container("side")
    killer.kill(standing, step, moment, [change])

    outcome = taken_up(standing, way)

    after, expected = standing.container(), fidelity(before)
    if way == "resume":
        expected["config"]["Cmd"][-1] = change.value
    assert [] == open_journals(root=standing.state)
    assert (text == standing.file.read_text()) == (way == "rollback")
    assert expected == fidelity(after)
    assert (outcome.container, True) == (after["Id"], after["State"]["Running"])
    assert (outcome.ending is Ending.DONE) == (way == "resume")
    assert not list(standing.folder.glob(".compose*"))
    assert side == standing.container("side")


@pytest.mark.parametrize(("step", "moment", "way"), CUT_ON_THE_WAY_BACK)
def test_killed_way_back_has_an_end(standing: Project, killer: Killer, step: Step, moment: str, way: str) -> None:
    text = standing.file.read_text()
    before, side = standing.container(), standing.container("side")
    killer.kill(standing, step, moment, [BREAK])

    outcome = taken_up(standing, way)

    after = standing.container()
    assert (Ending.BACK, after["Id"]) == (outcome.ending, outcome.container)
    assert text == standing.file.read_text()
    assert fidelity(before) == fidelity(after)
    assert after["State"]["Running"]
    assert {"compose.yaml", "models"} == {one.name for one in standing.folder.iterdir()}
    assert side == standing.container("side")
