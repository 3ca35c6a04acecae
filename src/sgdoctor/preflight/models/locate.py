"""Where the model of a launch is: the path as the engine sees it, followed through the mounts of the container."""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sgdoctor.launch.host_paths import Provided, mount_around, provided, source_of
from sgdoctor.launch.model import Launch, Mount
from sgdoctor.preflight.asked import Asked

_REPOSITORY: Final = re.compile(r"[\w.-]{1,96}(?:/[\w.-]{1,96})?")
_CACHE_ENV: Final = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")
_HOME: Final = "HF_HOME"
_DEFAULT_HOME: Final = ".cache/huggingface"
_CONTAINER_HOME: Final = "/root"
"""Home of the official images, which run as root."""
_MODELSCOPE: Final = "SGLANG_USE_MODELSCOPE"
_DEEPEST: Final = 4
_MOST_FOLDERS: Final = 3000
"""Folders that are looked through for one of the same name."""
_MOST_SUGGESTIONS: Final = 3
_REVISION: Final = re.compile(r"[0-9a-f]{7,64}|[\w./-]{1,100}")


class Place(StrEnum):
    """Where a model is."""

    HERE = "here"  # a folder or a file of this machine
    CACHED = "cached"  # a repository that lies in a cache of this machine
    HUB = "hub"  # a repository that is still to be downloaded, as far as is known
    MISSING = "missing"  # a mount leads to its folder, and it is not there
    UNMOUNTED = "unmounted"  # a path that no mount provides
    VOLUME = "volume"  # in a volume that only Docker can look into
    UNNAMED = "unnamed"  # the launch names no model
    VARIABLE = "variable"  # only the shell that starts it knows the name


@dataclass(frozen=True, slots=True)
class Located:
    """Where the model of a launch is.

    Attributes:
        place: in one word.
        asked: ``--model-path`` as typed; empty without one.
        inside: path of the model as the engine sees it; None where it has none yet.
        here: the same on this machine; None where it is out of reach.
        root: folder of this machine that the engine sees with everything below; None outside containers.
        mount: that provides it, or the cache that it will be downloaded to.
        cache: folder of the Hugging Face cache as the engine sees it; None for a path.
        meant: paths inside that may have been meant, the likeliest first.
    """

    place: Place
    asked: str = ""
    inside: str | None = None
    here: Path | None = None
    root: Path | None = None
    mount: Mount | None = None
    cache: str | None = None
    meant: tuple[str, ...] = ()


def locate(launch: Launch, asked: Asked, beside: Path, image_env: Mapping[str, Any] | None = None) -> Located:
    """Where the model is.

    Args:
        launch: which.
        asked: its flags.
        beside: folder of this machine that relative paths of the launch start from.
        image_env: variables that the image sets.
    """
    value = asked.value("--model-path")
    if not value:
        return Located(Place.UNNAMED)
    if {"$", "`"} & set(value):
        return Located(Place.VARIABLE, value, value)
    if launch.image is None:
        path = Path(value).expanduser()
        if path.exists():
            return Located(Place.HERE, value, value, path)
        if value.startswith(("/", ".", "~")) or not _REPOSITORY.fullmatch(value):
            return Located(Place.MISSING, value, value, path, meant=_near(path, None))
        return _on_hub(launch, value, asked.value("--revision"), beside, image_env or {})
    if value.startswith("/"):
        return _at_path(launch, value, beside)
    if _REPOSITORY.fullmatch(value) and not value.startswith("."):
        return _on_hub(launch, value, asked.value("--revision"), beside, image_env or {})
    return Located(Place.UNMOUNTED, value, value, meant=_through_mounts(launch, value, beside))


def models_below(folder: Path) -> Iterator[Path]:
    """Folders with a ``config.json`` below a folder that has none itself, the nearest first."""
    for path in _walk(folder):
        if (path / "config.json").exists() or any(path.glob("*.gguf")):
            yield path


def _at_path(launch: Launch, value: str, beside: Path) -> Located:
    found = provided(launch, value, beside)
    if found is None:
        mount = mount_around(launch, value)
        if mount is not None and mount.kind == "volume":
            return Located(Place.VOLUME, value, value, mount=mount)
        return Located(Place.UNMOUNTED, value, value, mount=mount, meant=_through_mounts(launch, value, beside))
    located = Located(Place.HERE, value, value, found.here, found.root, found.mount)
    if found.here.exists():
        return located
    meant = _near(found.here, found) or _through_mounts(launch, value, beside)
    return replace(located, place=Place.MISSING, meant=meant)


