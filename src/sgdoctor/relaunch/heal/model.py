"""What healing knows: the tries so far, what the plan after each says, and where to go from there."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.fixes.model import Step
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text
from sgdoctor.verify.model import Verification


class Result(StrEnum):
    """What came of a try."""

    VERIFIED = "verified"  # it serves, and its answers are right as far as they were asked for
    SERVES = "serves"  # it serves; its answers were not asked for, or cannot be
    FAULTY = "faulty"  # it serves, and what it answers is wrong
    FAILED = "failed"
    IDLE = "idle"  # it does not run and has not failed
    REFUSED = "refused"  # nothing was touched
    OPEN = "open"  # the way back is not finished
    STOPPED = "stopped"  # by the user


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes two launches the same.

    Attributes:
        rest: everything that a launch says but its memory fraction.
        fraction: as it is given; None if it is not.
    """

    rest: Hashable
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Proposed:
    """What the plan after a try says.

    Attributes:
        identity: of the launch that comes of it.
        changes: of the original launch; all of them, and none where there is nothing to be done.
        steps: that are new in it.
        fraction: that is in force with it; None if unknown.
        interval: of the fraction; None if it has no say.
        cures: whether a step is about the root cause.
        by_hand: what only the user can do.
        impossible: why no launch of this model fits this card; None if one may.
        refused: why it cannot be carried out; None if it can.
        others: further ways against a lack of memory, the smallest loss first; each with what the plan does beside.
    """

    identity: Identity
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    fraction: float | None = None
    interval: Interval | None = None
    cures: bool = True
    by_hand: tuple[Text, ...] = ()
    impossible: Text | None = None
    refused: Text | None = None
    others: tuple["Proposed", ...] = ()

    @property
    def unsafe(self) -> tuple[Step, ...]:
        """The new steps that can make answers worse."""
        return tuple(step for step in self.steps if step.safety != "safe")


@dataclass(frozen=True, slots=True)
class Try:
    """One launch that was tried; number 0 is the one that was found.

    Attributes:
        number: of relaunches until then.
        identity: of the launch.
        result: in one word.
        changes: by which it differs from the original launch.
        rule: that names the root cause of its failure; empty if none does.
        reason: of its result, one line.
        fraction: the memory fraction that was in force; None if unknown.
        proposed: what the plan after it says; None if none was made.
        verdict: on its start; None if there was none.
        verification: what its server answered; None if it was not asked.
        log: path of its log, where that was saved.
        began: when it was tried; None for the one that was found.
        seconds: that it took.
        bisected: whether its fraction is one between two that failed.
        remarks: what else is to be known of a server that serves.
    """

    number: int
    identity: Identity
    result: Result
    changes: tuple[Change, ...] = ()
    rule: str = ""
    reason: Text | None = None
    fraction: float | None = None
    proposed: Proposed | None = None
    verdict: Verdict | None = field(default=None, repr=False)
    verification: Verification | None = None
    log: str | None = None
    began: datetime | None = None
    seconds: float = 0.0
    bisected: bool = False
    remarks: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """How far healing may go.

    Attributes:
        tries: relaunches at most.
        seconds: that are left; None for no limit.
        unsafe: whether steps that can make answers worse may be taken.
    """

    tries: int = 3
    seconds: float | None = None
    unsafe: bool = False


class End(StrEnum):
    """Why healing ends."""

    VERIFIED = "verified"
    SERVES = "serves"
    FAULTY = "faulty"
    MANUAL = "manual"
    UNDETERMINED = "undetermined"
    UNSAFE = "unsafe"
    DOES_NOT_FIT = "does-not-fit"
    NOTHING_NEW = "nothing-new"
    IDLE = "idle"
    LIMIT = "limit"
    DEADLINE = "deadline"
    STOPPED = "stopped"
    NOT_AGREED = "not-agreed"
    REFUSED = "refused"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Stop:
    """Nothing more is done.

    Attributes:
        end: why, in one word.
        why: what is to be said about it; None where the word says it all.
        unsafe: the steps that would have needed consent.
    """

    end: End
    why: Text | None = None
    unsafe: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Relaunch:
    """The next launch is tried.

    Attributes:
        changes: of the original launch.
        identity: of the launch.
        steps: what is new in it; none where only the fraction is.
        bisected: the fraction that was found by bisection; None if it is the one of the plan.
    """

    changes: tuple[Change, ...]
    identity: Identity
    steps: tuple[Step, ...] = ()
    bisected: float | None = None


Move = Stop | Relaunch


@dataclass(frozen=True, slots=True)
class Healing:
    """All that was done.

    Attributes:
        tries: the launch as it was found, and those that were tried.
        stop: how it ended.
        seconds: that it took.
    """

    tries: tuple[Try, ...]
    stop: Stop
    seconds: float = 0.0

    @property
    def relaunches(self) -> int:
        """How many launches were tried."""
        return len(self.tries) - 1

    @property
    def changed(self) -> bool:
        """Whether the container has another launch now than before."""
        last = self.tries[-1]
        return last.number > 0 and last.result in (Result.VERIFIED, Result.SERVES)
