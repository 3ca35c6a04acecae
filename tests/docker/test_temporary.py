"""Containers that are made to be looked into: every way to the engine, and engines that fail in the middle."""

import contextlib
import shutil
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import docker
import pytest

from sgdoctor.containers import temporary as module
from sgdoctor.containers.client import Client, RefusedError
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.temporary import TEMPORARY, temporary
from sgdoctor.containers.transport import UnreachableError
from tests.docker.dockerd import PrivateDockerd
from tests.docker.gates import SSH, gate, mutual_tls, ssh_to
from tests.docker.proxy import Proxy

SCRIPT = ["sh", "-c", "echo out; exit 3"]


@pytest.fixture(params=["unix", "tcp", "tls", "ssh"])
def endpoint(
    request: pytest.FixtureRequest, docker_host: PrivateDockerd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Endpoint]:
    unix = Endpoint(docker_host.url)
    with contextlib.ExitStack() as stack:
        if request.param == "unix":
            yield unix
        elif request.param == "tcp":
            yield Endpoint(f"tcp://127.0.0.1:{stack.enter_context(gate(unix.address))}")
        elif request.param == "tls":
            tls, context = mutual_tls(tmp_path)
            yield Endpoint(f"tcp://127.0.0.1:{stack.enter_context(gate(unix.address, context))}", tls=tls)
        else:
            if shutil.which("docker") is None:
                pytest.skip("no docker command")
            ssh_to(unix.url, tmp_path, monkeypatch)
            yield Endpoint(SSH)


def _left(docker_client: docker.DockerClient) -> list[str]:
    return [it.name for it in docker_client.containers.list(all=True, filters={"label": TEMPORARY})]


def test_every_way_to_the_engine(
    endpoint: Endpoint, docker_client: docker.DockerClient, busybox_image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None of these has a say here: proxies, authorities, docker-py's own way to an engine.
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "REQUESTS_CA_BUNDLE", "DOCKER_HOST"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Client(endpoint) as client:
        with temporary(client, "test", {"Image": busybox_image, "Cmd": SCRIPT}) as container:
            archive = container.archive("/bin/sh", 8 << 20)
            container.start()
            ended = container.wait(20.0), container.output()
        opened = client.connections.open_count

    with tarfile.open(fileobj=BytesIO(archive)) as entries:
        assert ["sh"] == entries.getnames()
    assert (3, b"out\n") == ended
    assert 0 == opened
    assert [] == _left(docker_client)


def test_the_engine_says_no(docker_host: PrivateDockerd, busybox_image: str) -> None:
    settings = {"Image": busybox_image, "Cmd": ["/no/such/program"]}
    with (
        Client(Endpoint(docker_host.url)) as client,
        pytest.raises(RefusedError, match="no such file") as refused,
        temporary(client, "test", settings) as container,
    ):
        container.start()

    assert 400 == refused.value.status


def test_the_answer_to_its_making_is_lost(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str, tmp_path: Path
) -> None:
    with Proxy(docker_host.url, tmp_path / "proxy.sock") as proxy, Client(Endpoint(proxy.url)) as client:
        proxy.drop("POST /containers/create", 1, answered=True, for_good=False)
        with pytest.raises(UnreachableError), temporary(client, "test", {"Image": busybox_image}):
            pass

    assert 1 == proxy.broken
    assert [] == _left(docker_client)


def test_an_archive_that_stalls(
    docker_host: PrivateDockerd,
    docker_client: docker.DockerClient,
    busybox_image: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    unix = Endpoint(docker_host.url)
    with (
        gate(unix.address, most=1 << 16) as port,
        Client(Endpoint(f"tcp://127.0.0.1:{port}")) as client,
        pytest.raises(UnreachableError, match="timed out"),
        temporary(client, "test", {"Image": busybox_image}) as container,
    ):
        container.archive("/bin", 64 << 20)

    assert [] == _left(docker_client)


def test_a_container_that_goes_on_is_not_waited_for(
    docker_host: PrivateDockerd, docker_client: docker.DockerClient, busybox_image: str
) -> None:
    settings = {"Image": busybox_image, "Cmd": ["sh", "-c", "echo here; sleep 600"]}
    with Client(Endpoint(docker_host.url)) as client, temporary(client, "test", settings) as container:
        container.start()
        with pytest.raises(UnreachableError, match="timed out"):
            container.wait(1.0)
        said = container.output()

    assert b"here\n" == said
    assert [] == _left(docker_client)
