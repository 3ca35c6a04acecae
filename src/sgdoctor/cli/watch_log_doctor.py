"""What the app of ``watch`` can be told of a launch that is known from a log alone: a plan, and no way to act."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sgdoctor.cli.fix_answer import answer_for
from sgdoctor.cli.watch_texts import told
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Answer
from sgdoctor.launch.amended import Amended
from sgdoctor.launch.model import Document
from sgdoctor.preflight.answering import preflight_of
from sgdoctor.preflight.situation import Wanted
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.preflight_text import print_preflight
from sgdoctor.targets import Target
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Choice, Draft, Errand, Report
from sgdoctor.watching.model import Snapshot

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase


def planned(target: Target, base: "RuleBase", verdict: Verdict | None, choice: Choice | None) -> Answer:
    """The plan for a target whose log was read: all of it, or what was chosen.

    Raises:
        UserError: something that was chosen cannot be.
    """
    chosen = choice or Choice()
    wishes = argparse.Namespace(choose=list(chosen.steps), set=[], unset=[], env=[], version=None)
    return answer_for(target, base, wishes, chosen.changes, only=choice is not None, verdict=verdict)


class LogDoctor:
    """Knows a launch from a log alone; see ``tui.doctor.Doctor``.

    Args:
        base: the rules.
        moment: what is on the screen; None before there is anything.
        redact: whether secrets are hidden.
        recorded: whether the log is that of the demonstration.
    """

    container = ""

    def __init__(
        self, base: "RuleBase", moment: Callable[[], Snapshot | None], *, redact: bool = True, recorded: bool = False
    ) -> None:
        self._base = base
        self._moment = moment
        self._redact = redact
        self._why_not = told("recorded" if recorded else "no_container")

    def unfinished(self) -> Text | None:
        """See ``Doctor``: nothing acts here."""
        return None

    def draft(self, choice: Choice | None = None) -> Draft:
        """See ``Doctor``."""
        moment = self._moment()
        if moment is None:
            raise error_of(told("not_yet"))
        answer = planned(Target(moment.subject.name, None), self._base, moment.verdict, choice)
        return Draft(answer, refused=self._why_not, hide=plan_redactor(answer, redact=self._redact))

    def preflight(self, draft: Draft | None) -> Report:
        """See ``Doctor``."""
        draft = draft or self.draft()
        wanted = Wanted(version=draft.answer.version)  # no image says it here, but the log may
        return checked(draft.answer, Path.cwd(), with_changes=True, redact=self._redact, wanted=wanted)

    def relaunch(self, draft: Draft) -> Errand:  # noqa: ARG002
        """See ``Doctor``: there is no container."""
        raise error_of(self._why_not)

    def rollback(self) -> Errand:
        """See ``Doctor``: there is no container."""
        raise error_of(self._why_not)

    resume = heal = rollback

    def write(self, draft: Draft) -> Errand:  # noqa: ARG002
        """See ``Doctor``: there is no file."""
        raise error_of(self._why_not)


def checked(
    answer: Answer, beside: Path, *, with_changes: bool, redact: bool, file: str = "", wanted: Wanted | None = None
) -> Report:
    """A preflight of the launch of an answer, as it is or with the changes of its plan."""
    document: Document = answer.document
    if with_changes and answer.plan.changes:
        document = Amended(document, answer.plan.changes, answer.flags)
    found = preflight_of(answer.target, document, beside, wanted, file=file)
    return lambda console, lang: print_preflight(console, found, lang, redact=redact)


def error_of(text: Text) -> UserError:
    """An error that says this."""
    return UserError(text.en, text.zh)
