"""The starts of one server as one feed: what the first one wrote to its end, then what the next one writes."""

from collections import deque
from collections.abc import Callable, Sequence

from sgdoctor.processes.feed import ProcessFeed
from sgdoctor.watching.feeds import Arrival
from sgdoctor.watching.model import Subject


class Succession:
    """See the module. Closing it ends the engines of all of them.

    Args:
        first: the start that goes on.
        on_next: called by whoever reads, before anything of a further start is given.
    """

    speed = 1.0
    learns = True

    def __init__(self, first: ProcessFeed, on_next: Callable[[ProcessFeed], None]) -> None:
        self._feed = first
        self._on_next = on_next
        self._next: deque[ProcessFeed] = deque()

    @property
    def subject(self) -> Subject:
        """The server, as of the start that is read."""
        return self._feed.subject

    def follow(self, feed: ProcessFeed) -> None:
        """Give what a further start writes once all of the ones before was read; for any thread."""
        self._next.append(feed)

    def read(self, timeout: float) -> Sequence[Arrival]:
        """What has arrived; see ``Feed.read``."""
        # In this order: what a start that is over has written waits to be read.
        over = self._feed.over and bool(self._next)
        arrivals = self._feed.read(0.0 if over else timeout)
        if arrivals or not over:
            return arrivals
        self._feed = self._next.popleft()
        self._on_next(self._feed)
        return self._feed.read(timeout)

    def close(self) -> None:
        """End the engine that still runs."""
        for feed in (self._feed, *self._next):
            feed.close()
