"""Reads GPUs through NVML, the library of the NVIDIA driver."""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic, time
from typing import Any, Final, NamedTuple

from sgdoctor.gpu import reasons
from sgdoctor.gpu.backoff import Backoff
from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.gpu.owners import ProcessTable, process_notes
from sgdoctor.texts import Text

_MIB: Final = 2**20
# After these nothing works until the library is initialised anew.
_DRIVER_GONE: Final = (reasons.UNINITIALIZED, reasons.DRIVER_NOT_LOADED, reasons.VERSION_MISMATCH)
_NOT_AVAILABLE: Final = 2**64 - 1


class _DriverGoneError(Exception):
    """The driver that was there is not there any more."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Memory(NamedTuple):
    total: float
    free: float
    reserved: float | None

    @property
    def used(self) -> float:
        return self.total - self.free


class NvmlSource:
    """All GPUs by NVML. A driver that goes away is asked for again, a driver that comes back is taken up."""

    def __init__(
        self,
        table: ProcessTable,
        machine: Machine,
        *,
        library: Any = None,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = time,
    ) -> None:
        """Nothing is loaded before the first reading.

        Args:
            table: tells whose a process is.
            machine: for the words of reasons and notes.
            library: a module with the functions of ``pynvml``; that one if None.
            clock: seconds, for the time between two tries.
            now: seconds since the epoch, for the readings.
        """
        self._table = table
        self._machine = machine
        self._library = library
        self._now = now
        self._backoff = Backoff(clock)
        self._open = False
        self._reason = Text("", "")
        self._known: dict[int, tuple[str, str]] = {}

    def read(self) -> GpuReading:
        """The state of now; with a reason instead of GPUs while there is no driver."""
        if not self._open and not self._backoff.due:
            return self._nothing()
        if self._library is None:
            try:
                import pynvml  # type: ignore[import-untyped]  # noqa: PLC0415 - only who watches GPUs loads it
            except ImportError:
                self._fail(reasons.NO_BINDING)
                return self._nothing()
            self._library = pynvml
        was_open = self._open
        try:
            try:
                gpus = self._gpus()
            except _DriverGoneError:
                if not was_open:
                    raise
                # Reloaded between two readings: a fresh start of the library is all it takes.
                self.close()
                gpus = self._gpus()
        except _DriverGoneError as gone:
            self._fail(reasons.of_nvml(gone.code, self._machine))
            return self._nothing()
        if not gpus:
            self._fail(reasons.NO_GPU)
            return self._nothing()
        self._backoff.succeeded()
        return GpuReading(self._now(), gpus, "nvml")

    def close(self) -> None:
        """Lets go of the driver; a later reading takes it up again."""
        if self._open:
            self._open = False
            with suppress(self._library.NVMLError):
                self._library.nvmlShutdown()

    def _fail(self, reason: Text) -> None:
        self.close()
        self._reason = reason
        self._backoff.failed()

    def _nothing(self) -> GpuReading:
        return GpuReading(self._now(), (), "", self._reason)

    def _call(self, name: str, *arguments: Any) -> tuple[Any, int]:
        """Answer of a function and 0, or None and the number of the error."""
        function = getattr(self._library, name, None)
        if function is None:
            return None, reasons.NOT_SUPPORTED
        try:
            return function(*arguments), 0
        except self._library.NVMLError as error:
            code = int(error.value)
            if code in _DRIVER_GONE:
                raise _DriverGoneError(code) from error
            return None, code

    def _ask(self, name: str, *arguments: Any) -> Any:
        """Answer of a function; None where card, driver or binding do not have it."""
        return self._call(name, *arguments)[0]

    def _gpus(self) -> tuple[Gpu, ...]:
        """All GPUs; handles are asked for each time, since cards fall off the bus and slices are cut anew."""
        if not self._open:
            _, code = self._call("nvmlInit")
            if code:
                raise _DriverGoneError(code)
            self._open = True
        count, code = self._call("nvmlDeviceGetCount")
        if count is None:
            raise _DriverGoneError(code)
        gpus: list[Gpu] = []
        for number in range(count):
            handle, code = self._call("nvmlDeviceGetHandleByIndex", number)
            if handle is None:
                uuid, name = self._known.get(number, ("", ""))
                missing = reasons.of_nvml(code, self._machine)
                gpus.append(Gpu(number, uuid, name, None, None, None, None, None, None, None, None, notes=(missing,)))
                continue
            card = self._gpu(handle, number)
            self._known[number] = (card.uuid, card.name)
            gpus += self._slices(handle, card) or [card]
        return tuple(gpus)

    def _gpu(self, handle: Any, number: int) -> Gpu:
        memory, code = self._memory(handle)
        capability = self._ask("nvmlDeviceGetCudaComputeCapability", handle)
        rates = self._ask("nvmlDeviceGetUtilizationRates", handle)
        power = self._ask("nvmlDeviceGetPowerUsage", handle)
        limit = self._ask("nvmlDeviceGetEnforcedPowerLimit", handle)
        gpu = Gpu(
            number=number,
            uuid=self._ask("nvmlDeviceGetUUID", handle) or "",
            name=self._ask("nvmlDeviceGetName", handle) or "",
            sm=None if capability is None else capability[0] * 10 + capability[1],
            total_mib=None if memory is None else memory.total,
            used_mib=None if memory is None else memory.used,
            free_mib=None if memory is None else memory.free,
            utilisation=None if rates is None else rates.gpu,
            temperature=self._ask("nvmlDeviceGetTemperature", handle, self._library.NVML_TEMPERATURE_GPU),
            power_w=None if power is None else power / 1000,
            power_limit_w=None if limit is None else limit / 1000,
            processes=self._processes(handle),
            reserved_mib=None if memory is None else memory.reserved,
        )
        if memory is None:
            return gpu._replace(notes=(reasons.of_nvml(code, self._machine),))
        return gpu._replace(notes=process_notes(self._machine, gpu))

    def _slices(self, handle: Any, card: Gpu) -> list[Gpu]:
        """The MIG slices of a card; none for a card that is not cut."""
        mode = self._ask("nvmlDeviceGetMigMode", handle)
        if not mode or not mode[0]:
            return []
        slices: list[Gpu] = []
        for place in range(self._ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
            part = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, place)
            if part is not None:
                slices.append(
                    self._gpu(part, card.number)._replace(
                        slice=place,
                        sm=card.sm,
                        temperature=card.temperature,
                        power_w=card.power_w,
                        power_limit_w=card.power_limit_w,
                    )
                )
        return slices

    def _memory(self, handle: Any) -> tuple[_Memory | None, int]:
        """Memory in MiB by the newer call, which tells the driver's reserve, else by the older one; or an error."""
        version = getattr(self._library, "nvmlMemory_v2", None)
        info = None if version is None else self._ask("nvmlDeviceGetMemoryInfo", handle, version)
        if info is not None:
            return _Memory(info.total / _MIB, info.free / _MIB, info.reserved / _MIB), 0
        info, code = self._call("nvmlDeviceGetMemoryInfo", handle)
        if info is None:
            return None, code
        return _Memory(info.total / _MIB, info.free / _MIB, None), 0

    def _processes(self, handle: Any) -> tuple[GpuProcess, ...]:
        """Processes that hold memory; those in both lists (they compute and draw) count once, as computing."""
        found: dict[int, GpuProcess] = {}
        for graphics, kind in ((False, "Compute"), (True, "Graphics")):
            for process in self._running(kind, handle):
                pid = int(process.pid)
                used = process.usedGpuMemory
                mib = None if used is None or used == _NOT_AVAILABLE else used / _MIB
                earlier = found.get(pid)
                if earlier is not None:
                    mib = max((each for each in (mib, earlier.used_mib) if each is not None), default=None)
                    found[pid] = earlier._replace(used_mib=mib)
                    continue
                owner = self._table.owner(pid)
                found[pid] = GpuProcess(pid, owner.name, mib, owner.container, owner.container_name, graphics)
        return tuple(sorted(found.values(), key=lambda process: (-(process.used_mib or 0.0), process.pid)))

    def _running(self, kind: str, handle: Any) -> Any:
        # Drivers before 510 know the second version of these functions only.
        for version in ("_v3", "_v2"):
            processes = self._ask(f"nvmlDeviceGet{kind}RunningProcesses{version}", handle)
            if processes is not None:
                return processes
        return ()
