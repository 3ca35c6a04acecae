"""Reads GPUs through ``nvidia-smi``: where NVML cannot be loaded, or inside a container."""

import os
import subprocess
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Final

from sgdoctor.gpu import reasons
from sgdoctor.gpu.backoff import Backoff
from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.gpu.owners import Owner, ProcessTable, process_notes
from sgdoctor.patterns import lazy_pattern
from sgdoctor.texts import Text

Run = Callable[[Sequence[str]], str]
"""Runs a command and gives what it printed on both streams, whatever its exit code. Raises OSError, TimeoutError
included, where it cannot be run."""

# Names come last: they may hold the separator.
_GPU_FIELDS: Final = (
    "index",
    "uuid",
    "compute_cap",
    "memory.total",
    "memory.used",
    "memory.free",
    "memory.reserved",
    "utilization.gpu",
    "temperature.gpu",
    "power.draw",
    "enforced.power.limit",
    "name",
)
_PROCESS_FIELDS: Final = ("gpu_uuid", "pid", "used_gpu_memory", "process_name")
_FORMAT: Final = "--format=csv,noheader,nounits"
_UNKNOWN_FIELD: Final = lazy_pattern(r'Field "([^"]+)" is not a valid field')
_NUMBER: Final = lazy_pattern(r"\d+(?:\.\d+)?")
_PATIENCE_S: Final = 10.0

_FAILURES: Final = (
    ("Driver/library version mismatch", reasons.MISMATCH),
    ("couldn't communicate with the NVIDIA driver", reasons.NOT_LOADED),
    ("Driver Not Loaded", reasons.NOT_LOADED),
    ("Insufficient Permissions", reasons.PERMISSION),
    ("blocked by the operating system", reasons.BLOCKED),
    ("Initialize NVML: Unknown Error", reasons.DEVICES_TAKEN),
    ("No devices were found", reasons.NO_GPU),
    ("GPU is lost", reasons.LOST),
    ("GPU requires reset", reasons.RESET),
    ("executable file not found", reasons.NO_SMI_INSIDE),
    ("no such file or directory", reasons.NO_SMI_INSIDE),
)


