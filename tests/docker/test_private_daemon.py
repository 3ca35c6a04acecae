"""The private daemon runs containers, comes back on its data, and disturbs nothing."""

import socket
import subprocess
import time
from pathlib import Path

import docker
import pytest

from tests.docker.dockerd import PrivateDockerd

# A shell without a trap ignores SIGTERM as process 1, and a daemon waits ten seconds for it.
OBEDIENT = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"]


def links() -> str:
    return subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout


def mounts_under(folder: str) -> list[str]:
    return [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if folder in line]


def test_a_container_runs_and_its_log_is_read(docker_client: docker.DockerClient, busybox_image: str) -> None:
    said = docker_client.containers.run(busybox_image, ["sh", "-c", "echo out; echo err >&2"], stderr=True)

    assert sorted(said.split()) == [b"err", b"out"]


def test_host_sees_neither_links_nor_mounts(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    before = links()

    docker_client.containers.run(busybox_image, ["sleep", "60"], detach=True, ports={"80/tcp": 15432})

    assert links() == before
    assert mounts_under(str(docker_host.folder)) == []
    assert "docker0" in docker_host.run_inside(["ip", "-brief", "link"]).stdout


def test_published_port_is_reached_from_inside(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    server = ["sh", "-c", "echo hello > /tmp/index.html; exec httpd -f -p 80 -h /tmp"]
    docker_client.containers.run(busybox_image, server, detach=True, ports={"80/tcp": 15432}, init=False)

    for _ in range(50):
        answer = docker_host.run_inside(["busybox", "wget", "-q", "-O", "-", "http://127.0.0.1:15432/"])
        if answer.returncode == 0:
            break
        time.sleep(0.1)

    assert answer.stdout == "hello\n"


def test_gpu_request_is_accepted(docker_client: docker.DockerClient, busybox_image: str) -> None:
    gpu = docker.types.DeviceRequest(device_ids=["0"], capabilities=[["gpu"]])

    said = docker_client.containers.run(busybox_image, ["echo", "ran"], device_requests=[gpu])

    assert said == b"ran\n"


def test_missing_gpu_driver_is_told_in_the_state(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    gpu = docker.types.DeviceRequest(device_ids=["0"], capabilities=[["gpu"]])
    container = docker_client.containers.create(busybox_image, ["echo", "ran"], device_requests=[gpu])
    broken = docker_host.folder / "gpu-broken"
    broken.touch()

    try:
        container.start()
    except docker.errors.APIError as error:
        refused = str(error)
    finally:
        broken.unlink()
    container.reload()

    assert "driver not loaded" in refused
    assert "driver not loaded" in container.attrs["State"]["Error"]
    assert container.attrs["State"]["ExitCode"] == 128


def test_daemon_comes_back_with_its_containers(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    made = docker_client.containers.run(busybox_image, OBEDIENT, detach=True, restart_policy={"Name": "unless-stopped"})

    docker_host.stop()
    docker_host.start()
    made.reload()

    assert made.status == "running"


def test_killed_daemon_comes_back(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    made = docker_client.containers.run(busybox_image, OBEDIENT, detach=True)

    docker_host.kill()
    docker_host.start()

    assert [found.id for found in docker_client.containers.list(all=True)] == [made.id]


def test_sockets_of_this_thread_enter_the_daemons_network(docker_host: PrivateDockerd) -> None:
    with docker_host.network(), socket.socket() as inside:
        inside.bind(("127.0.0.1", 0))
        inside.listen()
        port = inside.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
