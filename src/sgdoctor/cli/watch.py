"""``sgdoctor watch``: a server followed while it starts, serves and dies, in the app or line by line."""

import argparse
import importlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.containers.client import Listed
    from sgdoctor.containers.endpoint import Endpoint
    from sgdoctor.rules.base import RuleBase
    from sgdoctor.tui.doctor import Doctor
    from sgdoctor.watching.feeds import Feed
    from sgdoctor.watching.session import Session

_MAX_SPEED: Final = 1e6


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``watch``."""
    lang = parser.lang
    parser.description = say(lang, "watch.about")
    parser.add_argument("target", nargs="?", metavar="CONTAINER", help=say(lang, "watch.target"))
    parser.add_argument("--file", metavar="FILE", help=say(lang, "watch.file"))
    parser.add_argument("--speed", metavar="N", type=float, help=say(lang, "watch.speed"))
    parser.add_argument("--until-ready", action="store_true", help=say(lang, "watch.until_ready"))
    parser.add_argument("--plain", action="store_true", help=say(lang, "watch.plain"))
    parser.add_argument("--read-only", action="store_true", help=say(lang, "watch.read_only"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=say(lang, "diagnose.rules"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Watches until the user leaves, the log is complete, or the server is ready and that was all that was wanted."""
    # Until the app or line mode is there, nothing has to be put in order.
    with on_ctrl_c(None):
        return _run(arguments, lang)


def _run(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.diagnose import report_problems, rule_base_of
    from sgdoctor.cli.main import complain
    from sgdoctor.report.safe import printable

    if problem := _misuse(arguments, lang):
        return complain(problem, lang)
    for folder in arguments.rules:
        if not Path(folder).is_dir():
            return complain(say(lang, "error.rules_folder", given=printable(folder)), lang)
    app = None if arguments.plain or not sys.stdout.isatty() else app_module()
    feed = _feed(arguments, lang, asks=app is not None)
    base = rule_base_of(arguments.rules)
    report_problems(base, lang)
    if app is not None:
        return _in_app(app, feed, base, arguments, lang)
    from sgdoctor.cli.watch_plain import watch_plain

    session = _session(feed, base, redact=not arguments.no_redact)
    return watch_plain(session, lang, until_ready=arguments.until_ready, redact=not arguments.no_redact)


def _misuse(arguments: argparse.Namespace, lang: str) -> str:
    from sgdoctor.report.safe import printable

    if arguments.file and arguments.target:
        return say(lang, "watch.one_target")
    if "/" in (arguments.target or "").removeprefix("/"):
        return say(lang, "watch.path", given=printable(arguments.target))
    speed = arguments.speed
    if speed is None:
        return ""
    if not arguments.file:
        return say(lang, "watch.speed_needs_file")
    return "" if 0 < speed <= _MAX_SPEED else say(lang, "watch.speed_range", given=f"{speed:g}")


def _session(feed: "Feed", base: "RuleBase", *, redact: bool) -> "Session":
    from sgdoctor.containers.spool import state_dir
    from sgdoctor.watching.history import History
    from sgdoctor.watching.session import Session

    return Session(feed, base, History(state_dir() / "starts.jsonl"), redact=redact)


# ---------------------------------------------------------------- what is watched


def _feed(arguments: argparse.Namespace, lang: str, *, asks: bool) -> "Feed":
    if arguments.file and arguments.file != "-":
        from sgdoctor.watching.files import file_feed

        return file_feed(arguments.file, speed=arguments.speed)
    if "-" in (arguments.file, arguments.target):
        return _stdin_feed(in_app=asks)
    from sgdoctor.cli.open_relaunch import tell_open
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.watching.container_feed import ContainerFeed

    tell_open(arguments.target, lang)
    endpoint = find_endpoint()
    target = arguments.target or _choose(endpoint, arguments, lang, asks=asks)
    if not asks:
        _refuse_vain_waiting(endpoint, until_ready=arguments.until_ready)
    return ContainerFeed(endpoint, target, lang=lang)


def _refuse_vain_waiting(endpoint: "Endpoint", *, until_ready: bool) -> None:
    """Where nobody looks on, an engine that does not answer is waited for only if it may be up later.

    Raises:
        UserError: it will not, or a script waits for an answer.
    """
    from sgdoctor.containers.client import Client, RefusedError
    from sgdoctor.containers.transport import UnreachableError

    with Client(endpoint) as client:
        try:
            client.api_version()
        except UnreachableError as error:
            if until_ready or error.lasting:
                raise
        except RefusedError:
            pass  # told, and waited for, by whoever follows


def _stdin_feed(*, in_app: bool) -> "Feed":
    from sgdoctor.errors import UserError
    from sgdoctor.watching.feeds import StdinFeed

    try:
        fd = os.dup(0)
        if in_app:
            # The app reads keys from there: it gets the terminal, the log is read from a copy of what was there.
            terminal = os.open("/dev/tty", os.O_RDWR)
            os.dup2(terminal, 0)
            os.close(terminal)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"stdin: cannot be used: {reason}", f"stdin：无法使用：{reason}") from None
    return StdinFeed(fd)


