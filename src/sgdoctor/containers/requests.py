"""Requests that change something for a moment: ``Client``, which only reads, has no methods for them."""

import errno
import json
from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.containers.client import ANSWER_SECONDS, Client, RefusedError, reason_of
from sgdoctor.containers.transport import Connections, Stream, target_of, unreachable
from sgdoctor.errors import UserError

TEMPORARY: Final = "sgdoctor.temporary"
"""A label of containers that were made to be looked at or asked; what has it may be removed."""

_LARGEST: Final = 8 << 20
_FRAMES: Final = 10240
"""What an archive may have beyond its files (``tarfile.RECORDSIZE``)."""


class Requests:
    """Requests to the engine of a client."""

    def __init__(self, client: Client) -> None:
        self._connections = client.connections
        major, minor = client.api_version()
        self.prefix = f"/v{major}.{minor}"

    def answer(
        self, path: str, query: Mapping[str, str], *, body: Mapping[str, Any] | None = None, limit: int = _LARGEST
    ) -> bytes:
        """The whole answer to one request, a POST where it has a body.

        Raises:
            RefusedError: the engine says no.
            UserError: it does not answer, or the answer is longer than ``limit`` bytes.
        """
        sent = None if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        target = target_of(f"{self.prefix}{path}", query)
        stream = Stream(self._connections, target, ANSWER_SECONDS, method=method, body=sent)
        try:
            data = bytearray()
            while part := stream.receive(ANSWER_SECONDS):
                data += part
                if len(data) > limit + _FRAMES:
                    raise UserError(
                        f"{query.get('path', path)}: more than {limit >> 20} MiB, which no source of an engine has",
                        f"{query.get('path', path)}：超过 {limit >> 20} MiB，引擎的源码不会这么大",
                    )
        finally:
            stream.close()
        if part is None:
            raise unreachable(self._connections.endpoint, TimeoutError(errno.ETIMEDOUT, "it fell silent"))
        if stream.status >= 300:
            raise RefusedError(stream.status, reason_of(bytes(data), stream.status))
        return bytes(data)

    def remove(self, container: str) -> bool:
        """Remove a container and its anonymous volumes, also where the client was cancelled; whether it is gone."""
        target = target_of(f"{self.prefix}/containers/{container}", {"force": "1", "v": "1"})
        try:
            stream = Stream(Connections(self._connections.endpoint), target, ANSWER_SECONDS, method="DELETE")
        except UserError:
            return False
        stream.close()
        return stream.status in (204, 200, 404)
