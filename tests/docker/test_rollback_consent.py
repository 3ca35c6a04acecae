"""Whatever speaks against a way back is said before anybody is asked, and asking costs nothing after the yes."""

import os
import subprocess
from pathlib import Path

import docker
import pytest

from tests.composes import first, modern, needed
from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunch_command import BETTER, NAME, Bench, last
from tests.docker.test_relaunch_cli import COMPOSE

pytestmark = pytest.mark.slow

KEPT = f"{NAME}.sgd-old"


@pytest.fixture
def bench(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path) -> Bench:
    return Bench(docker_host, docker_client, standin_image, tmp_path / "state")


def unasked(bench: Bench, *options: str) -> str:
    """Why there is no way back, found out without a yes and with nobody to ask."""
    before = bench.containers
    done = bench.run("rollback", NAME, *options)

    assert (2, "") == (done.returncode, done.stderr)
    assert before == bench.containers
    return last(done.stdout)


def test_compose_file_says_no(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE.format(image=bench.image))
    words = [*needed(modern() or first()), "-f", file.name, "up", "-d"]
    subprocess.run(words, env=os.environ | bench.environment, cwd=tmp_path, check=True, capture_output=True)
    assert 0 == bench.run("relaunch", NAME, "--set", BETTER, "--yes").returncode
    edited = file.read_text()

    file.write_text(edited.replace('"0.93"', '"0.91"'))
    same_place = unasked(bench)
    file.write_text(edited.replace("container_name: sgl\n", "container_name: sgl\n    shm_size: 65m\n"))
    drifted = unasked(bench)
    file.write_text(edited)
    file.chmod(0o444)
    read_only = unasked(bench)
    file.chmod(0o644)
    file.write_text(edited.replace("container_name: sgl\n", "container_name: sgl\n    shm_size: 65m\n"))
    accepted = bench.run("rollback", NAME, "--accept-drift", "--yes")

    assert "was edited" in same_place
    assert "Different are: shm_size." in drifted
    assert drifted.endswith("(--accept-drift)")
    assert read_only.endswith("compose.yaml: read-only; nothing was written")
    assert 0 == accepted.returncode
    assert "65m" in file.read_text()


def test_container_says_no(bench: Bench) -> None:
    bench.serve()
    assert 0 == bench.run("relaunch", NAME, "--set", BETTER, "--yes").returncode
    kept = bench.client.containers.get(KEPT)

    bench.client.containers.get(NAME).pause()
    paused = unasked(bench)
    bench.client.containers.get(NAME).unpause()
    kept.start()
    beside = unasked(bench)
    relaunch = bench.run("relaunch", NAME, "--set", "mem-fraction-static=0.94")
    kept.rename("mine")
    in_use = unasked(bench)
    kept.stop()
    named = bench.run("rollback", NAME, "--yes")

    assert "docker unpause" in paused
    assert beside.endswith(f"First: docker stop {KEPT}")
    assert (2, "") == (relaunch.returncode, relaunch.stderr)
    assert last(relaunch.stdout).endswith(f"First: docker stop {KEPT}")
    assert in_use.endswith("First: docker stop mine")
    assert "Its container is still there, named mine, and takes its place again." in named.stdout
    assert (0, kept.id) == (named.returncode, bench.identity())


def test_folder_of_the_journals_says_no(bench: Bench) -> None:
    bench.serve()
    bench.root.parent.mkdir(exist_ok=True)
    bench.root.write_text("")

    done = bench.run("relaunch", NAME, "--set", BETTER)

    assert (2, "") == (done.returncode, done.stderr)
    assert "Not a directory. Nothing was touched." in last(done.stdout)


def test_image_of_a_launch_is_gone(bench: Bench) -> None:
    bench.client.images.get(bench.image).tag("sgdoctor-test/gone", "1")
    bench.serve()
    assert 0 == bench.run("relaunch", NAME, "--image", "sgdoctor-test/gone:1", "--yes").returncode
    other = bench.client.containers.get(NAME)
    assert 0 == bench.run("rollback", NAME, "--yes").returncode
    other.remove(force=True)
    bench.client.images.remove("sgdoctor-test/gone:1", force=True)

    assert unasked(bench, "--to", "1").endswith(
        "sgdoctor-test/gone:1 as well. Get it: docker pull sgdoctor-test/gone:1"
    )
