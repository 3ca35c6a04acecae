"""Engine flags inside a command line: changed where they stand, everything else left as it is."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from sgdoctor.launch.change import Change

_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_MODULE: Final = "sglang.launch_server"


def corrected(argv: Sequence[str], changes: Iterable[Change]) -> list[str] | None:
    """The command with its flags changed.

    argparse takes the last of several equal flags, so that one is edited; a flag that is not there yet is added at the
    end. Values go up to the next ``--flag``, which covers flags with several values.

    Args:
        argv: a whole command: ``python3 -m sglang.launch_server ...``, ``sglang serve ...``, ``python3 launch.py ...``.
        changes: those of other kinds than ``flag.set`` and ``flag.unset`` are passed over.

    Returns:
        None where nothing could be changed, or where the engine's flags do not stand in the command itself: behind a
        shell, or in a script of its own.
    """
    if not runs_engine(argv):
        return None
    result = list(argv)
    for change in changes:
        if change.kind == "flag.set":
            _set(result, change.name, change.value)
        elif change.kind == "flag.unset":
            _unset(result, change.name)
    return result if result != list(argv) else None


def runs_engine(argv: Sequence[str]) -> bool:
    """Whether the flags of the engine are arguments of this command."""
    programs = [word.rpartition("/")[2] for word in argv]
    if not programs or any(program in _SHELLS for program in programs[:3]):
        return False
    return (
        _MODULE in argv
        or any(pair == ("sglang", "serve") for pair in pairwise(programs))
        or (programs[0].startswith("python") and any(program.endswith(".py") for program in programs[1:3]))
    )


def _places(argv: Sequence[str], flag: str) -> list[int]:
    return [index for index, word in enumerate(argv) if word == flag or word.startswith(f"{flag}=")]


def _end_of_values(argv: Sequence[str], index: int) -> int:
    """Index behind the values of the flag at ``index``."""
    end = index + 1
    if "=" not in argv[index]:
        while end < len(argv) and not argv[end].startswith("--"):
            end += 1
    return end


def _set(argv: list[str], flag: str, value: str | None) -> None:
    words = [flag] if value is None else [flag, value]
    places = _places(argv, flag)
    if not places:
        argv += words
    elif value is not None:
        last = places[-1]
        # The form that the user chose, `--flag value` or `--flag=value`, is kept.
        argv[last : _end_of_values(argv, last)] = [f"{flag}={value}"] if "=" in argv[last] else words


def _unset(argv: list[str], flag: str) -> None:
    for index in reversed(_places(argv, flag)):
        del argv[index : _end_of_values(argv, index)]
