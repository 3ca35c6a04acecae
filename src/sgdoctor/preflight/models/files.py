"""The files of a model folder: names, sizes, links, and what downloads leave behind."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_MOST_FILES: Final = 20_000
_LARGEST_DOCUMENT: Final = 64 << 20
"""Bytes: the largest published tokenizer.json has about 33 MB."""
_POINTER: Final = b"version https://git-lfs"
_POINTER_BYTES: Final = 1024
"""The specification of Git LFS keeps pointers below this size."""
_UNFINISHED: Final = (".incomplete", ".aria2", ".part", ".crdownload", ".partial", ".!qb")
_TEMPORARY: Final = "._____temp"
"""Where ModelScope downloads to before it moves a file to its place."""
_DOWNLOADS: Final = (".cache/huggingface/download", "../../blobs")
"""Where the Hugging Face client keeps unfinished files: with ``--local-dir``, and in its cache."""


@dataclass(frozen=True, slots=True)
class FolderFile:
    """One file.

    Attributes:
        name: in the folder.
        size: in bytes, of what a link leads to; 0 where that is not there.
        target: absolute path that a link leads to in the end; None for a file of its own.
        dangling: whether it is a link that leads nowhere.
        pointer: whether Git LFS has put a pointer here in place of the file.
    """

    name: str
    size: int
    target: Path | None = None
    dangling: bool = False
    pointer: bool = False


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file that should hold a JSON object.

    Attributes:
        name: in the folder.
        content: its bytes; empty where it cannot be read.
        value: what it holds; None where it is broken.
        problem: what is wrong with it, in the words of the reader; None if nothing is.
    """

    name: str
    content: bytes
    value: dict[str, Any] | None
    problem: str | None = None


def files_of(folder: Path) -> Mapping[str, FolderFile]:
    """The files of a folder (not those below it), at most 20,000; empty where it cannot be read."""
    found: dict[str, FolderFile] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) >= _MOST_FILES:
                    break
                file = _file(entry)
                if file is not None:
                    found[file.name] = file
    except OSError:
        return {}
    return dict(sorted(found.items()))


def file_at(path: Path) -> FolderFile | None:
    """One file; None if it is none."""
    return files_of(path.parent).get(path.name)


def leftovers_of(folder: Path) -> tuple[str, ...]:
    """Traces of downloads that were not finished: their paths, seen from ``folder``."""
    found = [name for name in _names(folder) if name.lower().endswith(_UNFINISHED) or name == _TEMPORARY]
    for place in _DOWNLOADS:
        # Only the cache has a folder `blobs` two levels up.
        if place.startswith("..") and folder.parent.name != "snapshots":
            continue
        found += [f"{place}/{name}" for name in _names(folder / place) if name.endswith(".incomplete")]
    return tuple(sorted(found))


def json_file(path: Path) -> JsonFile:
    """Read a file that should hold a JSON object."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST_DOCUMENT + 1)
    except OSError as error:
        return JsonFile(path.name, b"", None, error.strerror or "cannot be read")
    if len(content) > _LARGEST_DOCUMENT:
        return JsonFile(path.name, b"", None, "too large")
    try:
        # transformers reads it as UTF-8 and nothing else (configuration_utils.py, _dict_from_json_file).
        value = json.loads(content.decode())
    except RecursionError:
        return JsonFile(path.name, content, None, "nested too deeply")
    except ValueError as error:
        return JsonFile(path.name, content, None, str(error))
    if not isinstance(value, dict):
        return JsonFile(path.name, content, None, "no JSON object")
    return JsonFile(path.name, content, value)


def _file(entry: os.DirEntry[str]) -> FolderFile | None:
    target: Path | None = None
    try:
        if entry.is_symlink():
            target = Path(os.path.realpath(entry.path))
        status = entry.stat()
    except OSError:
        return FolderFile(entry.name, 0, target, dangling=True) if target is not None else None
    if not entry.is_file():
        return None
    pointer = status.st_size < _POINTER_BYTES and _starts_with_pointer(entry.path)
    return FolderFile(entry.name, status.st_size, target, pointer=pointer)


def _starts_with_pointer(path: str) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - the path of a directory entry
            return stream.read(len(_POINTER)) == _POINTER
    except OSError:
        return False


def _names(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_FILES:
                    return
                yield entry.name
    except OSError:
        return
