"""``sgdoctor relaunch``: a container with the corrected flags takes the place of one, with a way back."""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.relaunch_texts import words
from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.cli.relaunch_proposal import Proposal
    from sgdoctor.cli.relaunch_show import Show
    from sgdoctor.containers.client import Client
    from sgdoctor.rules.base import RuleBase

FORMATS: Final = ("text", "json")
_CHANGES: Final = ("fix", "set", "unset", "env", "image", "plan")


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``relaunch``."""
    lang = parser.lang
    parser.description = words(lang, "relaunch.about")
    parser.dashed_values = frozenset({"--set", "--unset"})
    parser.add_argument("container", metavar="CONTAINER", help=words(lang, "relaunch.container"))
    for name, metavar, text in (
        ("fix", "FIX", words(lang, "relaunch.fix")),
        ("set", "FLAG=VALUE", say(lang, "fix.set")),
        ("unset", "FLAG", say(lang, "fix.unset")),
        ("env", "NAME=VALUE", say(lang, "fix.env")),
    ):
        parser.add_argument(f"--{name}", metavar=metavar, action="append", default=[], help=text)
    parser.add_argument("--image", metavar="IMAGE", help=words(lang, "relaunch.image"))
    parser.add_argument("--plan", metavar="FILE", help=words(lang, "relaunch.plan"))
    parser.add_argument("--resume", action="store_true", help=words(lang, "relaunch.resume"))
    parser.add_argument("--dry-run", action="store_true", help=words(lang, "relaunch.dry_run"))
    parser.add_argument("--accept-drift", action="store_true", help=words(lang, "relaunch.accept_drift"))
    parser.add_argument("--version", metavar="VERSION", help=say(lang, "fix.version"))
    add_common(parser)


def add_common(parser: "Parser") -> None:
    """Adds what relaunching and going back have in common."""
    lang = parser.lang
    parser.add_argument("--yes", action="store_true", help=words(lang, "yes"))
    parser.add_argument("--ready-timeout", metavar="SECONDS", type=float, help=words(lang, "relaunch.ready_timeout"))
    parser.add_argument("--format", choices=FORMATS, default="text", help=words(lang, "format"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=say(lang, "diagnose.rules"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Shows what is about to be done, asks, does it, and says what came of it."""
    from sgdoctor.cli.main import complain
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint

    if problem := _misuse(arguments, lang) or misuse(arguments, lang):
        return complain(problem, lang)
    base = rules_of(arguments, lang)
    with Client(find_endpoint()) as client:
        return (_resume if arguments.resume else _relaunch)(client, base, arguments, lang)


def misuse(arguments: argparse.Namespace, lang: str) -> str:
    """What cannot be meant of the common arguments; empty if all of it can."""
    from sgdoctor.report.safe import printable

    for folder in arguments.rules:
        if not Path(folder).is_dir():
            return say(lang, "error.rules_folder", given=printable(folder))
    limit = arguments.ready_timeout
    if limit is not None and not 0 < limit < math.inf:
        return words(lang, "usage.timeout", given=f"{limit:g}")
    name = getattr(arguments, "container", None)
    return words(lang, "process.only", name=printable(name)) if name and _is_process(name) else ""


def _is_process(name: str) -> bool:
    """Whether a name is known as that of a process, and no container engine has a container of it."""
    from contextlib import suppress

    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.containers.find import look_for
    from sgdoctor.errors import UserError
    from sgdoctor.relaunch.journal import journals
    from sgdoctor.relaunch.model import Way

    known = journals(name)
    if not known or known[-1].intent.way is not Way.PROCESS:
        return False
    with suppress(UserError), Client(find_endpoint()) as client:
        return look_for(client, name, None) is None
    return True


def rules_of(arguments: argparse.Namespace, lang: str) -> "RuleBase":
    """The rules in force; mistakes in those of the user are said."""
    from sgdoctor.cli.diagnose import report_problems, rule_base_of

    base = rule_base_of(arguments.rules)
    report_problems(base, lang)
    return base


