"""A fake of the module ``pynvml``: answers with recorded readings, in the shapes and with the errors of NVML.

Not a GPU and not a driver. Names follow ``pynvml``; see fixtures/gpu for where the values come from.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from sgdoctor.gpu.model import Gpu

MIB = 2**20


class FakeNvmlError(Exception):
    """As ``pynvml.NVMLError``: the number stands in ``value``."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class FakeNvml:
    """The functions of ``pynvml`` that the source calls.

    Attributes:
        cards: what the driver sees at the moment.
        slices: MIG slices by the number of their card.
        errors: numbers of the errors that functions answer with, by name.
        lacking: functions that this version of the binding does not have.
        driver: error of every call when the driver is gone; 0 while it is there.
        opened: how often the library was initialised.
    """

    cards: tuple[Gpu, ...]
    slices: dict[int, tuple[Gpu, ...]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    driver: int = 0
    opened: int = 0
    is_open: bool = False

    NVMLError = FakeNvmlError
    NVML_TEMPERATURE_GPU = 0
    nvmlMemory_v2 = 33554472  # noqa: N815 - NVML's name

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answer = _ANSWERS.get(name)
        if answer is None or name in self.lacking:
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            if self.driver:
                self.is_open = False
                raise FakeNvmlError(self.driver)
            if not self.is_open and name != "nvmlInit":
                raise FakeNvmlError(1)
            if name in self.errors:
                raise FakeNvmlError(self.errors[name])
            return answer(self, *arguments)

        return call


def _init(nvml: FakeNvml) -> None:
    nvml.is_open = True
    nvml.opened += 1


def _shutdown(nvml: FakeNvml) -> None:
    nvml.is_open = False


def _or_unsupported(value: Any) -> Any:
    if value is None:
        raise FakeNvmlError(3)
    return value


def _memory(nvml: FakeNvml, gpu: Gpu, version: int = 0) -> SimpleNamespace:
    total, free = _or_unsupported(gpu.total_mib), _or_unsupported(gpu.free_mib)
    reserved = gpu.reserved_mib or 0.0
    if not version:
        return SimpleNamespace(total=int(total * MIB), free=int(free * MIB), used=int((total - free) * MIB))
    if gpu.reserved_mib is None:
        raise FakeNvmlError(13)
    used = int((total - free - reserved) * MIB)
    return SimpleNamespace(total=int(total * MIB), free=int(free * MIB), used=used, reserved=int(reserved * MIB))


def _processes(gpu: Gpu, *, graphics: bool) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(pid=each.pid, usedGpuMemory=_raw(each.used_mib))
        for each in reversed(gpu.processes)
        if each.graphics is graphics
    ]


def _raw(used_mib: float | None) -> int | None:
    """Unknown memory: None as the binding gives it, for infinity the largest number as NVML itself gives it."""
    if used_mib is None:
        return None
    return 2**64 - 1 if used_mib == math.inf else int(used_mib * MIB)


def _slice(nvml: FakeNvml, gpu: Gpu, place: int) -> Gpu:
    found = next((each for each in nvml.slices[gpu.number] if each.slice == place), None)
    if found is None:
        raise FakeNvmlError(6)
    return found


_ANSWERS: dict[str, Callable[..., Any]] = {
    "nvmlInit": _init,
    "nvmlShutdown": _shutdown,
    "nvmlDeviceGetCount": lambda nvml: len(nvml.cards),
    "nvmlDeviceGetHandleByIndex": lambda nvml, number: nvml.cards[number],
    "nvmlDeviceGetUUID": lambda nvml, gpu: gpu.uuid,
    "nvmlDeviceGetName": lambda nvml, gpu: gpu.name,
    "nvmlDeviceGetCudaComputeCapability": lambda nvml, gpu: divmod(_or_unsupported(gpu.sm), 10),
    "nvmlDeviceGetMemoryInfo": _memory,
    "nvmlDeviceGetUtilizationRates": lambda nvml, gpu: SimpleNamespace(gpu=_or_unsupported(gpu.utilisation), memory=0),
    "nvmlDeviceGetTemperature": lambda nvml, gpu, sensor: _or_unsupported(gpu.temperature),
    "nvmlDeviceGetPowerUsage": lambda nvml, gpu: round(_or_unsupported(gpu.power_w) * 1000),
    "nvmlDeviceGetEnforcedPowerLimit": lambda nvml, gpu: round(_or_unsupported(gpu.power_limit_w) * 1000),
    "nvmlDeviceGetMigMode": lambda nvml, gpu: [int(gpu.number in nvml.slices)] * 2,
    "nvmlDeviceGetMaxMigDeviceCount": lambda nvml, gpu: 7,
    "nvmlDeviceGetMigDeviceHandleByIndex": _slice,
    "nvmlDeviceGetComputeRunningProcesses_v3": lambda nvml, gpu: _processes(gpu, graphics=False),
    "nvmlDeviceGetComputeRunningProcesses_v2": lambda nvml, gpu: _processes(gpu, graphics=False),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": lambda nvml, gpu: _processes(gpu, graphics=True),
    "nvmlDeviceGetGraphicsRunningProcesses_v2": lambda nvml, gpu: _processes(gpu, graphics=True),
}
