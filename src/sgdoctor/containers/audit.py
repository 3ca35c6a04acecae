"""Whether a followed log that is rotated was given whole: the engine skips lines without a word.

A reader that is behind when the file is rotated goes on with the new file (measured with Docker 20.10: 11,000 of 20,000
fast lines). So what was given is compared with what is still on disk whenever enough was written for a rotation and the
output pauses or ends.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.containers.demux import Entry
from sgdoctor.containers.records import LinesLost
from sgdoctor.texts import Text

_KEPT: Final = 200_000
# The file on disk holds more than the lines: JSON, streams and times.
_SHARE: Final = 4


@dataclass(slots=True)
class Audit:
    """The lines given last, as numbers made of time and stream.

    Attributes:
        rotates_at: size of a log file; None where logs are not rotated, and nothing needs to be done.
    """

    rotates_at: int | None
    _given: "array[int]" = field(default_factory=lambda: array("q"))
    _compared: int = 0
    _bytes: int = 0
    _newest: dict[int, int] = field(default_factory=dict)

    def without_repeats(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Lines that the engine sends for the first time.

        After a rotation it may send the beginning of the new file twice (Docker 20.10, ``max-file=1``).
        """
        if self.rotates_at is None:
            return entries
        given: set[int] | None = None
        fresh: list[Entry] = []
        for entry in entries:
            if entry.time <= self._newest.get(entry.stream, 0):
                if given is None:
                    given = {*self._given, *map(_key, fresh)}
                if _key(entry) in given:
                    continue
            else:
                self._newest[entry.stream] = entry.time
            if given is not None:
                given.add(_key(entry))
            fresh.append(entry)
        return fresh

    def note(self, entries: Sequence[Entry], size: int) -> None:
        """Remember that these lines were given; ``size`` is their length in bytes."""
        if self.rotates_at is None:
            return
        self._bytes += size
        self._given.extend([_key(entry) for entry in entries])
        if (excess := len(self._given) - _KEPT) > _KEPT:
            del self._given[:excess]
            self._compared = max(0, self._compared - excess)

    @property
    def due(self) -> bool:
        """Whether the log may have been rotated since the last comparison."""
        return (
            self.rotates_at is not None
            and self._bytes * _SHARE >= self.rotates_at
            and self._compared < len(self._given)
        )

    @property
    def since(self) -> int:
        """From when on the log on disk is to be compared, in nanoseconds since the epoch."""
        return min(self._given[self._compared :]) >> 1

    def compare(self, on_disk: Iterable[Entry]) -> LinesLost | None:
        """What is missing, judged by the log on disk from ``since`` on."""
        given = set(self._given[self._compared :])
        first, last = min(given), max(given)
        self._compared = len(self._given)
        self._bytes = 0
        missing = 0
        oldest: int | None = None
        for entry in on_disk:
            key = _key(entry)
            oldest = key if oldest is None else min(oldest, key)
            # Later ones are on their way.
            missing += first < key < last and key not in given
        if missing:
            return LinesLost(
                Text(
                    f"{missing} lines or more were lost: the log was rotated faster than it could be read. "
                    "Raise max-size of its log driver.",
                    f"至少丢失了 {missing} 行：日志轮转的速度快于读取速度。请调大日志驱动的 max-size。",
                ),
                missing,
            )
        if oldest is None or oldest > first:
            return LinesLost(
                Text(
                    "Lines may have been lost: the log was rotated away while it was being read. "
                    "Raise max-size or max-file of its log driver.",
                    "可能有日志行丢失：日志在读取过程中已被轮转清除。请调大日志驱动的 max-size 或 max-file。",
                ),
                certain=False,
            )
        return None


def _key(entry: Entry) -> int:
    return entry.time << 1 | (entry.stream & 1)
