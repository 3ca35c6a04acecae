"""Whose process it is, by what stands in /proc."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu, GpuProcess
from sgdoctor.gpu.owners import Owner, ProcessTable, container_ids, process_notes, program_name
from tests.gpu.samples import ID, OTHER_ID, process_table


def card(used: float, *processes: float | None, reserved: float | None) -> Gpu:
    listed = tuple(GpuProcess(pid, "", mib) for pid, mib in enumerate(processes))
    return Gpu(0, "", "", None, 24576.0, used, 24576.0 - used, None, None, None, None, listed, reserved)


POD = "pod2f9f3a64_7a0b_4a6c_9d0e_0b9f5a1c8e11"


@pytest.mark.parametrize(
    ("cgroup", "expected"),
    [
        ("0::/", ()),
        ("", ()),
        ("0::/user.slice/user-1000.slice/session-2.scope", ()),
        ("0::/system.slice/docker.service", ()),
        (f"12:memory:/docker/{ID}\n11:cpuset:/docker/{ID}\n0::/", (ID,)),
        (f"12:memory:/\n11:cpuset:/\n1:name=systemd:/docker/{ID}", (ID,)),
        (f"1:name=systemd:/system.slice/docker-{ID}.scope", (ID,)),
        (f"0::/system.slice/docker-{ID}.scope", (ID,)),
        (f"0::/docker/{ID}", (ID,)),
        (f"0::/../docker-{ID}.scope", (ID,)),
        (f"0::/system.slice/docker-{ID}.scope/init", (ID,)),
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope", (ID,)),
        (f"0::/machine.slice/libpod-{ID}.scope", (ID,)),
        (f"0::/machine.slice/libpod-{ID}.scope/container", (ID,)),
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container", (ID,)),
        (f"9:pids:/libpod_parent/libpod-{ID}", (ID,)),
        (f"0::/machine.slice/libpod-conmon-{ID}.scope", ()),
        (
            f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-{POD}.slice/cri-containerd-{ID}.scope",
            (ID,),
        ),
        (f"0::/kubepods.slice/kubepods-besteffort-{POD}.slice/crio-{ID}.scope", (ID,)),
        (f"0::/kubepods.slice/kubepods-besteffort-{POD}.slice/crio-conmon-{ID}.scope", ()),
        (f"4:devices:/kubepods/burstable/{POD}/{ID}", (ID,)),
        (f"4:devices:/system.slice/containerd.service/kubepods-besteffort-{POD}.slice:cri-containerd:{ID}", (ID,)),
        (f"0::/system.slice/nerdctl-{ID}.scope", (ID,)),
        (f"0::/default/{ID}", (ID,)),
        (f"4:devices:/ecs/0123456789abcdef0123456789abcdef/{ID}", (ID,)),
        (f"0::/docker/{ID}/docker/{OTHER_ID}", (ID, OTHER_ID)),
        (f"0::/system.slice/docker-{ID}.scope/kubelet.slice/cri-containerd-{OTHER_ID}.scope", (ID, OTHER_ID)),
        (f"0::/docker/{ID[:12]}", ()),
        (f"0::/docker/{ID}0", ()),
    ],
)
def test_containers_of_a_control_group(cgroup: str, expected: tuple[str, ...]) -> None:
    assert expected == container_ids(cgroup)


@given(st.text())
def test_any_text_is_read_as_a_control_group(text: str) -> None:
    assert all(len(each) == 64 for each in container_ids(text))


@pytest.mark.parametrize(
    ("command", "short", "expected"),
    [
        (b"/usr/lib/xorg/Xorg\0-core\0:0\0", "Xorg", "Xorg"),
        (b"python3\0-m\0sglang.launch_server\0--model-path\0/m\0", "python3", "python3 -m sglang.launch_server"),
        (b"/usr/bin/python3.12\0-u\0/srv/launch_selode.py\0--tp\0002\0", "python3", "python3.12 launch_selode.py"),
        (b"python3\0-c\0import torch\0", "python3", "python3"),
        (b"python3\0", "python3", "python3"),
        (b"sglang::scheduler_TP0\0\0\0\0\0", "sglang::schedul", "sglang::scheduler_TP0"),
        (b"/opt/chrome/chrome --type=gpu-process --path=/a/b\0", "chrome", "chrome"),
        (b"", "kworker/0:1", "kworker/0:1"),
        (b"\x1b[31mred\x1b[0m\0", "", "[31mred[0m"),
        (b" \0", "blank", "blank"),
    ],
)
def test_name_of_a_program(command: bytes, short: str, expected: str) -> None:
    assert expected == program_name(command, short)


@given(st.binary(), st.text())
def test_a_name_is_printable_and_short(command: bytes, short: str) -> None:
    name = program_name(command, short)

    assert name.isprintable()
    assert len(name) <= 60


def test_owner_of_a_process_in_a_container(tmp_path: Path) -> None:
    process_table(
        tmp_path, pid=41, cgroup=f"0::/system.slice/docker-{ID}.scope", command=b"python3\0-m\0sglang.launch_server\0"
    )

    assert Owner("python3 -m sglang.launch_server", ID, "sgl") == ProcessTable({ID: "sgl"}, tmp_path).owner(41)


def test_names_that_the_caller_learns_later_are_used(tmp_path: Path) -> None:
    names: dict[str, str] = {}
    table = ProcessTable(names, tmp_path)
    process_table(tmp_path, pid=41, cgroup=f"0::/docker/{ID}")
    before = table.owner(41).container_name
    names[ID] = "sgl"

    assert (before, table.owner(41).container_name) == ("", "sgl")


@pytest.mark.parametrize(("known", "expected"), [(ID, ID), (OTHER_ID, OTHER_ID), ("", OTHER_ID)])
def test_of_containers_in_containers_the_one_that_the_caller_knows_counts(
    tmp_path: Path, known: str, expected: str
) -> None:
    process_table(tmp_path, pid=41, cgroup=f"0::/docker/{ID}/docker/{OTHER_ID}")

    assert expected == ProcessTable({known: "name"}, tmp_path).owner(41).container


def test_a_process_that_cannot_be_seen_has_no_owner(tmp_path: Path) -> None:
    assert Owner() == ProcessTable({}, tmp_path).owner(41)


def test_a_real_process() -> None:
    deadline = time.monotonic() + 5
    with subprocess.Popen(["sleep", "60"]) as process:
        name = ProcessTable().owner(process.pid).name
        # For a moment after the fork it may still bear the name of its parent.
        while name != "sleep" and time.monotonic() < deadline:
            name = ProcessTable().owner(process.pid).name
        process.kill()

    assert name == "sleep"


@pytest.mark.parametrize(
    ("machine", "gpu", "sign"),
    [
        (Machine(), card(620.0, reserved=600.0), None),
        (Machine(), card(620.0, reserved=None), None),
        (Machine(own_pids=True), card(1600.0, 990.0, reserved=600.0), None),
        (Machine(own_pids=True), card(1600.0, 100.0, reserved=600.0), "--pid host"),
        (Machine(wsl=True, own_pids=True), card(1600.0, None, reserved=600.0), "WSL 2"),
        (Machine(), card(1600.0, reserved=600.0), "does not say which process"),
        (Machine(), card(9000.0, 2000.0, None, reserved=None), "does not say which process"),
    ],
)
def test_missing_processes_are_explained(machine: Machine, gpu: Gpu, sign: str | None) -> None:
    notes = process_notes(machine, gpu)

    assert [True] * (sign is not None) == [str(sign) in note.en and bool(note.zh) for note in notes]
