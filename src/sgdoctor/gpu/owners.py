"""Whose process it is: its program and its container, by what the kernel tells about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from sgdoctor.gpu.machine import Machine
from sgdoctor.gpu.model import Gpu
from sgdoctor.patterns import lazy_pattern
from sgdoctor.texts import Text

# One part of a control group's path that is a container: `<id>` (cgroupfs of Docker, containerd, Kubernetes),
# `docker-<id>.scope`, `libpod-<id>.scope`, `cri-containerd-<id>.scope`, `crio-<id>` (systemd), and
# `<slice>:cri-containerd:<id>` (a containerd that was told the wrong one of the two).
_CONTAINER: Final = lazy_pattern(r"(?:(?P<runtime>[a-z][a-z-]*)-|.*:)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
# conmon of podman and cri-o watches a container from outside.
_OUTSIDE: Final = ("libpod-conmon", "crio-conmon")
_INTERPRETER: Final = lazy_pattern(r"(?:python|pypy|node|ruby|perl|bash|sh)[0-9.]*")
# A process without a `-m module` or a script among so many arguments is named after its interpreter alone.
_LONGEST_NAME: Final = 60
_CONTEXTS_MIB: Final = 300.0
# 616 MiB on an H200 (docs/gpu-check.md), less on smaller cards.
_LARGEST_RESERVE_MIB: Final = 700.0


class Owner(NamedTuple):
    """Whose a process is; empty where unknown.

    Attributes:
        name: of the program.
        container: id of its container, 64 hex digits.
        container_name: as the caller knows it.
    """

    name: str = ""
    container: str = ""
    container_name: str = ""


def container_ids(cgroup: str) -> tuple[str, ...]:
    """Ids of the containers that a process is in, outermost first.

    Args:
        cgroup: content of ``/proc/PID/cgroup``, of version 1 (a line for each controller) or 2 (one line, ``0::``).
    """
    for line in cgroup.splitlines():
        path = line.split(":", 2)[-1]
        ids: list[str] = []
        for part in path.split("/"):
            found = _CONTAINER.fullmatch(part)
            if found is None:
                continue
            if found["runtime"] in _OUTSIDE:
                return ()
            ids.append(found["id"])
        if ids:
            return tuple(ids)
    return ()


def program_name(command_line: bytes, short: str = "") -> str:
    """Name of a program for people: ``Xorg``, ``python3 -m sglang.launch_server``, ``sglang::scheduler_TP0``.

    Args:
        command_line: content of ``/proc/PID/cmdline``. Engines overwrite it with a title of their own.
        short: content of ``/proc/PID/comm``, for processes without a command line.
    """
    words = [word.decode("utf-8", "replace") for word in command_line.split(b"\0") if word]
    if not words:
        return _printable(short)
    first = words[0].split()[0] if words[0].strip() else short
    name = first.rsplit("/", 1)[-1]
    if _INTERPRETER.fullmatch(name):
        name = " ".join([name, *_script(words[1:])])
    return _printable(name)


def _script(arguments: list[str]) -> tuple[str, ...]:
    """What an interpreter runs: ``-m module`` or the name of a script."""
    for place, argument in enumerate(arguments):
        if argument == "-m" and place + 1 < len(arguments):
            return ("-m", arguments[place + 1])
        if argument in ("-c", "-"):
            return ()
        if not argument.startswith("-"):
            return (argument.rsplit("/", 1)[-1],)
    return ()


def _printable(name: str) -> str:
    # Any process may call itself anything, escapes of the terminal included.
    return "".join(character for character in name if character.isprintable()).strip()[:_LONGEST_NAME]


class ProcessTable:
    """Owners of the processes of this machine.

    Nothing is kept between two questions: process numbers are used again.
    """

    def __init__(self, names: Mapping[str, str] | None = None, proc: Path = Path("/proc")) -> None:
        """Reads from ``proc``.

        Args:
            names: names of containers by their full ids; the caller may go on changing it.
            proc: where the kernel's process table is.
        """
        self._names: Mapping[str, str] = {} if names is None else names
        self._proc = proc

    def owner(self, pid: int) -> Owner:
        """Whose the process is. All empty when it is gone, hidden, or of another PID namespace."""
        process = self._proc / str(pid)
        ids = container_ids(_read(process / "cgroup").decode("utf-8", "replace"))
        # A container inside a container: the caller knows one of the two, mostly the outer one.
        container = next((each for each in ids if each in self._names), ids[-1] if ids else "")
        return Owner(
            name=program_name(_read(process / "cmdline"), _read(process / "comm").decode("utf-8", "replace")),
            container=container,
            container_name=self._names.get(container, ""),
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def nobodys_mib(reserved_mib: float | None) -> float:
    """Memory that may be in use without a process that holds it, in MiB, beyond the driver's reserve if that is known.

    Contexts of the driver and contexts that are just being made take some; an unknown reserve is some hundred more.
    """
    return _CONTEXTS_MIB if reserved_mib is not None else _CONTEXTS_MIB + _LARGEST_RESERVE_MIB


def process_notes(machine: Machine, gpu: Gpu) -> tuple[Text, ...]:
    """Why processes, or their memory, are missing from a GPU's list; empty if nothing seems to be missing.

    Args:
        machine: where the list was read.
        gpu: with its processes.
    """
    silent = any(process.used_mib is None for process in gpu.processes)
    known = sum(process.used_mib or 0.0 for process in gpu.processes)
    rest = (gpu.used_mib or 0.0) - (gpu.reserved_mib or 0.0) - known
    if not silent and rest <= nobodys_mib(gpu.reserved_mib):
        return ()
    if machine.wsl:
        return (
            Text(
                "Under WSL 2 the driver does not say which process holds how much memory.",
                "在 WSL 2 下，驱动不会说明各进程占用多少显存。",
            ),
        )
    if machine.own_pids:
        return (
            Text(
                "sgdoctor runs in a PID namespace of its own and cannot see the other processes on this GPU"
                " (in a container: start it with --pid host).",
                "sgdoctor 运行在独立的 PID 命名空间中，看不到这块 GPU 上的其他进程（在容器中请用 --pid host 启动）。",
            ),
        )
    return (
        Text(
            "The driver does not say which process holds some of the memory in use.",
            "驱动没有说明部分已用显存属于哪个进程。",
        ),
    )
