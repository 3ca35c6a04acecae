"""``sgdoctor explain``: the page of a rule, offline."""

import argparse
import sys
from typing import TYPE_CHECKING

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.rules.base import RuleBase


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``explain``."""
    parser.description = say(parser.lang, "help.explain")
    parser.add_argument("code", metavar="CODE", help=say(parser.lang, "explain.code"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Prints the page of the rule; 2 where there is none of that id or name."""
    from sgdoctor.cli.main import complain
    from sgdoctor.report.canvas import console_for
    from sgdoctor.report.page import print_page
    from sgdoctor.report.safe import printable
    from sgdoctor.rules.base import load_rule_base

    base = load_rule_base()
    try:
        rule = base.rule(arguments.code)
    except KeyError:
        given = printable(arguments.code)
        return complain(say(lang, "error.no_rule", given=given, hint=_hint(base, arguments.code, lang)), lang)
    print_page(console_for(sys.stdout), rule, lang)
    return 0


def _hint(base: "RuleBase", given: str, lang: str) -> str:
    from sgdoctor.cli.parsing import hint

    names = [entry.name for entry in base.entries]
    ids = [entry.id for entry in base.entries]
    parts = [name for name in names if given.lower() in name][:1]
    if parts and given:
        return say(lang, "error.did_you_mean", close=parts[0])
    return hint(lang, given.upper(), ids) if given[-1:].isdigit() else hint(lang, given.lower(), names)
