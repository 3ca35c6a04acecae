"""When a server that was started is taken for one that serves: once it is ready, and its answers are right."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.launch.model import FlagTable, Launch
from sgdoctor.relaunch.model import NotReady, Ready
from sgdoctor.relaunch.readiness import EngineReadiness
from sgdoctor.rules.base import RuleBase
from sgdoctor.texts import Text
from sgdoctor.verify.calls import Calls
from sgdoctor.verify.launched import server_of
from sgdoctor.verify.model import Bounds, Verification
from sgdoctor.verify.probes import verify
from sgdoctor.watching.history import History


@dataclass(frozen=True, slots=True)
class Expected:
    """A server that is going to be started.

    Attributes:
        launch: of it.
        flags: of the engine's version.
        seconds: that it may take; None as long as there is progress.
    """

    launch: Launch
    flags: FlagTable
    seconds: float | None = None


class VerifiedReadiness:
    """Follows starts one after the other, and asks each server that is ready; see ``Readiness``.

    Args:
        endpoint: the container engine.
        base: the rules.
        asks: whether answers are asked for, beside health.
        history: of earlier starts; None to know and learn nothing.
        root: stands for the state folder of sgdoctor.

    Attributes:
        expected: the server that is waited for next.
        verification: what the last server answered; None if it was not asked.
        cancelled: whether nobody waits any more.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        base: RuleBase,
        *,
        asks: bool = True,
        history: History | None = None,
        root: Path | None = None,
    ) -> None:
        self.expected: Expected | None = None
        self.verification: Verification | None = None
        self.cancelled = False
        self._endpoint = endpoint
        self._base = base
        self._asks = asks
        self._history = history
        self._root = root
        self._waits: EngineReadiness | None = None
        self._calls: Calls | None = None

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready | NotReady:
        """See ``Readiness.wait``."""
        self.verification = None
        expected = self.expected
        seconds = expected.seconds if expected is not None else None
        end = None if seconds is None else time.monotonic() + seconds

        def probe(address: str) -> Text | None:
            assert expected is not None
            server = server_of(expected.launch, expected.flags, address)
            bounds = Bounds() if end is None else Bounds().within(end - time.monotonic())
            self._calls = Calls(server)
            if self.cancelled:
                self._calls.cancel()
            self.verification = verify(server, self._calls, bounds)
            return self.verification.fault

        self._waits = EngineReadiness(
            self._endpoint,
            self._base,
            limit=seconds,
            probe=probe if self._asks and expected is not None else None,
            history=self._history,
            root=self._root,
        )
        if self.cancelled:
            self._waits.cancel()
        return self._waits.wait(container, on_note)

    def cancel(self) -> None:
        """See ``Readiness.cancel``; further waits end at once, too."""
        self.cancelled = True
        if self._waits is not None:
            self._waits.cancel()
        if self._calls is not None:
            self._calls.cancel()
