"""``sgdoctor heal``: launch after launch until a server is verified, or the original one is back."""

import argparse
import re
import sys
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.heal_texts import words
from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser

FORMATS: Final = ("text", "json", "md")
_TRIES: Final = 3
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``heal``."""
    from sgdoctor.cli.relaunch_texts import words as relaunch_words

    lang = parser.lang
    parser.description = words(lang, "about")
    parser.add_argument("container", metavar="CONTAINER", help=relaunch_words(lang, "relaunch.container"))
    parser.add_argument("--max-attempts", metavar="N", default=str(_TRIES), help=words(lang, "max_attempts"))
    parser.add_argument("--deadline", metavar="TIME", help=words(lang, "deadline"))
    parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=True, help=words(lang, "verify"))
    parser.add_argument("--allow-unsafe", action="store_true", help=words(lang, "allow_unsafe"))
    parser.add_argument("--accept-drift", action="store_true", help=relaunch_words(lang, "relaunch.accept_drift"))
    parser.add_argument("--yes", action="store_true", help=relaunch_words(lang, "yes"))
    parser.add_argument("--format", choices=FORMATS, default="text", help=words(lang, "format"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=say(lang, "diagnose.rules"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Heals, and reports."""
    from sgdoctor.cli.heal_report import Report, as_data, as_markdown, print_report
    from sgdoctor.cli.heal_screen import Screen
    from sgdoctor.cli.heal_ward import ContainerWard
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import check_free, open_here, open_text
    from sgdoctor.cli.relaunch import misuse, rules_of
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.containers.launches import container_document
    from sgdoctor.containers.spool import state_dir
    from sgdoctor.relaunch.heal.loop import heal
    from sgdoctor.relaunch.heal.model import Limits
    from sgdoctor.relaunch.verified import VerifiedReadiness
    from sgdoctor.report.safe import printable
    from sgdoctor.watching.history import History

    arguments.ready_timeout = None
    tries, seconds = _tries(arguments.max_attempts), _seconds(arguments.deadline)
    if tries is None:
        return complain(words(lang, "usage.attempts", given=printable(arguments.max_attempts)), lang)
    if seconds is None and arguments.deadline is not None:
        return complain(words(lang, "usage.deadline", given=printable(arguments.deadline)), lang)
    if problem := misuse(arguments, lang):
        return complain(problem, lang)
    base = rules_of(arguments, lang)
    arguments.max_attempts = tries
    with Client(find_endpoint()) as client:
        for unfinished in open_here(client, arguments.container, lang):
            return complain(printable(open_text(unfinished, lang)), lang)
        check_free(client, arguments.container)
        name = container_document(client, arguments.container).name
        check_free(client, name)
        screen = Screen(arguments, name, lang)
        learned = History(state_dir() / "starts.jsonl")
        readiness = VerifiedReadiness(client.connections.endpoint, base, asks=arguments.verify, history=learned)
        with ContainerWard(client, name, base, readiness, screen, accept_drift=arguments.accept_drift) as ward:
            limits = Limits(tries, seconds, unsafe=arguments.allow_unsafe)
            healing = heal(ward, limits, told=screen.told)
    report = Report(name, healing, arguments.verify, lang, screen.hide)
    if arguments.format == "json":
        from sgdoctor.cli.diagnose import print_json

        print_json(as_data(report))
    elif arguments.format == "md":
        sys.stdout.write(as_markdown(report))
    else:
        print_report(screen.canvas, report)
    return report.exit_code


def _tries(given: str) -> int | None:
    return int(given) if given.isascii() and given.isdigit() and int(given) > 0 else None


def _seconds(given: str | None) -> float | None:
    found = _TIME.fullmatch(given.strip()) if given is not None else None
    return float(found[1]) * _SECONDS[found[2]] if found is not None and float(found[1]) > 0 else None
