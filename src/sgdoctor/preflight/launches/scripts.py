"""Launch scripts that patch libraries and then start the engine."""

from sgdoctor.launch.model import Problem
from sgdoctor.patches.launch_scripts import recognise_script
from sgdoctor.preflight.model import Situation


def problems_in(situation: Situation, text: str) -> tuple[Problem, ...]:
    """What is wrong with a script under the versions of the image."""
    packages = situation.image.packages if situation.image is not None else {}
    return recognise_script(text, sglang=situation.version, transformers=packages.get("transformers"))


def cannot_work(situation: Situation, text: str) -> bool:
    """Whether no start survives a script."""
    return any(problem.severity == "fatal" for problem in problems_in(situation, text))
