"""The compiled rule base: what a start reads in place of some hundred YAML files, pydantic and a Hyperscan compile.

One file holds the rules: a checksum, a JSON header (literals, which rules they belong to, ids) and the rules' bodies,
which stay bytes until a rule hits. Other files hold compiled literal indexes. Everything in the cache directory can
be deleted, damaged or unwritable at any time; then it is computed again.
"""

import json
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import sgdoctor
from sgdoctor.logs.literals import LiteralIndex, build_index
from sgdoctor.rules.base import Entry, RuleBase
from sgdoctor.rules.locate import rule_files
from sgdoctor.texts import Text

FORMAT: Final = 2
"""Of the plain form of rules and of this file; goes up with every change of either."""

_MAGIC: Final = b"sgdoctor rule base\n"
_KEPT_INDEXES: Final = 8


def key_of(directories: Sequence[Path]) -> str:
    """What the compiled rules depend on, without reading a rule file.

    Size and mtime miss an edit that keeps the size and restores the time (``cp -p``, ``rsync -t``, ``git``); the ctime
    moves with every write and rename and cannot be set. Deleted and added files change the list.
    """
    files = [
        [str(directory), *((name, at.st_size, at.st_mtime_ns, at.st_ctime_ns) for name, at in rule_files(directory))]
        for directory in directories
    ]
    return json.dumps([sgdoctor.__version__, FORMAT, files])


def read_rules(cache: Path, directories: Sequence[Path], key: str) -> RuleBase | None:
    """The compiled rule base of these directories; None where it is absent, damaged or of another state of them."""
    try:
        data = _file_of(cache, directories).read_bytes()
    except OSError:
        return None
    start = len(_MAGIC)
    header_start = start + 8
    if data[:start] != _MAGIC or int.from_bytes(data[start : start + 4], "big") != zlib.crc32(data[start + 4 :]):
        return None
    header_end = header_start + int.from_bytes(data[start + 4 : header_start], "big")
    try:
        return _decoded(json.loads(data[header_start:header_end]), data[header_end:], key, cache)
    except (ValueError, KeyError, TypeError, AttributeError):  # whole, and yet not what `write_rules` writes
        return None


def _decoded(header: Any, bodies: bytes, key: str, cache: Path) -> RuleBase | None:
    if header["key"] != key:
        return None
    entries = []
    position = 0
    for id_, name, size in header["entries"]:
        entries.append(Entry(id_, name, bodies[position : position + size]))
        position += size
    return RuleBase(
        entries,
        header["literals"],
        header["literal_rules"],
        header["fact_rules"],
        problems=[Text(en, zh) for en, zh in header["problems"]],
        muted=header["muted"],
        cache=cache,
    )


def write_rules(cache: Path, directories: Sequence[Path], key: str, base: RuleBase) -> None:
    """Keeps a rule base for the next start; silently not, where that is not possible."""
    header = json.dumps(
        {
            "key": key,
            "literals": base.literals,
            "literal_rules": base.literal_rules,
            "fact_rules": base.fact_rule_numbers,
            "entries": [(entry.id, entry.name, len(entry.body)) for entry in base.entries],
            "problems": [(text.en, text.zh) for text in base.problems],
            "muted": base.muted,
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()
    body = len(header).to_bytes(4, "big") + header + b"".join(entry.body for entry in base.entries)
    _write(_file_of(cache, directories), _MAGIC + zlib.crc32(body).to_bytes(4, "big") + body)


def cached_index(literals: Sequence[bytes], cache: Path | None) -> LiteralIndex:
    """An index over ``literals``, from the cache directory where it was compiled before.

    Raises:
        ValueError: an empty literal or a literal twice.
    """
    if cache is None:
        return build_index(literals)
    number = zlib.crc32(b"\0".join(literals))
    path = cache / f"literals-{number:08x}.bin"
    try:
        compiled = path.read_bytes()
    except OSError:
        compiled = b""
    index = build_index(literals, compiled=compiled)
    # What could not be used (other processor, other Hyperscan) was compiled anew, and is kept in its place.
    if (dumped := index.dump()) != compiled:
        _write(path, dumped)
        with suppress(OSError):
            kept = sorted(cache.glob("literals-*.bin"), key=lambda file: file.stat().st_mtime_ns)
            for old in kept[:-_KEPT_INDEXES]:
                old.unlink()
    return index


def _file_of(cache: Path, directories: Sequence[Path]) -> Path:
    # One file per set of directories, so that two of them in turn (a checkout and an installation) do not fight.
    number = zlib.crc32("\0".join(map(str, directories)).encode("utf-8", "surrogateescape"))
    return cache / f"rules-{number:08x}.bin"


def _write(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
