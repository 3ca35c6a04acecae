"""The solver of the memory for any change of a launch that was never started."""

from dataclasses import replace

from sgdoctor.fixes.memory.solution import Outcome, Solution
from sgdoctor.fixes.solving import Solver
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.memory import Forecast, forecast
from sgdoctor.preflight.model import Situation


def solver_of(situation: Situation) -> Solver | None:
    """What the card and the model say about a launch; None where they are not known."""
    if not isinstance(forecast(situation), Forecast):
        return None

    def answer(launch: Launch) -> Solution:
        found = forecast(replace(situation, launch=launch))
        return found.solution if isinstance(found, Forecast) else Solution(Outcome.UNKNOWN)

    return answer
