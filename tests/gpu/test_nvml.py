"""NVML through a fake module that answers with what was recorded on a real card."""

import math
from pathlib import Path

import pytest

from sgdoctor.gpu import reasons
from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.gpu.nvml import NvmlSource
from sgdoctor.gpu.owners import ProcessTable
from tests.gpu.fake_nvml import FakeNvml
from tests.gpu.samples import busiest, idle, process_table, recorded_server


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def source(nvml: FakeNvml, *, table: ProcessTable | None = None, machine: Machine | None = None) -> NvmlSource:
    return NvmlSource(table or ProcessTable(proc=Path("/nowhere")), machine or Machine(), library=nvml)


@pytest.mark.parametrize("reading", recorded_server(), ids=lambda reading: f"{reading.time:.1f}")
def test_every_field_of_every_recorded_reading_comes_back(reading: GpuReading, tmp_path: Path) -> None:
    names: dict[str, str] = {}
    for process in reading.gpus[0].processes:
        cgroup = f"0::/system.slice/docker-{process.container}.scope" if process.container else "0::/user.slice"
        # A process that is just ending has no command line any more; one sample caught that.
        command = process.name.replace(" ", "\0tools/").encode() + b"\0hold\0" if " " in process.name else b""
        process_table(tmp_path, pid=process.pid, cgroup=cgroup, command=command, short="python3")
        names[process.container] = process.container_name

    actual = source(FakeNvml(reading.gpus), table=ProcessTable(names, tmp_path)).read()

    assert reading.gpus == actual.gpus


def test_reading_names_its_source_and_its_time() -> None:
    reading = NvmlSource(ProcessTable(), Machine(), library=FakeNvml((idle(),)), now=lambda: 17.5).read()

    assert (reading.time, reading.source, reading.reason.en) == (17.5, "nvml", "")


def test_what_a_driver_does_not_tell_is_none() -> None:
    bare = Gpu(0, "GPU-1", "GeForce GT 710", None, 2048.0, 48.0, 2000.0, None, None, None, None)

    assert (bare,) == source(FakeNvml((bare,))).read().gpus


def test_functions_that_binding_or_driver_lack_are_none() -> None:
    nvml = FakeNvml(
        (idle(),),
        lacking=("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetMigMode", "nvmlDeviceGetTemperature"),
        errors={"nvmlDeviceGetUtilizationRates": 13, "nvmlDeviceGetPowerUsage": 999},
    )

    expected = idle()._replace(power_limit_w=None, temperature=None, utilisation=None, power_w=None)
    assert (expected,) == source(nvml).read().gpus


def test_processes_come_from_the_older_function_where_the_newer_is_missing() -> None:
    nvml = FakeNvml(busiest().gpus, errors={"nvmlDeviceGetComputeRunningProcesses_v3": 13})

    assert [each.pid for each in busiest().gpus[0].processes] == [
        each.pid for each in source(nvml).read().gpus[0].processes
    ]


def test_without_the_reserve_the_older_call_gives_the_same_memory() -> None:
    older = idle()._replace(reserved_mib=None)

    assert (older,) == source(FakeNvml((older,))).read().gpus


def test_a_process_that_computes_and_draws_counts_once() -> None:
    both = (GpuProcess(7, "", 300.0), GpuProcess(7, "", 310.0, graphics=True), GpuProcess(8, "", 90.0, graphics=True))
    gpu = idle()._replace(processes=both)

    actual = source(FakeNvml((gpu,))).read().gpus[0].processes

    assert (GpuProcess(7, "", 310.0), GpuProcess(8, "", 90.0, graphics=True)) == actual


def test_memory_of_a_process_that_the_driver_does_not_tell() -> None:
    gpu = idle()._replace(processes=(GpuProcess(7, "", None), GpuProcess(8, "", math.inf)))

    reading = source(FakeNvml((gpu,)), machine=Machine(wsl=True)).read()

    assert [each.used_mib for each in reading.gpus[0].processes] == [None, None]
    assert "WSL 2" in reading.gpus[0].notes[0].en


def test_in_a_pid_namespace_of_its_own_it_says_that_processes_are_missing() -> None:
    hidden = busiest().gpus[0]._replace(processes=())

    notes = source(FakeNvml((hidden,)), machine=Machine(own_pids=True)).read().gpus[0].notes

    assert ["--pid host" in note.en for note in notes] == [True]


