"""A reading of all GPUs at one moment: plain, immutable data."""

from typing import NamedTuple, Protocol

from sgdoctor.texts import Text


class GpuProcess(NamedTuple):
    """One process that holds GPU memory.

    Attributes:
        pid: on the host; where ``nvidia-smi`` was asked inside a container, as that container counts.
        name: of the program; empty if it cannot be read.
        used_mib: GPU memory that it holds; None where the driver does not say (WSL2).
        container: id of the container it runs in; empty if in none or unknown.
        container_name: name of that container; empty if unknown.
        graphics: whether it draws (a desktop) rather than computes.
    """

    pid: int
    name: str
    used_mib: float | None
    container: str = ""
    container_name: str = ""
    graphics: bool = False


class Gpu(NamedTuple):
    """One GPU. What a driver does not report is None.

    Attributes:
        number: NVML's index, in the order of the PCI bus.
        uuid: ``GPU-...``.
        name: ``NVIDIA GeForce RTX 3090``.
        sm: compute capability as a number, 86 for 8.6.
        total_mib: memory of the card.
        used_mib: what nobody can take any more, the driver's reserve included: ``total_mib - free_mib``. What
            ``nvidia-smi`` calls "used" is ``used_mib - reserved_mib``.
        free_mib: what a program could still take.
        utilisation: percent of the last sample period in which a kernel ran.
        temperature: degrees Celsius.
        power_w: drawn at the moment.
        power_limit_w: enforced limit.
        processes: largest first.
        reserved_mib: kept by the driver and the firmware.
        slice: number of the MIG slice; None for a whole card. Temperature and power are those of the whole card.
        notes: what is missing and why.
    """

    number: int
    uuid: str
    name: str
    sm: int | None
    total_mib: float | None
    used_mib: float | None
    free_mib: float | None
    utilisation: int | None
    temperature: int | None
    power_w: float | None
    power_limit_w: float | None
    processes: tuple[GpuProcess, ...] = ()
    reserved_mib: float | None = None
    slice: int | None = None
    notes: tuple[Text, ...] = ()


class GpuReading(NamedTuple):
    """All GPUs at one moment.

    Attributes:
        time: seconds since the epoch.
        gpus: in the order of their numbers; empty when there is no data.
        source: ``nvml``, ``nvidia-smi``, ``recorded``; empty when there is no data.
        reason: why there is no data; empty when there is.
    """

    time: float
    gpus: tuple[Gpu, ...]
    source: str
    reason: Text = Text("", "")


class GpuSource(Protocol):
    """Reads GPUs, a few times a second, from one thread. Never raises: what is missing is None or a reason."""

    def read(self) -> GpuReading:
        """The state of now."""
        ...

    def close(self) -> None:
        """Lets go of the driver."""
        ...
