"""Replays readings that were recorded on real GPUs: for tests and for ``sgdoctor demo``.

A recording is a text file with one reading a line, each a JSON object with the fields of ``model.GpuReading``.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.texts import Text


def to_json(reading: GpuReading) -> str:
    """One line of a recording, with every field."""
    gpus = [
        gpu._asdict()
        | {
            "processes": [process._asdict() for process in gpu.processes],
            "notes": [note._asdict() for note in gpu.notes],
        }
        for gpu in reading.gpus
    ]
    fields = reading._asdict() | {"gpus": gpus, "reason": reading.reason._asdict()}
    return json.dumps(fields, ensure_ascii=False)


def from_json(line: str) -> GpuReading:
    """One line of a recording.

    Raises:
        ValueError: it is not a reading.
    """
    try:
        fields: dict[str, Any] = json.loads(line)
        gpus = tuple(
            Gpu(
                **gpu
                | {
                    "processes": tuple(GpuProcess(**process) for process in gpu["processes"]),
                    "notes": tuple(Text(**note) for note in gpu["notes"]),
                }
            )
            for gpu in fields["gpus"]
        )
        return GpuReading(**fields | {"gpus": gpus, "reason": Text(**fields["reason"])})
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a GPU reading: {error}") from error


def read_recording(path: Path) -> tuple[GpuReading, ...]:
    """All readings of a file, oldest first.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a recording.
    """
    return tuple(from_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line)


def write_recording(path: Path, readings: Iterable[GpuReading]) -> None:
    """Writes a recording."""
    path.write_text("".join(f"{to_json(reading)}\n" for reading in readings), encoding="utf-8")


def without(reading: GpuReading, pid: int) -> GpuReading:
    """The reading as if a process and its memory were not on the card.

    Some recordings were made on a large card that a ballast process turned into one of 24 GB.
    """
    return reading._replace(gpus=tuple(_without(gpu, pid) for gpu in reading.gpus))


def _without(gpu: Gpu, pid: int) -> Gpu:
    ballast = sum(process.used_mib or 0.0 for process in gpu.processes if process.pid == pid)
    return gpu._replace(
        total_mib=None if gpu.total_mib is None else gpu.total_mib - ballast,
        used_mib=None if gpu.used_mib is None else gpu.used_mib - ballast,
        processes=tuple(process for process in gpu.processes if process.pid != pid),
    )


class RecordedSource:
    """A recording in the place of a driver. Its readings call their source ``recorded``."""

    def __init__(self, readings: Sequence[GpuReading], position: Callable[[], float] | None = None) -> None:
        """Replays ``readings``.

        Args:
            readings: oldest first, at least one.
            position: seconds since the beginning of the recording, by the clock of whoever replays it; the reading of
                that moment is given. None: one reading after the other. Either way the last one is given for ever.
        """
        if not readings:
            raise ValueError("an empty recording")
        self._readings = tuple(readings)
        self._position = position
        self._next = 0

    def read(self) -> GpuReading:
        """The reading of now."""
        last = len(self._readings) - 1
        if self._position is None:
            place = self._next
            self._next = min(place + 1, last)
        else:
            moment = self._readings[0].time + self._position()
            place = max((at for at, reading in enumerate(self._readings) if reading.time <= moment), default=0)
        reading = self._readings[place]
        return reading._replace(source="recorded") if reading.gpus else reading

    def close(self) -> None:
        """Nothing is held."""
