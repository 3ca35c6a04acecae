"""The readings of the last minutes, for graphs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.gpu.model import GpuReading

_KEPT: Final = 600


@dataclass(frozen=True, slots=True)
class History:
    """Shares of memory in use and of time at work by GPU, 0 to 1, the newest last; immutable."""

    memory: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    work: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def with_reading(self, reading: GpuReading) -> "History":
        """This history and one reading more; a GPU that is not in the reading keeps what it had."""
        memory, work = dict(self.memory), dict(self.work)
        for gpu in reading.gpus:
            if gpu.total_mib and gpu.used_mib is not None:
                memory[gpu.uuid] = (*memory.get(gpu.uuid, ())[1 - _KEPT :], gpu.used_mib / gpu.total_mib)
            if gpu.utilisation is not None:
                work[gpu.uuid] = (*work.get(gpu.uuid, ())[1 - _KEPT :], gpu.utilisation / 100)
        return History(memory, work)
