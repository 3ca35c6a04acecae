"""``relaunch``, ``rollback``, ``history`` and ``forget`` on real containers of the stand-in."""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from sgdoctor.relaunch.journal import journals
from tests.composes import first, modern, needed
from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import BUSYBOX
from tests.docker.podman import PrivatePodman
from tests.docker.relaunch_command import BETTER, NAME, SERVE, WORSE, Bench, last, until
from tests.terminal.tmux import Screen

pytestmark = pytest.mark.slow

# Fast enough to be waited for, slow enough to be interrupted.
SLOW = {"STANDIN_PACE": "20"}

COMPOSE = """\
services:
  llm: # the big one
    image: {image}
    container_name: sgl
    environment: {{STANDIN_SCENARIO: decide, STANDIN_MODEL: qwen3.6-27b}}
    command:
      - python3
      - -m
      - sglang.launch_server
      - --model-path=/models/27b
      - --host=0.0.0.0
      - --mem-fraction-static
      - "0.92" # tried on a 3090
"""


@pytest.fixture
def bench(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path) -> Bench:
    return Bench(docker_host, docker_client, standin_image, tmp_path / "state")


# ---------------------------------------------------------------- before


def test_a_dry_run_shows_everything_and_touches_nothing(bench: Bench) -> None:
    old = bench.serve()
    bench.client.containers.get(NAME).exec_run("touch /srv-note")
    done = bench.run("relaunch", NAME, "--set", BETTER, "--dry-run")
    code, data = bench.data("relaunch", NAME, "--set", BETTER, "--dry-run")

    assert (0, "") == (done.returncode, done.stderr)
    for text in (
        f"Relaunch of sgl ({old[:12]})",
        "-  --mem-fraction-static 0.92",
        "+  --mem-fraction-static 0.93",
        "stays free",
        "Down-time to expect: ",
        "/srv-note",
        "back to it: sgdoctor rollback sgl",
    ):
        assert text in done.stdout
    assert "hf_abcdefghijkl1234" not in done.stdout
    assert "sgl: dry run, nothing was touched." == last(done.stdout)
    assert (0, old, True) == (code, data["container"]["id"], data["container"]["runs"])
    assert data["plan"]["predicted"]["kv_tokens"] > data["plan"]["predicted_before"]["kv_tokens"]
    assert "/srv-note" in data["lost_paths"]
    assert [
        {
            "kind": "flag.set",
            "name": "--mem-fraction-static",
            "value": "0.93",
            "basis": "asked",
            "step": "asked-mem-fraction-static",
        }
    ] == data["plan"]["changes"]
    assert {NAME: "running"} == bench.containers
    assert old == bench.identity()
    assert [] == journals(root=bench.root)


def test_nobody_to_ask_and_nothing_to_change(bench: Bench) -> None:
    old = bench.serve()
    until(lambda: b"ready to roll" in bench.client.containers.get(NAME).logs())
    unasked = bench.run("relaunch", NAME, "--set", BETTER)
    idle = bench.run("relaunch", NAME, "--yes")
    unknown = bench.run("relaunch", "nobody", "--set", BETTER, "--yes")
    refused = bench.run("relaunch", NAME, "--set", "mem-fraction-static=much", "--yes")
    absurd = bench.run("relaunch", NAME, "--set", "tp=-5", "--yes")

    assert (2, "sgdoctor: nobody can be asked here; --yes says that it is all right\n") == (
        unasked.returncode,
        unasked.stderr,
    )
    assert 2 == idle.returncode
    assert "sgl: not relaunched: there is nothing to change" in last(idle.stdout)
    assert 2 == unknown.returncode
    assert "Containers: sgl" in unknown.stderr
    assert 2 == refused.returncode
    assert "--mem-fraction-static" in refused.stderr
    assert (2, "sgdoctor: `--tp -5` is out of range: it is 1 to 4,096\n") == (absurd.returncode, absurd.stderr)
    assert (old, {NAME: "running"}) == (bench.identity(), bench.containers)


