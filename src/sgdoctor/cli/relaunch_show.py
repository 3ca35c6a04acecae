"""What is seen of a relaunch or of a way back: on the terminal, or as one JSON object at the end."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from rich.text import Text as Styled

from sgdoctor.cli.diagnose import print_json
from sgdoctor.cli.relaunch_run import Errand, agreed, as_outcome_data, carry_out, is_running, print_outcome
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.report.canvas import Canvas, console_for
from sgdoctor.report.safe import printable

if TYPE_CHECKING:
    from sgdoctor.cli.relaunch_proposal import Proposal
    from sgdoctor.containers.client import Client
    from sgdoctor.relaunch.model import Ending
    from sgdoctor.rules.base import RuleBase


class Show:
    """Shows it in the format that was asked for.

    Args:
        arguments: of the command line: ``format``, ``no_redact``, ``yes``, ``ready_timeout``.
        lang: ``en`` or ``zh``.

    Attributes:
        hide: hides secrets.
    """

    def __init__(self, arguments: argparse.Namespace, lang: str) -> None:
        self.arguments = arguments
        self.lang = lang
        self._is_json = arguments.format == "json"
        # The steps are for people, the object is for programs.
        self._canvas = Canvas(console_for(sys.stderr if self._is_json else sys.stdout), lang)
        self.hide: Redactor = unredacted if arguments.no_redact else redactor()
        self._data: dict[str, Any] = {"schema": 1}

    def proposal(self, proposal: "Proposal") -> None:
        """What is about to be done."""
        from sgdoctor.cli.relaunch_sheet import as_proposal_data, print_proposal
        from sgdoctor.report.plan_redact import plan_redactor

        redact = not self.arguments.no_redact
        self.hide = plan_redactor(proposal.answer, redact=redact)
        if self._is_json:
            self._data |= as_proposal_data(proposal, self.lang, redact=redact)
        else:
            print_proposal(self._canvas.console, proposal, self.lang, redact=redact)
            self._canvas.blank()

    def heading(self, text: str, lines: "list[Styled] | None" = None, **data: Any) -> None:
        """What is about to be done, in a line and what belongs to it.

        Args:
            text: the line.
            lines: below it.
            data: the same for programs.
        """
        self._data |= data
        if self._is_json:
            return
        self._canvas.line(Styled(self._safe(text), style="bold"))
        for line in lines or ():
            self._canvas.line(Styled(self._safe(line.plain), style=line.style), 2)
        self._canvas.blank()

    def agreed(self, name: str, *, stops: bool) -> bool:
        """Whether the user agrees; raises as ``relaunch_run.agreed``."""
        yes = agreed(name, self.lang, yes=self.arguments.yes, stops=stops)
        if yes and not self._is_json and not self.arguments.yes:
            self._canvas.blank()
        return yes

    def closed(self, code: int, text: str) -> int:
        """The last line, where nothing was done; the exit code."""
        if self._is_json:
            print_json(self._data | {"outcome": None, "summary": self._safe(text)})
        else:
            self._canvas.whole(Styled(self._safe(text), style="bold"))
        return code

    def carry_out(self, client: "Client", errand: Errand, base: "RuleBase") -> "tuple[int, Ending]":
        """Carries it out, and shows its steps and what came of it; the exit code, and how it ended."""
        limit = self.arguments.ready_timeout
        console = self._canvas.console
        result = carry_out(client, errand, base, console, self.lang, hide=self.hide, limit=limit)
        code, outcome, _ = result
        if self._is_json:
            print_json(self._data | {"outcome": as_outcome_data(errand, result, self.lang, self.hide)})
        else:
            runs = is_running(client, errand.container)
            try:
                print_outcome(console, errand, result, self.lang, runs=runs, hide=self.hide)
                sys.stdout.flush()
            except OSError:
                # Whoever read it is gone; the exit code still tells.
                from sgdoctor.cli.main import abandon_output

                abandon_output()
        return code, outcome.ending

    def _safe(self, text: str) -> str:
        return self.hide(printable(text))
