"""The flags and fields of every known SGLang version, and flags of other engines: data files, read when needed."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Foreign(NamedTuple):
    """A flag of another engine.

    Attributes:
        engine: ``vllm``, ``llama.cpp`` or ``tgi``.
        flag: its counterpart in SGLang; None when there is none.
    """

    engine: str
    flag: str | None


class FlagHistory(NamedTuple):
    """What is known of all versions.

    Attributes:
        versions: known versions, oldest first; masks have one bit for each, the oldest lowest.
        flags: flag or alias to the mask of the versions that have it.
        fields: field of ``server_args`` that a flag sets, to the mask of the versions that have it.
        renames: removed or deprecated flag to its successor and the value that the successor needs (or None).
    """

    versions: tuple[str, ...]
    flags: Mapping[str, int]
    fields: Mapping[str, int]
    renames: Mapping[str, tuple[str, str | None]]

    def since(self, flag: str) -> str | None:
        """First known version that has ``flag``; None if none has."""
        mask = self.flags.get(flag, 0)
        return self.versions[(mask & -mask).bit_length() - 1] if mask else None

    def until(self, flag: str) -> str | None:
        """Last known version that has ``flag``; None if none has."""
        mask = self.flags.get(flag, 0)
        return self.versions[mask.bit_length() - 1] if mask else None


def _data(name: str) -> Any:
    return json.loads((Path(__file__).parent / "data" / name).read_bytes())


def _mask(spans: list[int]) -> int:
    """``[first, last, first, last, ...]`` as a bit mask."""
    return sum((1 << last + 1) - (1 << first) for first, last in zip(spans[::2], spans[1::2], strict=True))


@cache
def load_history() -> FlagHistory:
    """The shipped history (``tools/flag_data.py`` writes it)."""
    data = _data("flag_history.json")
    return FlagHistory(
        versions=tuple(data["versions"]),
        flags={name: _mask(spans) for name, spans in data["flags"].items()},
        fields={name: _mask(spans) for name, spans in data["fields"].items()},
        renames={old: (entry["new"], entry.get("value")) for old, entry in data["renames"].items()},
    )


@cache
def load_foreign() -> Mapping[str, Foreign]:
    """Flags of other engines that people carry over, and that no SGLang version has."""
    return {
        flag: Foreign(engine, counterpart)
        for engine, flags in _data("foreign_flags.json").items()
        for flag, counterpart in flags.items()
    }
