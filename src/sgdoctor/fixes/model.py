"""The plan: what is to be changed in a launch, in order, why, and what the launch is then."""

from dataclasses import dataclass
from enum import StrEnum

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Document, FlagTable, Launch, Problem
from sgdoctor.texts import Text

NO_TEXT = Text("", "")


class Basis(StrEnum):
    """What a step rests on."""

    ASKED = "asked"
    """The user asked for it."""
    FOUND = "found"
    """It cures what the log shows."""
    WRITTEN = "written"
    """It puts right what is wrong in the launch as it is written."""
    PREDICTED = "predicted"
    """It cures what would come next; no log shows it yet."""


@dataclass(frozen=True, slots=True)
class Step:
    """Changes that belong together, and why they are made.

    Attributes:
        id: of the fix, in kebab case; ``--choose`` takes it.
        changes: in order; none for advice in words.
        basis: what it rests on.
        title: what is done, one line; empty where the changes say it all.
        why: what it cures.
        safety: ``safe``, ``unsafe`` or ``manual``, as of rules.
        effect: what gets worse; empty if nothing does.
        note: what is known beside that, such as the other values that would do.
        rule: the rule that it comes from, or that would hit without it; empty if none.
    """

    id: str
    changes: tuple[Change, ...]
    basis: Basis
    title: Text
    why: Text = NO_TEXT
    safety: str = "safe"
    effect: Text = NO_TEXT
    rule: str = ""
    note: Text = NO_TEXT


@dataclass(frozen=True, slots=True)
class Left:
    """Something that cannot be done here.

    Attributes:
        change: to be made by hand; None for advice in words.
        why: what it is for, or why it is left.
    """

    change: Change | None
    why: Text


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that the new launch needs.

    Attributes:
        path: from the folder of the document; an absolute one is in a folder of sgdoctor's own.
        content: what stands in it.
        why: what it is for.
        among: absolute path of a folder whose other files are linked beside it; empty where it stands alone.
    """

    path: str
    content: bytes
    why: Text
    among: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is to be changed, at once.

    Attributes:
        steps: in the order in which they are made.
        before: the launch as it is.
        after: the launch with all changes.
        text: the whole new text of the document; None where there is none, or where it cannot be edited.
        diff: unified, in the document's own form; empty where nothing changes.
        safety: of the whole: that of its least safe step.
        predicted_before: what becomes of the memory as it is; None if it cannot be computed.
        predicted: what becomes of it with all changes.
        interval: of the memory fraction with all changes; None if it cannot be computed or has no say.
        impossible: why no launch of this model fits this card; None if one may.
        alternatives: other ways to the same end, and what contradicts a step.
        left: what cannot be done here.
        warnings: what stays true with all of this.
        files: to be written beside the document.
        refused: why the document itself cannot be edited; None if it can.
    """

    steps: tuple[Step, ...]
    before: Launch
    after: Launch
    text: str | None = None
    diff: str = ""
    safety: str = "safe"
    predicted_before: Prediction | None = None
    predicted: Prediction | None = None
    interval: Interval | None = None
    impossible: Text | None = None
    alternatives: tuple[Step, ...] = ()
    left: tuple[Left, ...] = ()
    warnings: tuple[Text, ...] = ()
    files: tuple[WrittenFile, ...] = ()
    refused: Text | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all steps, in order."""
        return tuple(change for step in self.steps for change in step.changes)


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that ``sgdoctor fix`` has to say about one target.

    Attributes:
        target: as it was named.
        document: its launch as it is written.
        plan: what is to be changed.
        problems: what is wrong with the launch as it is written.
        verdict: on the newest start; None without a log.
        log: name of that log; empty without one.
        flags: of the version that was assumed.
        version: that version; empty if none is known.
        note: a reservation about all of this; None if there is none.
        unmeasured: why nobody has computed the memory, and what helps; None where somebody has, or a log was read.
    """

    target: str
    document: Document
    plan: Plan
    flags: FlagTable
    problems: tuple[Problem, ...] = ()
    verdict: Verdict | None = None
    log: str = ""
    version: str = ""
    note: Text | None = None
    unmeasured: Text | None = None
