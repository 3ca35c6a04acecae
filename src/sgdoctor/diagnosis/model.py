"""The answer: what went wrong in an attempt, why, and what cures it; plain data in both languages."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from sgdoctor.engines.base import Fact, Phase, PhaseName
from sgdoctor.launch.change import Change
from sgdoctor.rules.model import Confidence, Rule, Severity
from sgdoctor.texts import Text


class State(StrEnum):
    """How an attempt stands."""

    FAILED = "failed"
    DEGRADED = "degraded"
    HEALTHY = "healthy"
    STARTING = "starting"
    STALLED = "stalled"
    UNDETERMINED = "undetermined"

    @property
    def works(self) -> bool:
        """Whether a server does its work, if with something wrong."""
        return self in (State.HEALTHY, State.DEGRADED)


class Evidence(NamedTuple):
    """A line that a statement rests on.

    Attributes:
        line: its 1-based number.
        text: as it stands in the log, made safe for a terminal, cut at 1,000 characters.
        before: up to two lines before it, as (number, text).
        after: up to two lines after it.
    """

    line: int
    text: str
    before: tuple[tuple[int, str], ...] = ()
    after: tuple[tuple[int, str], ...] = ()


class Fix(NamedTuple):
    """A fix that applies to this log: names are filled in."""

    id: str
    summary: Text
    effect: Text
    changes: tuple[Change, ...]
    safety: str
    verify: str


class Consequence(NamedTuple):
    """Something that happened only because of the diagnosis it stands under."""

    rule: str
    title: Text
    line: int


class Diagnosis(NamedTuple):
    """One thing that is wrong.

    Attributes:
        rule: the rule that names it.
        severity: after the course of the attempt was considered (a fatal text that the server outlived is not fatal).
        title: one line, names filled in.
        cause: why it happened, names filled in.
        evidence: the lines that prove it, the decisive one first.
        ranks: rank tags on which it happened, sorted; empty for one card.
        consequences: what it led to.
        fixes: what cures it, the best first.
        occurrences: how many events of the attempt it covers.
        upgrade: which release cures it, seen from the version in the log; None where none is known to.
    """

    rule: Rule
    severity: Severity
    confidence: Confidence
    title: Text
    cause: Text
    evidence: tuple[Evidence, ...]
    ranks: tuple[str, ...]
    consequences: tuple[Consequence, ...]
    fixes: tuple[Fix, ...]
    occurrences: int = 1
    upgrade: Text | None = None


class Notice(NamedTuple):
    """Something that looks alarming and is not, or is worth knowing.

    Attributes:
        rule: the rule that knows it.
        severity: notice or benign.
        title: one line.
        cause: why it is harmless, or why it is worth knowing.
        line: number of its first line.
        occurrences: how many events of the attempt it covers.
    """

    rule: str
    severity: Severity
    title: Text
    cause: Text
    line: int
    occurrences: int


class Resembling(NamedTuple):
    """A rule that is worded like a failure, and did not match it.

    Attributes:
        rule: its id.
        title: its title as the rule words it, names not filled in.
    """

    rule: str
    title: Text


class Unknown(NamedTuple):
    """What stands around a failure that no rule knows.

    Attributes:
        phase: in which it happened; None before the first one.
        unusual: lines in front of it that no healthy start has, in log order.
        resembling: rules that are worded alike, the most alike first.
    """

    phase: PhaseName | None
    unusual: tuple[Evidence, ...]
    resembling: tuple[Resembling, ...]


class Verdict(NamedTuple):
    """The answer for one attempt.

    Attributes:
        state: how it stands.
        attempt: its 1-based number.
        attempts: how many attempts the log holds.
        first_line: number of its first line.
        last_line: number of its last line.
        summary: one sentence.
        diagnoses: ranked, the root cause first.
        notices: benign and informational matches, in log order.
        unexplained: the first error that no rule knows, when the cause is not determined.
        facts: what was read, by name.
        phases: the course of the start.
        engine: name of the engine, empty when no engine line was seen.
        version: of the engine, empty when unknown; a range such as ``0.5.14-0.5.15`` when only bounds are known.
        slow_rules: ids of rules whose patterns ran out of time on this log, and were left out.
        would_decide: what would tell what this log does not; None where nothing is missing.
        closing: state and summary as one sentence; None stands for the one in front of the other.
        unknown: what stands around ``unexplained``; None where that is None.
    """

    state: State
    attempt: int
    attempts: int
    first_line: int
    last_line: int
    summary: Text
    diagnoses: tuple[Diagnosis, ...]
    notices: tuple[Notice, ...]
    unexplained: Evidence | None
    facts: Mapping[str, Fact]
    phases: tuple[Phase, ...]
    engine: str
    version: str
    slow_rules: tuple[str, ...] = ()
    would_decide: Text | None = None
    closing: Text | None = None
    unknown: Unknown | None = None
