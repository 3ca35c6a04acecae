"""``sgdoctor completion``: a completion script for the shell."""

import argparse
import sys
from typing import TYPE_CHECKING

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser

SHELLS = ("bash", "zsh", "tcsh")
_FILES = ("files", "target", "log", "write", "write_compose", "words")
_FOLDERS = ("rules", "model")


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``completion``."""
    parser.description = say(parser.lang, "completion.about")
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=say(parser.lang, "completion.shell"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Prints the script."""
    import shtab

    from sgdoctor.cli.main import build_parser

    parser = build_parser(lang)
    for subparser in _parsers(parser):
        for action in subparser._actions:  # noqa: SLF001 - argparse has no public list of them
            if action.dest in (*_FILES, *_FOLDERS):
                action.complete = shtab.FILE if action.dest in _FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(parser, shell=arguments.shell) + "\n")
    return 0


def _parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for subparser in action.choices.values():
                found += _parsers(subparser)
    return found
