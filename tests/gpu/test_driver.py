"""The driver itself: by NVML, and by what the kernel says of its module."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sgdoctor.gpu.driver import CardState, Driver, read_driver
from tests.gpu.fake_nvml import FakeNvmlError

PROPRIETARY = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build\n"


def nvml(**functions: Any) -> SimpleNamespace:
    """A module with two cards, of which the second has no ECC memory."""
    known = {
        "NVMLError": FakeNvmlError,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "570.124.06",
        "nvmlSystemGetCudaDriverVersion_v2": lambda: 12080,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda number: number,
        "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}",
        "nvmlDeviceGetPersistenceMode": lambda handle: 1 - handle,
        "nvmlDeviceGetTotalEccErrors": lambda handle, _kind, _since: 5 if not handle else refuse(),
    }
    return SimpleNamespace(**{**known, **functions})


def refuse(*_: Any) -> Any:
    raise FakeNvmlError(3)


def test_by_nvml(tmp_path: Path) -> None:
    cards = {"GPU-0": CardState(persistence=True, ecc_errors=5), "GPU-1": CardState(persistence=False, ecc_errors=None)}

    assert Driver("570.124.06", "12.8", cards) == read_driver(nvml(), tmp_path)


@pytest.mark.parametrize("text", [PROPRIETARY, OPEN])
def test_by_the_kernel_where_nvml_does_not_open(tmp_path: Path, text: str) -> None:
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(text)
    version = "550.54.14" if text is PROPRIETARY else "565.57.01"

    assert Driver(version) == read_driver(nvml(nvmlInit=refuse), tmp_path)


def test_by_the_version_of_the_module(tmp_path: Path) -> None:
    (tmp_path / "sys/module/nvidia").mkdir(parents=True)
    (tmp_path / "sys/module/nvidia/version").write_text("580.65.06\n")

    assert Driver("580.65.06") == read_driver(nvml(nvmlInit=refuse), tmp_path)


def test_no_driver_at_all(tmp_path: Path) -> None:
    assert Driver() == read_driver(nvml(nvmlInit=refuse), tmp_path)


def test_functions_that_refuse_leave_the_rest(tmp_path: Path) -> None:
    found = read_driver(
        nvml(nvmlSystemGetCudaDriverVersion_v2=refuse, nvmlDeviceGetUUID=refuse, nvmlDeviceGetHandleByIndex=refuse),
        tmp_path,
    )

    assert Driver("570.124.06") == found
