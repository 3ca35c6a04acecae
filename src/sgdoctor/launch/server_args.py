"""The launch behind the arguments that an engine printed into its log."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import flag_edits, is_flag, with_edits
from sgdoctor.launch.model import Arity, Editable, Edited, EditState, FlagTable, Launch, Origin, Problem
from sgdoctor.launch.render import command_line
from sgdoctor.texts import Text

_OBJECT: Final = re.compile(r"<|[A-Za-z_][\w.]*\(")
_HIDDEN: Final = "***"
_ELSEWHERE: Final = Text(
    "a log is no launch; this is the command that its arguments make",
    "日志不是启动命令；这是根据其中参数还原的命令",
)
_NOT_EDITABLE: Final = Editable(EditState.NO, _ELSEWHERE)


class Field(NamedTuple):
    """What gives a value to one field of the engine's arguments.

    Attributes:
        flag: with its dashes.
        default: what holds where the flag is not given.
    """

    flag: str
    default: Any = None


@dataclass(frozen=True, slots=True)
class ServerArgs:
    """A command made of the arguments that an engine printed.

    Attributes:
        name: of the log.
        text: the command, each flag on a line of its own.
        launch: the same as words.
        problems: what could not be put into the command.
        editable: that there is nothing to edit: the launch stands somewhere else.
    """

    name: str
    text: str
    launch: Launch
    problems: tuple[Problem, ...]
    editable: Editable = _NOT_EDITABLE

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The command with the changes of its flags; all others are left to be made by hand."""
        old = self.launch
        launch = _launch(with_edits(old.argv, flag_edits(old.argv, old.flags_at, changes, flags)), old.flags_at)
        left = tuple((change, _ELSEWHERE) for change in changes if change.kind not in ("flag.set", "flag.unset"))
        return Edited(command_line(launch.argv, launch.flags_at), launch, left)


def open_server_args(
    arguments: Mapping[str, Any], fields: Mapping[str, Field], flags: FlagTable, program: Sequence[str], name: str = ""
) -> ServerArgs:
    """The command that gives an engine the arguments that it printed.

    The engine prints them with what it chose itself where nothing was given, which is not to be told from what somebody
    typed. All of it is in the command: with it the engine starts as it did.

    Args:
        arguments: field and value; secrets are ``***``, and objects stand as their text.
        fields: what gives the value of each field in this version.
        flags: of this version.
        program: the words in front of the flags.
        name: of the log.
    """
    words = list(program)
    secrets: list[str] = []
    for name_of_field, value in arguments.items():
        field = fields.get(name_of_field)
        if field is None or value is None or _same(value, field.default):
            continue
        if value == _HIDDEN:
            secrets.append(field.flag)
        else:
            typed = _typed(field.flag, value, flags)
            # A log is text of others: a value of it must not become a flag.
            words += typed if not any(map(is_flag, typed[1:])) else []
    problems = (_left_out(secrets),) if secrets else ()
    return ServerArgs(name, command_line(words, len(program)), _launch(words, len(program)), problems)


def _launch(words: Sequence[str], flags_at: int) -> Launch:
    return Launch(origin=Origin.LOG, argv=tuple(words), flags_at=flags_at, command=tuple(words))


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        # What is empty was not given; a tuple is printed where a list was typed.
        return list(value) == (list(default) if isinstance(default, list | tuple | dict) else [])
    return bool(value == default) and isinstance(value, bool) == isinstance(default, bool)


def _typed(flag: str, value: Any, flags: FlagTable) -> list[str]:
    """The words that give ``value``; none where the command line has none for it."""
    arity = flags.arity(flag)
    if isinstance(value, bool):
        switch = flag if value else f"--no-{flag.removeprefix('--')}"
        return [switch] if flags.arity(switch) is Arity.NONE else []
    if arity is None or arity is Arity.NONE:
        return []
    if isinstance(value, dict):
        return [flag, json.dumps(value, ensure_ascii=False)]
    if isinstance(value, list | tuple):
        return [flag, *map(str, value)] if arity is Arity.MANY else []
    return [] if _OBJECT.match(str(value)) else [flag, str(value)]


def _left_out(secrets: Sequence[str]) -> Problem:
    listed = ", ".join(secrets)
    return Problem(
        "secret-left-out",
        "notice",
        Text(
            f"{listed} was given, but the value is a secret: add it", f"当时给出了 {listed}，但其值是机密，请自行补上"
        ),
    )
