"""`prepare_server_args` of start scripts."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerArgs:
    """The words of a command; they are read when the server starts."""

    words: tuple[str, ...]


def prepare_server_args(argv: Sequence[str]) -> ServerArgs:
    """The arguments for `sglang.launch_server.run_server`."""
    return ServerArgs(tuple(argv))
