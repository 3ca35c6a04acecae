"""Chooses where GPU data comes from, and reads it a few times a second."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Lock, Thread
from time import monotonic, time
from typing import Final

from sgdoctor.gpu import reasons
from sgdoctor.gpu.machine import Machine, this_machine
from sgdoctor.gpu.model import GpuReading, GpuSource
from sgdoctor.gpu.nvml import NvmlSource
from sgdoctor.gpu.owners import Owner, ProcessTable
from sgdoctor.gpu.smi import Run, SmiSource
from sgdoctor.texts import Text

_SLOWEST_SHARE: Final = 4.0
"""Reading takes a fifth of the time at most: nvidia-smi may need most of a second without persistence mode."""
_PATIENCE_S: Final = 1.0


class Unavailable:
    """Stands for GPUs that cannot be read, and says why."""

    def __init__(self, reason: Text, now: Callable[[], float] = time) -> None:
        """Answers with ``reason``."""
        self._reason = reason
        self._now = now

    def read(self) -> GpuReading:
        """No GPUs, and the reason."""
        return GpuReading(self._now(), (), "", self._reason)

    def close(self) -> None:
        """Nothing is held."""


class FirstAnswering:
    """Asks one source after the other, at each reading again: a better one that comes back is taken up at once.

    Sources that have just failed answer at once that they have nothing, so asking all of them costs nothing.
    """

    def __init__(self, sources: Sequence[GpuSource]) -> None:
        """Prefers the earlier ones; the first one has the word when none has data."""
        self._sources = tuple(sources)

    def read(self) -> GpuReading:
        """The reading of the first source that has GPUs, else the first one's reason."""
        nothing: GpuReading | None = None
        for source in self._sources:
            reading = source.read()
            if reading.gpus:
                return reading
            nothing = nothing or reading
        assert nothing is not None
        return nothing

    def close(self) -> None:
        """Closes all of them."""
        for source in self._sources:
            source.close()


def best_source(
    *,
    names: Mapping[str, str] | None = None,
    inside: Run | None = None,
    container: Owner | None = None,
    remote: str = "",
    machine: Machine | None = None,
) -> GpuSource:
    """NVML, else ``nvidia-smi`` here, else ``nvidia-smi`` in the container, else a source that says why not.

    Args:
        names: names of containers by their full ids; the caller may go on changing it.
        inside: runs a command in the watched container (see ``smi.Run``).
        container: the container of ``inside``, as ``smi.SmiSource`` wants it.
        remote: name of the machine that the containers run on; empty for this one. GPUs of this machine are then not
            shown, only those that the container itself sees.
        machine: what this machine is; found out if None.
    """
    here = this_machine() if machine is None else machine
    table = ProcessTable(names)
    within: list[GpuSource] = []
    if inside is not None:
        within.append(SmiSource(table, here, run=inside, inside=container or Owner()))
    if remote:
        return FirstAnswering([*within, Unavailable(reasons.remote_engine(remote))])
    return FirstAnswering([NvmlSource(table, here), SmiSource(table, here), *within])


class Sampler:
    """Reads a source from a thread of its own and keeps the last readings, for the display and its graph."""

    def __init__(
        self,
        source: GpuSource,
        *,
        per_second: float = 1.0,
        keep: int = 600,
        on_reading: Callable[[GpuReading], None] | None = None,
    ) -> None:
        """Reads nothing before ``start``.

        Args:
            source: used and closed by the thread alone.
            per_second: how often; slower where a reading takes long.
            keep: how many readings.
            on_reading: called from the thread with each one.
        """
        self._source = source
        self._period = 1 / per_second
        self._on_reading = on_reading
        self._readings: deque[GpuReading] = deque(maxlen=keep)
        self._lock = Lock()
        self._stop = Event()
        # A driver can hang for good in the middle of a call; the program must still be able to end.
        self._thread = Thread(target=self._work, name="gpu-sampler", daemon=True)

    def start(self) -> None:
        """Begins to read."""
        self._thread.start()

    def stop(self) -> bool:
        """Stops reading; False if the driver did not come back within a second and keeps the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_S)
        return not self._thread.is_alive()

    @property
    def latest(self) -> GpuReading | None:
        """The last reading; None before the first one."""
        with self._lock:
            return self._readings[-1] if self._readings else None

    def history(self) -> tuple[GpuReading, ...]:
        """The readings kept, oldest first."""
        with self._lock:
            return tuple(self._readings)

    def _work(self) -> None:
        while not self._stop.is_set():
            began = monotonic()
            try:
                reading = self._source.read()
            except Exception as error:  # noqa: BLE001 - a thread that dies would freeze the display without a word
                reading = GpuReading(time(), (), "", reasons.of_exception(error))
            took = monotonic() - began
            with self._lock:
                self._readings.append(reading)
            if self._on_reading is not None:
                self._on_reading(reading)
            self._stop.wait(max(self._period - took, took * _SLOWEST_SHARE))
        self._source.close()


def memory_series(readings: Sequence[GpuReading], uuid: str) -> tuple[float | None, ...]:
    """Memory in use of one GPU over time, in MiB; None where a reading has nothing on it."""
    return tuple(next((gpu.used_mib for gpu in reading.gpus if gpu.uuid == uuid), None) for reading in readings)
