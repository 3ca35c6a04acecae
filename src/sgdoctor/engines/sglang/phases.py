"""The course of one start, built while its events are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sgdoctor.engines.base import Phase, PhaseName
from sgdoctor.logs.event import Event

_ORDER: Final = {name: index for index, name in enumerate(PhaseName)}


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Seconds from ``start`` to ``end``; None if one is unknown, they run backwards, or only one knows its zone."""
    if start is None or end is None or (start.tzinfo is None) is not (end.tzinfo is None):
        return None
    seconds = (end - start).total_seconds()
    return seconds if seconds >= 0 else None


@dataclass(slots=True, eq=False, repr=False)
class _Stage:
    name: PhaseName
    start_line: int
    start: datetime | None
    end_line: int
    seconds: float | None = None
    memory: float | None = None
    done: bool = False

    @property
    def took(self) -> float | None:
        """GiB; None where another process let go of more meanwhile, so that nobody can tell."""
        return self.memory if self.memory is None or self.memory >= 0 else None


class Course:
    """Follows a start through its phases; phases only ever move forward.

    The engine announces few beginnings. What has none begins with the event after the end of the one before it:
    ``config`` after the arguments, the pools after the weights, ``warmup`` after "Uvicorn running".
    """

    def __init__(self) -> None:
        self._stages: list[_Stage] = []
        self._next: PhaseName | None = None
        self._next_start: datetime | None = None
        self._last_line = 0
        self._last_time: datetime | None = None
        self._pool_seen = False

    @property
    def current(self) -> PhaseName | None:
        """The phase that the start is in."""
        return self._stages[-1].name if self._stages else None

    def see(self, event: Event) -> None:
        """Take note of an event before it is read."""
        if self._next is not None:
            self._begin(self._next, event.first, self._next_start or event.time)
            self._next = None

    def seen(self, event: Event) -> None:
        """Take note of an event after it was read."""
        self._last_line = max(self._last_line, event.last)
        self._last_time = event.time or self._last_time

    def begin(self, name: PhaseName, event: Event) -> None:
        """A phase begins with this event."""
        self._begin(name, event.first, event.time)

    def _begin(self, name: PhaseName, line: int, time: datetime | None) -> None:
        if self._stages:
            current = self._stages[-1]
            if current.name is name:
                current.done = False
                return
            if _ORDER[name] < _ORDER[current.name]:
                return
            if current.start_line == line:
                # The first line of the engine that the log holds already begins a later phase.
                self._stages.pop()
                self._begin(name, line, time)
                return
            if not current.done:
                current.end_line = max(self._last_line, current.start_line)
                current.done = name is not PhaseName.SHUTDOWN or current.name is PhaseName.SERVING
                if current.seconds is None:
                    current.seconds = seconds_between(current.start, time or self._last_time)
        self._stages.append(_Stage(name, line, time, line))

    def begin_weights(self, event: Event) -> None:
        """Weights are being loaded; before any pool was made they may be those of a draft model."""
        if self.current is PhaseName.KV_CACHE and not self._pool_seen:
            self._stages.pop()
        self.begin(PhaseName.WEIGHTS, event)

    def end(self, name: PhaseName, event: Event, seconds: float | None = None, memory: float | None = None) -> None:
        """The phase ends with this event.

        Args:
            name: which; one that never began is begun here.
            event: the line that says so.
            seconds: as the engine measured it; without it the clock decides. Several ends of a phase add up.
            memory: GiB taken; several ends add up.
        """
        if self.current is not name:
            self.begin(name, event)
        stage = self._stages[-1]
        if stage.name is not name:
            return
        stage.end_line, stage.done = event.last, True
        if memory is not None:
            stage.memory = round((stage.memory or 0) + memory, 4)
        if seconds is not None:
            stage.seconds = round((stage.seconds or 0) + seconds, 4)
        elif stage.seconds is None:
            stage.seconds = seconds_between(stage.start, event.time)

    def then(self, name: PhaseName, event: Event) -> None:
        """A phase begins with the event after this one."""
        self._next, self._next_start = name, event.time

    def end_state_cache(self, event: Event, memory: float | None) -> None:
        """The state cache was allocated: what has been taken for the KV cache until here was the state cache."""
        self._pool_seen = True
        if self.current is PhaseName.KV_CACHE and not self._stages[-1].done:
            self._stages[-1].name = PhaseName.STATE_CACHE
        self.end(PhaseName.STATE_CACHE, event, memory=memory)
        self.then(PhaseName.KV_CACHE, event)

    def add_kv_cache(self, event: Event, memory: float | None) -> None:
        """A KV pool was allocated; more may follow until "Memory pool end"."""
        self._pool_seen = True
        self.end(PhaseName.KV_CACHE, event, memory=memory)

    def finish(self, *, hybrid: bool) -> Sequence[Phase]:
        """The phases so far, in the order of their beginning.

        Args:
            hybrid: whether the model has a state cache, which is made before the KV cache.
        """
        if self._stages and not self._stages[-1].done:
            last = self._stages[-1]
            last.end_line = max(self._last_line, last.start_line)
            if last.seconds is None:
                last.seconds = seconds_between(last.start, self._last_time)
        if hybrid and not self._pool_seen:
            for stage in self._stages:
                if stage.name is PhaseName.KV_CACHE:
                    stage.name = PhaseName.STATE_CACHE
        return tuple(
            Phase(stage.name, stage.start_line, stage.end_line, stage.start, stage.seconds, stage.took, stage.done)
            for stage in self._stages
        )
