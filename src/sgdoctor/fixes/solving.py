"""The solver of one attempt on one card, asked about any launch of the same model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.fixes.memory.situation import situation_of
from sgdoctor.fixes.memory.solution import Outcome, Solution
from sgdoctor.fixes.memory.solver import solve
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import FlagTable, Launch

Solver = Callable[[Launch], Solution]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside a log.

    Attributes:
        config: the model's ``config.json``; None where it is out of reach.
        weights_gib: size of its weights; None where they are.
        card_mib: memory of the card; None where it is not at hand.
        capability: of the card, such as 86; None where it is not.
    """

    config: Mapping[str, Any] | None = None
    weights_gib: float | None = None
    card_mib: float | None = None
    capability: int | None = None


def solver_for(verdict: Verdict | None, flags: FlagTable, known: Known) -> Solver:
    """What the card of an attempt says about a launch.

    Args:
        verdict: on the attempt; None without a log.
        flags: of the engine's version.
        known: what else is known of model and card.
    """
    facts = verdict.facts if verdict is not None else {}
    failed = verdict is not None and verdict.state in (State.FAILED, State.DEGRADED) and verdict.diagnoses
    rule = verdict.diagnoses[0].rule.id if verdict is not None and failed else None

    def answer(launch: Launch) -> Solution:
        given = _values(launch, flags) if launch.argv else None
        situation = situation_of(
            facts,
            given,
            rule=rule,
            config=known.config,
            weights_gib=known.weights_gib,
            card_mib=known.card_mib,
            capability=known.capability,
        )
        return Solution(Outcome.UNKNOWN) if situation is None else solve(situation)

    return answer


def _values(launch: Launch, flags: FlagTable) -> dict[str, str | None]:
    """Value by flag; of several values of one flag as one text."""
    given = given_flags(launch.argv, launch.flags_at, flags)
    return {flags.canonical(one.flag): " ".join(one.values) if one.values else None for one in given}
