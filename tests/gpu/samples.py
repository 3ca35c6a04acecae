"""Recorded readings and small process tables for the tests of GPU data."""

from pathlib import Path

from sgdoctor.gpu.model import Gpu, GpuReading
from sgdoctor.gpu.recorded import read_recording
from tests.conftest import REPO

RECORDINGS = REPO / "fixtures" / "gpu"
ID = "0123456789abcdef" * 4
OTHER_ID = "fedcba9876543210" * 4


def recorded_server() -> tuple[GpuReading, ...]:
    """Samples of a real card: a process in a container that grows like a server, beside another program."""
    return read_recording(RECORDINGS / "h200-server.jsonl")


def busiest() -> GpuReading:
    """The sample of it with the most memory in use."""
    return max(recorded_server(), key=lambda reading: reading.gpus[0].used_mib or 0.0)


def idle() -> Gpu:
    """The card before anything ran on it."""
    return recorded_server()[0].gpus[0]


def process_table(folder: Path, *, pid: int, cgroup: str = "0::/", command: bytes = b"", short: str = "") -> None:
    """One process of a process table below ``folder``."""
    process = folder / str(pid)
    process.mkdir(parents=True)
    (process / "cgroup").write_text(cgroup + "\n", encoding="utf-8")
    (process / "cmdline").write_bytes(command)
    (process / "comm").write_text(short + "\n", encoding="utf-8")
