"""What kind of machine this is, as far as it decides what can be known about its GPUs."""

from pathlib import Path
from typing import Final, NamedTuple

# include/linux/proc_ns.h of the kernel: PROC_PID_INIT_INO, the PID namespace that the machine booted with.
_FIRST_PID_NAMESPACE: Final = "pid:[4026531836]"
_NVIDIA_VENDOR: Final = "0x10de"
_DISPLAY_CLASS: Final = "0x03"


class Machine(NamedTuple):
    """This machine, as a program on it sees it.

    Attributes:
        wsl: whether it is the Linux side of Windows (WSL 2), where the driver is that of Windows.
        contained: whether sgdoctor itself runs in a container.
        own_pids: whether it counts processes for itself, so that those of the host cannot be seen or named.
        cards: number of NVIDIA cards on the PCI bus, driver or not.
    """

    wsl: bool = False
    contained: bool = False
    own_pids: bool = False
    cards: int = 0


def this_machine(root: Path = Path("/")) -> Machine:
    """Looks at the machine below ``root``. What cannot be read counts as absent."""
    return Machine(
        wsl="microsoft" in _text(root / "proc/sys/kernel/osrelease").lower(),
        contained=(root / ".dockerenv").exists() or (root / "run/.containerenv").exists(),
        own_pids=_link(root / "proc/self/ns/pid") not in ("", _FIRST_PID_NAMESPACE),
        cards=sum(_is_nvidia_card(device) for device in _entries(root / "sys/bus/pci/devices")),
    )


def _is_nvidia_card(device: Path) -> bool:
    return _text(device / "vendor").strip() == _NVIDIA_VENDOR and _text(device / "class").startswith(_DISPLAY_CLASS)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _entries(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(folder.iterdir())
    except OSError:
        return ()
