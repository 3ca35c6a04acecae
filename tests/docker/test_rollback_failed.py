"""``rollback`` to a launch that failed when it was the one: put back as it was, and not waited for."""

from pathlib import Path

import docker
import pytest

from tests.docker.dockerd import PrivateDockerd
from tests.docker.relaunch_command import BETTER, NAME, SERVE, WORSE, Bench, last, until

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(docker_host: PrivateDockerd, docker_client: docker.DockerClient, standin_image: str, tmp_path: Path) -> Bench:
    return Bench(docker_host, docker_client, standin_image, tmp_path / "state")


def policy(bench: Bench) -> str:
    return str(bench.client.api.inspect_container(NAME)["HostConfig"]["RestartPolicy"]["Name"])


def test_kept_container_that_failed(bench: Bench) -> None:
    failing = bench.serve("--mem-fraction-static", "0.80")
    until(lambda: bench.client.api.inspect_container(NAME)["RestartCount"] > 0)
    assert 0 == bench.run("relaunch", NAME, "--set", BETTER, "--yes").returncode
    done = bench.run("rollback", NAME, "--yes")
    code, data = bench.data("rollback", NAME, "--to", "1", "--yes")
    again, told = bench.data("rollback", NAME, "--to", "original", "--yes")

    assert (0, "") == (done.returncode, done.stderr)
    assert "That launch failed: The weights leave no room" in " ".join(done.stdout.split())
    assert "It failed before, so nobody waits for it to serve." in done.stdout
    assert "sgl is at launch 0 again, as it was. That launch failed before." == last(done.stdout)
    assert (0, None, "done") == (code, data["failed_before"], data["outcome"]["ending"])
    assert (0, "done") == (again, told["outcome"]["ending"])
    assert told["failed_before"].startswith("The weights leave no room")
    assert (failing, "unless-stopped") == (bench.identity(), policy(bench))


def test_launch_whose_relaunch_was_undone(bench: Bench) -> None:
    bench.serve()
    assert 3 == bench.run("relaunch", NAME, "--set", WORSE, "--yes").returncode
    done = bench.run("rollback", NAME, "--to", "1", "--yes")
    command = bench.command()
    back = bench.run("rollback", NAME, "--yes")

    assert (0, "sgl is at launch 1 again, as it was. That launch failed before.") == (
        done.returncode,
        last(done.stdout),
    )
    assert [*SERVE[:-1], "0.80"] == command
    assert (0, SERVE) == (back.returncode, bench.command())
