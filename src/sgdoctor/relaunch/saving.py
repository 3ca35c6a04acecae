"""What a container said and how it ended, kept before it is gone, and what that means."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.containers.exits import exit_lines
from sgdoctor.containers.kept import kept_lines
from sgdoctor.containers.records import AttemptEnded, AttemptStarted, Container, ExitFacts, LogChunk
from sgdoctor.containers.spool import Spool
from sgdoctor.containers.transport import CancelledError
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.engine import Engine
from sgdoctor.texts import Text

_MOST: Final = 8 << 20
_FRAME: Final = 8
_SILENCE: Final = 1.0
_END_SECONDS: Final = 5.0
_EARLY: Final = 10**9


class Saved:
    """A log that was kept.

    Args:
        path: of its file; None if there is none.
        ending: how the start ended, as lines of a log; None for one that goes on.
        problem: why there is no file, though there was a log.
        log: what would stand in that file.

    Attributes:
        path: as given.
        problem: as given.
    """

    def __init__(
        self, path: Path | None = None, ending: bytes | None = None, problem: Text | None = None, log: bytes = b""
    ) -> None:
        self.path = path
        self.problem = problem
        self._ending = ending
        self._log = log

    @cached_property
    def verdict(self) -> Verdict | None:
        """On the start, if it failed.

        Found out when it is asked for: until everything is as it was there is more urgent work.
        """
        from sgdoctor.diagnosis.pipeline import diagnose_bytes  # noqa: PLC0415 - only a failure is diagnosed
        from sgdoctor.rules.base import load_rule_base  # noqa: PLC0415

        if self._ending is None:
            return None
        log = self._log
        if self.path is not None:
            with suppress(OSError):
                log = self.path.read_bytes()
        verdict = diagnose_bytes(log + self._ending, "", load_rule_base())[-1]
        return verdict if verdict.state is State.FAILED else None


def save_log(client: Client, container: str, root: Path | None = None) -> Saved:
    """Keep the log of a container beside those that were followed.

    Args:
        client: of the engine.
        container: id.
        root: stands for the state folder of sgdoctor.

    Raises:
        UserError: the engine does not answer.
    """
    look = client.inspect(container)
    if look is None or (look.started is None and not look.facts.error):
        return Saved()
    lines = kept_lines(client, look.container, since=None) if look.started is not None else ()
    return _save(look.container, (entry.data for entry in lines), look.facts, root, ended=not look.running)


class Attachment:
    """Takes down what a container that removes itself says, from before its start: its log goes with it.

    Args:
        engine: of the container.
        container: which was not started yet.
    """

    def __init__(self, engine: Engine, container: Container) -> None:
        self._engine = engine
        self._container = container
        self._data = bytearray()
        self._began = time.time_ns()
        self._stream = engine.output(container.id)
        self._thread = threading.Thread(target=self._read, name="sgdoctor-attached", daemon=True)
        self._thread.start()

    def save(self, error: str = "", root: Path | None = None) -> Saved:
        """Keep what came, once the container has ended.

        Args:
            error: with which the engine refused to start it.
            root: stands for the state folder of sgdoctor.

        Raises:
            UserError: the engine does not answer.
        """
        self._thread.join(_END_SECONDS)
        self._stream.close()
        told = self._engine.client.happenings(self._container.id, self._began - _EARLY)
        died = next((one for one in told if one.action == "die"), None)
        facts = ExitFacts(
            died.exit_code if died else None,
            error=error,
            started=None if error else self._began,
            finished=died.time if died else None,
            removed=True,
        )
        data = bytes(self._data) if self._container.tty else b"".join(_payloads(bytes(self._data)))
        return _save(self._container, [data.replace(b"\r\n", b"\n")], facts, root, ended=True)

    def close(self) -> None:
        """Let go of it: the container serves."""
        self._stream.close()
        self._thread.join(_END_SECONDS)

    def _read(self) -> None:
        with suppress(CancelledError):
            while (data := self._stream.receive(_SILENCE)) != b"":
                if data is not None and len(self._data) < _MOST:
                    self._data += data


def _payloads(data: bytes) -> list[bytes]:
    """What stands in the frames of a stream without a terminal."""
    found, position = [], 0
    while position + _FRAME <= len(data):
        size = int.from_bytes(data[position + 4 : position + _FRAME])
        found.append(data[position + _FRAME : position + _FRAME + size])
        position += _FRAME + size
    return found


def _save(container: Container, pieces: Iterable[bytes], facts: ExitFacts, root: Path | None, *, ended: bool) -> Saved:
    spool = Spool(root)
    try:
        spool.take(AttemptStarted(container, 1, facts.started, facts.restart_count))
        for piece in pieces:
            spool.take(LogChunk(piece, "stdout", facts.finished or 0))
        if ended:
            spool.take(AttemptEnded(container, facts))
        path, log = spool.path, b""
        problem = texts.log_not_kept(container.name, spool.problem) if spool.problem else None
        if problem is not None and path is not None:
            # It is in memory, and gone with its file.
            log, path = path.read_bytes(), None
    finally:
        spool.close()
    return Saved(path, exit_lines(container.name, facts) if ended else None, problem, log)
