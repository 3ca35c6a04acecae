"""How long the phases of earlier starts took on this machine: a file of JSON lines that may be lost or damaged."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

_MAX_BYTES: Final = 256 << 10
_NEWEST: Final = 5
_FEW: Final = 3
_WIDER: Final = 0.1


class Key(NamedTuple):
    """What makes two starts alike; what is empty is not known yet, and fits anything.

    Attributes:
        model: last part of its path.
        quantisation: as the engine printed it.
        image: of the container.
        gpu: name of the card.
    """

    model: str
    quantisation: str
    image: str = ""
    gpu: str = ""


class History:
    """Finished starts.

    Args:
        path: of the file; its folder is made when something is learned.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = _read(path)

    def usual(self, key: Key, phase: str) -> tuple[float, float] | None:
        """Shortest and longest time of a phase in the last starts of this kind, in seconds; None if there is none.

        Args:
            key: the kind.
            phase: name of the phase, or ``ready`` for the whole start.
        """
        times = [
            float(entry["phases"][phase])
            for entry in self._entries
            if _is_alike(entry, key) and isinstance(entry["phases"].get(phase), int | float)
        ][-_NEWEST:]
        if not times:
            return None
        if len(times) < _FEW:
            # So few say little about how much it varies.
            return min(times) * (1 - _WIDER), max(times) * (1 + _WIDER)
        return min(times), max(times)

    def learn(self, key: Key, start: str, phases: Mapping[str, float]) -> None:
        """Remember a start that became ready; one that is known already is left out.

        Args:
            key: its kind.
            start: what tells it from other starts: container and time.
            phases: seconds by phase, and of the whole as ``ready``.
        """
        if not key.model or any(entry["start"] == start for entry in self._entries):
            return
        entry = {**key._asdict(), "start": start, "phases": {name: round(value, 2) for name, value in phases.items()}}
        self._entries.append(entry)
        # Without a place to write, it is known until the program ends.
        with suppress(OSError):
            self._write(entry)

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"
        if self._path.exists() and self._path.stat().st_size + len(line.encode()) > _MAX_BYTES:
            entries = _read(self._path)
            new = self._path.with_suffix(f".{os.getpid()}.new")
            kept = [json.dumps(old, ensure_ascii=False, separators=(",", ":")) for old in entries[len(entries) // 2 :]]
            new.write_text("".join(f"{old}\n" for old in kept) + line, "utf-8")
            new.replace(self._path)
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line)


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open("rb") as file:
            lines = file.read(2 * _MAX_BYTES).split(b"\n")
    except OSError:
        return []
    return [entry for line in lines if (entry := _entry(line)) is not None]


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("phases"), dict):
        return None
    return entry if all(isinstance(entry.get(name), str) for name in (*Key._fields, "start")) else None


def _is_alike(entry: Mapping[str, Any], key: Key) -> bool:
    return all(not entry[name] or not value or entry[name] == value for name, value in key._asdict().items())
