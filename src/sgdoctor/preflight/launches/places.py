"""Paths of a launch on this machine, as far as they can be followed."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final

from sgdoctor.launch.host_paths import mount_around, provided, source_of
from sgdoctor.launch.model import Document, Launch, Mount
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.model import Situation

_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_WRITES: Final = (
    r"(?:>>?\s*|\btee\s+(?:-a\s+)?|\bmkdir\s+(?:-p\s+)?|\b(?:cp|mv|wget|curl)\b[^\n]*\s)['\"]?(?:[^\s'\"]*/)?"
)
_LOOKED_THROUGH: Final = 400
_SCRIPTS: Final = (".py", ".sh", ".bash")


class State(StrEnum):
    """What is known of a path."""

    FILE = "file"
    FOLDER = "folder"
    MISSING = "missing"
    WRITTEN = "written"  # the text of the launch itself writes it before the start
    UNKNOWN = "unknown"  # of another machine, behind a variable, or hidden from this program


def state_of(situation: Situation, path: Path) -> State:
    """What is known of a path of the host."""
    if situation.host.remote or "$" in str(path) or "`" in str(path) or _DRIVE.match(str(path)):
        return State.UNKNOWN
    try:
        if path.is_dir():
            return State.FOLDER
        if path.exists():
            return State.FILE
    except OSError:
        return State.UNKNOWN
    if situation.document is not None and _is_written(situation.document, path.name):
        return State.WRITTEN
    return State.UNKNOWN if unseen(situation.host, situation.launch) is not None else State.MISSING


def source_state(situation: Situation, mount: Mount) -> State:
    """What is known of the source of a bind mount."""
    return state_of(situation, source_of(mount, situation.beside))


@dataclass(frozen=True, slots=True)
class LaunchScript:
    """A script that starts the engine.

    Attributes:
        inside: its path as the command has it.
        mount: that provides it; None for a script of the image, and outside of containers.
        here: the same on this machine; None where it is not known.
        state: of ``here``; unknown where there is none.
        elsewhere: a file of that name on this machine that the container does not get under this path.
        text: of the script, or of a text that writes it; None where it cannot be read.
    """

    inside: str
    mount: Mount | None = None
    here: Path | None = None
    state: State = State.UNKNOWN
    elsewhere: Path | None = None
    text: str | None = None


def launch_script(situation: Situation) -> LaunchScript | None:
    """The script that the launch runs; None where it runs none."""
    launch = situation.launch
    if launch is None:
        return None
    words = launch.argv[: launch.flags_at] if launch.argv else launch.command
    name = next((word for word in words if word.endswith(_SCRIPTS)), None)
    if name is None:
        return None
    if launch.image is None:
        here = Path(name).expanduser()
        here = here if here.is_absolute() else situation.beside / here
        state = state_of(situation, here)
        return LaunchScript(name, None, here, state, text=_text_of(situation, here, state))
    if not name.startswith("/"):
        folder = ((situation.image.config if situation.image else None) or {}).get("Config") or {}
        folder = str(folder.get("WorkingDir") or "")
        if not folder:
            return LaunchScript(name)
        name = str(PurePosixPath(folder) / name)
    found = provided(launch, name, situation.beside)
    if found is not None:
        state = state_of(situation, found.here)
        return LaunchScript(name, found.mount, found.here, state, text=_text_of(situation, found.here, state))
    mount = mount_around(launch, name)
    elsewhere = None if mount is not None else _elsewhere(situation, launch, PurePosixPath(name).name)
    text = _text_of(situation, elsewhere, State.FILE) if elsewhere is not None else None
    return LaunchScript(name, mount, elsewhere=elsewhere, text=text)


def _text_of(situation: Situation, path: Path, state: State) -> str | None:
    if state is State.WRITTEN and situation.document is not None:
        return situation.document.text
    if state is not State.FILE:
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return None


def _elsewhere(situation: Situation, launch: Launch, name: str) -> Path | None:
    """A file of this name beside the launch, or not deep below what is mounted."""
    if situation.host.remote:
        return None
    candidates = [situation.beside / name]
    for mount in launch.mounts:
        if mount.kind == "bind" and mount.source:
            root = source_of(mount, situation.beside)
            candidates += [root / name, *(folder / name for folder in _folders(root))]
    return next((path for path in candidates if path.is_file()), None)


def _folders(root: Path) -> list[Path]:
    try:
        return [path for _, path in zip(range(_LOOKED_THROUGH), root.iterdir(), strict=False) if path.is_dir()]
    except OSError:
        return []


def _is_written(document: Document, name: str) -> bool:
    return bool(name) and re.search(_WRITES + re.escape(name) + r"(?![\w.-])", document.text) is not None
