"""``sgdoctor explain``: the page of a rule, offline."""

import argparse
import sys
from typing import TYPE_CHECKING

from sgdoctor.messages import say
from sgdoctor.rules.template import spoken

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.rules.base import RuleBase
    from sgdoctor.rules.model import Rule


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``explain``."""
    parser.description = say(parser.lang, "explain.about")
    parser.add_argument("code", metavar="CODE", help=say(parser.lang, "explain.code"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Prints the page of a rule, or the rules that a word stands for; 2 where there is none."""
    from sgdoctor.cli.main import complain
    from sgdoctor.report.canvas import console_for
    from sgdoctor.report.page import print_page
    from sgdoctor.report.safe import printable
    from sgdoctor.rules.base import load_rule_base

    base = load_rule_base()
    given: str = arguments.code
    muted_by = ""
    try:
        rule = base.rule(given)
    except KeyError:
        found = _holding(base, given)
        muted, muted_by = _muted(base, given)
        if muted is not None:
            rule = muted
        elif len(found) == 1:
            rule = found[0]
        elif found:
            for one in found:
                title = spoken(printable(one.title.in_language(lang)), lang)
                sys.stdout.write(f"{one.id}  {one.name:<36}  {title}\n")
            return 0
        else:
            hint = _hint(base, given, lang)
            return complain(say(lang, "error.no_rule", given=printable(given), hint=hint), lang)
    print_page(console_for(sys.stdout), rule, lang, muted_by=muted_by)
    return 0


def _holding(base: "RuleBase", word: str) -> list["Rule"]:
    """The rules whose id, name or title holds a word."""
    word = word.strip().lower()
    if not word:
        return []
    return [
        rule
        for rule in base.all()
        if any(word in text.lower() for text in (rule.id, rule.name, rule.title.en, rule.title.zh))
    ]


def _muted(base: "RuleBase", given: str) -> "tuple[Rule | None, str]":
    """A rule that the user muted, and the file that does so."""
    if not base.muted:
        return None, ""
    from sgdoctor.rules.decoding import decode
    from sgdoctor.rules.loading import load_rules
    from sgdoctor.rules.locate import built_in_dir, user_dirs

    loaded = load_rules(built_in_dir(), user_dirs())
    for source in loaded.silenced:
        if given.upper() == source.model.id or given == source.model.name:
            return decode(source.plain), loaded.mute_files[source.model.id]
    return None, ""


def _hint(base: "RuleBase", given: str, lang: str) -> str:
    """The name that was probably meant. Ids that differ by a digit have nothing to do with each other."""
    from sgdoctor.cli.parsing import hint

    return hint(lang, given.lower(), [entry.name for entry in base.entries])
