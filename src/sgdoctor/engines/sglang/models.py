"""Which models a version can run: architectures of SGLang, model types of transformers, quantisation methods.

The data are read from released wheels (``tools/model_data.py``).
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.patterns import lazy_pattern

_CLASS: Final = lazy_pattern(r"[A-Za-z]\w+")
_DATA: Final = Path(__file__).parent / "data" / "models.json"


class Support(NamedTuple):
    """In which of the known versions something is.

    Attributes:
        here: whether the version that was asked for has it; None where that is not known: a version before or behind
            all known ones, or between one that has it and one that has not.
        since: the first known version that has it; None if none has.
        until: the last known one, where newer ones have it no more; else None.
    """

    here: bool | None
    since: str | None = None
    until: str | None = None


def architecture(name: str, version: str | None) -> Support:
    """Whether SGLang has a model class of this name."""
    return _support("sglang", "architectures", name, version)


def first_with_architecture(text: str) -> str | None:
    """The first known version of SGLang that has a model class; None where none has it.

    Args:
        text: its name, or the list of names that an error prints: ``['Qwen3_5ForConditionalGeneration']``.
    """
    name = _CLASS.search(text)
    return architecture(name[0], None).since if name else None


def method(name: str, version: str | None) -> Support:
    """Whether SGLang has a quantisation method of this name."""
    return _support("sglang", "methods", name, version)


def model_type(name: str, sglang: str | None, transformers: str | None) -> Support:
    """Whether a configuration of this type can be read: by transformers, or because SGLang brings its own class.

    Args:
        name: ``model_type`` of a ``config.json``.
        sglang: version of SGLang; None if unknown.
        transformers: version of transformers beside it; None if unknown.
    """
    theirs = _support("transformers", "types", name, transformers)
    own = _support("sglang", "types", name, sglang)
    if theirs.here or own.here:
        return Support(here=True, since=theirs.since)
    unknown = theirs.here is None or own.here is None
    return Support(here=None if unknown else False, since=theirs.since, until=theirs.until)


def newest_known() -> str:
    """The newest version of SGLang that the data are of."""
    versions: list[str] = _data()["sglang"]["versions"]
    return versions[-1]


def _support(package: str, kind: str, name: str, version: str | None) -> Support:
    table = _data()[package]
    versions: list[str] = table["versions"]
    runs: list[int] = table[kind].get(name, [])
    here = None
    if version is not None and version_key(version):
        keys = [version_key(known) for known in versions]
        own = version_key(version)
        at = sum(key <= own for key in keys) - 1
        # A version between two known ones, or behind all, has at least what the older one has.
        here = at >= 0 and _within(runs, at)
        unknown = own not in keys and (at in (-1, len(keys) - 1) or _within(runs, at + 1))
        if not here and unknown:
            here = None
    if not runs:
        return Support(here)
    gone = runs[-1] < len(versions) - 1
    return Support(here, versions[runs[0]], versions[runs[-1]] if gone else None)


def _within(runs: Sequence[int], at: int) -> bool:
    return any(first <= at <= last for first, last in zip(runs[::2], runs[1::2], strict=True))


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(_DATA.read_bytes())
    return data
