"""What the follower of a container tells: output, beginnings and ends of starts, gaps, and what it waits for."""

from dataclasses import dataclass
from enum import StrEnum

from sgdoctor.texts import Text


@dataclass(frozen=True, slots=True)
class Container:
    """One container, as far as it does not change while it exists.

    Attributes:
        id: 64 hex digits.
        name: without the leading slash; it does change, by ``docker rename``.
        image: as it was asked for, mostly a tag.
        image_id: what that meant when the container was made.
        command: entry point and arguments.
        tty: whether its output is one terminal stream.
        driver: of its log (``json-file``, ``local``, ...).
        rotates_at: bytes at which the engine begins a new log file; None where it never does.
        service: of compose; empty for other containers.
        ports: published ones as ``15433->30000``, joined by commas; empty for none.
    """

    id: str
    name: str
    image: str
    image_id: str = ""
    command: tuple[str, ...] = ()
    tty: bool = False
    driver: str = ""
    rotates_at: int | None = None
    service: str = ""
    ports: str = ""


@dataclass(frozen=True, slots=True)
class ExitFacts:
    """How one start of a container ended, as the engine tells it.

    Attributes:
        exit_code: None when nobody saw it (a start that came and went while the engine was not reached).
        error: the engine's own words, ``State.Error``: why it could not start the container; mostly empty.
        oom_killed: whether the kernel killed *a* process of the container for memory, not always the main one.
        restart_count: of the restart policy, up to this end.
        started: in nanoseconds since the epoch; None for a container that never ran.
        finished: likewise.
        restarting: whether the engine is about to start it again.
        removed: whether the container is gone.
    """

    exit_code: int | None
    error: str = ""
    oom_killed: bool = False
    restart_count: int = 0
    started: int | None = None
    finished: int | None = None
    restarting: bool = False
    removed: bool = False


class WaitReason(StrEnum):
    """Why nothing can be read at present."""

    ENGINE = "engine"
    """The container engine does not answer."""
    NO_CONTAINER = "no_container"
    """No container of this name exists yet."""
    REMOVED = "removed"
    """It was removed; another one of the same name would be taken up."""
    NOT_STARTED = "not_started"
    """It was created, and never started or refused by the engine."""
    RESTARTING = "restarting"
    """The engine will start it again."""
    STOPPED = "stopped"
    """It has ended, and nobody starts it again on their own."""
    UNREADABLE = "unreadable"
    """It runs, but its log driver keeps nothing that can be read; only its exits are told."""


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """A start begins; the output that follows is its.

    Attributes:
        container: whose.
        number: counts from 1 over all that this follower saw.
        started: in nanoseconds since the epoch; None for ``history``.
        restart_count: of the restart policy, at this start.
        history: the output of all earlier starts of this container, which nobody followed; their ends are unknown.
    """

    container: Container
    number: int
    started: int | None
    restart_count: int = 0
    history: bool = False


@dataclass(frozen=True, slots=True)
class LogChunk:
    r"""Whole lines of one stream, in the order of the log.

    Attributes:
        data: each line ends with a line feed. Carriage returns of progress bars are still there; those of a terminal's
            line ends are not.
        stream: ``stdout`` or ``stderr``; ``tty`` where the container has a terminal.
        time: of the last line, in nanoseconds since the epoch.
    """

    data: bytes
    stream: str
    time: int


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The start begun last has ended, and all its output was given."""

    container: Container
    facts: ExitFacts


@dataclass(frozen=True, slots=True)
class LinesLost:
    """Output that was written and cannot be given any more.

    Attributes:
        message: what happened, for the user.
        count: how many lines at least; None when nobody can know.
        certain: whether lines are missing, or only may be.
    """

    message: Text
    count: int | None = None
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing can be read at present; told once, until something else happens."""

    reason: WaitReason
    message: Text


Record = AttemptStarted | LogChunk | AttemptEnded | LinesLost | Waiting
