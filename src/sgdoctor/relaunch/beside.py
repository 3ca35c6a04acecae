"""Whether somebody starts the old server while the new one gets ready: two do not fit on the GPU."""

import threading
from contextlib import suppress
from typing import Final, Self

from sgdoctor.containers.client import Client
from sgdoctor.errors import UserError
from sgdoctor.relaunch.engine import Engine, runs

_LOOKS_EVERY: Final = 0.5


class Beside:
    """Looks for the old container to run, for the length of a ``with`` block, and ends the new one if it does.

    The new one has to give way: whoever started the old one wants it, and what somebody did by hand is not undone
    behind their back. Ending it at once also ends the wait for it to serve.

    Args:
        engine: of the containers; another connection to it is used.
        old: id.
        new: id.
        seconds: that the new server is given to end by itself.
    """

    def __init__(self, engine: Engine, old: str, new: str, seconds: float) -> None:
        self._endpoint = engine.client.connections.endpoint
        self._old = old
        self._new = new
        self._seconds = seconds
        self._over = threading.Event()
        self._found = False
        self._thread = threading.Thread(target=self._watch, name="sgdoctor-beside", daemon=True)

    @property
    def found(self) -> bool:
        """Whether the old one was started; after the block."""
        return self._found

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        last = False
        while not last:
            # Once more at the end, so that nobody who came in the last moment is missed.
            last = self._over.wait(_LOOKS_EVERY)
            # Where the engine does not answer, the steps themselves find that out.
            with suppress(UserError), Client(self._endpoint) as client:
                engine = Engine(client)
                old = engine.inspect(self._old)
                if old is not None and runs(old):
                    self._found = True
                    engine.stop(self._new, self._seconds)
                    return
