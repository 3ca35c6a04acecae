"""Requests to a server, each with an end in sight; another thread or a signal handler can end them at once."""

import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from sgdoctor.texts import Text
from sgdoctor.verify import texts
from sgdoctor.verify.model import Server

_CONNECT_SECONDS: Final = 5.0
_LARGEST: Final = 4 << 20


class Reply(NamedTuple):
    """An answer.

    Attributes:
        status: of HTTP.
        body: as far as it was read.
    """

    status: int
    body: bytes

    @property
    def data(self) -> Any:
        """The body read as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class NoReplyError(Exception):
    """There is no answer.

    Attributes:
        why: goes to the user.
    """

    def __init__(self, why: Text) -> None:
        super().__init__(why.en)
        self.why = why


class Calls:
    """Asks one server.

    Args:
        server: whose key goes with each request, and is told to nobody else: redirections are not followed, proxies
            not used.
    """

    def __init__(self, server: Server) -> None:
        parts = urlsplit(server.address)
        self._host, self._port = parts.hostname or "", parts.port
        self._headers = {} if server.key is None else {"Authorization": f"Bearer {server.key}"}
        self._cancelled = threading.Event()
        self._socket: socket.socket | None = None

    def cancel(self) -> None:
        """End the request that is under way, and refuse further ones."""
        self._cancelled.set()
        self._shut()

    def get(self, path: str, seconds: float) -> Reply:
        """The answer to a GET request; see ``post``."""
        return self._ask("GET", path, None, seconds)

    def post(self, path: str, body: Mapping[str, Any], seconds: float) -> Reply:
        """The answer to a request with a JSON body.

        Args:
            path: of the URL.
            body: of the request.
            seconds: until the last byte of the answer has to be there.

        Raises:
            NoReplyError: there is none in that time, or nobody listens.
        """
        return self._ask("POST", path, json.dumps(body, ensure_ascii=False).encode(), seconds)

    def _ask(self, method: str, path: str, body: bytes | None, seconds: float) -> Reply:
        began = time.monotonic()
        reply, said = None, ""
        connection = HTTPConnection(self._host, self._port, timeout=min(seconds, _CONNECT_SECONDS))
        # A timeout of a socket begins anew with each byte that comes.
        timer = threading.Timer(seconds, self._shut)
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
            self._socket = connection.sock
            connection.sock.settimeout(seconds)
            if self._cancelled.is_set():
                raise NoReplyError(texts.CANCELLED)
            headers = self._headers | ({"Content-Type": "application/json"} if body is not None else {})
            connection.request(method, path, body, headers)
            with connection.getresponse() as response:
                reply = Reply(response.status, response.read(_LARGEST))
        except (OSError, HTTPException) as error:
            said = str(error) or type(error).__name__
        except ValueError as error:
            # A key that cannot stand in a header; the message would show it.
            said = type(error).__name__
        finally:
            timer.cancel()
            self._socket = None
            connection.close()
        if self._cancelled.is_set():
            raise NoReplyError(texts.CANCELLED)
        if time.monotonic() - began >= seconds:
            raise NoReplyError(texts.silent(path, seconds))
        if reply is None:
            raise NoReplyError(texts.broken(path, said))
        return reply

    def _shut(self) -> None:
        sock = self._socket
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
