"""Where a path that the engine sees lies on this machine."""

import re
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path, PurePosixPath
from typing import Final

from sgdoctor.launch.model import Launch, Mount

_HERE: Final = re.compile(r"^(?:\$\(pwd\)|`pwd`|\$PWD\b|\$\{PWD\})")
_HOME: Final = re.compile(r"^(?:\$HOME\b|\$\{HOME\})")
_CHANGED: Final = re.compile(
    r"(?:^|&&|;)[ \t]*cd[ \t]+(?P<quote>['\"]?)(?P<to>[^\s'\"$`;&|]+)(?P=quote)(?=[ \t]*(?:$|#|&&|;))", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Provided:
    """A path inside a container that a mount provides.

    Attributes:
        mount: which.
        here: the path on this machine; it may not exist.
        root: what is mounted: the engine sees this and everything below it, and nothing else of this machine.
    """

    mount: Mount
    here: Path
    root: Path


def provided(launch: Launch, inside: str, beside: Path) -> Provided | None:
    """The mount that provides a path; None where none does, or where it is no folder of this machine.

    Args:
        launch: in a container.
        inside: absolute path as the engine sees it.
        beside: folder that relative paths on the host start from.
    """
    mount = mount_around(launch, inside)
    if mount is None or mount.kind != "bind" or not mount.source:
        return None
    root = source_of(mount, beside)
    return Provided(mount, root / PurePosixPath(inside).relative_to(mount.target), root)


def mount_around(launch: Launch, inside: str) -> Mount | None:
    """The innermost mount that holds a path; None where the path is of the image."""
    path = PurePosixPath(inside)
    around = [mount for mount in launch.mounts if path.is_relative_to(mount.target)]
    return max(around, key=lambda one: len(one.target), default=None)


def source_of(mount: Mount, beside: Path) -> Path:
    """The folder of this machine that a bind mount shows; of what a shell fills in `$(pwd)` and `$HOME` are known."""
    source = Path(_HOME.sub("~", _HERE.sub(".", mount.source or ""))).expanduser()
    return source if source.is_absolute() else beside / source


def started_in(text: str, beside: Path) -> Path:
    """The folder that the last command of a shell text is started in.

    Args:
        text: commands; a plain ``cd`` at the start of a line or behind ``&&`` counts.
        beside: folder that the text is run in.
    """
    for match in _CHANGED.finditer(text):
        to = Path(match["to"]).expanduser()
        beside = to if to.is_absolute() else beside / to
    return beside


def host_path(launch: Launch, inside: str, beside: Path) -> Path | None:
    """Where a path of the engine lies on this machine; None where that is not known.

    Outside containers a path is itself; a relative one that is not there is taken for something else, such as the
    name of a repository.
    """
    if launch.image is None:
        path = Path(inside).expanduser()
        return path if path.is_absolute() or lexists(path) else None
    found = provided(launch, inside, beside) if PurePosixPath(inside).is_absolute() else None
    return None if found is None else found.here
