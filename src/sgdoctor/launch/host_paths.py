"""Where a path that the engine sees lies on this machine."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sgdoctor.launch.model import Launch, Mount


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
    """The folder of this machine that a bind mount shows."""
    source = Path(mount.source or "").expanduser()
    return source if source.is_absolute() else beside / source


def host_path(launch: Launch, inside: str, beside: Path) -> Path | None:
    """Where a path of the engine lies on this machine; None where that is not known.

    Outside containers a path is itself; a relative one that does not exist is taken for something else, such as the
    name of a repository.
    """
    if launch.image is None:
        path = Path(inside).expanduser()
        return path if path.is_absolute() or path.exists() else None
    found = provided(launch, inside, beside) if PurePosixPath(inside).is_absolute() else None
    return None if found is None else found.here
