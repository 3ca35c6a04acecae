"""What a relaunch is made of: its steps, what each of them says, how it ends."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sgdoctor.texts import Text


class Step(StrEnum):
    """A step of a relaunch or of its way back, in the words of the journal."""

    CREATE = "create"  # the new container, under a name of its own
    COMPARE = "compare"  # what was created with what was asked for
    BACKUP = "backup"  # compose: the file is copied
    WRITE = "write"  # compose: the file is replaced
    HOLD = "hold"  # the old container is no longer restarted by Docker
    STOP = "stop"  # the old one is stopped
    STEP_ASIDE = "step-aside"  # the old one gives its name away
    TAKE_NAME = "take-name"  # the new one takes it
    START = "start"
    READY = "ready"  # the engine says so, and answers
    SETTLE = "settle"  # the restart policy of the user is put back
    SAVE_LOG = "save-log"  # way back: what the new one wrote
    REMOVE = "remove"  # way back: the new one
    GIVE_NAME_BACK = "give-name-back"
    RESTORE = "restore"  # way back of compose: the bytes of the file
    RESTART_OLD = "restart-old"


class StepState(StrEnum):
    """Where a step stands."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """A line of the journal, and what a user sees of it.

    Attributes:
        step: which.
        state: how it stands.
        time: when.
        note: what is worth saying: a difference, an error; None for nothing.
    """

    step: Step
    state: StepState
    time: datetime
    note: Text | None = None


class Ending(StrEnum):
    """How a relaunch ended."""

    DONE = "done"  # the new one serves, the old one is kept
    BACK = "back"  # it failed, and everything is as it was before
    REFUSED = "refused"  # nothing was touched
    OPEN = "open"  # neither: the journal says where it stands, `--resume` and `rollback` go on from there


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a relaunch.

    Attributes:
        ending: in one word.
        journal: id of the journal; empty where none was begun.
        container: id of the container that holds the name now.
        reason: why it did not end with ``DONE``.
        log: path of the log of the start that failed; None if it wrote none.
    """

    ending: Ending
    journal: str = ""
    container: str = ""
    reason: Text | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in seconds.

    Attributes:
        stop: for the old server to stop by itself.
        ready: for the new one to serve; None waits as long as it makes progress.
    """

    stop: float = 30.0
    ready: float | None = None


Watcher = Callable[[Progress], None]
"""Told of each step as it begins and ends; from the thread that carries the relaunch out."""
