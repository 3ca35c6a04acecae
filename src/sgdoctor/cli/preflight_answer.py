"""From the command line to the answer of ``sgdoctor preflight``."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sgdoctor.cli.diagnose import EXIT_FAILED, EXIT_FINE, EXIT_WARNINGS
from sgdoctor.cli.fix_answer import shown_path, version_named
from sgdoctor.config import state_dir
from sgdoctor.fixes.plan import Wishes
from sgdoctor.launch.foreign import refuse_elsewhere, refuse_other_engine, refuse_several
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.answering import Usual, preflight_of
from sgdoctor.preflight.model import Status
from sgdoctor.preflight.situation import Wanted
from sgdoctor.targets import Target, compose_here, open_target
from sgdoctor.watching.history import History, Key

_EXITS: Final = {Status.FAIL: EXIT_FAILED, Status.WARN: EXIT_WARNINGS}


@contextmanager
def opened(words: Sequence[str]) -> Iterator[Target | None]:
    """The target that these words name; without any the compose file here, None where there is none.

    Raises:
        UserError: there is nothing of this name, it cannot be read, or nothing can be known of what it starts.
    """
    named = list(words) or compose_here(Path.cwd())
    if not named:
        yield None
        return
    with open_target(named, None, with_log=False) as target:
        if target.document is not None:
            refuse_other_engine(target.document)
            refuse_several(target.document)
            refuse_elsewhere(target.document)
        yield target


def preflight_for(target: Target | None, arguments: argparse.Namespace, answers: Mapping[str, str]) -> Preflight:
    """Everything there is to say before a start.

    Args:
        target: the launch; None for the host alone.
        arguments: of the command line: ``gpu``, ``model``, ``version``, ``choose``.
        answers: of probes that were allowed to start something.

    Raises:
        UserError: a card, a model, a version or a way that was named does not exist.
    """
    file = target.file.path if target is not None and target.file is not None else None
    wanted = Wanted(
        gpu=arguments.gpu,
        model=Path(arguments.model).expanduser() if arguments.model else None,
        version=version_named(arguments.version) if arguments.version else "",
    )
    return preflight_of(
        target.name if target is not None else "",
        target.document if target is not None else None,
        file.absolute().parent if file is not None else Path.cwd(),
        wanted,
        wishes=Wishes(tuple(arguments.choose)),
        answers=answers,
        file=shown_path(file) if file is not None else "",
        usual=_usual(),
    )


def _usual() -> Usual:
    """How long phases took on this machine, as ``watch`` has learned it."""
    history = History(state_dir() / "starts.jsonl")

    def usual(model: str, image: str, card: str, phase: str) -> tuple[float, float] | None:
        return history.usual(Key(model, "", image, card), phase)

    return usual


def exit_code(answer: Preflight) -> int:
    """3 where the start would fail, 4 for warnings only, else 0."""
    return _EXITS.get(answer.status, EXIT_FINE)
