"""``diagnose`` with the name of a container, and other ways to the same engine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint, Tls
from sgdoctor.containers.find import candidates
from sgdoctor.containers.once import open_container
from sgdoctor.containers.transport import UnreachableError
from sgdoctor.errors import UserError
from tests.docker.dockerd import PrivateDockerd
from tests.docker.gates import SSH, gate, mutual_tls, ssh_to


@pytest.fixture
def create(docker_client: docker.DockerClient, busybox_image: str) -> Callable[..., Any]:
    def make(script: str, name: str = "sgl", **options: Any) -> Any:
        return docker_client.containers.create(
            busybox_image, ["sh", "-c", script], name=name, **({"network_mode": "none"} | options)
        )

    return make


@pytest.fixture
def endpoint(docker_host: PrivateDockerd) -> Endpoint:
    return Endpoint(docker_host.url)


Create = Callable[..., Any]


def read(endpoint: Endpoint, name: str = "sgl") -> bytes:
    with open_container(name, endpoint) as source:
        return bytes(source.data)


def sgdoctor(host: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sgdoctor", "diagnose", *arguments]
    return subprocess.run(command, env=os.environ | {"DOCKER_HOST": host}, capture_output=True, text=True, check=False)


def test_dead_container(endpoint: Endpoint, create: Create) -> None:
    made = create("echo out; exit 3")
    made.start()
    made.wait()

    assert read(endpoint) == b"out\nsgdoctor  | sgl exited with code 3\n"


def test_running_container_has_no_end(endpoint: Endpoint, create: Create) -> None:
    made = create("echo out; sleep 60", stop_signal="SIGKILL")
    made.start()
    while not made.logs():
        pass

    assert read(endpoint) == b"out\n"


def test_refused_start_is_diagnosed(docker_host: PrivateDockerd, create: Create) -> None:
    with pytest.raises(docker.errors.APIError):
        create("", entrypoint=["no-such-program"]).start()
    done = sgdoctor(docker_host.url, "sgl", "--format", "json")

    assert done.returncode == 3, done.stderr
    assert '"rule": "SGL030"' in done.stdout
    assert "sgdoctor  | docker: Error response from daemon: " in done.stdout


def test_never_started_and_unknown(docker_host: PrivateDockerd, create: Create) -> None:
    create("true")
    never = sgdoctor(docker_host.url, "sgl")
    unknown = sgdoctor(docker_host.url, "sglang", "--lang", "zh")

    assert (never.returncode, unknown.returncode) == (2, 2)
    assert "created and never started: docker start sgl" in never.stderr
    assert "既没有这个文件，也没有这个名称的容器。现有容器：sgl" in unknown.stderr


def test_unreadable_driver(endpoint: Endpoint, create: Create) -> None:
    made = create("exit 7", log_config={"type": "none"})
    made.start()
    made.wait()
    with open_container("sgl", endpoint) as source:
        data, note = bytes(source.data), source.note

    assert data == b"sgdoctor  | sgl exited with code 7\n"
    assert note is not None
    assert "'none'" in note.en


def test_running_and_silent(endpoint: Endpoint, create: Create) -> None:
    create("sleep 60", stop_signal="SIGKILL").start()
    with pytest.raises(UserError, match="has not said anything yet"):
        read(endpoint)


def test_candidates_are_told_by_image_and_command(endpoint: Endpoint, create: Create) -> None:
    create("sleep 60 # python3 -m sglang.launch_server", name="engine", stop_signal="SIGKILL").start()
    create("true # sglang serve", name="older")
    create("true", name="other")
    with Client(endpoint) as client:
        names = [entry.name for entry in candidates(client)]

    assert names == ["engine", "older"]


def test_through_tls(endpoint: Endpoint, create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create("echo out")
    made.start()
    made.wait()
    tls, context = mutual_tls(tmp_path)
    # With requests these would replace the engine's authority.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tls.key))
    with gate(endpoint.address, context) as port:
        said = read(Endpoint(f"tcp://127.0.0.1:{port}", tls=tls))
        with pytest.raises(UnreachableError, match="TLS failed"):
            read(Endpoint(f"tcp://127.0.0.1:{port}", tls=Tls()))

    assert said.startswith(b"out\n")


def test_through_tcp(endpoint: Endpoint, create: Create) -> None:
    made = create("echo out")
    made.start()
    made.wait()
    with gate(endpoint.address) as port:
        said = read(Endpoint(f"tcp://127.0.0.1:{port}"))

    assert said.startswith(b"out\n")


def test_through_ssh(endpoint: Endpoint, create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("docker") is None:
        pytest.skip("no docker command")
    made = create("echo out")
    made.start()
    made.wait()
    ssh_to(endpoint.url, tmp_path, monkeypatch)

    assert read(Endpoint(SSH)).startswith(b"out\n")
