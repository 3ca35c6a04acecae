"""``sgdoctor history``: the launches that a container has had through relaunches."""

import argparse
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from sgdoctor.cli.relaunch_texts import words
from sgdoctor.messages import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgdoctor.cli.parsing import Parser
    from sgdoctor.containers.client import Client
    from sgdoctor.relaunch.model import Attempt


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``history``."""
    lang = parser.lang
    parser.description = words(lang, "history.about")
    parser.add_argument("container", metavar="CONTAINER", help=words(lang, "relaunch.container"))
    parser.add_argument("--format", choices=("text", "json"), default="text", help=words(lang, "format"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Prints the launches, the oldest first."""
    from dataclasses import replace

    from rich.text import Text as Styled

    from sgdoctor.cli.diagnose import print_json
    from sgdoctor.cli.history_rows import as_row_data, row_lines
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import elsewhere_text, tell_damaged, tell_open
    from sgdoctor.redaction import redactor, unredacted
    from sgdoctor.relaunch.journal import damaged_journals
    from sgdoctor.relaunch.launches import elsewhere, history
    from sgdoctor.relaunch.model import Way
    from sgdoctor.report.canvas import Canvas, console_for
    from sgdoctor.report.safe import printable

    name = name_of(arguments.container)
    engine, holds = _engine_and_holder(name)
    attempts, others = history(name, engine=engine, held=holds), elsewhere(name, engine)
    is_removed = engine is not None and not holds
    if is_removed:
        attempts = tuple(replace(one, current=False) if one.way is not Way.PROCESS else one for one in attempts)
    tell_damaged([one for one in damaged_journals(name) if one.ended or not attempts], lang)
    if not attempts:
        parts = [words(lang, "history.none", name=name)]
        parts += [elsewhere_text(others, lang, key="history.elsewhere")] if others else []
        return complain(printable(" ".join(parts)), lang)
    tell_open(name, lang)
    hide = unredacted if arguments.no_redact else redactor()
    if arguments.format == "json":
        rows = [as_row_data(attempt, lang, hide) for attempt in attempts]
        print_json({"schema": 1, "container": name, "engine": engine, "elsewhere": len(others), "attempts": rows})
        return 0
    canvas = Canvas(console_for(sys.stdout), lang)
    held = attempts[0].command
    for attempt in attempts:
        head, *rest = row_lines(attempt, held, lang, hide)
        canvas.line(head)
        for line in rest:
            canvas.line(line, 4)
        # A container whose relaunch failed has its launch of before; a process is changed from start to start.
        if attempt.ending == "done" or attempt.way == "process":
            held = attempt.command
    canvas.blank()
    if others:
        canvas.whole(Styled(printable(elsewhere_text(others, lang, key="history.elsewhere")), style="dim"))
    canvas.whole(Styled(printable(_closing(name, attempts, lang, is_removed=is_removed)), style="bold"))
    return 0


def _engine_and_holder(name: str) -> tuple[str | None, str]:
    """Id of the engine in use, and of its container of this name; None where none answers, or of a process."""
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.errors import UserError
    from sgdoctor.relaunch.engine import Engine
    from sgdoctor.relaunch.journal import journals

    known = journals(name)
    # One without journals may have had another name.
    if not known or any(journal.intent.engine for journal in known):
        with suppress(UserError), Client(find_endpoint()) as client:
            look = client.inspect(name)
            return Engine(client).identity(), look.container.id if look is not None else ""
    return None, ""


def _closing(name: str, attempts: "Sequence[Attempt]", lang: str, *, is_removed: bool) -> str:
    from sgdoctor.relaunch.model import Way

    current = next((attempt.number for attempt in attempts if attempt.current), None)
    key = "history.closing_removed" if is_removed else "history.closing_by_others"
    key = "history.closing" if current is not None else key
    if attempts[0].way is Way.PROCESS:
        if len(attempts) == 1:
            key = "history.process_stood_once" if current is None else "history.process_runs_first"
        else:
            key = "history.process_stands" if current is None else "history.process_runs"
    count = len(attempts)
    launches = f"{count} 次启动" if lang == "zh" else f"{count} launch{'' if count == 1 else 'es'}"
    return words(lang, key, name=name, count=count, launches=launches, number=current)


def name_of(given: str) -> str:
    """Name of the container that is meant by a name, also one that it had, an id or a service; else as given."""
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.containers.find import look_for
    from sgdoctor.errors import UserError
    from sgdoctor.relaunch.journal import journals

    known = journals(given)
    if known and not any(journal.intent.engine for journal in known):
        return given
    with suppress(UserError), Client(find_endpoint()) as client:
        if known:
            return name_now(client, given) or given
        look = look_for(client, given, None)
        if look is not None:
            return look.container.name
    return given


def name_now(client: "Client", given: str) -> str:
    """The name that a container with launches has by now; empty where it has that name, or there is none.

    Args:
        client: of the engine.
        given: the name that it had.

    Raises:
        UserError: the engine does not answer.
    """
    from sgdoctor.relaunch.engine import Engine
    from sgdoctor.relaunch.launches import history

    holders = [one.container for one in history(given, engine=Engine(client).identity()) if one.current]
    if not any(holders) or client.inspect(given) is not None:
        return ""
    look = client.inspect(holders[0])
    return look.container.name if look is not None else ""
