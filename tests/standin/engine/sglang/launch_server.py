"""`python3 -m sglang.launch_server`, `sglang serve` and start scripts of users all come here.

The environment variables are described in the README beside this folder.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .recorded import Answers, Run, Server
from .replay import Engine, Pace
from .srt.server_args import ServerArgs

# In the container's own layer: a restart finds it, a new container does not.
STARTS = Path("/var/lib/standin/starts")
WRONG_USE = 64
DECIDE = "decide"


def main(arguments: Sequence[str]) -> None:
    """Start; does not return."""
    start(arguments, recommends=False)


def run_server(server_args: ServerArgs) -> None:
    """Start as scripts of users do; does not return."""
    start(server_args.words, recommends=False)


def start(words: Sequence[str], *, recommends: bool) -> None:
    """Replay the run that is due, or decide it; does not return.

    Args:
        words: the arguments.
        recommends: whether the engine would recommend `sglang serve` first.
    """
    names = os.environ.get("STANDIN_SCENARIO", "boot-dense").split(",")
    name = names[min(_count_start(), len(names)) - 1].strip()
    linger = os.environ.get("STANDIN_LINGER")
    pace = Pace(float(os.environ.get("STANDIN_PACE", "0")), None if linger is None else float(linger))
    run, server = _decided(words, pace, recommends=recommends) if name == DECIDE else _recorded(name)
    Engine(
        run,
        server,
        address=(_value(words, "--host", "127.0.0.1"), int(_value(words, "--port", "30000"))),
        pace=pace,
        ignore_term=os.environ.get("STANDIN_IGNORE_TERM") == "1",
        split=os.environ.get("STANDIN_STREAMS") == "split",
    ).run()


def _recorded(name: str) -> tuple[Run, Server]:
    try:
        run = Run.load(name)
    except KeyError:
        sys.stderr.write(f"stand-in: no recorded run is named {name!r}\n")
        sys.exit(WRONG_USE)
    return run, Answers.of(run)


def _decided(words: Sequence[str], pace: Pace, *, recommends: bool) -> tuple[Run, Server]:
    from .decide.start import decided

    try:
        return decided(words, os.environ, pace.factor, recommends=recommends)
    except ValueError as error:
        sys.stderr.write(f"stand-in: {error}\n")
        sys.exit(WRONG_USE)


def _count_start() -> int:
    """Number of this start in this container, from 1."""
    try:
        with STARTS.open("ab") as starts:
            starts.write(b".")
        return STARTS.stat().st_size
    except OSError:  # a read-only container, a bare process: every start is the first
        return 1


def _value(arguments: Sequence[str], flag: str, default: str) -> str:
    """The last value of a flag, as argparse takes it."""
    value = default
    for position, argument in enumerate(arguments):
        if argument == flag and position + 1 < len(arguments):
            value = arguments[position + 1]
        elif argument.startswith(f"{flag}="):
            value = argument.partition("=")[2]
    return value


if __name__ == "__main__":
    start(sys.argv[1:], recommends=True)
