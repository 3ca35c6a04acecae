"""Whether a silent server is at work: then it is no stall."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.errors import UserError
from sgdoctor.gpu.model import GpuReading, GpuSource
from sgdoctor.watching.session import Session

# A waiting SGLang (0.5.15) polls its queues with less than this; compiling kernels or reading weights takes a whole
# processor.
_CPU_BUSY_SHARE: Final = 0.5
_CPU_EVERY_SECONDS: Final = 5.0


class Attentive:
    """A source of GPU readings that also lets the session know when the processors of the server are at work.

    Args:
        source: of the readings.
        session: is told of activity.
        watched: gives the id of the container of now; empty while there is none.
        endpoint: the container engine; None where no container is watched, and no processor time is known.
    """

    def __init__(
        self, source: GpuSource, session: Session, watched: Callable[[], str], endpoint: Endpoint | None
    ) -> None:
        self._source = source
        self._session = session
        self._watched = watched
        self._endpoint = endpoint
        self._asked = float("-inf")
        self._before: tuple[str, float, float] | None = None

    def read(self) -> GpuReading:
        """As the source."""
        if self._computes(self._watched()):
            self._session.note_activity()
        return self._source.read()

    def _computes(self, container: str) -> bool:
        """Whether the container used a good part of a processor since it was asked the last time."""
        now = time.monotonic()
        if self._endpoint is None or not container or now - self._asked < _CPU_EVERY_SECONDS:
            return False
        self._asked = now
        used: float | None = None
        with suppress(UserError, OSError), Client(self._endpoint) as client:
            used = client.cpu_seconds(container)
        before, self._before = self._before, None if used is None else (container, now, used)
        if used is None or before is None or before[0] != container:
            return False
        return (used - before[2]) / (now - before[1]) >= _CPU_BUSY_SHARE

    def close(self) -> None:
        """As the source."""
        self._source.close()