def _through_mounts(launch: Launch, value: str, beside: Path) -> tuple[str, ...]:
    """Paths inside for a path of this machine, or for a folder of that name under another mount."""
    binds = [(mount, source_of(mount, beside)) for mount in launch.mounts if mount.kind == "bind" and mount.source]
    here = Path(value).expanduser()
    here = here if here.is_absolute() else beside / here
    exact = [
        str(PurePosixPath(mount.target) / path.relative_to(root))
        for mount, root in binds
        for path in {here, Path(os.path.realpath(here))}
        if path.is_relative_to(root) and path.exists()
    ]
    if exact:
        return tuple(dict.fromkeys(exact))[:_MOST_SUGGESTIONS]
    same = [
        str(PurePosixPath(mount.target) / path.relative_to(root))
        for mount, root in binds
        if root.is_dir()
        for path in _walk(root)
        if path.name == PurePosixPath(value).name
    ]
    return tuple(dict.fromkeys(same))[:_MOST_SUGGESTIONS]


def _near(path: Path, found: Provided | None) -> tuple[str, ...]:
    """What a path that leads nowhere may have meant: a folder of this name elsewhere, or a similar name there."""
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        parent = parent.parent
    if found is not None and not parent.is_relative_to(found.root):
        return ()
    missing = path.relative_to(parent).parts[0]
    same = [one for one in _walk(parent) if one.name == path.name] if found is not None else []
    names = {name.lower(): name for name in _folders(parent)}
    close = difflib.get_close_matches(missing.lower(), names, n=_MOST_SUGGESTIONS, cutoff=0.75)
    rest = path.relative_to(parent / missing)
    similar = [whole for name in close if (whole := parent / names[name] / rest).exists()]
    paths = dict.fromkeys([*same, *similar])
    inside = [_inside(one, found) for one in paths]
    return tuple(inside)[:_MOST_SUGGESTIONS]


def _inside(path: Path, found: Provided | None) -> str:
    return str(path) if found is None else str(PurePosixPath(found.mount.target) / path.relative_to(found.root))


def _on_hub(launch: Launch, value: str, revision: str | None, beside: Path, image_env: Mapping[str, Any]) -> Located:
    env = {**image_env, **launch.env}
    cache = _cache(env, _CONTAINER_HOME if launch.image is not None else str(Path.home()))
    inside = f"{cache}/models--{value.replace('/', '--')}"
    if launch.image is None:
        here, root, mount = Path(inside), None, None
    else:
        found = provided(launch, inside, beside)
        mount = found.mount if found is not None else mount_around(launch, inside)
        if found is None:
            return Located(Place.HUB, value, mount=mount, cache=cache)
        here, root = found.here, found.root
    snapshot = None if env.get(_MODELSCOPE) else _snapshot(here, revision)
    if snapshot is None:
        return Located(Place.HUB, value, here=here, root=root, mount=mount, cache=cache)
    return Located(Place.CACHED, value, f"{inside}/snapshots/{snapshot.name}", snapshot, root, mount, cache)


def _cache(env: Mapping[str, Any], home: str) -> str:
    for name in _CACHE_ENV:
        if env.get(name):
            return str(env[name])
    return f"{env.get(_HOME) or f'{home}/{_DEFAULT_HOME}'}/hub"


def _snapshot(repository: Path, revision: str | None) -> Path | None:
    """The snapshot of a revision in a cache; None where it is not there."""
    revision = revision or "main"
    if not _REVISION.fullmatch(revision) or ".." in revision:
        return None
    try:
        commit = (repository / "refs" / revision).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        commit = revision
    snapshot = repository / "snapshots" / Path(commit).name
    return snapshot if commit and snapshot.is_dir() else None


def _walk(folder: Path) -> Iterator[Path]:
    """Folders below a folder, level by level, to a depth and a number."""
    level, seen = [folder], 0
    for _ in range(_DEEPEST):
        below = []
        for parent in level:
            for name in _folders(parent):
                seen += 1
                if seen > _MOST_FOLDERS:
                    return
                below.append(parent / name)
                yield below[-1]
        level = below


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except OSError:
        return []
