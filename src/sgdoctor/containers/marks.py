"""Where a log was left off, so that reading on after a break neither repeats nor skips a line."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.containers.demux import Entry

# Both streams are stamped before they are written, so their times may be a little out of order in the log.
_SLACK: Final = 10**9


@dataclass(slots=True)
class _Mark:
    """The last line given of one stream: its time, and how many lines of that very time were given."""

    time: int
    count: int = 1
    passed: int = 0
    skipping: bool = False


@dataclass(slots=True)
class Marks:
    """High-water marks of the streams of one container.

    Attributes:
        lost: set while reading on, when a new line came and the last one given before the break did not: the log was
            rotated in between, and nobody can tell what stood in front of that line.
    """

    lost: bool = False
    _marks: dict[int, _Mark] = field(default_factory=dict)
    _last: tuple[int, int] | None = None
    _resuming: bool = False
    _seen: bool = True

    @property
    def since(self) -> int | None:
        """From when on the log must be read to miss nothing; None before anything was given."""
        return None if self._last is None else self._last[1] - _SLACK

    @property
    def last(self) -> int | None:
        """Time of the last line given."""
        return None if self._last is None else self._last[1]

    def resume(self) -> None:
        """The log will be read again from ``since`` on."""
        self._resuming = self._last is not None
        self._seen = not self._resuming
        self.lost = False
        for mark in self._marks.values():
            mark.skipping, mark.passed = True, 0

    def fresh(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Those of ``entries`` that were not given before; they count as given from now on."""
        if self._resuming:
            entries = [entry for entry in entries if self._is_new(entry)]
        if not entries:
            return entries
        self._advance(entries)
        return entries

    def _is_new(self, entry: Entry) -> bool:
        mark = self._marks.get(entry.stream)
        if mark is not None and mark.skipping:
            if entry.time < mark.time:
                return False
            if entry.time == mark.time and mark.passed < mark.count:
                mark.passed += 1
                self._seen = self._seen or (entry.stream, entry.time) == self._last
                return False
            mark.skipping = False
        if not self._seen:
            self.lost = self._seen = True
        if not any(other.skipping for other in self._marks.values()):
            self._resuming = False
        return True

    def _advance(self, entries: Sequence[Entry]) -> None:
        seen: set[int] = set()
        for entry in reversed(entries):
            stream = entry.stream
            if stream in seen:
                continue
            seen.add(stream)
            time = entry.time
            # Two lines of one stream share a time only where the clock is coarse; then the resumed read counts them.
            count = 0
            for other in reversed(entries):
                if other.stream == stream:
                    if other.time != time:
                        break
                    count += 1
            before = self._marks.get(stream)
            if before is None:
                self._marks[stream] = _Mark(time, count)
            else:
                if before.time == time:
                    count += before.count
                before.time, before.count, before.passed = time, count, 0
            if len(seen) == 3:
                break
        self._last = (entries[-1].stream, entries[-1].time)