def _misuse(arguments: argparse.Namespace, lang: str) -> str:
    given = [name for name in _CHANGES if getattr(arguments, name)]
    if arguments.resume and (given or arguments.dry_run):
        names = ", ".join(f"--{name}" for name in given) or "--dry-run"
        return words(lang, "usage.resume", options=names)
    if arguments.image is not None and not arguments.image.strip():
        return words(lang, "usage.image")
    if arguments.plan is not None and len(given) > 1:
        return words(lang, "usage.plan", options=", ".join(f"--{name}" for name in given if name != "plan"))
    return ""


# ---------------------------------------------------------------- a new one


def _relaunch(client: "Client", base: "RuleBase", arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import check_free, open_here, open_text
    from sgdoctor.cli.relaunch_proposal import propose
    from sgdoctor.cli.relaunch_show import Show
    from sgdoctor.report.safe import printable

    for unfinished in open_here(client, arguments.container, lang):
        return complain(printable(open_text(unfinished, lang)), lang)
    check_free(client, arguments.container)
    proposal = propose(client, arguments.container, base, arguments)
    check_free(client, proposal.container)
    show = Show(arguments, lang)
    show.proposal(proposal)
    if proposal.refused is not None:
        why = proposal.refused.in_language(lang)
        return show.closed(2, words(lang, "refused", name=proposal.container, why=why))
    if arguments.dry_run:
        return show.closed(0, words(lang, "dry_run", name=proposal.container))
    if not show.agreed(proposal.container, stops=proposal.serves):
        return show.closed(2, words(lang, "not_agreed", name=proposal.container))
    return _carried_out(client, proposal, base, show)


def _carried_out(client: "Client", proposal: "Proposal", base: "RuleBase", show: "Show") -> int:
    from functools import partial

    from sgdoctor.cli.fix_files import remove_files, write_files
    from sgdoctor.cli.relaunch_run import Errand
    from sgdoctor.relaunch.launching import relaunch
    from sgdoctor.relaunch.model import Ending

    act = partial(
        relaunch,
        client,
        proposal.inspection,
        proposal.changes,
        proposal.answer.flags,
        planned=proposal.edition,
        accept_drift=show.arguments.accept_drift,
    )
    done = words(show.lang, "done", name="{name}", time="{time}")
    written = write_files(proposal.answer.plan, proposal.folder)
    code, ending = show.carry_out(client, Errand(proposal.container, act, done), base)
    if ending in (Ending.REFUSED, Ending.BACK):
        remove_files(written)
    return code


# ---------------------------------------------------------------- one that was cut off


def _resume(client: "Client", base: "RuleBase", arguments: argparse.Namespace, lang: str) -> int:
    from contextlib import suppress
    from functools import partial

    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import check_free, open_here, open_text, step_reached
    from sgdoctor.cli.relaunch_run import Errand
    from sgdoctor.cli.relaunch_show import Show
    from sgdoctor.containers.transport import UnreachableError
    from sgdoctor.relaunch.recovery import resume
    from sgdoctor.report.safe import printable

    found = open_here(client, arguments.container, lang)
    if not found:
        with suppress(UnreachableError):
            check_free(client, arguments.container)
        return complain(printable(words(lang, "none_open", name=arguments.container)), lang)
    unfinished = found[-1]
    if unfinished.holder is not None:
        return complain(printable(open_text(unfinished, lang)), lang)
    name = unfinished.journal.intent.container
    show = Show(arguments, lang)
    head = words(lang, "resume.head", name=name, step=step_reached(unfinished.journal, lang))
    show.heading(head, resumes=unfinished.journal.id)
    if not show.agreed(name, stops=False):
        return show.closed(2, words(lang, "not_agreed", name=name))
    done = words(lang, "done", name="{name}", time="{time}")
    return show.carry_out(client, Errand(name, partial(resume, client, unfinished.journal), done), base)[0]
