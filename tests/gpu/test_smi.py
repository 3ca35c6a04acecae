"""nvidia-smi: what a real one printed, what others print, and a program of that name."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.gpu import reasons
from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu, GpuProcess
from sgdoctor.gpu.owners import Owner, ProcessTable
from sgdoctor.gpu.smi import SmiSource, failure_reason, parse_gpus, parse_processes, run_here
from sgdoctor.texts import Text
from tests.gpu.samples import ID, RECORDINGS, process_table

UUID = "GPU-00000000-0000-4000-8000-000000000000"
REAL = Gpu(0, UUID, "NVIDIA H200", 90, 143771.0, 4665.0, 139106.0, 2, 35, 103.89, 700.0, reserved_mib=616.0)


def printed(name: str) -> str:
    return (RECORDINGS / "nvidia-smi" / name).read_text(encoding="utf-8")


class Smi:
    """Answers of nvidia-smi, by what was asked."""

    def __init__(self, gpus: str, processes: str = "", *, lacking: Sequence[str] = ()) -> None:
        self.answers = {"--query-gpu": gpus, "--query-compute-apps": processes}
        self.lacking = lacking
        self.asked: list[str] = []

    def __call__(self, argv: Sequence[str]) -> str:
        query, fields = argv[1].split("=")
        self.asked.append(fields)
        for field in fields.split(","):
            if field in self.lacking:
                return printed("unknown-field.txt").replace("flux.capacitor", field)
        return self.answers[query]


def test_the_real_output() -> None:
    assert parse_gpus(printed("gpus.csv")) == (REAL,)


def test_the_real_processes() -> None:
    expected = ((UUID, GpuProcess(427, "python3", 518.0)), (UUID, GpuProcess(428, "python3", 3518.0)))

    assert expected == parse_processes(printed("processes.csv"))


@pytest.mark.parametrize(
    "cell",
    ["[N/A]", "N/A", "[Not Supported]", "ERR!", "[Unknown Error]", "[GPU requires reset]", "", "-", "nan", "1e5"],
)
def test_what_is_not_a_number_is_unknown(cell: str) -> None:
    line = f"0, {UUID}, {cell}, 24576, 400, {cell}, {cell}, {cell}, {cell}, {cell}, {cell}, NVIDIA GeForce RTX 3090"

    expected = Gpu(0, UUID, "NVIDIA GeForce RTX 3090", None, 24576.0, 400.0, None, None, None, None, None)
    assert (expected,) == parse_gpus(line)


def test_a_card_without_memory_figures_says_so() -> None:
    line = f"0, {UUID}, 12.1, [N/A], [N/A], [N/A], [N/A], 0, 41, 4.20, [N/A], NVIDIA GB10"

    (gpu,) = parse_gpus(line)

    assert (gpu.sm, gpu.total_mib, gpu.notes) == (121, None, (reasons.NO_MEMORY_FIGURES,))


def test_lines_of_another_shape_are_passed_over() -> None:
    noise = "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n\n, , , , , , , , , , , \n"

    assert parse_gpus(noise + printed("gpus.csv")) == (REAL,)


def test_names_may_hold_the_separator() -> None:
    (process,) = parse_processes(f"{UUID}, 7, [N/A], /opt/a, b/python3\n")

    assert (UUID, GpuProcess(7, "python3", None)) == process


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    gpus, processes = parse_gpus(text), parse_processes(text)

    assert isinstance(gpus, tuple)
    assert isinstance(processes, tuple)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159\n",
            reasons.MISMATCH,
        ),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest\n",
            reasons.NOT_LOADED,
        ),
        ("Failed to initialize NVML: Insufficient Permissions\n", reasons.PERMISSION),
        ("Failed to initialize NVML: Unknown Error\n", reasons.DEVICES_TAKEN),
        ("No devices were found\n", reasons.NO_GPU),
        ("Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.  Reboot the system\n", reasons.LOST),
        (
            'OCI runtime exec failed: exec failed: exec: "nvidia-smi": executable file not found in $PATH: unknown\n',
            reasons.NO_SMI_INSIDE,
        ),
        ("something else\n", reasons.GARBLED_SMI),
        ("", reasons.GARBLED_SMI),
    ],
)
def test_failures_have_reasons(text: str, reason: Text) -> None:
    assert reason == failure_reason(text)


def test_the_real_failure_without_device_files() -> None:
    assert failure_reason(printed("blocked.txt")) == reasons.BLOCKED


def test_fields_that_a_version_does_not_know_are_left_out_from_then_on() -> None:
    without = f"0, {UUID}, 24576, 400, 24176, 3, 40, 100.77, 700.00, NVIDIA GeForce RTX 3090"
    smi = Smi(without, lacking=("compute_cap", "memory.reserved"))
    source = SmiSource(ProcessTable(), Machine(), run=smi)
    first, second = source.read().gpus, source.read().gpus

    expected = Gpu(0, UUID, "NVIDIA GeForce RTX 3090", None, 24576.0, 400.0, 24176.0, 3, 40, 100.77, 700.0)
    assert ((expected,), (expected,)) == (first, second)
    assert len(smi.asked) == 6


def test_processes_of_this_machine_get_their_owners(tmp_path: Path) -> None:
    process_table(tmp_path, pid=428, cgroup=f"0::/docker/{ID}", command=b"sglang::scheduler\0")
    smi = Smi(printed("gpus.csv"), printed("processes.csv"))

    reading = SmiSource(ProcessTable({ID: "sgl"}, tmp_path), Machine(), run=smi).read()

    processes = (GpuProcess(428, "sglang::scheduler", 3518.0, ID, "sgl"), GpuProcess(427, "python3", 518.0))
    assert ("nvidia-smi", (REAL._replace(processes=processes),)) == (reading.source, reading.gpus)


def test_inside_a_container_the_processes_that_it_can_name_are_its() -> None:
    listed = f"{UUID}, 7, 2000, /usr/bin/python3\n{UUID}, 4711, 900, [Not Found]\n"
    source = SmiSource(ProcessTable(), Machine(), run=Smi(printed("gpus.csv"), listed), inside=Owner("", ID, "sgl"))

    (gpu,) = source.read().gpus

    assert (GpuProcess(7, "python3", 2000.0, ID, "sgl"), GpuProcess(4711, "", 900.0)) == gpu.processes
    assert ["PID namespace" in note.en for note in gpu.notes] == [True]


def test_no_nvidia_smi_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert SmiSource(ProcessTable(), Machine()).read().reason == reasons.NO_SMI


def test_a_program_of_that_name_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat {RECORDINGS}/nvidia-smi/gpus.csv\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])

    (gpu,) = SmiSource(ProcessTable(), Machine()).read().gpus

    assert gpu._replace(notes=()) == REAL


def test_both_streams_are_read_and_the_exit_code_does_not_matter() -> None:
    assert run_here(["sh", "-c", "echo out; echo err >&2; exit 9"]) == "out\nerr\n"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(TimeoutError(), reasons.SLOW_SMI), (PermissionError(), reasons.of_exception(PermissionError()))],
)
def test_a_command_that_cannot_be_run(error: OSError, reason: Text) -> None:
    def run(argv: Sequence[str]) -> str:
        raise error

    assert reason == SmiSource(ProcessTable(), Machine(), run=run).read().reason


def test_after_a_failure_it_is_not_run_at_each_reading() -> None:
    smi = Smi("No devices were found\n")
    now = [0.0]
    source = SmiSource(ProcessTable(), Machine(), run=smi, clock=lambda: now[0])
    for _ in range(60):
        reason = source.read().reason
        now[0] += 1

    assert reason == reasons.NO_GPU
    assert len(smi.asked) == 6
