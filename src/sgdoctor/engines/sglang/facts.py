"""The facts of one attempt while they are being collected, and order-free reading of ``key=value`` lines."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from sgdoctor.engines.base import Fact
from sgdoctor.logs.line import Line
from sgdoctor.patterns import lazy_pattern

_NUMBER: Final = r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
MEBI: Final[dict[str, float]] = {"B": 1 / 2**20, "KiB": 1 / 1024, "MiB": 1.0, "GiB": 1024.0, "TiB": 1024.0**2}


@lru_cache(maxsize=64)
def _keyed(key: str) -> re.Pattern[str]:
    # Separators over the versions: `key=1`, `key: 1`, `key size: 1`, and `key 1` in shortened quotations.
    return lazy_pattern(rf"(?<![\w#]){re.escape(key)}(?: size)?\s*[:=]?\s*{_NUMBER}")


def number(text: str, key: str) -> float | None:
    """The number that ``text`` gives for ``key``, wherever it stands; None if it gives none."""
    found = _keyed(key).search(text) if key in text else None
    return float(found[1]) if found else None


def whole(text: str, key: str) -> int | None:
    """Like ``number``, for counts."""
    value = number(text, key)
    return None if value is None else int(value)


@lru_cache(maxsize=16)
def _worded(key: str) -> re.Pattern[str]:
    return lazy_pattern(rf"(?<!\w){re.escape(key)}\s*[:=]\s*([\w.+/-]+)")


def word(text: str, key: str) -> str | None:
    """The word that ``text`` gives for ``key``; None if it gives none."""
    found = _worded(key).search(text) if key in text else None
    return found[1].rstrip(".") if found else None


@lru_cache(maxsize=256)
def is_foremost(rank: str) -> bool:
    """Whether a rank tag names the first card (``TP0``, ``DP0 TP0``) or none."""
    return not re.search(r"[1-9]", rank)


class FactBook:
    """Collects facts. A value of the first card is never replaced by that of another one; else the last one counts."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._foremost: dict[str, bool] = {}

    def put(self, name: str, value: Any, line: Line, *, derived: bool = False) -> None:
        """Remember ``value``; an unknown one (None) is left out."""
        if value is None:
            return
        foremost = is_foremost(line.rank)
        if name in self._facts and not foremost and self._foremost[name]:
            return
        self._facts[name] = Fact(name, value, line.number, derived)
        self._foremost[name] = foremost

    def put_first(self, name: str, value: Any, line: Line) -> None:
        """Remember ``value`` unless this fact is known (from a card no less foremost)."""
        if name not in self._facts or (is_foremost(line.rank) and not self._foremost[name]):
            self.put(name, value, line)

    def put_argument(self, name: str, value: Any, line: Line) -> None:
        """Remember a field of ``server_args``; None is a value here."""
        self._facts[f"args.{name}"] = Fact(f"args.{name}", value, line.number)
        self._foremost[f"args.{name}"] = True

    def count(self, name: str, line: Line) -> None:
        """Add one to a counting fact."""
        self.put(name, (self.value(name) or 0) + 1, line)

    def raise_to(self, name: str, value: float | None, line: Line) -> None:
        """Keep the largest value of a fact."""
        if value is not None and value >= (self.value(name) or 0):
            self.put(name, value, line)

    def drop(self, name: str) -> None:
        """Forget a fact."""
        self._facts.pop(name, None)

    def value(self, name: str) -> Any:
        """The value of a fact; None if it is unknown."""
        fact = self._facts.get(name)
        return None if fact is None else fact.value

    def line(self, *names: str) -> int:
        """The line of the first of ``names`` that is known; 0 if none is."""
        return next((self._facts[name].line for name in names if name in self._facts), 0)

    def add_derived(self, name: str, value: Any, line: int) -> None:
        """Remember a value that was computed from others; ``line`` proves the decisive one."""
        if value is not None:
            self._facts[name] = Fact(name, value, line, derived=True)
            self._foremost[name] = True

    @property
    def facts(self) -> Mapping[str, Fact]:
        """All facts by name."""
        return self._facts
