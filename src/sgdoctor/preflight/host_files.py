"""What the files of this machine tell about it: memory, ports, the container toolkit, the kernel's log."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from sgdoctor.patterns import lazy_pattern

_LISTEN: Final = "0A"
"""State of a listening socket (include/net/tcp_states.h)."""
_TABLES: Final = ("proc/net/tcp", "proc/net/tcp6")
_TOOLKIT: Final = (
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-container-toolkit",
    "nvidia-container-cli",
    "nvidia-ctk",
)
_TOOLKIT_FOLDERS: Final = ("usr/bin", "usr/local/bin", "usr/local/nvidia/toolkit")
_CDI_FOLDERS: Final = ("etc/cdi", "var/run/cdi")
_CDI_LARGEST: Final = 4 << 20
_CDI_KIND: Final = lazy_pattern(r"[\"']?kind[\"']?\s*:\s*[\"']?([\w.-]+/[\w.-]+)")
_CDI_NAME: Final = lazy_pattern(r"[\"']?\bname[\"']?\s*:\s*[\"']?([\w.:-]+)")
_XID: Final = lazy_pattern(r"NVRM: (Xid \(PCI:[0-9a-fA-F:.]+\): \d+[^\n]{0,120})")
_CARD: Final = lazy_pattern(r"nvidia(?:\d+|ctl)")
_SHOWN_XIDS: Final = 3
_MOST_RECORDS: Final = 50_000


class Memory(NamedTuple):
    """RAM and swap in MiB; None where the kernel does not say."""

    total: float | None = None
    available: float | None = None
    swap_free: float | None = None


def memory(root: Path = Path("/")) -> Memory:
    """RAM and swap, by ``/proc/meminfo``."""
    values: dict[str, float] = {}
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdecimal():
            values[name] = int(number[0]) / 1024
    return Memory(values.get("MemTotal"), values.get("MemAvailable"), values.get("SwapFree"))


def size_mib(folder: Path) -> float | None:
    """Size of the file system of a folder in MiB; None where there is no such folder."""
    with suppress(OSError):
        told = os.statvfs(folder)
        return told.f_blocks * told.f_frsize / 2**20
    return None


def free_gib(folder: Path) -> float | None:
    """What a user may still write where ``folder`` is, or is going to be, in GiB."""
    for place in (folder, *folder.parents):
        with suppress(OSError):
            told = os.statvfs(place)
            return told.f_bavail * told.f_frsize / 2**30
    return None


def listening(root: Path = Path("/")) -> dict[int, str]:
    """TCP ports that somebody listens on, with the name of the program; empty where it may not be seen."""
    sockets: dict[str, int] = {}
    for table in _TABLES:
        for line in _text(root / table).splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN:
                with suppress(ValueError):
                    sockets[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    ports = dict.fromkeys(sockets.values(), "")
    for inode, name in _owners(root, sockets):
        ports[sockets[inode]] = name
    return ports


def _owners(root: Path, sockets: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Sockets with the names of their programs, as far as this user may look."""
    if not sockets:
        return
    wanted = {f"socket:[{inode}]": inode for inode in sockets}
    with suppress(OSError):
        for process in os.scandir(root / "proc"):
            if not process.name.isdecimal():
                continue
            with suppress(OSError):
                for entry in os.scandir(f"{process.path}/fd"):
                    with suppress(OSError):
                        inode = wanted.get(os.readlink(entry.path))  # noqa: PTH115 - thousands of them
                        if inode is not None:
                            yield inode, _text(Path(process.path) / "comm").strip()


def toolkit(root: Path = Path("/")) -> tuple[str, ...]:
    """Programs of NVIDIA's container toolkit that are installed."""
    path = os.pathsep.join([*(str(root / folder) for folder in _TOOLKIT_FOLDERS), os.environ.get("PATH", "")])
    return tuple(name for name in _TOOLKIT if shutil.which(name, path=path))


def cdi_devices(root: Path = Path("/")) -> tuple[str, ...]:
    """Devices that the files of the Container Device Interface describe, such as ``nvidia.com/gpu=all``."""
    found: list[str] = []
    for folder in _CDI_FOLDERS:
        with suppress(OSError):
            for path in sorted((root / folder).iterdir()):
                if path.suffix in (".yaml", ".yml", ".json"):
                    found += _devices(_text(path, _CDI_LARGEST))
    return tuple(dict.fromkeys(found))


def _devices(text: str) -> list[str]:
    kind = _CDI_KIND.search(text)
    # Hooks, nodes and mounts of a specification have paths; only devices have names.
    return [f"{kind[1]}={name[1]}" for name in _CDI_NAME.finditer(text)] if kind else []


def char_links(root: Path = Path("/")) -> bool | None:
    """Whether ``/dev/char`` has a link to every card; None where there are no cards.

    systemd resolves the devices that a container may use through these links when it is reloaded
    (https://github.com/NVIDIA/nvidia-container-toolkit/issues/48).
    """
    try:
        cards = [entry for entry in (root / "dev").iterdir() if _CARD.fullmatch(entry.name)]
        numbers = [entry.stat().st_rdev for entry in cards]
    except OSError:
        return None
    if not numbers:
        return None
    return all((root / "dev/char" / f"{os.major(one)}:{os.minor(one)}").exists() for one in numbers)


def xids(root: Path = Path("/")) -> tuple[str, ...]:
    """The newest complaints of the driver about its cards; none where the kernel's log may not be read."""
    found: list[str] = []
    try:
        log = os.open(root / "dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ()
    try:
        for _ in range(_MOST_RECORDS):
            # One record at a time; at the end the kernel says that it would have to wait.
            with suppress(BrokenPipeError):
                record = os.read(log, 8192)
                if not record:
                    break
                complaint = _XID.search(record.decode("utf-8", "replace"))
                if complaint:
                    found.append(complaint[1])
    except OSError:
        pass
    finally:
        os.close(log)
    return tuple(found[-_SHOWN_XIDS:])


def _text(path: Path, most: int = 1 << 20) -> str:
    try:
        with path.open("rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""
