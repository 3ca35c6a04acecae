"""What a relaunch is made of: its steps, what each of them says, how it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text


class Way(StrEnum):
    """How a relaunch is carried out."""

    CONTAINER = "container"  # a new container takes the place of the old one
    COMPOSE = "compose"  # the file is edited, Compose makes the container
    PROCESS = "process"  # no container at all


class Purpose(StrEnum):
    """Why."""

    RELAUNCH = "relaunch"
    ROLLBACK = "rollback"


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
    SERVE = "serve"  # a process: until it ends, which is followed to its end
    SAVE_LOG = "save-log"  # way back: what the new one wrote
    REMOVE = "remove"  # way back: the new one
    GIVE_NAME_BACK = "give-name-back"
    RESTORE_POLICY = "restore-policy"
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
    FAILED = "failed"  # of a process: it ended by itself, or had to be ended, and there is nothing to go back to
    STOPPED = "stopped"  # of a process: by the user, before it served


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a relaunch.

    Attributes:
        ending: in one word.
        journal: id of the journal; empty where none was begun.
        container: id of the container that holds the name now.
        reason: why it did not end with ``DONE``.
        log: path of the log of the start that failed; None if it wrote none.
        verdict: on that start; None if there was none.
        notes: what else the user should know, such as what the engine added to the new container by itself.
    """

    ending: Ending
    journal: str = ""
    container: str = ""
    reason: Text | None = None
    log: str | None = None
    verdict: Verdict | None = None
    notes: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited, in seconds.

    Attributes:
        stop: for the old server to stop by itself.
        ready: for the new one to serve; None waits as long as it makes progress.
        engine: for a container engine that went away in the middle to come back.
    """

    stop: float = 30.0
    ready: float | None = None
    engine: float = 60.0


@dataclass(frozen=True, slots=True)
class Intent:
    """What a relaunch is about to do: the first line of its journal, enough to go back or on without anything else.

    Attributes:
        container: name.
        way: how it is carried out.
        purpose: why.
        engine: id of the container engine (``/info``), so that the journal is not applied to another one; empty in old
            records and of processes.
        endpoint: where that engine was reached, for people; empty in old records.
        old: inspection of the container that is to be replaced, as it was before anything was touched.
        image: id of the image that ``old`` runs.
        ran: whether ``old`` ran, or was about to.
        body: what the new container is made from; empty where ``adopt`` says which one it is.
        connects: networks to connect it to before its start, each with its ``EndpointConfig``.
        platform: of its image.
        policy: restart policy that it has in the end; until it is ready it has none.
        original: what ``old`` would be made again from: the same request without the changes.
        original_connects: its networks.
        adopt: id of a kept container that takes the place; empty if a new one is made.
        beside: name of the new container until it takes the place.
        aside: name of the old one from then on.
        changes: what differs.
        command: of the new launch.
        old_command: of the old one.
        facts: of the way: of Compose its files and hashes, of a process its words and folder.
    """

    container: str
    way: Way = Way.CONTAINER
    purpose: Purpose = Purpose.RELAUNCH
    engine: str = ""
    endpoint: str = ""
    old: Mapping[str, Any] = field(default_factory=dict, repr=False)
    image: str = ""
    ran: bool = True
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    connects: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    platform: str | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    original: Mapping[str, Any] = field(default_factory=dict, repr=False)
    original_connects: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    adopt: str = ""
    beside: str = ""
    aside: str = ""
    changes: tuple[Change, ...] = ()
    command: tuple[str, ...] = ()
    old_command: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def old_id(self) -> str:
        """Id of the container that is to be replaced."""
        return str(self.old.get("Id") or "")

    def may_be_on(self, engine: str | None) -> bool:
        """Whether it is about a container of this engine, or does not say of which; None is any."""
        return engine is None or self.engine in ("", engine)

    @property
    def removes_itself(self) -> bool:
        """Whether the old container is gone once it is stopped (``--rm``)."""
        return bool((self.old.get("HostConfig") or {}).get("AutoRemove"))


@dataclass(frozen=True, slots=True)
class Attempt:
    """A launch that a container of this name has had.

    Attributes:
        number: 0 is the original, as it was before the first relaunch.
        container: id of the container it ran in.
        command: of the launch.
        changes: by which it differs from the one that it replaced.
        began: when it was tried; None for the original.
        ending: how that ended; None for the original.
        reason: why it did not end with ``DONE``.
        seconds: how long each step took.
        log: path of the log of a start that failed.
        rule: id of the rule that named its failure; empty if none did.
        purpose: why it was tried.
        current: whether it is the one that holds the name now, by what the journals say.
        journal: id; of the original, that of the relaunch that replaced it.
        way: how it was carried out; of the original, how it was replaced.
        phases: of a process, how many seconds each phase of its start took.
        last_log: path of what it had said until Compose removed its container; None where that was not kept, or the
            container was.
    """

    number: int
    container: str
    command: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    began: datetime | None = None
    ending: Ending | None = None
    reason: Text | None = None
    seconds: Mapping[Step, float] = field(default_factory=dict)
    log: str | None = None
    rule: str = ""
    purpose: Purpose = Purpose.RELAUNCH
    current: bool = False
    journal: str = ""
    way: Way = Way.CONTAINER
    phases: Mapping[str, float] = field(default_factory=dict)
    last_log: str | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """The server serves.

    Attributes:
        address: base of its URLs, such as ``http://127.0.0.1:30000``; empty if it cannot be reached from here.
        note: what is worth saying.
        complaint: what the container's own health check says against it; None if nothing.
        lives: whether it has to run on; not where a launch that is known to fail is wanted back.
    """

    address: str = ""
    note: Text | None = None
    lives: bool = True
    complaint: Text | None = None


@dataclass(frozen=True, slots=True)
class NotReady:
    """The server will not serve.

    Attributes:
        reason: why, in one line.
        verdict: on its start; None if it did not even get that far.
    """

    reason: Text
    verdict: Verdict | None = None


class Readiness(Protocol):
    """Waits for a server that was started to serve, or to fail."""

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready | NotReady:
        """Returns once it is known.

        Args:
            container: id.
            on_note: told what it is doing, whenever that changes.
        """
        ...

    def cancel(self) -> None:
        """Let ``wait`` return ``NotReady`` at once; for any thread."""
        ...


Watcher = Callable[[Progress], None]
"""Told of each step as it begins and ends; from the thread that carries the relaunch out."""