def run_here(argv: Sequence[str]) -> str:
    """Runs a command on this machine, for ten seconds at most."""
    try:
        done = subprocess.run(  # noqa: S603 - the callers' constant argument lists
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as late:
        raise TimeoutError from late
    return done.stdout.decode("utf-8", "replace")


class SmiSource:
    """All GPUs by two calls of ``nvidia-smi`` a reading."""

    def __init__(
        self,
        table: ProcessTable,
        machine: Machine,
        *,
        run: Run = run_here,
        inside: Owner | None = None,
        clock: Callable[[], float] = monotonic,
        now: Callable[[], float] = time,
    ) -> None:
        """Nothing is run before the first reading.

        Args:
            table: tells whose a process of this machine is.
            machine: for the words of notes.
            run: runs a command where ``nvidia-smi`` is.
            inside: the container that ``run`` runs commands in; None for this machine. Its ``container`` is given to
                the processes that ``nvidia-smi`` can name there, so leave that empty for a container that shares the
                host's process numbers.
            clock: seconds, for the time between two tries.
            now: seconds since the epoch, for the readings.
        """
        self._table = table
        self._machine = machine
        self._run = run
        self._inside = inside
        self._now = now
        self._backoff = Backoff(clock)
        self._fields: tuple[str, ...] = _GPU_FIELDS
        self._reason = Text("", "")

    def read(self) -> GpuReading:
        """The state of now; with a reason instead of GPUs where ``nvidia-smi`` fails."""
        if self._backoff.due:
            reason = self._attempt()
            if isinstance(reason, GpuReading):
                self._backoff.succeeded()
                return reason
            self._reason = reason
            self._backoff.failed()
        return GpuReading(self._now(), (), "", self._reason)

    def close(self) -> None:
        """Nothing is held between two readings."""

    def _attempt(self) -> GpuReading | Text:
        try:
            text = self._query()
            gpus = parse_gpus(text, self._fields)
            if not gpus:
                return failure_reason(text)
            listed = self._run(["nvidia-smi", f"--query-compute-apps={','.join(_PROCESS_FIELDS)}", _FORMAT])
        except TimeoutError:
            return reasons.SLOW_SMI
        except FileNotFoundError:
            return reasons.NO_SMI
        except OSError as error:
            return reasons.of_exception(error)
        processes = parse_processes(listed)
        return GpuReading(self._now(), tuple(self._with_processes(gpu, processes) for gpu in gpus), "nvidia-smi")

    def _query(self) -> str:
        """What ``nvidia-smi`` says of the GPUs, without the fields that this version of it does not know."""
        while True:
            text = self._run(["nvidia-smi", f"--query-gpu={','.join(self._fields)}", _FORMAT])
            unknown = _UNKNOWN_FIELD.search(text)
            if unknown is None or unknown[1] not in self._fields:
                return text
            self._fields = tuple(field for field in self._fields if field != unknown[1])

    def _with_processes(self, gpu: Gpu, processes: Sequence[tuple[str, GpuProcess]]) -> Gpu:
        own = sorted(
            (self._owned(process) for uuid, process in processes if uuid == gpu.uuid),
            key=lambda process: (-(process.used_mib or 0.0), process.pid),
        )
        gpu = gpu._replace(processes=tuple(own))
        if gpu.used_mib is None:
            return gpu
        # A container counts its processes for itself, and so does the nvidia-smi in it.
        machine = self._machine._replace(own_pids=True, wsl=False) if self._inside else self._machine
        return gpu._replace(notes=gpu.notes + process_notes(machine, gpu))

    def _owned(self, process: GpuProcess) -> GpuProcess:
        if self._inside is None:
            owner = self._table.owner(process.pid)
            return process._replace(
                name=owner.name or process.name, container=owner.container, container_name=owner.container_name
            )
        if not process.name:
            return process
        return process._replace(container=self._inside.container, container_name=self._inside.container_name)


def failure_reason(text: str) -> Text:
    """Why ``nvidia-smi`` gave no GPUs, by what it printed instead."""
    for sign, reason in _FAILURES:
        if sign.lower() in text.lower():
            return reason
    return reasons.GARBLED_SMI


def parse_gpus(text: str, fields: Sequence[str] = _GPU_FIELDS) -> tuple[Gpu, ...]:
    """GPUs of ``--query-gpu=FIELDS --format=csv,noheader,nounits``; lines of another shape are passed over.

    Args:
        text: the output.
        fields: what was asked for; the name is the last one.
    """
    gpus: list[Gpu] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",", len(fields) - 1)]
        if len(cells) != len(fields):
            continue
        # A field that this version does not know was not asked for.
        row = dict.fromkeys(_GPU_FIELDS, "") | dict(zip(fields, cells, strict=True))
        number = _number(row["index"])
        if number is None:
            continue
        capability = _number(row["compute_cap"])
        total, free = _number(row["memory.total"]), _number(row["memory.free"])
        used, reserved = _number(row["memory.used"]), _number(row["memory.reserved"])
        if total is not None and free is not None:
            used = total - free
        elif used is not None:
            used += reserved or 0.0
        gpus.append(
            Gpu(
                number=int(number),
                uuid=row["uuid"],
                name=_words(row["name"]),
                sm=None if capability is None else round(capability * 10),
                total_mib=total,
                used_mib=used,
                free_mib=free,
                utilisation=_whole(row["utilization.gpu"]),
                temperature=_whole(row["temperature.gpu"]),
                power_w=_number(row["power.draw"]),
                power_limit_w=_number(row["enforced.power.limit"]),
                reserved_mib=reserved,
                notes=() if total is not None else (reasons.NO_MEMORY_FIGURES,),
            )
        )
    return tuple(gpus)


def parse_processes(text: str) -> tuple[tuple[str, GpuProcess], ...]:
    """Processes of ``--query-compute-apps``, each with the UUID of its GPU."""
    found: list[tuple[str, GpuProcess]] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",", len(_PROCESS_FIELDS) - 1)]
        if len(cells) != len(_PROCESS_FIELDS):
            continue
        uuid, pid, used, name = cells
        if pid.isascii() and pid.isdigit():
            found.append((uuid, GpuProcess(int(pid), _words(name).rsplit("/", 1)[-1], _number(used))))
    return tuple(found)


def _number(cell: str) -> float | None:
    """A number; None for ``[N/A]``, ``[Not Supported]``, ``ERR!``, ``[Unknown Error]``, ``[GPU requires reset]``."""
    return float(cell) if _NUMBER.fullmatch(cell) else None


def _whole(cell: str) -> int | None:
    number = _number(cell)
    return None if number is None else round(number)


def _words(cell: str) -> str:
    """A name; empty for ``[Not Found]``, ``[N/A]``, ``-``."""
    if cell == "-" or (cell.startswith("[") and cell.endswith("]")):
        return ""
    return "".join(character for character in cell if character.isprintable())