def test_slices_stand_in_the_place_of_their_card() -> None:
    whole = idle()
    cut = tuple(
        Gpu(
            0, f"MIG-{place}", "NVIDIA H200 MIG 1g.18gb", None, 16384.0, 14.0, 16370.0, None, None, None, None
        )._replace(reserved_mib=0.0, slice=place)
        for place in (1, 5)
    )
    second = whole._replace(number=1, uuid="GPU-2")

    actual = source(FakeNvml((whole, second), slices={0: cut})).read().gpus

    expected = (
        each._replace(sm=90, temperature=whole.temperature, power_w=whole.power_w, power_limit_w=700.0) for each in cut
    )
    assert (*expected, second) == actual


def test_a_card_in_mig_mode_without_slices_is_shown_whole() -> None:
    assert (idle(),) == source(FakeNvml((idle(),), slices={0: ()})).read().gpus


@pytest.mark.parametrize(
    ("code", "machine", "reason"),
    [
        (12, Machine(), "This machine has no NVIDIA card."),
        (12, Machine(cards=1), "There is an NVIDIA card and no NVIDIA driver"),
        (12, Machine(contained=True, cards=1), "--gpus all"),
        (12, Machine(wsl=True), "Windows"),
        (9, Machine(), "not loaded"),
        (18, Machine(), "different versions"),
        (4, Machine(), "No permission"),
        (17, Machine(), "/dev/nvidia*"),
        (999, Machine(contained=True), "daemon-reload"),
        (999, Machine(), "error 999"),
    ],
)
def test_no_driver_is_told_with_its_reason(code: int, machine: Machine, reason: str) -> None:
    reading = source(FakeNvml((), errors={"nvmlInit": code}), machine=machine).read()

    assert reason in reading.reason.en
    assert reading.reason.zh
    assert (reading.gpus, reading.source) == ((), "")


def test_a_driver_without_cards_is_told() -> None:
    assert source(FakeNvml(())).read().reason == reasons.NO_GPU


def test_a_lost_card_stays_in_the_list_with_its_name_beside_the_others() -> None:
    lost, fine = idle(), idle()._replace(number=1, uuid="GPU-2")
    nvml = FakeNvml((lost, fine))
    gpus = source(nvml)
    gpus.read()
    nvml.errors["nvmlDeviceGetHandleByIndex"] = 15

    first, second = gpus.read().gpus

    assert (lost.name, lost.uuid, None, (reasons.LOST,)) == (first.name, first.uuid, first.used_mib, first.notes)
    assert fine.uuid == second.uuid


def test_a_card_without_memory_figures_says_so() -> None:
    shared = idle()._replace(total_mib=None, used_mib=None, free_mib=None, reserved_mib=None)

    assert source(FakeNvml((shared,))).read().gpus[0].notes == (reasons.NO_MEMORY_FIGURES,)


def test_a_driver_that_was_reloaded_between_two_readings_is_taken_up_at_once() -> None:
    nvml = FakeNvml((idle(),))
    gpus = source(nvml)
    gpus.read()
    nvml.is_open = False

    assert (idle(),) == gpus.read().gpus
    assert nvml.opened == 2


def test_a_driver_that_went_away_is_asked_for_ever_more_seldom_and_found_again() -> None:
    nvml, clock = FakeNvml((idle(),)), Clock()
    gpus = NvmlSource(ProcessTable(), Machine(), library=nvml, clock=clock)
    gpus.read()
    nvml.driver = 9
    answers: list[GpuReading] = []
    for _ in range(100):
        answers.append(gpus.read())
        clock.now += 1
    nvml.driver = 0
    waited = 0
    while not gpus.read().gpus:
        waited += 1
        clock.now += 1

    assert {reasons.NOT_LOADED} == {answer.reason for answer in answers}
    assert waited <= 30
    assert nvml.opened == 2


def test_closing_twice_and_reading_again() -> None:
    nvml = FakeNvml((idle(),))
    gpus = source(nvml)
    gpus.read()
    gpus.close()
    gpus.close()

    assert not nvml.is_open
    assert (idle(),) == gpus.read().gpus


def test_the_real_binding_on_a_machine_without_a_driver_gives_a_reason() -> None:
    """Where the machine has a GPU after all, its data: the real ``pynvml`` either way, and no exception."""
    reading = NvmlSource(ProcessTable(), Machine()).read()

    assert bool(reading.gpus) is not bool(reading.reason.en)
