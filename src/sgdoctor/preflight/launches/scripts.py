"""Launch scripts that patch libraries and then start the engine."""

from sgdoctor.launch.model import Problem
from sgdoctor.patches.launch_scripts import recognise_script
from sgdoctor.preflight.model import Situation
from sgdoctor.preflight.versions import transformers_version


def problems_in(situation: Situation, text: str) -> tuple[Problem, ...]:
    """What is wrong with a script under the versions of the image."""
    return recognise_script(text, sglang=situation.version, transformers=transformers_version(situation))


def cannot_work(situation: Situation, text: str) -> bool:
    """Whether no start survives a script."""
    return any(problem.severity == "fatal" for problem in problems_in(situation, text))
