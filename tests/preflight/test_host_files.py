"""What the files of a machine tell, on machines made of files."""

import os
import socket
from pathlib import Path

from sgdoctor.preflight import host_files
from sgdoctor.preflight.host_files import Memory

MEMINFO = "MemTotal:       65536000 kB\nMemAvailable:   32768000 kB\nSwapFree:        2097152 kB\n"
CDI_YAML = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-ctk
devices:
  - name: "0"
    containerEdits:
      deviceNodes:
        - path: /dev/nvidia0
  - name: all
"""
CDI_JSON = '{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [{"name": "GPU-1"}]}'


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_memory(tmp_path: Path) -> None:
    write(tmp_path, "proc/meminfo", MEMINFO)

    assert Memory(64000.0, 32000.0, 2048.0) == host_files.memory(tmp_path)
    assert Memory() == host_files.memory(tmp_path / "nowhere")


def test_sizes_of_disks(tmp_path: Path) -> None:
    told = os.statvfs(tmp_path)

    assert told.f_blocks * told.f_frsize / 2**20 == host_files.size_mib(tmp_path)
    assert host_files.size_mib(tmp_path / "nowhere") is None
    # A folder that is going to be made lies on the disk of the one above it.
    assert host_files.free_gib(tmp_path / "a" / "b") is not None


def test_programs_that_listen() -> None:
    with socket.socket() as listener, socket.socket() as idle:
        listener.bind(("127.0.0.1", 0))
        idle.bind(("127.0.0.1", 0))
        listener.listen()
        port, other = listener.getsockname()[1], idle.getsockname()[1]
        found = host_files.listening()

    assert Path("/proc/self/comm").read_text().strip() == found[port]
    assert other not in found


def test_a_machine_without_tables_of_sockets(tmp_path: Path) -> None:
    assert {} == host_files.listening(tmp_path)


def test_the_toolkit(tmp_path: Path) -> None:
    write(tmp_path, "usr/bin/nvidia-ctk", "#!/bin/sh\n")
    (tmp_path / "usr/bin/nvidia-ctk").chmod(0o755)

    assert "nvidia-ctk" in host_files.toolkit(tmp_path)


def test_devices_of_cdi(tmp_path: Path) -> None:
    write(tmp_path, "etc/cdi/nvidia.yaml", CDI_YAML)
    write(tmp_path, "var/run/cdi/nvidia.json", CDI_JSON)
    write(tmp_path, "etc/cdi/broken.yaml", "\x00\x01")
    write(tmp_path, "etc/cdi/readme.txt", "kind: a/b\nname: c")

    assert ("nvidia.com/gpu=0", "nvidia.com/gpu=all", "nvidia.com/gpu=GPU-1") == host_files.cdi_devices(tmp_path)
    assert () == host_files.cdi_devices(tmp_path / "nowhere")


def test_complaints_of_the_driver(tmp_path: Path) -> None:
    records = [
        "6,1,1,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
        "4,2,2,-;NVRM: Xid (PCI:0000:01:00): 31, pid=77, name=python3, MMU Fault",
        "4,3,3,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.",
    ]
    write(tmp_path, "dev/kmsg", "\n".join(records))
    (found,) = host_files.xids(tmp_path)

    # A plain file is read in one piece, the kernel's log record by record.
    assert found.startswith("Xid (PCI:0000:01:00): 31")
    assert () == host_files.xids(tmp_path / "nowhere")


def test_links_to_cards(tmp_path: Path) -> None:
    (tmp_path / "dev" / "char").mkdir(parents=True)

    assert host_files.char_links(tmp_path) is None
    assert host_files.char_links(tmp_path / "nowhere") is None

    write(tmp_path, "dev/nvidia0", "")
    write(tmp_path, "dev/nvidia-uvm", "")

    assert host_files.char_links(tmp_path) is False

    write(tmp_path, "dev/char/0:0", "")  # the number of a plain file

    assert host_files.char_links(tmp_path) is True
