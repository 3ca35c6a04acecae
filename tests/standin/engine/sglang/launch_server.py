"""`python3 -m sglang.launch_server`, `sglang serve` and start scripts of users all come here.

Environment (any argument is accepted; only `--host`, `--port` and `--model-path` mean something):

STANDIN_SCENARIO     Name of a recorded run, or several with commas: the n-th start of this container replays the n-th,
                     further starts the last. `boot-dense` when unset.
STANDIN_PACE         0 (when unset): all at once; 1: as slow as it was; 20: twenty times faster than it was.
STANDIN_LINGER       Seconds between "Waiting 60.0 seconds for CUDA coredumps" and the end, whatever the pace.
STANDIN_IGNORE_TERM  1: SIGTERM does nothing.
STANDIN_STREAMS      split: access lines go to stdout, as uvicorn writes them; else everything goes to stderr, because only
                     one stream keeps the order of the lines.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .recorded import Answers, Run
from .replay import Engine, Pace

# In the container's own layer: a restart finds it, a new container does not.
STARTS = Path("/var/lib/standin/starts")
WRONG_USE = 64


def main(arguments: Sequence[str]) -> None:
    """Replay the run that is due; does not return."""
    names = os.environ.get("STANDIN_SCENARIO", "boot-dense").split(",")
    name = names[min(_count_start(), len(names)) - 1].strip()
    try:
        run = Run.load(name)
    except KeyError:
        sys.stderr.write(f"stand-in: no recorded run is named {name!r}\n")
        sys.exit(WRONG_USE)
    linger = os.environ.get("STANDIN_LINGER")
    Engine(
        run,
        Answers.of(run),
        address=(_value(arguments, "--host", "127.0.0.1"), int(_value(arguments, "--port", "30000"))),
        pace=Pace(float(os.environ.get("STANDIN_PACE", "0")), None if linger is None else float(linger)),
        ignore_term=os.environ.get("STANDIN_IGNORE_TERM") == "1",
        split=os.environ.get("STANDIN_STREAMS") == "split",
    ).run()


def _count_start() -> int:
    """Number of this start in this container, from 1."""
    try:
        with STARTS.open("ab") as starts:
            starts.write(b".")
        return STARTS.stat().st_size
    except OSError:  # a read-only container: every start is the first
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
    main(sys.argv[1:])