def _choose(endpoint: "Endpoint", arguments: argparse.Namespace, lang: str, *, asks: bool) -> str:
    """The container to be watched where none was named: the only running one, else the newest.

    Raises:
        UserError: there is none, or there are several and nobody can be asked.
    """
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.find import candidates
    from sgdoctor.errors import UserError

    with Client(endpoint) as client:
        found = candidates(client)
    if not found:
        raise UserError(
            "No container runs SGLang here. Name one (it may not exist yet): sgdoctor watch NAME; "
            "or a log: sgdoctor watch --file FILE",
            "这里没有运行 SGLang 的容器。请指定一个（可以尚不存在）：sgdoctor watch 名称；"
            "或指定日志：sgdoctor watch --file 文件",
        )
    running = [entry for entry in found if entry.running]
    if len(running) < 2:
        return (running or found)[0].name
    if asks and sys.stdin.isatty():
        return _ask(found, asked_language(arguments), lang)
    names = ", ".join(entry.name for entry in running)
    raise UserError(
        f"Several containers run SGLang: {names}. Name one: sgdoctor watch {running[0].name}",
        f"有多个容器在运行 SGLang：{names}。请指定一个：sgdoctor watch {running[0].name}",
    )


def asked_language(arguments: argparse.Namespace) -> str:
    """The language that ``--lang`` names; empty without it."""
    return str(getattr(arguments, "lang", ""))


def _ask(found: "list[Listed]", asked: str, lang: str) -> str:
    from sgdoctor.config import load_config, load_remembered
    from sgdoctor.containers.find import model_of
    from sgdoctor.tui.picker import pick_container
    from sgdoctor.tui.screens.choose import Choice

    config, remembered = load_config().in_language(asked), load_remembered()
    choices = [
        Choice(entry.name, entry.status, " · ".join(filter(None, (model_of(entry), entry.image))), entry.running)
        for entry in found
    ]
    chosen = pick_container(choices, config.language or remembered.language or lang, config.theme or remembered.theme)
    if chosen is None:
        raise KeyboardInterrupt
    return chosen


# ---------------------------------------------------------------- the app


def app_module() -> Any:
    """The module of the app; None where it is not installed. Named only here, so that nothing else loads it."""
    try:
        return importlib.import_module("sgdoctor.tui.app")
    except ModuleNotFoundError:
        return None


def _in_app(app: Any, feed: "Feed", base: "RuleBase", arguments: argparse.Namespace, lang: str) -> int:
    """Opens the app, and opens it anew on another container as often as one is chosen there."""
    from sgdoctor.watching.container_feed import ContainerFeed

    while True:
        endpoint = feed.endpoint if isinstance(feed, ContainerFeed) else None
        code, chosen = _open(app, feed, endpoint, base=base, arguments=arguments, lang=lang)
        if not chosen or endpoint is None:
            return code
        feed = ContainerFeed(endpoint, chosen, lang=lang)


def _open(
    app: Any,
    feed: "Feed",
    endpoint: "Endpoint | None",
    *,
    base: "RuleBase",
    arguments: argparse.Namespace,
    lang: str,
) -> tuple[int, str]:
    from sgdoctor.cli.diagnose import exit_code
    from sgdoctor.config import load_config, load_remembered, save_remembered
    from sgdoctor.watching.activity import Attentive
    from sgdoctor.watching.cards import cards_of

    config = load_config().in_language(asked_language(arguments))
    chosen: list[str] = []
    redact = not arguments.no_redact
    session = _session(feed, base, redact=redact)

    def watched() -> str:
        snapshot = session.snapshot()
        return snapshot.subject.id if snapshot is not None else ""

    options = importlib.import_module("sgdoctor.tui.ports").Options(
        lang=lang,
        config=config,
        remembered=load_remembered(),
        base=base,
        redact=redact,
        until_ready=arguments.until_ready,
        exit_code=exit_code,
        reports=config.reports,
        remember=save_remembered,
        containers=lambda: _others(endpoint, watched()),
        switch=chosen.append,
        doctor=_doctor(endpoint, base, session, redact=redact),
        read_only=arguments.read_only,
    )
    source = Attentive(cards_of(endpoint, watched), session, watched, endpoint)
    return int(app.run_app(session, source, options)), "".join(chosen[-1:])


def _doctor(endpoint: "Endpoint | None", base: "RuleBase", session: "Session", *, redact: bool) -> "Doctor":
    from sgdoctor.cli.watch_doctor import ContainerDoctor
    from sgdoctor.cli.watch_log_doctor import LogDoctor

    if endpoint is None:
        return LogDoctor(base, session.snapshot, redact=redact)
    return ContainerDoctor(endpoint, base, session.snapshot, redact=redact)


def _others(endpoint: "Endpoint | None", watched: str) -> list[str]:
    """Names of the containers that run SGLang, without the one that is watched; none where the engine is silent."""
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.find import candidates
    from sgdoctor.errors import UserError

    if endpoint is None:
        return []
    with suppress(UserError, OSError), Client(endpoint) as client:
        return [entry.name for entry in candidates(client) if not watched or not entry.id.startswith(watched)]
    return []
