"""Ctrl-C, where an exception at any moment is the wrong answer to it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_ctrl_c(handle: Callable[[], None] | None) -> Iterator[None]:
    """Within it, Ctrl-C calls ``handle``; where that is None it ends the process at once, without a word.

    Where the process was started deaf to Ctrl-C, as scripts start what runs in the background, it stays so.

    Python's own answer, KeyboardInterrupt, is lost where nothing can be raised, as in the callback of a weak reference.
    Every import ends with one (importlib's ``_get_module_lock``): of some hundred who pressed Ctrl-C while the app was
    loaded one saw it come up all the same.

    Args:
        handle: called between any two steps of the main thread; it must take no lock.
    """
    before = signal.getsignal(signal.SIGINT)
    # Only the main thread hears of signals.
    if before == signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL if handle is None else lambda *_: handle())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
