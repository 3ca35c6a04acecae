"""From a target to the answer of ``sgdoctor preflight``: situation, checks, course of the start, plan."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from sgdoctor.cli.diagnose import EXIT_FAILED, EXIT_FINE, EXIT_WARNINGS
from sgdoctor.cli.fix_answer import shown_path, version_named
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.fixes.flag_tables import assumed
from sgdoctor.fixes.model import Answer
from sgdoctor.fixes.plan import Wishes
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.model import Situation, Status
from sgdoctor.preflight.planning import by_hand, plan_of
from sgdoctor.preflight.predicted import predicted
from sgdoctor.preflight.run import checked
from sgdoctor.preflight.situation import Wanted, situation_for
from sgdoctor.targets import Target, compose_here, open_target
from sgdoctor.texts import Text

_EXITS: Final = {Status.FAIL: EXIT_FAILED, Status.WARN: EXIT_WARNINGS}


@contextmanager
def opened(words: Sequence[str]) -> Iterator[Target | None]:
    """The target that these words name; without any the compose file here, None where there is none.

    Raises:
        UserError: there is nothing of this name, or it cannot be read.
    """
    named = list(words) or compose_here(Path.cwd())
    if not named:
        yield None
        return
    with open_target(named, None, with_log=False) as target:
        yield target


def preflight_for(target: Target | None, arguments: argparse.Namespace, answers: Mapping[str, str]) -> Preflight:
    """Everything there is to say before a start.

    Args:
        target: the launch; None for the host alone.
        arguments: of the command line: ``gpu``, ``model``, ``version``.
        answers: of probes that were allowed to start something.

    Raises:
        UserError: a card, a model or a version that was named does not exist.
    """
    document = target.document if target is not None else None
    file = target.file.path if target is not None and target.file is not None else None
    wanted = Wanted(
        gpu=arguments.gpu,
        model=Path(arguments.model).expanduser() if arguments.model else None,
        version=version_named(arguments.version) if arguments.version else "",
    )
    beside = file.absolute().parent if file is not None else Path.cwd()
    situation = replace(situation_for(document, beside, wanted), answers=dict(answers))
    found = tuple(checked(situation))
    course = predicted(situation, found)
    name = target.name if target is not None else ""
    if document is None:
        return Preflight(name, situation, found, course, left=by_hand(found))
    plan = plan_of(
        situation,
        found,
        file=shown_path(file) if file is not None else "",
        wishes=Wishes(tuple(arguments.choose)),
    )
    fix = None
    if plan is not None and situation.flags is not None:
        fix = Answer(name, document, plan, situation.flags, version=situation.version or "")
    return Preflight(name, situation, found, course, fix, note=_note(situation))


def exit_code(answer: Preflight) -> int:
    """3 where the start would fail, 4 for warnings only, else 0."""
    return _EXITS.get(answer.status, EXIT_FINE)


def _note(situation: Situation) -> Text | None:
    flags = situation.flags
    return assumed(situation.version or "", flags) if isinstance(flags, Schema) else None