@pytest.mark.parametrize(
    "wish",
    [("--set", "mem-fraction-static=0.92"), ("--unset", "tp"), ("--image", "v0.5.15")],
    ids=["value", "absent", "image"],
)
def test_what_would_change_nothing_does_not_stop_a_server(bench: Bench, wish: tuple[str, str]) -> None:
    old = bench.serve()

    done = bench.run("relaunch", NAME, *wish, "--yes")

    assert (2, "sgl: not relaunched: It has that launch already.") == (done.returncode, last(done.stdout))
    assert (old, {NAME: "running"}) == (bench.identity(), bench.containers)


def test_a_tag_that_names_another_image_by_now(bench: Bench) -> None:
    images, repository = bench.client.images, "sgdoctor-test/moving"
    images.get(bench.image).tag(repository, "v0.5.15")
    bench = replace(bench, image=f"{repository}:v0.5.15")
    bench.serve()
    old = images.get(bench.image).id
    unmoved = bench.data("relaunch", NAME, "--set", BETTER, "--dry-run")[1]
    bench.client.containers.get(NAME).commit(repository, "v0.5.15")
    new = images.get(bench.image).id

    shown = bench.run("relaunch", NAME, "--set", BETTER, "--dry-run").stdout
    said = bench.data("relaunch", NAME, "--set", BETTER, "--dry-run")[1]["kept_image"]
    kept = bench.data("relaunch", NAME, "--set", BETTER, "--yes")[0]
    of_kept = bench.client.containers.get(NAME).attrs["Image"]
    by_id = bench.data("relaunch", NAME, "--set", "mem-fraction-static=0.92", "--dry-run")[1]["kept_image"]
    taken = bench.data("relaunch", NAME, "--image", bench.image, "--yes")[0]

    assert None is unmoved["kept_image"]
    assert (
        f"{bench.image} names another image by now, {new[:19]}. The one of this container, {old[:19]}, is kept, by its "
        f"id; to take the new one: sgdoctor relaunch {NAME} --image {bench.image}"
    ) == said
    assert "names another image by now" in shown
    assert (0, old, None) == (kept, of_kept, by_id)
    assert (0, new) == (taken, bench.client.containers.get(NAME).attrs["Image"])


def test_others_that_are_bound_to_the_old_container_are_named(bench: Bench) -> None:
    old = bench.serve()
    bench.client.containers.create(bench.image, SERVE, name="side", network_mode=f"container:{old}")
    bench.client.containers.create(bench.image, SERVE, name="linked", links={NAME: "engine"})

    code, data = bench.data("relaunch", NAME, "--set", BETTER, "--dry-run")

    assert 0 == code
    assert [
        "The network of the old one, in which side lives: make that anew afterwards.",
        "The link (--link) of linked, which stays with the old one: make that anew afterwards.",
    ] == data["not_carried"][-2:]


@pytest.mark.parametrize("name", ["", "..", "../images/x"])
def test_no_name_is_nobodys(bench: Bench, name: str) -> None:
    bench.serve()

    for done in (bench.run("relaunch", name, "--set", BETTER, "--dry-run"), bench.run("rollback", name, "--yes")):
        assert (2, "") == (done.returncode, done.stdout)
        assert "Containers: sgl" in done.stderr


def test_name_that_is_too_long_for_a_file(bench: Bench) -> None:
    bench.serve()
    name = "n" * 250
    bench.client.containers.get(NAME).rename(name)
    done, back = bench.run("relaunch", name, "--set", BETTER, "--yes"), bench.run("rollback", name, "--yes")
    forgotten, none = bench.run("forget", name, "--yes"), bench.run("forget", "n" * 5000, "--yes")

    assert [(0, ""), (0, ""), (0, "")] == [(one.returncode, one.stderr) for one in (done, back, forgotten)]
    assert {name: "running"} == bench.containers
    assert (0, "") == (none.returncode, none.stderr)


@pytest.mark.parametrize(
    ("image", "code"), [("v9.9.9", 2), ("sglang-standin:v9.9.9", 2), ("v0.5.16", 0)], ids=["tag", "name", "there"]
)
def test_another_image_has_to_be_there(bench: Bench, image: str, code: int) -> None:
    bench.client.images.get(bench.image).tag("sglang-standin", "v0.5.16")
    bench.serve()
    done = bench.run("relaunch", NAME, "--image", image, "--dry-run")

    assert code == done.returncode
    assert ("the image sglang-standin:v9.9.9 is not there; docker pull" in done.stdout) == (code == 2)
    assert f"+  sglang-standin:{image.rpartition(':')[2]}" in done.stdout


