"""Time stamps of the container engine as nanoseconds since the epoch: they name lines, so nothing may be rounded."""

import calendar
import re
from typing import Final

# Docker writes nine digits and UTC; podman drops trailing zeros and writes the local offset.
STAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d)) ")
_TEXT: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$")
_NEVER_YEAR: Final = "0001"
_SECOND: Final = 10**9


def whole_seconds(text: str) -> int:
    """``2026-11-30T12:00:00`` as seconds since the epoch, taken for UTC."""
    year, month, day, hour, minute, second = map(int, re.split("[-T:]", text))
    return calendar.timegm((year, month, day, hour, minute, second))


def nanoseconds(text: str | None) -> int | None:
    """A time of ``docker inspect``; None where it says "never" (the year 1) or nothing that can be read."""
    found = _TEXT.match(text or "")
    if found is None or found[1].startswith(_NEVER_YEAR):
        return None
    zone = found[3]
    offset = 0 if zone == "Z" else (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60) * (-1 if zone[0] == "-" else 1)
    return (whole_seconds(found[1]) - offset) * _SECOND + int((found[2] or "0").ljust(9, "0"))


def seconds_and_nanos(time: int) -> str:
    """As the API takes it: ``seconds.nanoseconds``."""
    return f"{time // _SECOND}.{time % _SECOND:09d}"


def iso(time: int | None) -> str | None:
    """In RFC 3339, UTC, with nanoseconds."""
    if time is None:
        return None
    import time as clock  # noqa: PLC0415

    return clock.strftime("%Y-%m-%dT%H:%M:%S", clock.gmtime(time // _SECOND)) + f".{time % _SECOND:09d}Z"
