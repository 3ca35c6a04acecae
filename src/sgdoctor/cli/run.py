"""``sgdoctor run``: a server without a container, started, followed, and started again with the corrected flags."""

import argparse
import re
import sys
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.run_texts import words
from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser

_TRIES: Final = 3
_NAME: Final = re.compile(r"(?!\.+$)[\w.-]{1,64}")


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``run``."""
    lang = parser.lang
    parser.description = words(lang, "about")
    parser.usage = words(lang, "usage")
    parser.add_argument("--name", metavar="NAME", help=words(lang, "name"))
    parser.add_argument("--heal", action="store_true", help=words(lang, "heal"))
    parser.add_argument("--max-attempts", metavar="N", default=str(_TRIES), help=words(lang, "max_attempts"))
    parser.add_argument("--yes", action="store_true", help=words(lang, "yes"))
    from sgdoctor.cli.heal_texts import words as heal_words

    parser.add_argument("--allow-unsafe", action="store_true", help=heal_words(lang, "allow_unsafe"))
    parser.add_argument("--ready-timeout", metavar="SECONDS", type=float, help=words(lang, "ready_timeout"))
    parser.add_argument("--tui", action="store_true", help=words(lang, "tui"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=say(lang, "diagnose.rules"))
    parser.add_argument("words", metavar="PROGRAM", nargs=argparse.REMAINDER, help=words(lang, "program"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Starts the server, and returns once nothing of it runs any more."""
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.relaunch import rules_of
    from sgdoctor.cli.run_loop import Runs
    from sgdoctor.cli.run_plan import ProcessPlans
    from sgdoctor.processes.child import program_of
    from sgdoctor.processes.record import close_cut_off
    from sgdoctor.relaunch.lock import holder, locked
    from sgdoctor.report.safe import printable

    given = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if problem := _misuse(arguments, given, lang):
        return complain(printable(problem), lang)
    arguments.max_attempts = int(arguments.max_attempts)
    base = rules_of(arguments, lang)
    plans = ProcessPlans(given, base)
    program_of(plans.command(())[1])
    plans.name = arguments.name or plans.name
    if (who := holder(plans.name)) is not None:
        return complain(printable(words(lang, "running", name=plans.name, pid=who.pid, since=who.since)), lang)
    with locked(plans.name):
        close_cut_off(plans.name)
        return Runs(plans, arguments, base, lang).run()


def _misuse(arguments: argparse.Namespace, given: list[str], lang: str) -> str:
    from sgdoctor.cli.heal_texts import words as heal_words
    from sgdoctor.cli.relaunch import misuse
    from sgdoctor.cli.watch import app_module

    if not given:
        return words(lang, "usage.program")
    attempts = arguments.max_attempts
    if not (attempts.isascii() and attempts.isdigit() and int(attempts) > 0):
        return heal_words(lang, "usage.attempts", given=attempts)
    if arguments.name is not None and not _NAME.fullmatch(arguments.name):
        return words(lang, "usage.name", given=arguments.name)
    if arguments.tui and not (sys.stdout.isatty() and sys.stdin.isatty() and app_module() is not None):
        return words(lang, "usage.tui")
    return misuse(arguments, lang)
