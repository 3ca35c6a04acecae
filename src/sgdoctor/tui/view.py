"""What all panes draw: one immutable value, made anew whenever something changed."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from time import time
from typing import Final

from sgdoctor.diagnosis.model import Diagnosis, State
from sgdoctor.engines.base import PhaseName
from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.gpu.model import Gpu, GpuReading
from sgdoctor.launch.commands import edit, find_engine
from sgdoctor.launch.flag_edits import NO_FLAGS
from sgdoctor.launch.found import Found
from sgdoctor.report.redact import Redactor, redact
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text
from sgdoctor.tui.course import Course
from sgdoctor.tui.drawing import BAD, BUSY, GOOD, MUTED, ODD
from sgdoctor.tui.history import History
from sgdoctor.tui.keys import KEYS, Key, shown_key
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import Link, Snapshot


class Pill(StrEnum):
    """How the server is, in one word."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    DEGRADED = "degraded"
    FAILED = "failed"
    STALLED = "stalled"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


PILLS: Final = {
    Pill.WAITING: ("◌", MUTED),
    Pill.STARTING: ("▶", BUSY),
    Pill.READY: ("✔", GOOD),
    Pill.DEGRADED: ("▲", ODD),
    Pill.FAILED: ("✖", BAD),
    Pill.STALLED: ("▲", ODD),
    Pill.STOPPED: ("■", MUTED),
    Pill.UNKNOWN: ("?", ODD),
}
"""Symbol and colour of each pill."""

_BY_STATE: Final = {
    State.FAILED: Pill.FAILED,
    State.STALLED: Pill.STALLED,
    State.STARTING: Pill.STARTING,
    State.UNDETERMINED: Pill.UNKNOWN,
    State.DEGRADED: Pill.DEGRADED,
    State.HEALTHY: Pill.READY,
}


def pill_of_state(state: State) -> Pill:
    """The pill for the state of a start of which nothing else is known."""
    return _BY_STATE[state]


