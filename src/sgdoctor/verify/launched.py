"""What a launch says about the server that it starts."""

import re
from typing import Final

from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import FlagTable, Launch
from sgdoctor.verify.model import Server

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NO_WORDS: Final = "--is-embedding"


def server_of(launch: Launch, flags: FlagTable, address: str) -> Server:
    """The server of a launch.

    Args:
        launch: which.
        flags: of the engine's version.
        address: base of its URLs.
    """
    given = {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}

    def value(flag: str) -> str | None:
        values = given.get(flags.canonical(flag))
        return _filled_in(values[-1], launch) if values else None

    return Server(
        address,
        key=value("--api-key"),
        name=value("--served-model-name"),
        chats=flags.canonical(_NO_WORDS) not in given,
    )


def _filled_in(word: str, launch: Launch) -> str | None:
    """A word as the shell of the container gives it to the engine; None where it takes it from out of sight."""
    found = _VARIABLE.fullmatch(word)
    return word if found is None else launch.env.get(found[1] or found[2])
