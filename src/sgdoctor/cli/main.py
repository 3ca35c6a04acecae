"""``sgdoctor``: finds the command, runs it, and turns what went wrong into one line and an exit code."""

import errno
import importlib
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO

from sgdoctor import __version__
from sgdoctor.messages import language, say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser

EXIT_INTERNAL: Final = 1
EXIT_USAGE: Final = 2
_EXIT_INTERRUPTED: Final = 130

# One module of `sgdoctor.cli` each, loaded when its command is given: `configure(parser)` adds the arguments,
# `run(arguments, lang)` returns the exit code.
COMMANDS: Final = (
    "diagnose",
    "watch",
    "run",
    "preflight",
    "fix",
    "relaunch",
    "heal",
    "rollback",
    "history",
    "forget",
    "demo",
    "explain",
    "rules",
    "flags",
    "completion",
)


def main(argv: Sequence[str] | None = None, *, loaded: Callable[[], object] | None = None) -> int:
    """Runs a command line.

    Args:
        argv: without the program's name; the process's own where None.
        loaded: called when the command begins.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    lang = language(arguments, os.environ)
    # A stream that the caller has closed (`>&-`) is None; the exit code is still an answer.
    sys.stdout, sys.stderr = (stream or _nowhere() for stream in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        _never_fail_to_encode(stream)
    try:
        code = _run(arguments, lang, loaded)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_output()  # the reader (`head`, `less`) has had enough
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF):
            return _failed(error, lang)
        abandon_output()
        complain(say(lang, "error.output", reason=error.strerror or str(error)), lang)
        return EXIT_INTERNAL
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _EXIT_INTERRUPTED if _is_interrupt(error) else _failed(error, lang)
    return code


def build_parser(lang: str, command: str | None = None) -> "Parser":
    """The parser of the whole command line.

    Args:
        lang: of help and errors.
        command: the only command whose arguments are wanted; all of them where None.
    """
    from sgdoctor.cli.parsing import Parser

    parser = Parser(prog="sgdoctor", description=say(lang, "about"), lang=lang)
    parser.add_argument(
        "--version", action="version", version=f"sgdoctor {__version__}", help=say(lang, "help.version")
    )
    parser.add_language()
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", title=say(lang, "commands"), parser_class=Parser, required=False
    )
    # A start that knows its command need not describe the others.
    for name in (command,) if command in COMMANDS else COMMANDS:
        subparser = subparsers.add_parser(name, help=say(lang, f"help.{name}"), lang=lang)
        subparser.add_language()
        if command in (None, name):
            importlib.import_module(f"sgdoctor.cli.{name}").configure(subparser)
    return parser


def _run(arguments: list[str], lang: str, loaded: Callable[[], object] | None) -> int:
    from sgdoctor.cli.parsing import UsageError

    command = next((argument for argument in arguments if argument in COMMANDS), "")
    parser = build_parser(lang, command)
    try:
        namespace = parser.parse_args(arguments)
    except UsageError as error:
        return complain(str(error), lang)
    except SystemExit as leave:  # --help and --version
        return leave.code if isinstance(leave.code, int) else 0
    if namespace.command is None:
        if _has_input():
            return complain(say(lang, "error.input_unread"), lang)
        parser.print_help()
        return 0
    module = importlib.import_module(f"sgdoctor.cli.{namespace.command}")
    if loaded is not None:
        loaded()
    return int(module.run(namespace, lang))


def _has_input() -> bool:
    """Whether a log was piped or redirected to the process."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size > 0)


def complain(text: str, lang: str) -> int:
    """One line on standard error about something the user can put right; returns the exit code for it."""
    sys.stderr.write(say(lang, "error", text=text) + "\n")
    return EXIT_USAGE


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it was Ctrl-C; a class in the making turns that into a RuntimeError (``__set_name__`` before 3.12)."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__
    return False


def _failed(error: Exception, lang: str) -> int:
    from sgdoctor.errors import UserError
    from sgdoctor.report.safe import printable

    if isinstance(error, UserError):
        return complain(printable(error.text(lang)), lang)
    if os.environ.get("SGDOCTOR_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
        return EXIT_INTERNAL
    text = printable(f"{type(error).__name__}: {error}")[:300]
    sys.stderr.write(say(lang, "error", text=say(lang, "error.internal", text=text)) + "\n")
    return EXIT_INTERNAL


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the life of the process


def abandon_output() -> None:
    """Python flushes stdout once more at exit; give what is left a place to go."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _never_fail_to_encode(stream: TextIO) -> None:
    """Characters that the terminal's encoding lacks become ``?`` instead of an exception."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        with suppress(OSError, ValueError):
            reconfigure(errors="replace")