def test_a_plan_of_fix_is_carried_out_unless_the_launch_is_another_one_by_now(bench: Bench, tmp_path: Path) -> None:
    bench.serve()
    plan, hidden = tmp_path / "plan.json", tmp_path / "hidden.json"
    plan.write_text(bench.run("fix", NAME, "--set", BETTER, "--format", "json", "--no-redact").stdout)
    hidden.write_text(bench.run("fix", NAME, "--env", "HF_TOKEN=hf_zyxwvutsrq987654", "--format", "json").stdout)
    first = bench.run("relaunch", NAME, "--plan", str(plan), "--yes")
    again = bench.run("relaunch", NAME, "--plan", str(plan), "--yes")
    secret = bench.run("relaunch", NAME, "--plan", str(hidden), "--yes")

    assert 0 == first.returncode
    assert [*SERVE[:-1], "0.93"] == bench.command()[: len(SERVE)]
    assert 2 == again.returncode
    assert "another launch than that of sgl" in again.stderr
    assert "secrets are hidden in this plan" in secret.stderr


def test_somebody_who_may_not_use_the_engine(bench: Bench) -> None:
    old = bench.serve()
    socket = Path(bench.host.url.removeprefix("unix://"))
    mode = socket.stat().st_mode
    socket.chmod(0)
    try:
        # Root without its special rights.
        done = bench.run(
            "relaunch", NAME, "--set", BETTER, "--yes", through=["setpriv", "--bounding-set=-dac_override"]
        )
    finally:
        socket.chmod(mode)

    assert (2, "") == (done.returncode, done.stdout)
    assert "Permission denied" in done.stderr
    assert "docker $USER" in done.stderr
    assert (old, {NAME: "running"}) == (bench.identity(), bench.containers)


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"com.docker.swarm.service.name": "llm"}, "Swarm made this container"),
        (
            {
                "com.docker.compose.project": "work",
                "com.docker.compose.service": "llm",
                "com.docker.compose.project.config_files": "/data/compose/7/docker-compose.yml",
                "com.docker.compose.project.working_dir": "/data/compose/7",
                "com.docker.compose.version": "2.29.7",
            },
            "It was made from /data/compose/7/docker-compose.yml, which is not here",
        ),
    ],
    ids=["swarm", "portainer"],
)
def test_what_others_made_is_refused_with_the_flags_to_type(bench: Bench, labels: dict[str, str], why: str) -> None:
    old = bench.serve(labels=labels)
    done = bench.run("relaunch", NAME, "--set", BETTER, "--yes")

    assert 2 == done.returncode
    assert last(done.stdout).startswith(f"sgl: not relaunched: {why}")
    assert "  --mem-fraction-static 0.93\n" in done.stdout.partition("To be typed where it is started:")[2]
    assert (old, {NAME: "running"}) == (bench.identity(), bench.containers)


