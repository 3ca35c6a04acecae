"""`sglang serve ARGS` and `sglang version`."""

import sys

from .. import __version__
from ..launch_server import start


def main() -> None:
    """The program."""
    match sys.argv[1:]:
        case ["serve", *words]:
            start(words, recommends=False)
        case ["version"]:
            sys.stdout.write(f"sglang version: {__version__}\n")
        case _:
            sys.exit("usage: sglang serve ... (a stand-in)")
