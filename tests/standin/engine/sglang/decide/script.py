"""A run that is written instead of replayed: lines with their times, and pieces of recorded logs at new times."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from ..places import LOGS

_STAMP: Final = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_BAR_WIDTH: Final = 10


class Clock:
    """The time of each line.

    Args:
        begin: when the start begins.
        factor: recorded seconds that pass in one second; 0: none pass.
    """

    def __init__(self, begin: datetime, factor: float) -> None:
        self._begin = begin
        self._factor = factor

    def stamp(self, seconds: float) -> str:
        """The time of a line so many recorded seconds after the beginning."""
        passed = seconds / self._factor if self._factor > 0 else 0.0
        return (self._begin + timedelta(seconds=passed)).strftime(_FORMAT)


class Script:
    """Collects what one start prints.

    Attributes:
        at: recorded seconds since the beginning, where the next line stands.
        pieces: (seconds, bytes), in order.
    """

    def __init__(self, clock: Clock) -> None:
        self.at = 0.0
        self.pieces: list[tuple[float, bytes]] = []
        self._clock = clock
        self.tag = ""

    def wait(self, seconds: float) -> None:
        """Let recorded time pass."""
        self.at += seconds

    def raw(self, text: str) -> None:
        """Add text as it is."""
        self.pieces.append((self.at, text.encode()))

    def line(self, text: str) -> None:
        """Add a line of the engine's logger."""
        self.raw(f"[{self._clock.stamp(self.at)}{self.tag}] {text}\n")

    def copy(self, text: str) -> None:
        """Add a piece of a recorded log; the time between its lines stays."""
        first: datetime | None = None
        begin = self.at
        for line in text.splitlines(keepends=True):
            found = _STAMP.match(line)
            if found is not None:
                moment = datetime.fromisoformat(found[1])
                first = first or moment
                self.at = begin + (moment - first).total_seconds()
            rest = line if found is None else f"[{self._clock.stamp(self.at)}{line[found.end() :]}"
            self.raw(rest)

    def bar(self, labels: Sequence[str], seconds: float, *, fail_at: int | None = None) -> None:
        """Add a progress bar of tqdm.

        Args:
            labels: what stands before the bar, one for each step.
            seconds: that all steps take together.
            fail_at: step that does not end; None if all do.
        """
        total, each = len(labels), seconds / len(labels)
        self.raw(f"\r  0%|{' ' * _BAR_WIDTH}| 0/{total} [00:00<?, ?it/s]")
        for done, label in enumerate(labels):
            self.raw(f"\r{label}: {_bar(done, total, each)}")
            if done == fail_at:
                break
            self.wait(each)
            self.raw(f"\r{label}: {_bar(done + 1, total, each)}")
        self.raw("\n")


def recorded(name: str) -> str:
    """A recorded log; carriage returns stay."""
    return _read(name)


@cache
def _read(name: str) -> str:
    return (LOGS / f"{name}.log").read_bytes().decode()


def cut(name: str, begin: str, end: str | None = None) -> str:
    """A recorded log from the line with `begin` to its end, or to before the line with `end`."""
    log = recorded(name)
    start = log.rfind("\n", 0, log.index(begin)) + 1
    stop = len(log) if end is None else log.rfind("\n", 0, log.index(end, start)) + 1
    return log[start:stop]


def put(text: str, numbers: Iterable[tuple[str, str]]) -> str:
    """Replace what the patterns find; every pattern has to be found."""
    for pattern, instead in numbers:
        text, found = re.subn(pattern, instead.replace("\\", r"\\"), text)
        assert found, f"not in the recorded text: {pattern}"
    return text


def _bar(done: int, total: int, each: float) -> str:
    share = done / total
    full, rest = divmod(int(share * _BAR_WIDTH * 8), 8)
    drawn = "█" * full + (_BLOCKS[rest] if full < _BAR_WIDTH else "")
    speed = "?it/s" if not done else f"{each:5.2f}s/it" if each >= 1 else f"{1 / each if each else 0:5.2f}it/s"
    left = "?" if not done else _clock((total - done) * each)
    return f"{share:4.0%}|{drawn:<{_BAR_WIDTH}}| {done}/{total} [{_clock(done * each)}<{left}, {speed}]"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes:02}:{seconds:02}"


def ranks(number: int) -> Iterator[str]:
    """The tags of the schedulers: none for a single one."""
    yield from [""] if number == 1 else [f" TP{rank}" for rank in range(number)]
