"""Tests against real engines: a private Docker daemon and a podman service for each worker of the run, each started by
the first test that asks. Which worker runs what is said in scheduling.py.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import NoReturn

import docker
import pytest

from tests.docker.dockerd import PrivateDockerd
from tests.docker.engine import CannotStartError
from tests.docker.images import BUSYBOX, build_busybox
from tests.docker.podman import PrivatePodman
from tests.standin.image import IMAGE, build_standin


@pytest.fixture(scope="session")
def docker_host() -> Iterator[PrivateDockerd]:
    """The private daemon: `docker_host.url` is the value for DOCKER_HOST.

    Skips where no daemon can be started, and fails there when `CI=true`: a green run must have run these tests.
    """
    try:
        host = PrivateDockerd()
    except CannotStartError as error:
        _give_up(error)
    try:
        host.start()
        yield host
    except CannotStartError as error:
        _give_up(error)
    finally:
        host.close()


@pytest.fixture
def docker_client(docker_host: PrivateDockerd) -> Iterator[docker.DockerClient]:
    """A docker-py client of the private daemon; what the test leaves is removed after it."""
    with contextlib.closing(docker_host.client()) as client:
        yield client
    docker_host.clear()


@pytest.fixture(scope="session")
def busybox_image(docker_host: PrivateDockerd) -> str:
    """Name of a 2 MB image with a shell, for containers that only print, wait and die."""
    build_busybox(docker_host)
    return BUSYBOX


@pytest.fixture(scope="session")
def standin_image(docker_host: PrivateDockerd) -> str:
    """Name of the image with the stand-in for the engine (see tests/standin/README.md)."""
    build_standin(docker_host)
    return IMAGE


@pytest.fixture(scope="session")
def podman_host() -> Iterator[PrivatePodman]:
    """The private podman service, with the image `BUSYBOX`; skips and fails as `docker_host` does."""
    try:
        host = PrivatePodman()
    except CannotStartError as error:
        _give_up(error)
    try:
        host.start()
        build_busybox(host)
        yield host
    except CannotStartError as error:
        _give_up(error)
    finally:
        host.close()


def _give_up(error: CannotStartError) -> NoReturn:
    message = f"no private engine: {error}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
