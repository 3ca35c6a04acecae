"""When a launch that is known to fail is taken for one that is back: once it was started."""

from collections.abc import Callable

from sgdoctor.relaunch import texts
from sgdoctor.relaunch.model import Ready
from sgdoctor.texts import Text


class Unawaited:
    """Waits for nothing: whoever wants a launch back that failed before knows that it will again; see ``Readiness``."""

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready:
        """See ``Readiness.wait``."""
        del container, on_note
        return Ready(note=texts.UNAWAITED, lives=False)

    def cancel(self) -> None:
        """See ``Readiness.cancel``: nothing is waited for."""
