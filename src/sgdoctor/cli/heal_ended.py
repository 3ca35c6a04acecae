"""What the app is told of healing that is over, of a container or a process."""

from typing import Final

from rich.console import Console

from sgdoctor.cli.heal_report import Report, print_report
from sgdoctor.relaunch.heal.model import End
from sgdoctor.report.canvas import Canvas
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Ended

GOOD: Final = frozenset({End.VERIFIED, End.SERVES})
"""Ends with a server that serves."""


def ended_with(english: Report, chinese: Report) -> Ended:
    """The end of the errand, with its report in both languages."""

    def report(console: Console, lang: str) -> None:
        print_report(Canvas(console, lang), chinese if lang == "zh" else english)

    done = english.healing.stop.end in GOOD
    return Ended(done=done, text=Text(english.closing, chinese.closing), report=report)
