"""What the rest of sgdoctor asks of an engine."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from sgdoctor.logs.event import Event
from sgdoctor.logs.line import Line


class PhaseName(StrEnum):
    """The stages of a start, in order."""

    DOCKER = "docker"
    ARGS = "args"
    CONFIG = "config"
    DISTRIBUTED = "distributed"
    WEIGHTS = "weights"
    STATE_CACHE = "state_cache"
    KV_CACHE = "kv_cache"
    GRAPH_CAPTURE = "graph_capture"
    HTTP = "http"
    WARMUP = "warmup"
    SERVING = "serving"
    SHUTDOWN = "shutdown"


class Fact(NamedTuple):
    """A typed value read from an attempt.

    Attributes:
        name: from the vocabulary of ``docs/facts.md``, e.g. ``weights_gib`` or ``args.mem_fraction_static``.
        value: a number, string, bool, tuple or None (``None`` is a value that the engine printed as ``None``).
        line: number of the line it was read from.
        derived: whether it was computed from other facts rather than read.
    """

    name: str
    value: Any
    line: int
    derived: bool = False


class Phase(NamedTuple):
    """One stage of a start.

    Attributes:
        name: which.
        start_line: number of the line that began it.
        end_line: number of the last line seen in it.
        start: clock at its beginning, where the log has clocks.
        seconds: how long it took, by the engine's own ``elapsed=`` where printed, else by the clock; None if unknown.
        memory_gib: GPU memory that it took, where the log says so; None if unknown.
        done: whether its end was seen.
    """

    name: PhaseName
    start_line: int
    end_line: int
    start: datetime | None = None
    seconds: float | None = None
    memory_gib: float | None = None
    done: bool = False


class Reading(NamedTuple):
    """What an engine reads from the events of one attempt.

    Attributes:
        phases: in the order of their beginning, each name at most once.
        facts: by name; of several values of one fact the last one counts.
        ready_line: number of the line that says that the server serves; None if it never did.
        shutdown_line: number of the line on which an *asked for* shutdown (SIGTERM, Ctrl-C) began; None if none did.
        recognised: whether any line was the engine's own.
    """

    phases: tuple[Phase, ...]
    facts: Mapping[str, Fact]
    ready_line: int | None
    shutdown_line: int | None
    recognised: bool = False

    def phase_at(self, number: int) -> PhaseName | None:
        """The phase that the log was in at line ``number``; None before the first one."""
        current: PhaseName | None = None
        for phase in self.phases:
            if phase.start_line > number:
                break
            current = phase.name
        return current


class Engine(Protocol):
    """One engine: which texts to look for, where its starts begin, what its events say."""

    name: str
    ready_marker: str
    """How the line begins that says that the server serves."""

    @property
    def start_markers(self) -> Sequence[str]:
        """Literals one of which stands on every line that can begin an attempt."""
        ...

    @property
    def markers(self) -> Sequence[str]:
        """Literals of every line that ``read`` needs (phases and facts), start markers included; 6+ characters each.

        Lines that a busy server prints by the million are left out: ``read`` gets samples of those.
        """
        ...

    def begins_attempt(self, event: Event) -> bool:
        """Whether this event is the first line of a new start (not merely text that mentions one)."""
        ...

    def split_attempts(self, events: Sequence[Event]) -> list[slice]:
        """The starts of a log as slices of ``events``: at least one, without gaps, in log order.

        ``events`` may have gaps. What stands before the first sign of a start belongs to it; what stands between the
        death of one start and the first sign of the next belongs to the next.
        """
        ...

    def is_data(self, line: Line) -> bool:
        """Whether a line is text of others (prompts, request dumps, access lines, arguments), never matched."""
        ...

    def read(self, events: Iterable[Event]) -> Reading:
        """Phases and facts of one attempt. ``events`` are in log order and may have gaps."""
        ...
