"""The launch of a process without a container: what is to be changed after a start of it failed."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgdoctor.cli.fix_answer import Unseen, answer_for
from sgdoctor.cli.fix_files import write_files
from sgdoctor.cli.run_texts import words
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.fixes.flag_tables import likeliest
from sgdoctor.fixes.model import Answer, Step
from sgdoctor.launch.amended import Amended
from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_command import EngineCommand, read_engine_command
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import Document, Editable, EditState, FlagTable, Launch, Origin
from sgdoctor.processes.record import command_words, files_folder
from sgdoctor.relaunch.heal.identity import identity_of
from sgdoctor.relaunch.heal.judging import for_original, with_plan
from sgdoctor.relaunch.heal.model import Try
from sgdoctor.report.wording import change_text
from sgdoctor.targets import Target
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Choice

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_MODEL: Final = ("--served-model-name", "--model-path")
_UNSEEN: Final = Text(words("en", "unseen"), words("zh", "unseen"))
_UNNAMED: Final = "server"


class ProcessPlans:
    """Plans for one command.

    Args:
        command: its words.
        base: the rules.

    Attributes:
        name: of the server; may be set, and is that of the model until then.
        answer: the newest plan; None before there is one.
    """

    def __init__(self, command: Sequence[str], base: "RuleBase") -> None:
        self.answer: Answer | None = None
        self._words = tuple(command)
        self._base = base
        self._document = _document(self._words)
        self._flags: FlagTable = likeliest(self._document, {})
        self.name = self._model_name()

    @property
    def document(self) -> EngineCommand | None:
        """The command as a launch; None where it does not show one."""
        return self._document

    @property
    def flags(self) -> FlagTable:
        """Of the engine's version, as far as that is known."""
        return self._flags

    def launch(self, changes: Sequence[Change]) -> Launch:
        """The launch with these changes."""
        if self._document is None:
            return Launch(Origin.COMMAND, self._words, len(self._words), self._words)
        return self._document.edited(changes, self._flags).launch

    def command(self, changes: Sequence[Change]) -> tuple[dict[str, str], Sequence[str]]:
        """Variables and words that make a start with these changes."""
        if not changes or self._document is None:
            return command_words(shlex.join(self._words))
        return command_words(self._document.edited(changes, self._flags).text)

    def judged(self, tried: Try, verdict: Verdict) -> Try:
        """A failed start with the plan that follows from it.

        Raises:
            UserError: none can be made.
        """
        answer = self.planned(tried.changes, verdict)
        steps = answer.plan.steps
        if self._document is not None:
            answer = for_original(answer, self._document, tried.changes)
        self.answer, self._flags = answer, answer.flags
        return with_plan(tried, verdict, answer, steps, self.refused(answer))

    def planned(self, changes: Sequence[Change], verdict: Verdict | None, choice: Choice | None = None) -> Answer:
        """The plan for the command with these changes.

        Args:
            changes: by which the launch differs from the command.
            verdict: on its newest start; None before there is one.
            choice: what is wanted of the plan; None for all of it.

        Raises:
            UserError: none can be made, or something that was chosen cannot be.
        """
        document: Document | None = self._document
        if self._document is not None and changes:
            document = Amended(self._document, changes, self._flags)
        unseen = Unseen(self.name, launch=self.launch(()), editable=Editable(EditState.NO, _UNSEEN))
        chosen = choice or Choice()
        wishes = argparse.Namespace(choose=list(chosen.steps), set=[], unset=[], env=[], version=None)
        return answer_for(
            Target(self.name, document),
            self._base,
            wishes,
            chosen.changes,
            only=choice is not None,
            verdict=verdict,
            unseen=unseen,
            bare=files_folder(self.name),
        )

    def text(self, changes: Sequence[Change]) -> str:
        """The command with these changes, as one would type it."""
        if self._document is None:
            return shlex.join(self._words)
        return self._document.edited(changes, self._flags).text

    def tried(self, number: int, changes: tuple[Change, ...]) -> Try:
        """What is known of a start before it is over, but for how it went."""
        from datetime import UTC, datetime

        from sgdoctor.relaunch.heal.model import Result

        identity = identity_of(self.launch(changes), self._flags)
        return Try(number, identity, Result.FAILED, changes, began=datetime.now(UTC))

    def write_files(self, steps: Sequence[Step]) -> list[Path]:
        """The files that the next start needs, those of sgdoctor's own folder and those beside where it is started."""
        assert self.answer is not None
        return write_files(self.answer.plan, Path.cwd()) if steps else []

    def refused(self, answer: Answer) -> Text | None:
        """Why a plan cannot be carried out here; None if it can."""
        if self._document is None:
            return _UNSEEN
        if answer.plan.refused is not None:
            return answer.plan.refused
        asked = set(answer.plan.changes)
        left = [one.change for one in answer.plan.left if one.change is not None and one.change in asked]
        if not left:
            return None
        return Text(
            *(words(lang, "left", changes=", ".join(change_text(one, lang) for one in left)) for lang in ("en", "zh"))
        )

    # ------------------------------------------------------------ parts

    def _model_name(self) -> str:
        if self._document is None:
            return _UNNAMED
        launch, flags = self._document.launch, self._flags
        given = {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}
        for flag in _MODEL:
            values = given.get(flags.canonical(flag))
            last = values[-1].rstrip("/").rpartition("/")[2] if values else ""
            name = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in last).strip(".-")
            if name:
                return name.lower()
        return _UNNAMED


def _document(command: Sequence[str]) -> EngineCommand | None:
    """The launch in a command; None where it is none, or cannot be seen from here.

    Raises:
        UserError: the command is one of docker's.
    """
    if command[0].rpartition("/")[2] in ("docker", "podman"):
        raise UserError(words("en", "container"), words("zh", "container"))
    try:
        document = read_engine_command(shlex.join(command), command[0])
    except UserError:
        return None
    return None if document.editable.state is EditState.NO else document
