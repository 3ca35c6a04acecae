"""docker-py, for calls that are made once and answered soon. Importing it takes longer than a diagnosis.

It speaks over connections of ``transport``, as everything here does: one way to unix sockets, TLS and ssh, and
``Connections.cancel`` ends its calls as well. Its own way through ``ssh`` needs paramiko even where it starts the
program (docker-py 7.2, transport/sshconn.py), has no time limit and may ask for a password.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import docker
import requests
from docker.errors import DockerException, InvalidVersion
from docker.transport.basehttpadapter import BaseHTTPAdapter
from docker.utils.config import find_config_file
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import HTTPError

from sgdoctor.containers.client import RefusedError, reason_of
from sgdoctor.containers.transport import CancelledError, Connections, unreachable
from sgdoctor.errors import UserError

# Nobody looks the name up: the connections know where they go.
_NOWHERE = "http://engine:80"


@contextmanager
def open_api(connections: Connections, version: str, seconds: float) -> Iterator[docker.APIClient]:
    """The low-level client of docker-py, for the length of a ``with`` block; its calls belong inside of ``told``.

    Args:
        connections: of the engine.
        version: of its API.
        seconds: to wait for the engine each time.

    Raises:
        UserError: the configuration of the docker command is broken.
    """
    with ExitStack() as stack:

        def connected() -> socket.socket:
            connection = connections.open()
            stack.callback(connections.close, connection)
            return connection.socket

        with told(connections):
            api = stack.enter_context(closing(_made(version, seconds)))
        # No proxies of the environment, and no authorities of it in place of the engine's.
        api.trust_env = False
        api.mount("http://", _Adapter(connected))
        yield api


def _made(version: str, seconds: float) -> docker.APIClient:
    try:
        return docker.APIClient(_NOWHERE, version=version, timeout=seconds)
    except InvalidVersion:
        raise
    except (DockerException, AttributeError, LookupError, TypeError, ValueError) as error:
        # It reads the passwords of registries, which are not needed here, and trips over bad ones, which docker skips.
        file = find_config_file()
        raise UserError(
            f"{file}: this configuration of docker is broken: {error}", f"{file}：docker 配置文件有误：{error}"
        ) from None


@contextmanager
def told(connections: Connections) -> Iterator[None]:
    """What docker-py and what is below it raise, in the words of this package.

    Raises:
        RefusedError: the engine says no.
        UnreachableError: it does not answer.
        CancelledError: ``Connections.cancel`` was called.
    """
    try:
        yield
    except requests.HTTPError as error:
        response = error.response
        assert response is not None
        raise RefusedError(response.status_code, reason_of(response.content, response.status_code)) from None
    except (DockerException, requests.RequestException, HTTPError) as error:
        if connections.cancelled.is_set():
            raise CancelledError from None
        raise unreachable(connections.endpoint, _cause(error)) from None


def _cause(error: BaseException) -> Exception:
    """What went wrong at the socket, below the errors that were made of it."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and not isinstance(below, requests.RequestException):
            return below
        below = below.__cause__ or below.__context__
    return Exception(str(error))


class _Connection(HTTPConnection):
    def __init__(self, *args: Any, connected: Callable[[], socket.socket], **options: Any) -> None:
        super().__init__(*args, **options)
        self._connected = connected

    def connect(self) -> None:
        self.sock = self._connected()
        self.sock.settimeout(self.timeout)


class _Pool(HTTPConnectionPool):
    # What the pool does not know among its arguments goes to each connection.
    ConnectionCls = _Connection


class _Adapter(BaseHTTPAdapter):  # type: ignore[misc] # docker-py has no types
    def __init__(self, connected: Callable[[], socket.socket]) -> None:
        self._pool = _Pool("engine", 80, maxsize=1, connected=connected)
        super().__init__()

    def get_connection(self, url: str, proxies: object = None) -> HTTPConnectionPool:  # noqa: ARG002 - docker-py's form
        return self._pool

    def close(self) -> None:
        self._pool.close()
        super().close()
