"""When to ask again for something that is not there."""

from collections.abc import Callable
from time import monotonic
from typing import Final

_FIRST: Final = 1.0
_LONGEST: Final = 30.0


class Backoff:
    """Waits longer after each failure in a row, from one second to half a minute."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Counts on ``clock``, in seconds."""
        self._clock = clock
        self._wait = 0.0
        self._next = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to ask."""
        return not self._wait or self._clock() >= self._next

    def failed(self) -> None:
        """It was asked and is not there."""
        self._wait = min(self._wait * 2, _LONGEST) or _FIRST
        self._next = self._clock() + self._wait

    def succeeded(self) -> None:
        """It was asked and is there."""
        self._wait = 0.0
