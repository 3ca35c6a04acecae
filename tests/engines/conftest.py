from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.line import Line

REAL = Path(__file__).parents[2] / "fixtures" / "logs" / "real"


def events_in(data: bytes) -> list[Event]:
    return list(fold(read_lines(data), SGLANG.is_data))


@pytest.fixture
def real_bytes() -> Callable[[str], bytes]:
    return lambda name: (REAL / f"{name}.log").read_bytes()


@pytest.fixture
def real(real_bytes: Callable[[str], bytes]) -> Callable[[str], Sequence[Event]]:
    return lambda name: events_in(real_bytes(name))


@pytest.fixture
def parse() -> Callable[[str], Sequence[Event]]:
    """Events of a log that is given as text."""
    return lambda text: events_in(text.encode())


@pytest.fixture
def composed() -> Callable[..., Sequence[Event]]:
    """Events of lines of the engine, one second apart, made by hand."""

    def make(*texts: str, rank: str = "") -> Sequence[Event]:
        events = []
        for number, text in enumerate(texts, 1):
            line = Line(number, 0, text, datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC), rank, engine=True)
            kind = EventKind.DATA if SGLANG.is_data(line) else EventKind.LINE
            events.append(Event(kind, " ".join(text.split()), line, number, number))
        return events

    return make
