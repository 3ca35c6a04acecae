"""Sources of an engine read out of an image that is never started."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.image_files import open_image
from sgdoctor.containers.temporary import TEMPORARY
from sgdoctor.containers.transport import CancelledError
from sgdoctor.engines.sglang.flags.extract import extract
from sgdoctor.errors import UserError
from tests.docker.dockerd import PrivateDockerd
from tests.docker.images import Root, import_image
from tests.engines.flag_sources import ANNOTATED, NAMESPACES

EDITABLE = "sgdoctor-test/fake-sglang-editable:v0.5.15-cu130"
PACKAGED = "sgdoctor-test/fake-sglang-packaged:latest"
EMPTY = "sgdoctor-test/fake-nothing:1"


def _image(host: PrivateDockerd, name: str, parent: str, files: dict[str, str], changes: list[str]) -> str:
    """An image with a tiny tree that looks like an install of SGLang, and nothing that could run."""
    root = Root()
    for path, text in files.items():
        root.file(f"{parent}/{path}", text.encode())
    import_image(host, name, root.done(), changes)
    return name


@pytest.fixture(scope="module")
def editable(docker_host: PrivateDockerd) -> str:
    return _image(docker_host, EDITABLE, "sgl-workspace/sglang/python", ANNOTATED, ["WORKDIR /sgl-workspace/sglang"])


@pytest.fixture(scope="module")
def packaged(docker_host: PrivateDockerd) -> str:
    files = {**NAMESPACES, "sglang/_version.py": "__version__ = version = '0.5.23'\n"}
    changes = ["ENV PATH=/opt/py/bin:/usr/bin", "VOLUME /data", 'CMD ["python3"]']
    return _image(docker_host, PACKAGED, "opt/py/lib/python3.12/site-packages", files, changes)


@pytest.fixture
def client(docker_host: PrivateDockerd) -> Iterator[Client]:
    with Client(Endpoint(docker_host.url)) as client:
        yield client


def _left_over(docker_client: docker.DockerClient) -> list[str]:
    containers = docker_client.containers.list(all=True, filters={"label": TEMPORARY})
    return [*(container.name for container in containers), *(volume.name for volume in docker_client.volumes.list())]


def test_an_editable_install_with_the_version_in_the_tag(
    client: Client, editable: str, docker_client: docker.DockerClient
) -> None:
    with open_image(client, editable) as sources:
        root, extracted = sources.root, extract(sources)

    assert root == "/sgl-workspace/sglang/python"
    assert extracted.version == "0.5.15"
    assert {option.flag for option in extracted.options} >= {"--model-path", "--dtype"}
    assert _left_over(docker_client) == []


def test_packages_of_the_python_that_the_image_puts_on_its_path(
    client: Client, packaged: str, docker_client: docker.DockerClient
) -> None:
    with open_image(client, packaged) as sources:
        root, extracted = sources.root, extract(sources)

    assert root == "/opt/py/lib/python3.12/site-packages"
    assert extracted.version == "0.5.23"
    assert {option.flag for option in extracted.options} >= {"--model-path", "--page-size"}
    assert _left_over(docker_client) == []


def test_the_container_never_runs(client: Client, packaged: str, docker_client: docker.DockerClient) -> None:
    with open_image(client, packaged):
        (container,) = docker_client.containers.list(all=True, filters={"label": TEMPORARY})

        assert container.status == "created"


def test_no_engine_in_the_image(
    docker_host: PrivateDockerd, client: Client, docker_client: docker.DockerClient
) -> None:
    _image(docker_host, EMPTY, "opt", {"readme.py": ""}, [])

    with pytest.raises(UserError, match="no SGLang found"), open_image(client, EMPTY):
        pass

    assert _left_over(docker_client) == []


def test_no_such_image(client: Client) -> None:
    with pytest.raises(UserError, match="docker pull"), open_image(client, "sgdoctor-test/not-here:1"):
        pass


def test_nothing_is_left_after_an_error_inside(
    client: Client, editable: str, docker_client: docker.DockerClient
) -> None:
    with pytest.raises(ZeroDivisionError), open_image(client, editable):
        raise ZeroDivisionError

    assert _left_over(docker_client) == []


def test_nothing_is_left_after_a_cancel(client: Client, editable: str, docker_client: docker.DockerClient) -> None:
    def read_after_cancel() -> None:
        with open_image(client, editable) as sources:
            client.cancel()
            sources.read("sglang/version.py")

    with pytest.raises(CancelledError):
        read_after_cancel()

    assert _left_over(docker_client) == []


def test_a_file_that_is_too_large_is_refused(
    docker_host: PrivateDockerd, client: Client, docker_client: docker.DockerClient
) -> None:
    files = {**ANNOTATED, "sglang/srt/huge.py": "#" * (9 << 20)}
    _image(docker_host, "sgdoctor-test/fake-sglang-huge:1", "sgl-workspace/sglang/python", files, [])

    with (
        pytest.raises(UserError, match="more than 8 MiB"),
        open_image(client, "sgdoctor-test/fake-sglang-huge:1") as sources,
    ):
        sources.read("sglang/srt/huge.py")

    assert _left_over(docker_client) == []


def test_links_and_other_packages_are_not_followed(docker_host: PrivateDockerd, client: Client, tmp_path: Path) -> None:
    root = Root()
    for path, text in ANNOTATED.items():
        root.file(f"sgl-workspace/sglang/python/{path}", text.encode())
    root.link("sgl-workspace/sglang/python/sglang/srt/passwords.py", "/etc/passwd")
    import_image(docker_host, "sgdoctor-test/fake-sglang-links:1", root.done(), [])

    with contextlib.ExitStack() as stack:
        sources = stack.enter_context(open_image(client, "sgdoctor-test/fake-sglang-links:1"))
        found = [sources.read(name) for name in ("sglang/srt/passwords.py", "torch/__init__.py", "sglang/none.py")]

    assert found == [None, None, None]
