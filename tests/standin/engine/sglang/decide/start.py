"""From a command and an environment to a run and its server."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ..recorded import Answers, Run, Server
from .arguments import RefusedError, parse
from .decision import End, decide
from .script import Clock
from .serving import Decided
from .situation import Situation
from .story import refused, told


def decided(
    words: Sequence[str], environment: Mapping[str, str], factor: float, *, recommends: bool
) -> tuple[Run, Server]:
    """Decide on one start.

    Args:
        words: the arguments.
        environment: `STANDIN_*`, and the engine's own variables.
        factor: recorded seconds that pass in one second; 0: none pass.
        recommends: whether the engine would recommend `sglang serve` first.

    Raises:
        ValueError: a variable cannot be read, or the model is none that the memory model knows.
    """
    situation = Situation.read(environment)
    try:
        arguments = parse(words, situation.version)
    except RefusedError as refusal:
        run = refused(refusal, situation.version, recommends=recommends)
        return run, Answers({}, {})
    decision = decide(arguments, situation)
    fixed = environment.get("STANDIN_CLOCK")
    begin = datetime.fromisoformat(fixed) if fixed else datetime.now()  # noqa: DTZ005 - the engine logs local time
    run = told(decision, Clock(begin, 1.0 if fixed else factor), recommends=recommends)
    run = replace(run, live=fixed is None)
    return run, Decided(decision) if decision.end in (End.SERVES, End.HALF_STATE) else Answers({}, {})
