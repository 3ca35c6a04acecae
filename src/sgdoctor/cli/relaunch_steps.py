"""The steps of a relaunch on the terminal as they are taken, and what Ctrl-C does meanwhile."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Any, Final, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text as Styled

from sgdoctor.cli.relaunch_texts import words
from sgdoctor.diagnosis.wording import duration
from sgdoctor.messages import say
from sgdoctor.redaction import Redactor
from sgdoctor.relaunch.model import Progress, Readiness, Step, StepState
from sgdoctor.relaunch.wording import step_text
from sgdoctor.report.canvas import Canvas
from sgdoctor.report.safe import printable

_FORWARD: Final = frozenset(
    {
        Step.CREATE,
        Step.COMPARE,
        Step.BACKUP,
        Step.WRITE,
        Step.HOLD,
        Step.STOP,
        Step.STEP_ASIDE,
        Step.TAKE_NAME,
        Step.START,
        Step.READY,
        Step.SETTLE,
    }
)
_LEAVES: Final = 3
"""So many times Ctrl-C, and the way back itself is left."""


class StepLines(Canvas):
    """Prints one line for each step once it is over, and on a terminal the one that is being taken.

    Nothing that happens to the output stops a relaunch: a closed terminal is no reason to leave a server down.

    Args:
        console: where to.
        lang: ``en`` or ``zh``.
        hide: hides secrets.
    """

    def __init__(self, console: Console, lang: str, hide: Redactor) -> None:
        super().__init__(console, lang)
        self._hide = hide
        self._began = time.monotonic()
        self._current: Progress | None = None
        self._told = ""
        self._gone = False
        moves = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, get_renderable=self._moment, transient=True) if moves else None

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Take what the transaction tells."""
        if self._gone:
            return
        try:
            self._take(progress)
        except OSError:
            self._gone = True

    def _take(self, progress: Progress) -> None:
        current, name = self._current, step_text(progress.step).in_language(self.lang)
        match progress.state:
            case StepState.BEGUN if progress.note is None:
                self._current, self._told = progress, ""
            case StepState.BEGUN:
                self._phase(progress)
            case StepState.DONE:
                began = current.time if current is not None else progress.time
                self._line(self.glyphs.fine, "green", f"{name}  {self._time(began, progress.time)}")
                self._current = None
            case StepState.FAILED:
                why = progress.note.in_language(self.lang) if progress.note is not None else ""
                self._line(self.glyphs.failed, "red", words(self.lang, "step.failed", step=name, why=why))
                self._current = None

    def _phase(self, progress: Progress) -> None:
        """What the start is doing while it is waited for."""
        assert progress.note is not None
        text = progress.note.in_language(self.lang)
        if text != self._told:
            self._told = text
            began = self._current.time if self._current is not None else progress.time
            time = self._time(began, progress.time)
            self.line(Styled(self._safe(text), style="dim"), 4, Styled(f"{time:>10}  ", style="dim"))

    def _line(self, glyph: str, style: str, text: str) -> None:
        self.line(Styled(self._safe(text)), 2, Styled(f"{glyph} ", style=style))

    def _moment(self) -> Styled:
        """The step that is being taken."""
        current = self._current
        if current is None:
            return Styled()
        name = step_text(current.step).in_language(self.lang)
        return Styled(f"  {self.glyphs.waiting} {name}  {self._time(current.time, datetime.now(UTC))}", style="cyan")

    def _time(self, began: datetime, now: datetime) -> str:
        return duration(max(0.0, (now - began).total_seconds())).in_language(self.lang)

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))


class Interrupts:
    """Ctrl-C and SIGTERM end a relaunch between two steps, by its way back; a lost terminal does not end it.

    In another thread than the main one no signal is heard: there ``stop`` is the only way.

    Args:
        readiness: waits for the server, which may take minutes.
        name: of the container.
        lang: ``en`` or ``zh``.

    Attributes:
        count: how often it was asked to end.
    """

    def __init__(self, readiness: Readiness, name: str, lang: str) -> None:
        self.count = 0
        self._readiness = readiness
        self._name = name
        self._lang = lang
        self._before: dict[int, Any] = {}
        self._going_back = False

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in (signal.SIGINT, signal.SIGTERM):
            # What scripts start in the background is deaf to Ctrl-C, and stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._asked)
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def watching(self, watcher: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """A watcher that ends the way forward at the next step, once it was asked to."""

        def watch(progress: Progress) -> None:
            watcher(progress)
            ends = progress.step in _FORWARD and progress.state is not StepState.FAILED
            if self.count and not self._going_back and ends:
                self._going_back = True
                raise KeyboardInterrupt

        return watch

    def stop(self) -> None:
        """End it; for any thread."""
        self.count += 1
        self._readiness.cancel()

    def _asked(self, _: int, __: FrameType | None) -> None:
        self.stop()
        if self.count >= _LEAVES:
            raise KeyboardInterrupt
        text = words(self._lang, "stopping" if self.count == 1 else "stopping.again", name=self._name)
        # A handler may stand in the middle of a print.
        with suppress(OSError):
            os.write(
                sys.__stderr__.fileno() if sys.__stderr__ is not None else 2,
                f"\n{say(self._lang, 'error', text=text)}\n".encode(),
            )
