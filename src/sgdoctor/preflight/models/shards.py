"""Files with weights: which a model has, which its index names, and whether each is whole."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.memory.safetensors import Header, HeaderError, read_header
from sgdoctor.preflight.models.files import FolderFile

_MOST_TENSORS: Final = 600_000
"""Of one model; the largest published ones have about 190,000 (DeepSeek-V3 with scales of every expert)."""
_NUMBERED: Final = re.compile(r"(?P<stem>.{0,200}?)\d{5}-of-(?P<count>\d{5})(?P<ending>\.\w{1,20})")
_MOST_NUMBERED: Final = 1000
_ARCHIVE: Final = b"PK\x03\x04"
_ARCHIVE_END: Final = b"PK\x05\x06"
_ARCHIVE_TAIL: Final = 66_000
"""Bytes at the end of a ZIP archive in which its directory is announced; torch.save writes such archives."""
_PICKLE: Final = b"\x80"


class ShardState(StrEnum):
    """How a file is."""

    WHOLE = "whole"
    EMPTY = "empty"
    POINTER = "pointer"  # Git LFS has not fetched it
    DANGLING = "dangling"  # a link that leads nowhere
    SHORT = "short"  # ends before its last tensor
    LONG = "long"  # goes on behind its last tensor
    DAMAGED = "damaged"  # has no header that holds
    UNREAD = "unread"  # not allowed to be read, or too many tensors already


@dataclass(frozen=True, slots=True)
class Shard:
    """One file with weights.

    Attributes:
        name: in the folder.
        size: in bytes.
        state: how it is.
        header: of a safetensors file; None where it has none that holds.
        needs: bytes that it should have by its header; None if unknown.
        problem: what is wrong with it, in the words of the reader; empty if nothing is.
    """

    name: str
    size: int
    state: ShardState
    header: Header | None = None
    needs: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """Which file holds which tensor, as the index of a model says.

    Attributes:
        name: of the index file.
        places: file by name of tensor.
    """

    name: str
    places: Mapping[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it names, sorted."""
        return tuple(sorted(set(self.places.values())))


def index_of(name: str, value: Mapping[str, Any] | None) -> Index | None:
    """The index that a file holds; None where it is none."""
    places = (value or {}).get("weight_map")
    if not isinstance(places, dict) or not places:
        return None
    # A name with a folder in it could lead anywhere.
    plain = all(isinstance(file, str) and "/" not in file for file in places.values())
    return Index(name, places) if plain else None


def safetensors_shards(folder: Path, files: Iterable[FolderFile]) -> tuple[Shard, ...]:
    """The state of safetensors files, by their headers."""
    shards: list[Shard] = []
    tensors = 0
    for file in files:
        if tensors > _MOST_TENSORS:
            shards.append(Shard(file.name, file.size, ShardState.UNREAD, problem="more tensors than any model has"))
            continue
        shard = _unfetched(file) or _by_header(folder, file)
        tensors += len(shard.header.tensors) if shard.header is not None else 0
        shards.append(shard)
    return tuple(shards)


def torch_shards(folder: Path, files: Iterable[FolderFile]) -> tuple[Shard, ...]:
    """The state of files that torch wrote, as far as it can be seen without unpickling."""
    return tuple(_unfetched(file) or _by_archive(folder, file) for file in files)


def missing_numbers(names: AbstractSet[str]) -> tuple[str, ...]:
    """Files that are not there although the numbers of their neighbours say so: ``-00002-of-00004``."""
    return tuple(sorted(name for name in _numbered(names) if name not in names))


def _numbered(names: AbstractSet[str]) -> Iterator[str]:
    for stem, count, ending in {series for name in names if (series := _series(name)) is not None}:
        numbered = [f"{stem}{number:05}-of-{count:05}{ending}" for number in range(min(count, _MOST_NUMBERED) + 1)]
        # A few count from zero.
        yield from numbered[:-1] if numbered[0] in names else numbered[1:]


def _series(name: str) -> tuple[str, int, str] | None:
    found = _NUMBERED.fullmatch(name)
    return None if found is None else (found["stem"], int(found["count"]), found["ending"])


def _unfetched(file: FolderFile) -> Shard | None:
    if file.dangling:
        return Shard(file.name, 0, ShardState.DANGLING, problem=f"link to {file.target}")
    if file.pointer:
        return Shard(file.name, file.size, ShardState.POINTER)
    return Shard(file.name, 0, ShardState.EMPTY) if file.size == 0 else None


def _by_header(folder: Path, file: FolderFile) -> Shard:
    try:
        header = read_header(folder / file.name)
    except HeaderError as error:
        return Shard(file.name, file.size, ShardState.DAMAGED, problem=str(error))
    except OSError as error:
        return Shard(file.name, file.size, ShardState.UNREAD, problem=error.strerror or "cannot be read")
    needs = header.file_bytes
    state = ShardState.WHOLE
    if file.size != needs:
        state = ShardState.SHORT if file.size < needs else ShardState.LONG
    return Shard(file.name, file.size, state, header, needs)


def _by_archive(folder: Path, file: FolderFile) -> Shard:
    try:
        with (folder / file.name).open("rb") as stream:
            start = stream.read(len(_ARCHIVE))
            stream.seek(-min(file.size, _ARCHIVE_TAIL), os.SEEK_END)
            tail = stream.read(_ARCHIVE_TAIL)
    except OSError as error:
        return Shard(file.name, file.size, ShardState.UNREAD, problem=error.strerror or "cannot be read")
    if start == _ARCHIVE:
        return Shard(file.name, file.size, ShardState.WHOLE if _ARCHIVE_END in tail else ShardState.SHORT)
    whole = start.startswith(_PICKLE)
    return Shard(file.name, file.size, ShardState.WHOLE if whole else ShardState.DAMAGED)
