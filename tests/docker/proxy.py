"""A socket in front of the engine's that breaks off connections in the middle of calls."""

import contextlib
import socket
import threading
from collections import Counter
from pathlib import Path
from typing import NamedTuple, Self


class _Rule(NamedTuple):
    part: str
    nth: int
    answered: bool
    for_good: bool


class Proxy:
    """Passes everything on but what it was told to break; for the length of a `with` block.

    Attributes:
        url: value for DOCKER_HOST.
        broken: how many calls were broken off by a rule.
    """

    def __init__(self, url: str, path: Path) -> None:
        self.url = f"unix://{path}"
        self.broken = 0
        self._engine = url.removeprefix("unix://")
        self._path = path
        self._rules: list[_Rule] = []
        self._seen: Counter[str] = Counter()
        self._away = False
        self._lock = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for thread in self._threads:
            thread.join(5)

    def drop(self, part: str, nth: int, *, answered: bool, for_good: bool) -> None:
        """Break off the nth call whose first line has `part` in it.

        Args:
            part: of method and path.
            nth: counts from 1.
            answered: whether the engine has done it by then, and only its answer is lost.
            for_good: whether nobody gets through after that.
        """
        self._rules.append(_Rule(part, nth, answered, for_good))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            thread.start()
            self._threads.append(thread)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = b""
            while b"\r\n\r\n" not in request:
                part = connection.recv(1 << 16)
                if not part:
                    return
                request += part
            rule = self._rule_for(request.split(b" HTTP/")[0].decode())
            if self._away or (rule is not None and not rule.answered):
                self._note(rule)
                return
            with socket.socket(socket.AF_UNIX) as engine:
                engine.connect(self._engine)
                engine.sendall(request)
                back = threading.Thread(target=self._pass_on, args=(connection, engine))
                back.start()
                if rule is None:
                    self._pass_on(engine, connection)
                else:
                    engine.recv(1)  # an answer that begins is about something done
                    self._note(rule)
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                back.join()

    @staticmethod
    def _pass_on(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                sink.sendall(part)
            sink.shutdown(socket.SHUT_WR)

    def _rule_for(self, line: str) -> _Rule | None:
        with self._lock:
            for part in {rule.part for rule in self._rules}:
                if part in line.replace("/v1.41/", "/"):
                    self._seen[part] += 1
                    for rule in self._rules:
                        if (rule.part, rule.nth) == (part, self._seen[part]):
                            return rule
        return None

    def _note(self, rule: _Rule | None) -> None:
        if rule is not None:
            self.broken += 1
            self._away = self._away or rule.for_good