def pill_of(snapshot: Snapshot | None) -> Pill:
    """The pill for a moment; None is the moment before the first snapshot."""
    if snapshot is None or (not snapshot.lines and not snapshot.verdict.diagnoses):
        return Pill.WAITING
    verdict = snapshot.verdict
    pill = _BY_STATE[verdict.state]
    if pill in (Pill.READY, Pill.DEGRADED) and any(phase.name is PhaseName.SHUTDOWN for phase in verdict.phases):
        return Pill.STOPPED
    # A file that has ended says how the server was; a container that is gone serves no more.
    gone = snapshot.link is Link.ENDED and (pill is Pill.STARTING or snapshot.subject.kind == "container")
    if gone and pill in (Pill.STARTING, Pill.READY, Pill.DEGRADED):
        return Pill.STOPPED
    return pill


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the plan against a failure comes to.

    Attributes:
        rule: that named the failure.
        changes: how many.
        interval: of the memory fraction; None if it has no say.
        predicted: with all changes; None if it cannot be computed.
        impossible: why this model does not fit this card; None if it may.
    """

    rule: str
    changes: int
    interval: Interval | None = None
    predicted: Prediction | None = None
    impossible: Text | None = None


@dataclass(frozen=True, slots=True)
class View:
    """Everything that is on the screen, except the lines of the log.

    Attributes:
        snapshot: the newest one; None before the first.
        reading: of the GPUs, the newest; None before the first.
        history: of the GPUs.
        lang: ``en`` or ``zh``.
        benign: whether notices are listed.
        chosen: number of the start that the user chose; None for the newest.
        failures: what broke behind the screen, one line each.
        keys: the table in force.
        hide: takes secrets out of lines of the log.
        course: what is being done to the server, or was done last; None for nothing.
        forecast: of the newest failure; None while it is not known.
        unfinished: a relaunch that was cut off; None if there is none.
        clock: seconds since the epoch.
    """

    snapshot: Snapshot | None = None
    reading: GpuReading | None = None
    history: History = field(default_factory=History)
    lang: str = "en"
    benign: bool = False
    chosen: int | None = None
    failures: tuple[str, ...] = ()
    keys: Sequence[Key] = KEYS
    hide: Redactor = redact
    course: Course | None = None
    forecast: Forecast | None = None
    unfinished: Text | None = None
    clock: Callable[[], float] = time

    @property
    def now(self) -> datetime:
        """The time of this moment."""
        return datetime.fromtimestamp(self.clock(), UTC)

    @property
    def diagnoses(self) -> tuple[Diagnosis, ...]:
        """Of the start that is shown."""
        return self.snapshot.verdict.diagnoses if self.snapshot is not None else ()

    @property
    def acts(self) -> bool:
        """Whether what is watched may be one that can be acted on: of a log there is none."""
        return self.snapshot is None or self.snapshot.subject.kind in ("container", "process")

    def help_of(self, key: Key) -> str:
        """What a key does, to the server that is watched."""
        stops = self.snapshot is not None and self.snapshot.subject.kind == "process"
        return tell(self.lang, "leave.stops") if stops and key.action == "leave" else key.help.in_language(self.lang)

    @property
    def unstarted(self) -> bool:
        """Whether the container is there and was never started."""
        snapshot = self.snapshot
        return (
            snapshot is not None and bool(snapshot.subject.id) and snapshot.link is Link.WAITING and not snapshot.lines
        )

    @property
    def trouble(self) -> bool:
        """Whether the diagnosis is what the user wants to see."""
        if self.snapshot is None:
            return False
        return bool(self.diagnoses) or self.snapshot.verdict.unexplained is not None or self._in_a_loop

    @property
    def _in_a_loop(self) -> bool:
        """Whether two starts before this one failed: the panes do not change places with every further one."""
        assert self.snapshot is not None
        number = self.snapshot.verdict.attempt
        before = [one.state for one in self.snapshot.attempts if number - 2 <= one.number < number]
        lost = all(state in (State.FAILED, State.UNDETERMINED) for state in before)
        return len(before) == 2 and lost and pill_of(self.snapshot) in (Pill.WAITING, Pill.STARTING)

    def key(self, action: str) -> str:
        """The key of an action as it stands on the keyboard; empty if the user took it away."""
        return next((shown_key(key.keys[0]) for key in self.keys if key.action == action and key.keys), "")


def server_gpus(reading: GpuReading, snapshot: Snapshot | None) -> list[Gpu]:
    """The GPUs that the server runs on: by its processes, else the only one there is; else nobody knows."""
    container = snapshot.subject.id if snapshot is not None else ""
    held = [
        gpu
        for gpu in reading.gpus
        if container and any(process.container.startswith(container) for process in gpu.processes)
    ]
    return held or (list(reading.gpus) if len(reading.gpus) == 1 else [])


def flags_of(diagnosis: Diagnosis, lang: str) -> list[str]:
    """The changes of the best fix as they would be typed; empty if it has none."""
    for fix in diagnosis.fixes:
        if fix.changes:
            return [change_text(change, lang) for change in fix.changes]
    return []


def command_of(diagnosis: Diagnosis, snapshot: Snapshot | None) -> str:
    """The command of the container with the best fix in it; empty where that fix is more than flags, or no fix is."""
    if snapshot is None:
        return ""
    fix = next((fix for fix in diagnosis.fixes if fix.changes), None)
    if fix is None or any(not change.kind.startswith("flag.") for change in fix.changes):
        return ""
    command = snapshot.subject.command
    if not isinstance(find_engine(command), Found):
        return ""
    edited = edit(command, fix.changes, NO_FLAGS)
    return shlex.join(edited) if edited != list(command) else ""


def evidence_lines(diagnosis: Diagnosis) -> list[int]:
    """Numbers of the lines that prove it, the decisive one first, then those of its consequences."""
    numbers = [evidence.line for evidence in diagnosis.evidence]
    return list(dict.fromkeys(numbers))
