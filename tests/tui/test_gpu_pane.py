"""What the pane of GPUs says of cards and drivers that tell little."""

from pathlib import Path

import pytest

from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.gpu.nvml import NvmlSource
from sgdoctor.gpu.owners import ProcessTable
from sgdoctor.tui.panes.gpu import gpu_lines, owner_lines
from sgdoctor.tui.view import View
from sgdoctor.watching.model import Load
from tests.gpu.fake_nvml import FakeNvml
from tests.gpu.samples import idle
from tests.tui.moments import data_of, snapshot_of
from tests.tui.test_app import READY, desk

WIDTHS = (38, 76)


def read(nvml: FakeNvml, machine: Machine) -> GpuReading:
    return NvmlSource(ProcessTable(proc=Path("/nowhere")), machine, library=nvml).read()


def drawn(reading: GpuReading, width: int, lang: str = "en") -> list[str]:
    view = View(lang=lang, reading=reading, snapshot=snapshot_of(READY, live=True))
    lines = [
        line
        for gpu in reading.gpus
        for line in (*gpu_lines(gpu, view, width), *owner_lines(gpu.processes, view, width))
    ]
    assert all(line.cell_length <= width for line in lines)
    return [line.plain for line in lines]


# A GeForce under WSL 2: no power limit, no utilisation, no memory of any process.
WSL = Gpu(
    0, "GPU-1", "NVIDIA GeForce RTX 4090", 89, 24564.0, 20000.0, 4564.0, None, 55, 60.0, None,
    (GpuProcess(812, "", None), GpuProcess(33, "", None, graphics=True)), reserved_mib=400.0,
)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
def test_wsl_says_why_no_process_has_an_amount(width: int) -> None:
    lines = drawn(read(FakeNvml((WSL,)), Machine(wsl=True)), width)
    text = " ".join(line.strip() for line in lines)

    assert "RTX 4090" in text
    assert "19.5 / 24.0 GiB" in text
    assert "Under WSL 2" in text
    assert not any("0.00 GiB" in line for line in lines[-2:])


def test_the_reason_is_told_in_chinese_too() -> None:
    assert "WSL 2" in "".join(drawn(read(FakeNvml((WSL,)), Machine(wsl=True)), 38, "zh"))


@pytest.mark.parametrize("width", WIDTHS)
def test_an_old_card_that_tells_nothing_but_its_memory(width: int) -> None:
    bare = Gpu(0, "GPU-1", "NVIDIA GeForce GT 710", None, 2048.0, 48.0, 2000.0, None, None, None, None)
    lines = drawn(read(FakeNvml((bare,)), Machine()), width)

    assert lines[0].split() == ["0", "GT", "710"]
    assert "None" not in "".join(lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_card_without_memory_figures_or_off_the_bus_gives_its_reason(width: int) -> None:
    lost = FakeNvml((idle(),), errors={"nvmlDeviceGetHandleByIndex": 15})
    unsupported = FakeNvml((idle(),), errors={"nvmlDeviceGetMemoryInfo": 3})

    for nvml in (lost, unsupported):
        reading = read(nvml, Machine())
        said = " ".join(line.strip() for line in drawn(reading, width)[1:])
        assert reading.gpus[0].notes[0].en.replace(" ", "") in said.removeprefix("i ").replace(" ", "")


@pytest.mark.parametrize("width", WIDTHS)
def test_slices_of_a_card_can_be_told_apart(width: int) -> None:
    cut = tuple(
        Gpu(
            0, f"MIG-{place}", "NVIDIA H200 MIG 1g.18gb", None, 16384.0, 14.0, 16370.0, None, None, None, None
        )._replace(reserved_mib=0.0, slice=place)
        for place in (1, 5)
    )
    lines = drawn(read(FakeNvml((idle(),), slices={0: cut}), Machine()), width)

    heads = [line.split()[0] for line in lines if "H200" in line]
    assert heads == ["0:1", "0:5"]


async def test_the_app_draws_slices_with_a_history_of_each() -> None:
    cut = tuple(idle()._replace(uuid=f"MIG-{place}", slice=place, utilisation=None) for place in (0, 1))
    async with desk(READY, snapshot_of(READY, live=True), size=(120, 40)) as one:
        for used in (100.0, 900.0, 5000.0):
            reading = GpuReading(used, tuple(gpu._replace(used_mib=used) for gpu in cut), "nvml")
            one.app.take_reading(reading)
            await one.settled(lambda reading=reading: one.app.view.reading is reading)  # type: ignore[misc]
        await one.press("4", "z")

        assert "0:0 " in one.screen
        assert "0:1 " in one.screen
        assert {"MIG-0", "MIG-1"} <= set(one.app.view.history.memory)


async def test_a_server_that_was_stopped_does_nothing_any_more() -> None:
    data = data_of("retract-dense")
    moment = snapshot_of(data, load=Load(705.0, 1, 3))
    async with desk(data, moment) as one:
        stopped = one.screen
        await one.give(snapshot_of(READY, live=True, load=Load(705.0, 1, 3)))
        serving = one.screen

    assert "■ STOPPED" in stopped
    assert "Stopped on request; before that: The KV cache" in stopped
    assert "SGL432" in stopped
    assert "705 tokens/s" not in stopped
    assert "705 tokens/s" in serving
