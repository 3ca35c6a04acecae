"""``sgdoctor preflight``: what would fail, found before the first start."""

import argparse
import sys
from typing import TYPE_CHECKING, Final

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.preflight.answer import Preflight
    from sgdoctor.targets import Target

FORMATS: Final = ("text", "json", "md", "sarif")
USES: Final = ("single", "agents", "many")
_TO_SCREEN: Final = "-"


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``preflight``."""
    from sgdoctor.cli.fix import IN_PLACE

    lang = parser.lang
    parser.description = say(lang, "preflight.about")
    parser.takes_command = True
    parser.add_argument("target", nargs="*", metavar="TARGET", help=say(lang, "preflight.target"))
    parser.add_argument("--gpu", metavar="CARD", default="", help=say(lang, "preflight.gpu"))
    parser.add_argument("--model", metavar="DIR", help=say(lang, "preflight.model"))
    parser.add_argument("--version", metavar="VERSION", help=say(lang, "preflight.version"))
    parser.add_argument("--fix", action="store_true", help=say(lang, "preflight.fix"))
    parser.add_argument("--write", metavar="FILE", nargs="?", const=IN_PLACE, help=say(lang, "fix.write"))
    parser.add_argument("--choose", metavar="FIX", action="append", default=[], help=say(lang, "fix.choose"))
    parser.add_argument("--deep", action="store_true", help=say(lang, "preflight.deep"))
    parser.add_argument("--yes", action="store_true", help=say(lang, "preflight.yes"))
    parser.add_argument(
        "--write-compose", metavar="FILE", nargs="?", const=_TO_SCREEN, help=say(lang, "preflight.write_compose")
    )
    parser.add_argument("--use", choices=USES, default="single", metavar="USE", help=say(lang, "preflight.use"))
    parser.add_argument("--format", choices=FORMATS, default="text", help=say(lang, "diagnose.format"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Checks, writes what is asked to be written, then says what was found."""
    from sgdoctor.cli.fix import write_answer
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import tell_open
    from sgdoctor.cli.preflight_answer import exit_code, opened, preflight_for
    from sgdoctor.report.safe import printable

    if arguments.write_compose is not None:
        from sgdoctor.cli.preflight_compose import write_compose

        return write_compose(arguments, lang)
    if arguments.target:
        tell_open(arguments.target[0], lang)
    with opened(arguments.target) as target:
        if target is not None and target.document is None:
            return complain(printable(say(lang, "preflight.log", name=target.name)), lang)
        if arguments.write is not None and target is None:
            return complain(say(lang, "preflight.no_plan"), lang)
        answers: dict[str, str] = {}
        if arguments.deep:
            from sgdoctor.cli.preflight_deep import probed

            refused = probed(target, arguments, lang, answers)
            if refused is not None:
                return complain(printable(refused), lang)
        answer = preflight_for(target, arguments, answers)
        written: tuple[str, ...] = ()
        if arguments.write is not None and target is not None and answer.fix is not None:
            written = write_answer(target, answer.fix, arguments.write)
    _print(answer, target, arguments, lang, written)
    return exit_code(answer)


def _print(
    answer: "Preflight", target: "Target | None", arguments: argparse.Namespace, lang: str, written: tuple[str, ...]
) -> None:
    redact = not arguments.no_redact
    if arguments.format in ("json", "sarif"):
        from sgdoctor.cli.diagnose import print_json
        from sgdoctor.report.preflight_json import as_preflight_data
        from sgdoctor.report.preflight_sarif import preflight_sarif

        if arguments.format == "json":
            print_json(as_preflight_data(answer, lang, redact=redact, written=written))
            return
        file = str(target.file.path) if target is not None and target.file is not None else ""
        print_json(preflight_sarif(answer, file, lang, redact=redact))
    elif arguments.format == "md":
        from sgdoctor.report.preflight_markdown import preflight_markdown

        sys.stdout.write(preflight_markdown(answer, lang, redact=redact))
    else:
        from sgdoctor.report.canvas import console_for
        from sgdoctor.report.preflight_text import print_preflight

        console = console_for(sys.stdout)
        print_preflight(console, answer, lang, redact=redact, diff=arguments.fix, written=written)
