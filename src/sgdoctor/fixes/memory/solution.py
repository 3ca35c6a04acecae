"""What the solver answers."""

from dataclasses import dataclass
from enum import StrEnum

from sgdoctor.engines.sglang.memory.prediction import Prediction, Warned
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text


class Outcome(StrEnum):
    """In one word."""

    FITS = "fits"  # the launch as it is works on this card
    ADJUST = "adjust"  # the changes of the solution make it work
    CUT = "cut"  # something has to be given up first: see the cuts
    IMPOSSIBLE = "impossible"  # this model does not fit this card
    UNKNOWN = "unknown"  # too few numbers


@dataclass(frozen=True, slots=True)
class Interval:
    """Values of ``--mem-fraction-static`` that work on this card with the other flags as they are; two digits.

    Attributes:
        low: the smallest one at which the pools serve one request.
        safe: the largest one that works even if every unknown cost is at its worst; may be below ``low``.
        high: the largest one that works if every unknown cost is at its best.
        context_low: the smallest one at which the KV cache holds the whole context; None if that is above ``high``
            or unknown.
        reason: why ``safe`` and ``high`` differ; None if they do not.
    """

    low: float
    safe: float
    high: float
    context_low: float | None = None
    reason: Text | None = None

    @property
    def empty(self) -> bool:
        """Whether no value works."""
        return self.low > self.high

    def __contains__(self, fraction: float) -> bool:
        return self.low <= fraction <= self.high


@dataclass(frozen=True, slots=True)
class Cut:
    """Something to give up for memory.

    Attributes:
        id: stable name in kebab case.
        changes: of the launch, the fraction that goes with it included.
        title: what is done.
        loss: what the user loses.
        safety: ``safe``, or ``unsafe`` where answers can get worse.
        rank: the smaller, the less is lost.
        prediction: with the changes made.
        interval: of the fraction, with the changes made.
        opens: whether the server starts with it, where it does not without.
        serves_context: whether one request can then have the whole context.
    """

    id: str
    changes: tuple[Change, ...]
    title: Text
    loss: Text
    safety: str
    rank: int
    prediction: Prediction
    interval: Interval | None = None
    opens: bool = False
    serves_context: bool = False


@dataclass(frozen=True, slots=True)
class Solution:
    """The answer for one attempt on one card.

    Attributes:
        outcome: in one word.
        now: what the launch as it is does; None if it cannot be computed.
        interval: of the fraction; None if it cannot be computed or no fraction has a say.
        fraction: the recommended value; None where it should stay or none works.
        changes: that make the launch work, without giving anything up; empty if none are needed or none would.
        prediction: with ``changes`` made; the same as ``now`` without any.
        cuts: what can be given up, the smallest loss first.
        warnings: what works but will surprise.
        why: the proof in words where nothing fits, and what decided otherwise.
        context: the largest context that fits, where the one of the launch is what does not; None otherwise.
    """

    outcome: Outcome
    now: Prediction | None = None
    interval: Interval | None = None
    fraction: float | None = None
    changes: tuple[Change, ...] = ()
    prediction: Prediction | None = None
    cuts: tuple[Cut, ...] = ()
    warnings: tuple[Warned, ...] = ()
    why: Text | None = None
    context: int | None = None
