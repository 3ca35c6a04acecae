"""What a throw-away container of the launch's image says: which cards it gets, which versions it has."""

from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.containers.exits import exit_lines
from sgdoctor.containers.records import ExitFacts
from sgdoctor.containers.throwaway import Ran, run_once
from sgdoctor.diagnosis.pipeline import diagnose
from sgdoctor.launch.model import Launch
from sgdoctor.logs.sources import LogSource
from sgdoctor.rules.base import RuleBase

SECONDS: Final = 120.0
"""Importing torch from a cold disk takes the most of it."""

CARDS: Final = "deep.cards"
VERSIONS: Final = "deep.versions"
ERROR: Final = "deep.error"
RULE: Final = "deep.rule"

_MARK: Final = "--sgdoctor--"
_VERSIONS: Final = (
    "import importlib.metadata as m\n"
    "for name in ('sglang', 'torch', 'transformers', 'flashinfer-python'):\n"
    "    try: print(name, m.version(name))\n"
    "    except m.PackageNotFoundError: pass\n"
    "import torch\n"
    "print('torch.cuda', torch.version.cuda, torch.cuda.device_count())\n"
)
_SCRIPT: Final = f'nvidia-smi -L 2>&1; echo {_MARK}; python3 -c "$0" 2>&1'


def probe(client: Client, launch: Launch, base: RuleBase, seconds: float = SECONDS) -> dict[str, str]:
    """Starts the container and reads its answers, for ``Situation.answers``.

    Args:
        client: of the engine.
        launch: in a container.
        base: the rules, which say what an error of the engine means.
        seconds: after which the container is ended.

    Raises:
        UserError: the engine does not answer, or the container cannot be removed.
    """
    ran = run_once(client, launch, ("sh", "-c", _SCRIPT, _VERSIONS), seconds)
    cards, _, versions = ran.output.partition(_MARK)
    answers = {CARDS: cards.strip(), VERSIONS: versions.strip()}
    if ran.error:
        answers |= {ERROR: ran.error, RULE: _rule(ran, base)}
    return answers


def _rule(ran: Ran, base: RuleBase) -> str:
    """The rule that knows the error; empty if none does."""
    facts = ExitFacts(None, ran.error, oom_killed=False, restart_count=0, started=None, finished=None)
    text = exit_lines("probe", facts)
    verdict = diagnose(LogSource("probe", text, len(text), None), base)[-1]
    return verdict.diagnoses[0].rule.id if verdict.diagnoses else ""
