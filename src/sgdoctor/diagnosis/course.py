"""The course of an attempt: when it became ready, whether it lived on after an event, how it ended."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sgdoctor.engines.base import PhaseName, Reading
from sgdoctor.logs.event import Event, EventKind

# A failed SGLang server is gone 5 s after its scheduler (0.5.15: 65 s where it waits for a core dump, and prints no
# batches meanwhile), so a batch this much later was served by a server that lived on.
_LIVED_ON_SECONDS: Final = 10.0
# Clock differences up to this are the order in which processes got to print, not the order of what happened.
CLOCK_SLACK_SECONDS: Final = 1.0
# Printed by the handler that ends the process: "Scheduler hit an exception:" and its likes, all versions.
_DEADLY_HEADER: Final = "hit an exception"
_SERVING_FACTS: Final = ("decode_tokens_per_second", "prefill_tokens_per_second", "decode_lines", "token_usage")
# Just before the ready line a process that is about to die may still answer the warm-up.
_LAST_STEPS: Final = frozenset({PhaseName.HTTP, PhaseName.WARMUP, PhaseName.SERVING})
# Stages that come before the engine itself speaks.
_OUTER_PHASES: Final = frozenset({PhaseName.DOCKER, PhaseName.SHUTDOWN})

# Stages that the engine reaches only with its processes alive: the ones before are over before its first own line.
_LATER_PHASES: Final = frozenset(PhaseName) - {
    PhaseName.DOCKER,
    PhaseName.ARGS,
    PhaseName.CONFIG,
    PhaseName.SHUTDOWN,
}


def seconds_between(earlier: datetime | None, later: datetime | None) -> float | None:
    """Seconds from one clock to another; None if one is missing or only one of them names its zone."""
    if earlier is None or later is None or (earlier.tzinfo is None) != (later.tzinfo is None):
        return None
    return (later - earlier).total_seconds()


def precedes(first: Event, second: Event) -> bool:
    """Whether ``first`` happened before ``second``: by the clock where they are clearly apart, else by place."""
    gap = seconds_between(first.time, second.time)
    if gap is not None and abs(gap) > CLOCK_SLACK_SECONDS:
        return gap > 0
    return first.line.number < second.line.number


@dataclass(frozen=True, slots=True)
class Course:
    """What became of an attempt.

    Attributes:
        reading: phases and facts.
        events: of the attempt, in log order; may have gaps.
        engine_seen: whether the engine itself printed anything.
        served: the last event that shows the server at work on a request; None if there is none.
        exits: events that say how a process ended, before a shutdown that was asked for.
    """

    reading: Reading
    events: Sequence[Event]
    engine_seen: bool
    served: Event | None
    exits: tuple[Event, ...]

    @classmethod
    def of(cls, events: Sequence[Event], reading: Reading) -> "Course":
        """The course that the events of one attempt and their reading tell."""
        served_line = max((reading.facts[name].line for name in _SERVING_FACTS if name in reading.facts), default=0)
        served = next((event for event in events if event.first <= served_line <= event.last), None)
        shutdown = reading.shutdown_line
        return cls(
            reading=reading,
            events=events,
            engine_seen=reading.recognised,
            served=served,
            exits=tuple(
                event
                for event in events
                if event.kind is EventKind.EXIT and (shutdown is None or event.first < shutdown)
            ),
        )

    @property
    def ready(self) -> bool:
        """Whether the server became ready at some time."""
        return self.reading.ready_line is not None

    @property
    def serving(self) -> bool:
        """Whether the log shows the server at work, its ready line or not (an excerpt may begin later)."""
        return self.ready or self.served is not None

    def after_shutdown(self, event: Event) -> bool:
        """Whether the event belongs to a shutdown that was asked for."""
        return self.reading.shutdown_line is not None and event.line.number >= self.reading.shutdown_line

    def survived(self, event: Event) -> bool:
        """Whether the server became ready after the event."""
        return self.reading.ready_line is not None and self.reading.ready_line > event.line.number

    def almost_ready(self, event: Event) -> bool:
        """Whether the event lies in the last steps before ready, where surviving it for a moment proves little."""
        return self.reading.phase_at(event.line.number) in _LAST_STEPS

    def served_on(self, event: Event) -> bool:
        """Whether the server worked on requests well after the event."""
        if self.served is None or self.served.line.number <= event.last:
            return False
        gap = seconds_between(self._latest_time(event), self.served.time)
        return gap is not None and gap > _LIVED_ON_SECONDS

    def _latest_time(self, event: Event) -> datetime | None:
        """When the event had happened at the latest: few programs but the engine print a clock."""
        if event.time is not None:
            return event.time
        after = bisect_right(self.events, event.last, key=lambda other: other.first)
        return next((later.time for later in self.events[after:] if later.time is not None), None)

    def went_on(self, event: Event) -> bool:
        """Whether the start made progress after the event: ready, a later phase, requests served."""
        return (
            self.survived(event)
            or self.served_on(event)
            or any(
                phase.start_line > event.last and phase.name is not PhaseName.SHUTDOWN for phase in self.reading.phases
            )
        )

    def got_over(self, event: Event) -> bool:
        """Whether an event was followed by a later stage of the start: then it killed nobody.

        A traceback ends its own process unless it was caught and only printed; with several ranks another one may go on
        a little longer, so nothing is concluded there.
        """
        phases = self.reading.phases
        if event.kind is EventKind.TRACEBACK:
            if _DEADLY_HEADER in event.header or any(other.rank for other in self.events):
                return False
        elif event.kind is not EventKind.LINE:
            return False
        elif any(phase.done and phase.end_line > event.last and phase.name in _LATER_PHASES for phase in phases):
            return True  # it stands within a stage that came to its end
        return any(phase.start_line > event.last and phase.name in _LATER_PHASES for phase in phases)

    def engine_began_after(self, event: Event) -> bool:
        """Whether the engine's first phase began only after the event."""
        own = [phase.start_line for phase in self.reading.phases if phase.name not in _OUTER_PHASES]
        return bool(own) and min(own) > event.last
