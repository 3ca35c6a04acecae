"""The log of a container as a feed: followed over restarts and recreation, kept on disk, its ends told as lines."""

import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.exits import PREFIX, exit_lines
from sgdoctor.containers.follow import Follower
from sgdoctor.containers.records import (
    AttemptEnded,
    AttemptStarted,
    Container,
    LinesLost,
    LogChunk,
    Record,
    Waiting,
    WaitReason,
)
from sgdoctor.containers.spool import Spool
from sgdoctor.texts import Text
from sgdoctor.watching.feeds import Arrival, Begun, Output, Standing, arrived
from sgdoctor.watching.model import Link, Subject

_NANO: Final = 1e-9
_WAITING: Final = 64
# Only a person brings these to an end.
_OVER: Final = frozenset({WaitReason.STOPPED, WaitReason.REMOVED})


class ContainerFeed:
    """Follows a container by name, id or compose service; one that does not exist yet is waited for.

    Args:
        endpoint: the container engine.
        target: the container.
        lang: of the lines that are added to the log.
        spool: keeps what the container said; None for the usual place.
    """

    speed = 1.0
    learns = True

    def __init__(self, endpoint: Endpoint, target: str, *, lang: str = "en", spool: Spool | None = None) -> None:
        self.endpoint = endpoint
        self._target = target
        self._lang = lang
        self._spool = spool or Spool()
        self._follower = Follower(endpoint, target)
        self._arrivals: queue.Queue[Arrival | Exception] = queue.Queue(_WAITING)
        self._closed = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._container: Container | None = None
        self._restarts: int | None = None

    @property
    def subject(self) -> Subject:
        """The container."""
        container = self._container
        if container is None:
            return Subject("container", self._target)
        return Subject(
            "container",
            container.name,
            container.id[:12],
            container.image,
            ports=container.ports,
            restarts=self._restarts,
            command=container.command,
        )

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What has arrived; see ``Feed.read``."""
        with self._starting:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._follow, name="sgdoctor-follow", daemon=True)
                self._thread.start()
        return arrived(self._arrivals, timeout)[0]

    def close(self) -> None:
        """End the follower and its thread."""
        self._closed.set()
        self._follower.cancel()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _follow(self) -> None:
        try:
            for record in self._follower:
                told = self._spool.take(record)
                for arrival in self._arrivals_of(record):
                    self._put(arrival)
                if told is not None:
                    self._put(Standing(Link.FOLLOWING, Text(*told)))
                if self._closed.is_set():
                    return
        except Exception as error:  # noqa: BLE001 - told by the thread that reads
            self._put(error)
        finally:
            self._spool.close()

    def _put(self, arrival: Arrival | Exception) -> None:
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._arrivals.put(arrival, timeout=0.1)
                return

    def _arrivals_of(self, record: Record) -> Sequence[Arrival]:
        match record:
            case AttemptStarted():
                self._container = record.container
                self._restarts = record.restart_count
                started = record.started * _NANO if record.started is not None else None
                return [Begun(started), Standing(Link.FOLLOWING)]
            case LogChunk():
                return [Output(record.data, time=record.time * _NANO)]
            case AttemptEnded():
                self._container = record.container
                lines = exit_lines(record.container.name, record.facts)
                ended = Standing(Link.WAITING)
                return [Output(lines, added=True), ended] if lines else [ended]
            case LinesLost():
                return [Output(PREFIX + self._said(record.message) + b"\n", added=True)]
            case Waiting():
                if record.reason is WaitReason.NOT_STARTED:
                    self._container = self._follower.container
                return [Standing(Link.WAITING, record.message, final=record.reason in _OVER)]

    def _said(self, message: Text) -> bytes:
        return message.in_language(self._lang).encode()
