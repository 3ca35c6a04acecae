"""Short pauses of the garbage collector, at times when nobody waits.

A full collection goes through every object that may be part of a cycle: 130 ms for all of the app's, and it comes when
it likes. Three things keep a busy log from being felt: what is there when the app is ready, rules, style sheets and
modules, is left out (none of it becomes garbage before the app ends); rows of the screen are freed without it; and full
collections are made here, between two keys.
"""

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from textual.strip import Strip

_THRESHOLDS: Final = (700, 10, 1_000_000)
"""Young objects as Python has it (``sgdoctor.__main__`` wants a short start instead), the old ones never by itself."""
_DUE: Final = 10
"""So many collections of younger objects make a full one worth while, as Python has it."""
_QUIET_SECONDS: Final = 0.12
_LONGEST_SECONDS: Final = 3.0
"""Without a full collection while keys are pressed."""
_Divide = Callable[[Strip, Iterable[int]], Sequence[Strip]]
_DIVIDE: Final[_Divide] = Strip.divide


class Heap:
    """The memory of the running app: ``settle`` when it is ready, ``tidy`` now and then, ``release`` when it ends."""

    def __init__(self) -> None:
        self._thresholds = gc.get_threshold()
        self._settled = False
        self._used = 0.0
        self._tidied = 0.0

    def settle(self) -> None:
        """Everything that is there now stays, and rows are freed at once from now on."""
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*_THRESHOLDS)
        gc.freeze()
        Strip.divide = _divide_freed  # type: ignore[method-assign,assignment]
        self._settled = True

    def release(self) -> None:
        """As it was."""
        if self._settled:
            gc.unfreeze()
            gc.set_threshold(*self._thresholds)
            Strip.divide = _DIVIDE  # type: ignore[method-assign,assignment]
            self._settled = False

    def hold(self) -> None:
        """Someone has pressed a key and waits for what it does."""
        self._used = time.monotonic()

    def tidy(self) -> None:
        """Collect, if there may be something and nobody waits."""
        now = time.monotonic()
        waited_for = now < self._used + _QUIET_SECONDS and now < self._tidied + _LONGEST_SECONDS
        if self._settled and gc.get_count()[2] >= _DUE and not waited_for:
            gc.collect()
            self._tidied = now


def _divide_freed(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    """``Strip.divide`` without its cycle.

    A strip remembers its pieces, and one that is cut nowhere but at its end is its own piece and holds itself (Textual
    8.2). A busy log leaves 13,000 objects a second in such cycles.
    """
    places = list(cuts)
    return [strip] if places == [strip.cell_length] else _DIVIDE(strip, places)
