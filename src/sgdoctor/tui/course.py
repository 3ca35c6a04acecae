"""An errand that is under way: its steps so far, its thread, and its end."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sgdoctor.errors import UserError
from sgdoctor.relaunch.model import Progress, Step, StepState
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended, Errand


@dataclass(frozen=True, slots=True)
class Taken:
    """A row of the list of steps.

    Attributes:
        step: which; None for a heading, whose text is ``note``.
        state: how it stands.
        began: when.
        ended: when it was over; None while it is being taken.
        note: what went wrong, or the text of a heading.
        phases: what the server was doing meanwhile, with the seconds since the beginning of the step.
    """

    step: Step | None
    state: StepState
    began: datetime
    ended: datetime | None = None
    note: Text | None = None
    phases: tuple[tuple[float, Text], ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """An errand as it is drawn.

    Attributes:
        errand: which.
        rows: its steps so far.
        stopping: whether the user wants it to go back.
        ended: what came of it; None while it goes on.
    """

    errand: Errand
    rows: tuple[Taken, ...] = ()
    stopping: bool = False
    ended: Ended | None = None

    @property
    def current(self) -> Taken | None:
        """The step that is being taken."""
        last = self.rows[-1] if self.rows else None
        return last if last is not None and last.step is not None and last.ended is None else None


def rows_with(rows: Sequence[Taken], event: Progress | Text, now: datetime) -> tuple[Taken, ...]:
    """The rows after one more event."""
    if isinstance(event, Text):
        return (*rows, Taken(None, StepState.DONE, now, now, event))
    *earlier, last = rows or (Taken(None, StepState.DONE, event.time, event.time),)
    same = last.step is event.step and last.ended is None
    if event.state is StepState.BEGUN and not same:
        return (*rows, Taken(event.step, event.state, event.time))
    taken = last if same else Taken(event.step, event.state, event.time)
    if event.state is not StepState.BEGUN:
        taken = replace(taken, state=event.state, ended=event.time, note=event.note)
    elif event.note is not None and (not taken.phases or taken.phases[-1][1] != event.note):
        seconds = (event.time - taken.began).total_seconds()
        taken = replace(taken, phases=(*taken.phases, (max(0.0, seconds), event.note)))
    return (*earlier, taken) if same else (*rows, taken)


class Runner:
    """Carries an errand out in a thread of its own.

    Args:
        errand: which.
        on_change: called from that thread whenever there is something new.

    Attributes:
        course: how it stands; replaced, never changed.
    """

    def __init__(self, errand: Errand, on_change: Callable[[], None]) -> None:
        self.course = Course(errand)
        self._on_change = on_change
        self._lock = threading.Lock()
        # Not a daemon's life: the process waits for it (see ``finish``), so that no server is left half changed.
        self._thread = threading.Thread(target=self._run, name="sgdoctor-errand", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Let it go back to where it began."""
        with self._lock:
            self.course = replace(self.course, stopping=True)
        self.course.errand.stop()
        self._on_change()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def _run(self) -> None:
        try:
            ended = self.course.errand.act(self._told)
        except UserError as error:
            ended = Ended(done=False, text=error.message)
        except Exception as error:  # noqa: BLE001 - a thread has nobody above it
            text = f"{type(error).__name__}: {error}"
            ended = Ended(done=False, text=Text(text, text))
        with self._lock:
            self.course = replace(self.course, ended=ended)
        self._on_change()

    def _told(self, event: Progress | Text) -> None:
        with self._lock:
            self.course = replace(self.course, rows=rows_with(self.course.rows, event, datetime.now(UTC)))
        self._on_change()
