"""``sgdoctor rollback``: back to an earlier launch of a container."""

import argparse
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.relaunch_texts import words

if TYPE_CHECKING:
    from rich.text import Text as Styled

    from sgdoctor.cli.parsing import Parser
    from sgdoctor.cli.relaunch_show import Show
    from sgdoctor.containers.client import Client
    from sgdoctor.relaunch.launches import To
    from sgdoctor.relaunch.recovery import Unfinished
    from sgdoctor.relaunch.returning import Return
    from sgdoctor.rules.base import RuleBase
    from sgdoctor.texts import Text

_GOOD: Final = "good"
_ORIGINAL: Final = "original"


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``rollback``."""
    from sgdoctor.cli.relaunch import add_common

    lang = parser.lang
    parser.description = words(lang, "rollback.about")
    parser.add_argument("container", metavar="CONTAINER", help=words(lang, "relaunch.container"))
    parser.add_argument("--to", metavar="LAUNCH", default=_GOOD, help=words(lang, "rollback.to"))
    parser.add_argument("--accept-drift", action="store_true", help=words(lang, "relaunch.accept_drift"))
    add_common(parser)


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Shows which launch it goes back to, asks, does it, and says what came of it."""
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import check_free, open_here, open_text
    from sgdoctor.cli.relaunch import misuse, rules_of
    from sgdoctor.cli.relaunch_show import Show
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.report.safe import printable

    if problem := misuse(arguments, lang):
        return complain(problem, lang)
    to = _to(arguments.to)
    if to is None:
        return complain(words(lang, "usage.to", given=printable(arguments.to)), lang)
    base = rules_of(arguments, lang)
    with Client(find_endpoint()) as client:
        found = open_here(client, arguments.container, lang)
        if found and found[-1].holder is not None:
            return complain(printable(open_text(found[-1], lang)), lang)
        show = Show(arguments, lang)
        if found:
            return _undo(client, found[-1], base, show)
        check_free(client, arguments.container)
        return _go_back(client, arguments.container, to, base=base, show=show)


def _to(given: str) -> "To | None":
    if given == _GOOD:
        return "last-good"
    if given == _ORIGINAL:
        return "original"
    return int(given) if given.isascii() and given.isdigit() else None


def _undo(client: "Client", unfinished: "Unfinished", base: "RuleBase", show: "Show") -> int:
    """Takes back a relaunch that was cut off."""
    from functools import partial

    from sgdoctor.cli.open_relaunch import step_reached
    from sgdoctor.cli.relaunch_run import Errand
    from sgdoctor.relaunch.recovery import undo

    journal, lang = unfinished.journal, show.lang
    name = journal.intent.container
    show.heading(words(lang, "rollback.undo", name=name, step=step_reached(journal, lang)), undoes=journal.id)
    if not show.agreed(name, stops=False):
        return show.closed(2, words(lang, "not_agreed", name=name))
    done = words(lang, "done", name="{name}", time="{time}")
    errand = Errand(name, partial(undo, client, journal), done, undone=True)
    return show.carry_out(client, errand, base)[0]


def _go_back(client: "Client", given: str, to: "To", *, base: "RuleBase", show: "Show") -> int:
    from functools import partial

    from sgdoctor.cli.failed_before import failed_before
    from sgdoctor.cli.history import name_now
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import check_free
    from sgdoctor.cli.relaunch_run import Errand
    from sgdoctor.containers.find import find, look_for
    from sgdoctor.relaunch.returning import go_back, plan_return, removed
    from sgdoctor.report.safe import printable

    lang = show.lang
    if look_for(client, given, None) is None:
        if now := name_now(client, given):
            return complain(printable(words(lang, "rollback.other_name", name=given, now=now)), lang)
        if (left := removed(client, given, to)) is not None:
            return complain(printable(left.in_language(lang)), lang)
    look = find(client, given)
    name = look.container.name
    check_free(client, name)
    planned = plan_return(client, look.container.id, to, accept_drift=show.arguments.accept_drift)
    wanted = planned.wanted
    failed = failed_before(client, wanted, base)
    show.heading(
        words(lang, "rollback.head", number=wanted.number, name=name),
        _lines(planned, failed, show),
        container={"name": name, "id": look.container.id, "runs": look.running},
        to=wanted.number,
        failed_before=failed.in_language(lang) if failed is not None else None,
    )
    if planned.refused is not None:
        return show.closed(2, words(lang, "refused.nothing", name=name, why=planned.refused.in_language(lang)))
    if not show.agreed(name, stops=look.running):
        return show.closed(2, words(lang, "not_agreed", name=name))
    key = "done.rollback" if failed is None else "done.failed_before"
    done = words(lang, key, name="{name}", number=wanted.number, time="{time}")
    act = partial(go_back, client, planned, accept_drift=show.arguments.accept_drift)
    return show.carry_out(client, Errand(name, act, done, awaited=failed is None), base)[0]


def _lines(planned: "Return", failed: "Text | None", show: "Show") -> "list[Styled]":
    """What belongs to a way back: the flags, where its container comes from, and how it failed."""
    from rich.text import Text as Styled

    from sgdoctor.cli.failed_before import origin_words
    from sgdoctor.cli.history_rows import command_diff
    from sgdoctor.report.plan_redact import hidden_words

    lang, wanted = show.lang, planned.wanted
    diff = command_diff(hidden_words(planned.current.command, show.hide), hidden_words(wanted.command, show.hide))
    lines = diff or [Styled(words(lang, "rollback.same"))]
    lines.append(Styled(origin_words(planned, lang)))
    if failed is not None:
        lines.append(Styled(words(lang, "rollback.failed", title=failed.in_language(lang))))
    return lines
