"""Leaving at any moment with the terminal as it was: by a signal, and when the terminal itself goes."""

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

_LOOK_MILLISECONDS: Final = 1000
_GRACE_SECONDS: Final = 3.0
_EXIT_HANGUP: Final = 129
_GONE: Final = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Exit:
    """The way out of an app, also for those who want out before it has come up.

    Args:
        leave: ends the app; called in its loop.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        self._wanted = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self) -> None:
        """Leave; from a signal or another thread, at any moment."""
        self._wanted = True
        if self._loop is not None:
            # Its loop may be over already: a closed terminal is often told twice.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._leave)

    def open(self) -> bool:
        """The app has come up; says whether somebody has wanted out before, and leaves then."""
        self._loop = asyncio.get_running_loop()
        if self._wanted:
            self._leave()
        return self._wanted


@contextmanager
def leaving_in_order(way_out: Exit) -> Iterator[None]:
    """While an app runs: it leaves by ``way_out`` on a signal, or once its terminal is gone."""
    with _signals(way_out), _left_when_terminal_goes(way_out):
        yield


@contextmanager
def _signals(leave: Callable[[], None]) -> Iterator[None]:
    """The terminal is in raw mode and has to be given back as it was."""
    before = {}
    # Only the main thread may do this; elsewhere nobody sends signals to.
    with suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, lambda *_: leave())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _left_when_terminal_goes(leave: Callable[[], None]) -> Iterator[None]:
    """Leaves when the terminal of standard input is gone and no SIGHUP says so (a process of another session).

    Textual (8.2) then reads end-of-file for ever, and its writer has ended, which blocks whoever draws: where ``leave``
    does not help, the process is ended.
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
