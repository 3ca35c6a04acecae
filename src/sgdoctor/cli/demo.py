"""``sgdoctor demo``: a recorded start that fails and the one that cures it, in the app, without Docker and GPU."""

import argparse
import importlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser

SPEED: Final = 5.0
_MAX_SPEED: Final = 1e6
_GPU_RATE: Final = 4.0
"""Readings a second: the recording runs faster than a card."""


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``demo``."""
    lang = parser.lang
    parser.description = say(lang, "demo.about")
    parser.add_argument(
        "--speed", metavar="N", type=float, default=SPEED, help=say(lang, "demo.speed", speed=f"{SPEED:g}")
    )
    parser.add_argument("--plain", action="store_true", help=say(lang, "watch.plain"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Plays the recording, to its end in line mode, until the user leaves in the app. The code is always 0."""
    with on_ctrl_c(None):
        return _run(arguments, lang)


def _run(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.watch import app_module, asked_language
    from sgdoctor.demo.recording import replay
    from sgdoctor.rules.base import load_rule_base
    from sgdoctor.watching.session import Session

    if not 0 < arguments.speed <= _MAX_SPEED:
        return complain(say(lang, "watch.speed_range", given=f"{arguments.speed:g}"), lang)
    app = None if arguments.plain or not sys.stdout.isatty() else app_module()
    # Only what is built in, so that the demonstration is the same for everybody.
    base = load_rule_base(user_dirs=())
    feed, card = replay(arguments.speed, keys=app is not None)
    session = Session(feed, base)
    if app is None:
        from sgdoctor.cli.watch_plain import watch_plain

        watch_plain(session, lang)
        return 0
    from sgdoctor.cli.watch_log_doctor import LogDoctor
    from sgdoctor.config import load_config

    options = importlib.import_module("sgdoctor.tui.ports").Options(
        lang=lang,
        config=replace(load_config().in_language(asked_language(arguments)), gpu_rate=_GPU_RATE),
        base=base,
        doctor=LogDoctor(base, session.snapshot, recorded=True),
    )
    app.run_app(session, card, options)
    return 0
