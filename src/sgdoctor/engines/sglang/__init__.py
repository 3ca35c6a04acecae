"""SGLang, 0.4.6 to 0.5.23."""

from collections.abc import Iterable, Sequence
from typing import Final

from sgdoctor.engines.base import Engine, Reading
from sgdoctor.engines.sglang import markers, starts, untrusted
from sgdoctor.engines.sglang.reading import read_events
from sgdoctor.logs.event import Event
from sgdoctor.logs.line import Line


class Sglang:
    """The engine protocol for SGLang."""

    name = "sglang"
    start_markers: Sequence[str] = markers.START_MARKERS
    ready_marker = markers.READY
    markers: Sequence[str] = markers.MARKERS

    def begins_attempt(self, event: Event) -> bool:
        """Whether this event shows that a process was just started (``split_attempts`` finds the first such one)."""
        return starts.sign_of(event) is not None

    def split_attempts(self, events: Sequence[Event]) -> list[slice]:
        """The starts of a log as slices of ``events``."""
        return starts.split_attempts(events)

    def is_data(self, line: Line) -> bool:
        """Whether ``line`` quotes what others wrote."""
        return untrusted.is_data(line)

    def read(self, events: Iterable[Event]) -> Reading:
        """Phases and facts of one attempt."""
        return read_events(events)


SGLANG: Final[Engine] = Sglang()