def test_podman_is_refused_with_the_flags_to_type(podman_host: PrivatePodman, tmp_path: Path) -> None:
    with contextlib.closing(podman_host.client()) as client:
        container = client.containers.create(BUSYBOX, SERVE, name=NAME, network_mode="none")
        done = subprocess.run(
            [sys.executable, "-m", "sgdoctor", "relaunch", NAME, "--set", BETTER, "--yes"],
            env=os.environ | {"DOCKER_HOST": podman_host.url, "XDG_STATE_HOME": str(tmp_path), "LANG": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        container.remove(force=True)

    assert 2 == done.returncode
    assert "--mem-fraction-static 0.93" in done.stdout
    assert last(done.stdout).startswith("sgl: not relaunched: podman cannot relaunch a container")


# ---------------------------------------------------------------- forward, back, and what is kept


def test_forward_then_a_failure_then_back_then_forgotten(bench: Bench) -> None:
    original = bench.serve()
    done = bench.run("relaunch", NAME, "--set", BETTER, "--yes")
    better = bench.identity()

    assert (0, "") == (done.returncode, done.stderr)
    assert last(done.stdout).startswith("sgl serves with the new launch, after ")
    for step in (
        "make the new container",
        "stop the old server",
        "wait until it serves",
        "put the restart policy back",
    ):
        assert f"✔ {step}" in done.stdout
    assert [*SERVE[:-1], "0.93"] == bench.command()
    assert {NAME: "running", f"{NAME}.sgd-old": "exited"} == bench.containers

    failed = bench.run("relaunch", NAME, "--set", WORSE, "--yes")

    assert (3, "") == (failed.returncode, failed.stderr)
    assert "✖ wait until it serves" in failed.stdout
    assert "SGL401" in failed.stdout
    assert last(failed.stdout).startswith("sgl: it failed and was undone; the old server runs again. The weights leave")
    assert better == bench.identity()
    assert "running" == bench.containers[NAME]

    code, undone = bench.data("rollback", NAME, "--yes")
    again = bench.run("rollback", NAME, "--to", "original", "--yes")
    told = bench.run("history", NAME)
    _, history = bench.data("history", NAME)

    assert (0, 0, "done") == (code, undone["to"], undone["outcome"]["ending"])
    assert original == bench.identity()
    assert (2, "sgdoctor: sgl is at launch 0 already.\n") == (again.returncode, again.stderr)
    assert [None, "done", "back", "done"] == [one["ending"] for one in history["attempts"]]
    assert [False, False, False, True] == [one["current"] for one in history["attempts"]]
    assert [None, None, "SGL401", None] == [one["rule"] for one in history["attempts"]]
    assert all(one["seconds"]["ready"] > 0 for one in history["attempts"][1:])
    assert Path(history["attempts"][2]["log"]).exists()
    assert "+ --mem-fraction-static 0.80" in told.stdout
    assert "sgl: 4 launches; launch 3 holds the name." == last(told.stdout)

    unasked = bench.run("forget", NAME)
    kept = bench.containers
    forgotten = bench.run("forget", NAME, "--yes")
    empty = bench.run("forget", NAME, "--yes")

    assert 2 == unasked.returncode
    assert "to be removed of sgl" in unasked.stdout.lower()
    assert 2 == len(kept)
    assert (0, "sgl: removed.") == (forgotten.returncode, last(forgotten.stdout))
    assert {NAME: "running"} == bench.containers
    assert [] == journals(root=bench.root)
    assert [] == list((bench.root / "spool").rglob("*.log"))
    assert (0, "sgl: nothing is kept of it.") == (empty.returncode, last(empty.stdout))


def test_a_service_of_compose_through_its_file_and_back(bench: Bench, tmp_path: Path) -> None:
    file, text = tmp_path / "compose.yaml", COMPOSE.format(image=bench.image)
    file.write_text(text)
    words = [*needed(modern() or first()), "-f", file.name, "up", "-d"]
    subprocess.run(words, env=os.environ | bench.environment, cwd=tmp_path, check=True, capture_output=True)
    old = bench.identity()
    shown = bench.run("relaunch", NAME, "--set", BETTER, "--dry-run")
    untouched = file.read_text()
    done = bench.run("relaunch", NAME, "--set", BETTER, "--yes")
    edited, better = file.read_text(), bench.identity()
    back = bench.run("rollback", NAME, "--yes")

    assert (0, text) == (shown.returncode, untouched)
    assert '+      - "0.93" # tried on a 3090' in shown.stdout
    assert f"Through{file},servicellm" in "".join(shown.stdout.split())  # a long path is broken at the edge
    assert "The old container: Compose removes it." in " ".join(shown.stdout.split())
    assert (0, "") == (done.returncode, done.stderr)
    assert text.replace("0.92", "0.93") == edited
    assert old != better
    assert (0, text) == (back.returncode, file.read_text())
    assert "Through its compose file." in back.stdout
    assert "sgl serves again with launch 0, after " in last(back.stdout)


def test_json_of_a_failure(bench: Bench) -> None:
    old = bench.serve()
    code, data = bench.data("relaunch", NAME, "--set", WORSE, "--yes")
    outcome = data["outcome"]

    assert (3, "back", 3) == (code, outcome["ending"], outcome["exit_code"])
    assert "SGL401" == outcome["diagnosis"]["diagnoses"][0]["rule"]
    assert {"create", "stop", "ready", "restart-old"} <= set(outcome["steps"])
    assert old == bench.identity()


# ---------------------------------------------------------------- cut off


def test_killed_in_the_middle_and_resumed(bench: Bench) -> None:
    bench.serve(environment=SLOW)
    process = bench.begin("relaunch", NAME, "--set", BETTER, "--yes")
    bench.until("ready begun")
    process.send_signal(signal.SIGSTOP)  # else it may be over before the next command has begun
    under_way = bench.run("rollback", NAME, "--yes")
    process.kill()
    process.communicate()
    seen = [bench.run(*words) for words in (("diagnose", NAME), ("fix", NAME), ("preflight", NAME), ("history", NAME))]
    refused = [
        bench.run("relaunch", NAME, "--set", BETTER, "--yes"),
        bench.run("forget", NAME, "--yes"),
    ]
    silent = bench.run("diagnose", "/dev/null")
    resumed = bench.run("relaunch", NAME, "--resume", "--yes")
    after = bench.run("diagnose", NAME)
    idle = bench.run("relaunch", NAME, "--resume", "--yes")

    assert 2 == under_way.returncode
    assert f"by process {process.pid}, at: wait until it serves" in under_way.stderr
    for done in [*seen, *refused]:
        assert "a relaunch of sgl was cut off on " in done.stderr
        assert "at: wait until it serves. Go back: sgdoctor rollback sgl" in done.stderr
        assert 1 == done.stderr.count("\n")
    assert [2, 2] == [done.returncode for done in refused]
    assert "cut off" not in silent.stderr
    assert (0, "") == (resumed.returncode, resumed.stderr)
    assert [*SERVE[:-1], "0.93"] == bench.command()
    assert (0, "") == (after.returncode, after.stderr)
    assert (2, "sgdoctor: sgl: no relaunch of it was cut off\n") == (idle.returncode, idle.stderr)


def test_killed_in_the_middle_and_undone(bench: Bench) -> None:
    old = bench.serve(environment=SLOW)
    bench.killed("relaunch", NAME, "--set", BETTER, at="step-aside done")
    done = bench.run("rollback", NAME, "--yes")

    assert (0, "sgl: the relaunch was undone; everything is as before.") == (done.returncode, last(done.stdout))
    assert (old, {NAME: "running"}) == (bench.identity(), bench.containers)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_stopped_by_the_user_it_goes_back(bench: Bench, how: signal.Signals) -> None:
    old = bench.serve(environment=SLOW)
    process = bench.begin("relaunch", NAME, "--set", BETTER, "--yes")
    bench.until("ready begun")
    process.send_signal(how)
    output, _ = process.communicate(timeout=30)

    assert 130 == process.returncode
    assert "Stopping: everything goes back to what it was." in output
    assert "sgl: stopped by you; everything is as before." == last(output)
    assert (old, {NAME: "running"}) == (bench.identity(), bench.containers)


def test_a_lost_terminal_and_a_closed_pipe_do_not_stop_it(bench: Bench) -> None:
    bench.serve(environment=SLOW)
    process = bench.begin("relaunch", NAME, "--set", BETTER, "--yes")
    bench.until("stop begun")
    assert process.stdout is not None
    process.stdout.close()
    process.send_signal(signal.SIGHUP)

    assert 0 == process.wait(30)
    assert [*SERVE[:-1], "0.93"] == bench.command()


# ---------------------------------------------------------------- on a terminal


def test_on_a_terminal_the_name_is_typed(bench: Bench) -> None:
    old = bench.serve()
    with Screen(environment=bench.environment) as screen:
        program = f"nsenter -t {bench.host.pid} --net sgdoctor"
        screen.run(f"{program} relaunch {NAME} --set {BETTER}")
        screen.until("It runs and is going to be stopped. Type its name to go on (sgl):")
        screen.type("yes")
        screen.press("Enter")
        screen.until("sgl: left as it is.")
        assert 2 == screen.ended()
        assert old == bench.identity()

        screen.run(f"{program} relaunch {NAME} --set {BETTER}")
        screen.until("Type its name to go on (sgl):")
        screen.type("sgl")
        screen.press("Enter")
        shown = screen.until("sgl serves with the new launch")
        assert "✔ wait until it serves" in shown
        assert 0 == screen.ended()
    assert old != bench.identity()
