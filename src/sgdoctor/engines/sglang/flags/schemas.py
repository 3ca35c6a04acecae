"""The schema of a version: of those that sgdoctor ships, and of those that the user added."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.flags.documents import document, from_document, options_of
from sgdoctor.engines.sglang.flags.model import Option, Schema
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.errors import UserError

_SHIPPED: Final = Path(__file__).parents[1] / "data" / "flag_schemas.json"


def schema(version: str | None = None, added: Path | None = None) -> Schema:
    """What a version accepts.

    Args:
        version: as in ``0.5.15.post1``; None for the newest known one.
        added: folder with the versions that the user added; the usual one where None.

    Returns:
        The options of exactly this version, else of the newest known one below it (of the oldest, where all are
        newer), which ``Schema.exact`` tells apart.
    """
    return _schema(version, added_folder() if added is None else added)


def versions(added: Path | None = None) -> tuple[str, ...]:
    """All known versions, oldest first."""
    own = _added_files(added_folder() if added is None else added)
    return tuple(sorted({*_shipped()["versions"], *own}, key=version_key))


def added_folder() -> Path:
    """Where versions that the user adds are kept: ``flags`` in the data directory of the XDG specification."""
    import platformdirs  # noqa: PLC0415 - only where schemas are used

    return platformdirs.user_data_path("sgdoctor", appauthor=False) / "flags"


def add(version: str, options: tuple[Option, ...], folder: Path | None = None) -> Path:
    """Keep a version for later calls of ``schema``; returns its file.

    Raises:
        UserError: the folder cannot be written.
    """
    folder = added_folder() if folder is None else folder
    path = folder / f"{version}.json"
    beside = path.with_suffix(f".{os.getpid()}.new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(document(version, options), separators=(",", ":")) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise UserError(f"{path}: {error.strerror}", f"{path}：{error.strerror}") from None
    _schema.cache_clear()
    return path


@cache
def _schema(version: str | None, folder: Path) -> Schema:
    own = _added_files(folder)
    known = sorted({*_shipped()["versions"], *own}, key=version_key)
    if version is None:
        nearest = known[-1]
    else:
        key = version_key(version)
        nearest = next((one for one in reversed(known) if version_key(one) <= key), known[0])
    exact = version in (nearest, None)
    # The user's file of a version counts more than the shipped one: it may be of a fork.
    if nearest in own:
        return Schema(nearest, exact, _read(own[nearest])[1])
    return Schema(nearest, exact, options_of(_shipped(), _shipped()["versions"].index(nearest)))


@cache
def _shipped() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(_SHIPPED.read_bytes())
    return data


def _added_files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in folder.glob("*.json") if version_key(path.stem)} if folder.is_dir() else {}


def _read(path: Path) -> tuple[str, tuple[Option, ...]]:
    try:
        return from_document(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: {error}. Remove it, or add the version again: sgdoctor flags add",
            f"{path}：{error}。请删除它，或重新添加该版本：sgdoctor flags add",
        ) from None
