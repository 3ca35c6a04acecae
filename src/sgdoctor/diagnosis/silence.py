"""How long a start made no progress, by the clock of its own log."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from sgdoctor.diagnosis.course import seconds_between
from sgdoctor.engines.base import Fact, Phase, PhaseName, Reading
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.templates import template_of

# Longest silence that is normal in a phase, seconds. Weights: cold page cache and network mounts. Graph capture: a
# cold kernel cache compiles without a line. Warm-up: SGLang 0.5.15 itself waits 600 s for the first answer.
_PATIENCE: Final[Mapping[PhaseName, float]] = {
    PhaseName.DOCKER: 120,
    PhaseName.ARGS: 180,
    PhaseName.CONFIG: 300,
    PhaseName.DISTRIBUTED: 300,
    PhaseName.WEIGHTS: 600,
    PhaseName.STATE_CACHE: 180,
    PhaseName.KV_CACHE: 180,
    PhaseName.GRAPH_CAPTURE: 600,
    PhaseName.HTTP: 120,
    PhaseName.WARMUP: 660,
}
_USUAL: Final = 300.0
# Shorter ones say nothing in any phase, and are not worth a fact.
_WORTH_TELLING: Final = 60.0


def patience(phases: Sequence[Phase]) -> float:
    """Seconds without a line that are normal in the phase that a start is in."""
    return _PATIENCE.get(phases[-1].name, _USUAL) if phases else _USUAL


def silence(events: Sequence[Event], reading: Reading) -> Fact | None:
    """The fact ``silent_seconds``: from the last progress of a start to the last clock in its log.

    A line that repeats an earlier one, an access line and lines of other programs are no progress: they come from a
    process that waits, or from a probe.

    Args:
        events: of the start, in log order.
        reading: of them.

    Returns:
        None once the server is ready or was told to stop, and for what is too short to say anything.
    """
    if reading.ready_line is not None or reading.shutdown_line is not None or not reading.phases:
        return None
    phase = reading.phases[-1]
    if phase.name is PhaseName.SERVING:
        return None
    since: datetime | None = None
    latest: datetime | None = None
    number = 0
    seen: set[str] = set()
    for event in events:
        moved = _is_progress(event, seen) or event.first <= phase.start_line
        gap = seconds_between(since, event.time)
        if event.time is not None and (latest is None or (gap is not None and gap > 0)):
            latest = event.time
        if moved and (gap is None or gap >= 0):
            # A bar has no clock; then the next clock counts.
            since, number = event.time, event.line.number
        elif since is None:
            since = event.time
    seconds = seconds_between(since, latest)
    if seconds is None or seconds < _WORTH_TELLING:
        return None
    return Fact("silent_seconds", seconds, number, derived=True)


def _is_progress(event: Event, seen: set[str]) -> bool:
    if event.kind is EventKind.PROGRESS:
        return True
    if event.kind is not EventKind.LINE or not event.line.engine:
        return False
    template = template_of(event.text)
    new = template not in seen
    seen.add(template)
    return new
