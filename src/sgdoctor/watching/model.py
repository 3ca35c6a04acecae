"""What a watched server looks like at one moment: plain, immutable data. The app, line mode and tests draw it."""

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import NamedTuple, Protocol

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.engines.base import PhaseName
from sgdoctor.rules.model import Severity
from sgdoctor.texts import Text


class Link(StrEnum):
    """How things stand between sgdoctor and the log."""

    FOLLOWING = "following"
    """New lines arrive as they are written."""
    WAITING = "waiting"
    """There is nothing to read yet, or not at the moment: the note says what is waited for."""
    ENDED = "ended"
    """The log is complete: a file without a writer, a stream that was closed, a container that is gone for good."""


class Subject(NamedTuple):
    """What is watched; empty where unknown.

    Attributes:
        kind: ``container``, ``process``, ``file`` or ``stdin``.
        name: as the user knows it.
        id: of the container, short.
        image: of the container.
        engine: ``sglang 0.5.15``.
        model: last part of the model's path.
        quantisation: as the engine printed it.
        ports: ``15433->30000``.
        restarts: how often the daemon restarted the container; None if it cannot be known.
        command: entry point and arguments of the container.
    """

    kind: str
    name: str
    id: str = ""
    image: str = ""
    engine: str = ""
    model: str = ""
    quantisation: str = ""
    ports: str = ""
    restarts: int | None = None
    command: tuple[str, ...] = ()


class StageState(StrEnum):
    """How far a stage of the start is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Stage(NamedTuple):
    """One row of the start-up timeline.

    Attributes:
        name: which phase.
        state: how far it is.
        seconds: how long it took or has taken so far; None if unknown.
        memory_gib: GPU memory that it took; None if unknown.
        progress: (done, total) where the log counts; None elsewhere.
        usual: shortest and longest time that is normal, in seconds; None if nothing is known.
        learned: whether ``usual`` comes from earlier starts of this model on this machine.
        detail: what it brought: "4/4 shards", "83,560 tokens"; empty if nothing.
    """

    name: PhaseName
    state: StageState
    seconds: float | None = None
    memory_gib: float | None = None
    progress: tuple[int, int] | None = None
    usual: tuple[float, float] | None = None
    learned: bool = False
    detail: Text = Text("", "")


class AttemptSummary(NamedTuple):
    """One start, in a list of starts.

    Attributes:
        number: 1-based.
        state: how it ended, or stands.
        started: when, in seconds since the epoch; None if unknown.
        seconds: from its first to its last line; None if unknown.
        first_line: number of its first line in the store.
        last_line: number of its last line so far.
        title: of its root diagnosis, else its summary.
        by_log: whether ``started`` was read from the log, whose clock may run in another zone than this machine's.
        ready: whether its server became ready at some time.
    """

    number: int
    state: State
    started: float | None
    seconds: float | None
    first_line: int
    last_line: int
    title: Text
    by_log: bool = False
    ready: bool = False


class Load(NamedTuple):
    """What a serving engine is doing, by its log; None where unknown, histories oldest first."""

    tokens_per_second: float | None = None
    running: int | None = None
    queued: int | None = None
    token_usage: float | None = None
    state_usage: float | None = None
    speed_history: tuple[float, ...] = ()
    usage_history: tuple[float, ...] = ()
    window_usage: float | None = None


class Snapshot(NamedTuple):
    """Everything a view needs at one moment, except the lines themselves.

    Attributes:
        subject: what is watched.
        link: how things stand with the log, ``note`` in words.
        attempts: every start so far, oldest first.
        verdict: on the start that is shown (``verdict.attempt``), updated as it goes on.
        stages: its timeline, in order.
        ready_in: seconds until it serves, at least and at most; None if unknown or over.
        uptime: seconds since it began to serve; None if it does not.
        load: what it is doing.
        lines: number of lines in the store.
    """

    subject: Subject
    link: Link
    note: Text
    attempts: tuple[AttemptSummary, ...]
    verdict: Verdict
    stages: tuple[Stage, ...]
    ready_in: tuple[float, float] | None
    uptime: float | None
    load: Load
    lines: int

    @property
    def serves(self) -> bool:
        """Whether the server of this start answers requests and was not asked to stop."""
        names = {phase.name for phase in self.verdict.phases}
        return self.verdict.state.works and PhaseName.SERVING in names and PhaseName.SHUTDOWN not in names


class LineKind(IntEnum):
    """What a line of the store is, for filters and colours."""

    PLAIN = 0
    ENGINE = 1
    ERROR = 2
    TRACEBACK = 3
    """A line of a traceback below its head; folded away with it."""
    TRACEBACK_HEAD = 4
    PROGRESS = 5
    DATA = 6
    """Text of others: requests, access lines, arguments."""
    BENIGN = 7
    """Looks alarming and is not."""
    PHASE = 8
    """Begins or ends a stage."""
    BORDER = 9
    """The first line of a start."""
    ADDED = 10
    """Written by sgdoctor: how a container ended, lost lines."""


class LineMark(NamedTuple):
    """What is known about a line.

    Attributes:
        kind: what it is.
        attempt: number of the start it belongs to.
        rule: id of the rule that it proves or that knows it; empty if none.
        severity: of that rule.
        head: number of the line that its fold begins with; 0 if it is not folded under another one.
        rank: the engine's rank tag, such as ``TP0``; empty for one card.
    """

    kind: LineKind
    attempt: int
    rule: str = ""
    severity: Severity | None = None
    head: int = 0
    rank: str = ""


class Lines(Protocol):
    """Lines by number, 1-based, without holding their texts in memory. Safe to read while another thread appends."""

    def __len__(self) -> int:
        """Number of whole lines so far."""
        ...

    def text(self, number: int) -> str:
        """A line without its prefixes, escapes and control characters; of a progress bar its last state."""
        ...

    def raw(self, number: int) -> str:
        """A line as it was written, made harmless to a terminal."""
        ...

    def mark(self, number: int) -> LineMark:
        """What is known about a line so far."""
        ...

    def revision(self) -> int:
        """Goes up whenever marks of old lines changed."""
        ...

    def search(
        self, pattern: str, *, regex: bool, ignore_case: bool, limit: int = 100_000, first: int = 1, last: int = 0
    ) -> Sequence[int]:
        """Numbers of the lines from ``first`` to ``last`` (0: the newest) that hold a text, ascending.

        A view searches in slices, so that a search of millions of lines shows how far it is and can be given up.

        Raises:
            ValueError: the pattern is no regular expression.
        """
        ...

    def select(
        self,
        kinds: frozenset[LineKind] | None,
        *,
        rule: str = "",
        attempt: int = 0,
        rank: str = "",
        first: int = 1,
        last: int = 0,
    ) -> Sequence[int]:
        """Numbers of the lines of these kinds (None: of any), of this rule, start and rank where given, ascending.

        Only lines from ``first`` to ``last`` (0: the newest) are looked at: a view asks again for what is new.
        """
        ...
