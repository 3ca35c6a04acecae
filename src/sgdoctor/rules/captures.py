"""Named groups of a pattern as typed values with bounds: the only way from a log into a command."""

import math
from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.patterns import lazy_pattern
from sgdoctor.rules.model import Capture
from sgdoctor.rules.template import safe

_SIZE: Final = lazy_pattern(r"(-?[\d,]*\.?\d+)\s*([kKMGTkmgt]?)(i?)[bB]?(?:ytes)?")
_FLAG: Final = lazy_pattern(r"--[A-Za-z][A-Za-z0-9._-]{0,80}")
_VERSION: Final = lazy_pattern(r"v?\d{1,6}(?:\.\d{1,6}){0,5}(?:[-_.+]?[A-Za-z][A-Za-z0-9.+]{0,40})?")
_SECONDS: Final = lazy_pattern(r"(-?[\d,]*\.?\d+)\s*(ms|s|sec|seconds?|m|min|minutes?|h|hours?)?")
_CLOCK: Final = lazy_pattern(r"(?:(\d+):)?(\d{1,2}):(\d{2})")
_UNIT_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_POWER: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def typed(captures: Mapping[str, Capture] | None, groups: Mapping[str, str | None]) -> dict[str, Any]:
    """The values of named groups.

    Args:
        captures: type and bounds by name; a group that is not declared is a ``str``.
        groups: what the pattern caught.

    Returns:
        Values by name. A group that did not take part, does not read as its type or is out of its bounds is missing.
    """
    values: dict[str, Any] = {}
    for name, text in groups.items():
        capture = (captures or {}).get(name, Capture("str"))
        value = None if text is None else read(capture.type, text)
        if value is None:
            continue
        if isinstance(value, int | float) and (
            (capture.min is not None and value < capture.min) or (capture.max is not None and value > capture.max)
        ):
            continue
        values[name] = value
    return values


def read(kind: str, text: str) -> Any:
    """A text as a value of one of ``CAPTURE_TYPES``; None where it is not one.

    ``gib`` and ``mib`` read a number with its unit (``512 MB`` is 0.5 GiB: SGLang and CUDA write GB for GiB), one
    without a unit is already of that size; ``bytes`` reads the same
    into bytes; ``seconds`` reads ``1:30`` and ``1.5 min``.
    """
    text = text.strip()
    if len(text) > 4096:
        return None
    try:
        if kind == "int":
            return int(text.replace(",", ""))
        if kind == "float":
            return _finite(float(text.replace(",", "")))
        if kind in ("gib", "mib", "bytes"):
            return _size(text, {"gib": 3, "mib": 2, "bytes": 0}[kind])
        if kind == "seconds":
            return _seconds(text)
    except (ValueError, OverflowError):
        return None
    if kind == "flag":
        return text if _FLAG.fullmatch(text) else None
    if kind == "version":
        return text if _VERSION.fullmatch(text) else None
    return safe(text) or None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _size(text: str, power: int) -> float | int | None:
    match = _SIZE.fullmatch(text)
    if match is None:
        return None
    unit = match[2].lower()
    has_unit = text[-1].isalpha()
    number = float(match[1].replace(",", ""))
    scaled = number * 1024.0 ** (_POWER[unit] - power) if has_unit else number
    return int(scaled) if power == 0 else _finite(scaled)


def _seconds(text: str) -> float | None:
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1] or 0) * 3600.0 + int(clock[2]) * 60.0 + int(clock[3])
    match = _SECONDS.fullmatch(text)
    if match is None:
        return None
    unit = match[2] or "s"
    factor = _UNIT_SECONDS["ms"] if unit == "ms" else _UNIT_SECONDS[unit[0]]
    return _finite(float(match[1].replace(",", "")) * factor)
