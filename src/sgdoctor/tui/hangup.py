"""A terminal that goes away: the window was closed, the connection broke."""

import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_LOOK_MILLISECONDS: Final = 1000
_GRACE_SECONDS: Final = 3.0
_EXIT_HANGUP: Final = 129
_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


@contextmanager
def left_when_terminal_goes(leave: Callable[[], None]) -> Iterator[None]:
    """Leaves when the terminal of standard input is gone and no SIGHUP says so (a process of another session).

    Textual (8.2) then reads end-of-file for ever, and its writer has ended, which blocks whoever draws: where ``leave``
    does not help, the process is ended.

    Args:
        leave: asks the app to leave, from another thread.
    """
    over = threading.Event()
    if not sys.stdin.isatty():
        yield
        return
    watched = sys.stdin.fileno()

    def look() -> None:
        poll = select.poll()
        poll.register(watched, 0)
        while not over.is_set():
            if any(events & _GONE for _, events in poll.poll(_LOOK_MILLISECONDS)):
                leave()
                if not over.wait(_GRACE_SECONDS):
                    os._exit(_EXIT_HANGUP)
                return

    threading.Thread(target=look, name="sgdoctor-terminal", daemon=True).start()
    try:
        yield
    finally:
        over.set()
