"""What is seen of healing while it goes on, and what is asked."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.text import Text as Styled

from sgdoctor.cli.heal_report import move_line
from sgdoctor.cli.heal_texts import words
from sgdoctor.cli.relaunch_proposal import Proposal
from sgdoctor.cli.relaunch_run import agreed
from sgdoctor.cli.relaunch_sheet import print_proposal
from sgdoctor.cli.relaunch_steps import StepLines
from sgdoctor.fixes.model import Step
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.model import Move, Relaunch
from sgdoctor.report.canvas import Canvas, console_for
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.safe import printable
from sgdoctor.texts import Text


class Screen:
    """Shows it on standard output, or on standard error where that is for a report.

    Args:
        arguments: of the command line: ``format``, ``no_redact``, ``yes``, ``allow_unsafe``, ``max_attempts``.
        name: of the container.
        lang: ``en`` or ``zh``.

    Attributes:
        hide: hides secrets.
        canvas: where it is shown.
    """

    def __init__(self, arguments: argparse.Namespace, name: str, lang: str) -> None:
        self.lang = lang
        self.hide: Redactor = unredacted if arguments.no_redact else redactor()
        self.canvas = Canvas(console_for(sys.stdout if arguments.format == "text" else sys.stderr), lang)
        self._arguments = arguments
        self._name = name
        self._tries = 0

    def knows(self, proposal: Proposal) -> None:
        """From now on the secrets of this launch are hidden, too."""
        self.hide = plan_redactor(proposal.answer, redact=not self._arguments.no_redact)

    def agrees(self, proposal: Proposal) -> bool:
        """Whether the user agrees to begin, once the first plan was shown."""
        tries = self._arguments.max_attempts
        head = self._words("head" if tries != 1 else "head_once", name=self._name, tries=tries)
        self.canvas.line(Styled(head, style="bold"))
        self.canvas.blank()
        print_proposal(self.canvas.console, proposal, self.lang, redact=not self._arguments.no_redact)
        self.canvas.blank()
        return agreed(self._name, self.lang, yes=self._arguments.yes, stops=proposal.runs)

    def consents(self, steps: Sequence[Step]) -> bool:
        """Whether the user takes steps that can make answers worse; no where nobody can be asked."""
        if self._arguments.allow_unsafe:
            return True
        if self._arguments.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        what = texts.unsafe(steps).in_language(self.lang)
        space = " " if self.lang == "en" else ""
        sys.stderr.write(self._safe(words(self.lang, "ask.unsafe", what=f"{what}{space}")))
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def told(self, move: Move) -> None:
        """The next launch, in a line."""
        if not isinstance(move, Relaunch):
            return
        self._tries += 1
        line = self._safe(move_line(move, self._tries, self._arguments.max_attempts, self.lang))
        # A closed terminal is no reason to leave a server down.
        with suppress(OSError):
            self.canvas.line(Styled(line, style="bold"))

    def steps(self) -> StepLines:
        """Shows the steps of a relaunch for the length of a ``with`` block."""
        return StepLines(self.canvas.console, self.lang, self.hide)

    @contextmanager
    def waiting(self) -> Iterator[Callable[[Text], None]]:
        """Shows what is waited for while a server that runs is asked."""
        self.canvas.line(Styled(self._words("waiting", name=self._name), style="dim"))
        yield lambda note: self.canvas.line(Styled(self._safe(note.in_language(self.lang)), style="dim"), 4)

    def _words(self, key: str, **values: object) -> str:
        return self._safe(words(self.lang, key, **values))

    def _safe(self, text: str) -> str:
        return self.hide(printable(text))
