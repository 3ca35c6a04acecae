"""A container that is made to be looked into or asked, and is gone afterwards."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import docker

from sgdoctor.containers.client import ANSWER_SECONDS, Client, RefusedError
from sgdoctor.containers.sdk import open_api, told
from sgdoctor.containers.transport import Connections
from sgdoctor.errors import UserError

TEMPORARY: Final = "sgdoctor.temporary"
"""Label of these containers; what has it may be removed."""

_CHUNK: Final = 1 << 18
_FRAMES: Final = 10240
"""What an archive may have beyond its files (``tarfile.RECORDSIZE``)."""


class Temporary:
    """The container; made, and not started. Valid inside of ``temporary``.

    All methods raise ``RefusedError`` where the engine says no, ``UnreachableError`` where it does not answer, and
    ``CancelledError`` after ``Client.cancel``.

    Args:
        api: of its engine.
        connections: that ``api`` uses.
        name: of the container.
    """

    def __init__(self, api: docker.APIClient, connections: Connections, name: str) -> None:
        self._api = api
        self._connections = connections
        self._name = name

    def start(self) -> None:
        """Start it."""
        with told(self._connections):
            self._api.start(self._name)

    def wait(self, seconds: float) -> int:
        """Wait for its end, no longer than this, for its exit code."""
        with told(self._connections):
            return int(self._api.wait(self._name, timeout=seconds)["StatusCode"])

    def output(self) -> bytes:
        """What it has printed so far."""
        with told(self._connections):
            printed: bytes = self._api.logs(self._name)
            return printed

    def archive(self, path: str, limit: int) -> bytes:
        """A file or a folder of it as a tar file.

        Raises:
            UserError: it is longer than ``limit`` bytes.
        """
        # As `get_archive`, which takes the time limit away from its socket (docker-py 7.2, `_stream_raw_result`).
        url = f"{self._api.base_url}/v{self._api.api_version}/containers/{self._name}/archive"
        data = bytearray()
        with (
            told(self._connections),
            self._api.get(url, params={"path": path}, stream=True, timeout=self._api.timeout) as response,
        ):
            response.raise_for_status()
            for part in response.iter_content(_CHUNK):
                data += part
                if len(data) > limit + _FRAMES:
                    raise UserError(
                        f"{path}: more than {limit >> 20} MiB, which no source of an engine has",
                        f"{path}：超过 {limit >> 20} MiB，引擎的源码不会这么大",
                    )
        return bytes(data)


@contextmanager
def temporary(client: Client, purpose: str, settings: Mapping[str, Any]) -> Iterator[Temporary]:
    """A container for the length of a ``with`` block, without a network.

    Args:
        client: of the engine.
        purpose: a word for its name.
        settings: the body of the request that makes it.

    Raises:
        UserError: the engine does not answer or says no, or the container cannot be removed.
    """
    name = f"sgdoctor-{purpose}-{uuid.uuid4().hex[:12]}"
    version = ".".join(map(str, client.api_version()))
    body = {**settings, "Labels": {TEMPORARY: "1"}, "NetworkDisabled": True}
    body["HostConfig"] = {**settings.get("HostConfig", {}), "NetworkMode": "none"}
    try:
        with open_api(client.connections, version, ANSWER_SECONDS) as api:
            with told(client.connections):
                api.create_container_from_config(body, name)
            yield Temporary(api, client.connections, name)
    except BaseException:
        # Also where only the answer was lost; what went wrong first is what is told.
        _removed(client, version, name)
        raise
    if not _removed(client, version, name):
        raise UserError(
            f"{name}: this container was only made to be looked into and could not be removed: docker rm -f {name}",
            f"{name}：这个容器只用于检查，但无法删除：docker rm -f {name}",
        )


def _removed(client: Client, version: str, name: str) -> bool:
    """Remove a container and its anonymous volumes, also where the client was cancelled; whether it is gone."""
    connections = Connections(client.connections.endpoint)
    try:
        with open_api(connections, version, ANSWER_SECONDS) as api, told(connections):
            api.remove_container(name, force=True, v=True)
    except RefusedError as error:
        return error.status == 404
    except UserError:
        return False
    return True
