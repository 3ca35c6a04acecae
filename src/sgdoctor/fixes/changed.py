"""A launch as it was meant, and as changes make it: data, without the text that it stands in."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import flag_edits, with_edits
from sgdoctor.launch.model import Document, FlagTable, Launch, Problem

_FIRST: Final = frozenset({"text.repair", "docker.command"})


def as_meant(document: Document, problems: Iterable[Problem], flags: FlagTable) -> Launch:
    """What a launch says once its text is written as it was meant: typographic characters, a program that is missing.

    Args:
        document: as it is written.
        problems: of the document.
        flags: of the engine's version.
    """
    changes = first_changes(problems)
    if not changes:
        return document.launch
    try:
        return document.edited(changes, flags).launch
    except UserError:
        return document.launch


def first_changes(problems: Iterable[Problem]) -> tuple[Change, ...]:
    """The changes without which the words of a command cannot even be read."""
    every = (change for problem in problems if problem.severity != "notice" for change in problem.changes)
    return tuple(dict.fromkeys(change for change in every if change.kind in _FIRST))


def changed(launch: Launch, changes: Sequence[Change], flags: FlagTable) -> Launch:
    """The launch with the program, the flags and the variables of ``changes``; other kinds need the document."""
    program = next((change.value for change in changes if change.kind == "docker.command"), None)
    if program is not None and launch.argv:
        words = tuple(shlex.split(program))
        launch = replace(launch, argv=(*words, *launch.argv[launch.flags_at :]), flags_at=len(words))
    argv = launch.argv
    if argv:
        argv = tuple(with_edits(argv, flag_edits(argv, launch.flags_at, changes, flags)))
    env = dict(launch.env)
    for change in changes:
        if change.kind == "env.set":
            env[change.name] = change.value
        elif change.kind == "env.unset":
            env.pop(change.name, None)
    return replace(launch, argv=argv, command=argv if launch.command == launch.argv else launch.command, env=env)
