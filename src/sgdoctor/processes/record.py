"""A start of a process in the journal, so that the history of a name has it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from sgdoctor.containers.spool import file_name_of, state_dir
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.journal import Journal, open_journals
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Progress, Purpose, Step, StepState, Way
from sgdoctor.texts import Text

_CUT_OFF: Final = Text("sgdoctor was killed, and the server with it.", "sgdoctor 被强行结束，服务随之结束。")


@dataclass(frozen=True, slots=True)
class Start:
    """A start that is about to be made.

    Attributes:
        name: of the server.
        words: the command.
        before: the command of the start before; empty for the first one.
        changes: by which the two differ.
        purpose: why it is made.
    """

    name: str
    words: tuple[str, ...]
    before: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    purpose: Purpose = Purpose.RELAUNCH


class Record:
    """Writes how a start goes; where that cannot be written, the server is started all the same.

    Args:
        journal: of the start; None where there is none.
        problem: why there is none.
    """

    def __init__(self, journal: Journal | None, problem: Text | None = None) -> None:
        self.problem = problem
        self._journal = journal
        self._step: Step | None = None

    @classmethod
    def begin(cls, start: Start, log: Path | None, root: Path | None = None) -> Self:
        """Begin to write; the server of the name has to be locked.

        Args:
            start: which.
            log: where its output is kept.
            root: stands for the state folder of sgdoctor.
        """
        intent = Intent(
            start.name,
            Way.PROCESS,
            start.purpose,
            ran=False,
            changes=start.changes,
            command=start.words,
            old_command=start.before,
            facts={"folder": str(Path.cwd())},
        )
        try:
            record = cls(Journal.begin(intent, root))
        except UserError as error:
            return cls(None, error.message)
        record._note(Step.START, StepState.BEGUN)
        record._note(Step.START, StepState.DONE, **({"log": str(log)} if log is not None else {}))
        record._note(Step.READY, StepState.BEGUN)
        return record

    def serves(self) -> None:
        """It is ready."""
        if self._step is Step.READY:
            self._note(Step.READY, StepState.DONE)
            self._note(Step.SERVE, StepState.BEGUN)

    def end(self, outcome: Outcome, phases: Mapping[str, float]) -> None:
        """It has ended.

        Args:
            outcome: how.
            phases: how many seconds each of its phases took.
        """
        if self._journal is None or self._step is None:
            return
        failed = outcome.ending is not Ending.DONE
        known = {"phases": json.dumps(phases)} if phases else {}
        self._note(self._step, StepState.FAILED if failed else StepState.DONE, **known)
        with suppress(OSError):
            self._journal.finish(outcome)

    def _note(self, step: Step, state: StepState, **known: str) -> None:
        self._step = step
        if self._journal is not None:
            with suppress(OSError):
                self._journal.note(Progress(step, state, datetime.now(UTC)), **known)


def files_folder(name: str) -> Path:
    """The folder for what the launches of a server need: links to its model, corrected copies, start-up files."""
    return state_dir() / "run" / file_name_of(name)


def close_cut_off(name: str, root: Path | None = None) -> None:
    """Write the end of starts that nobody wrote; the name has to be locked, so that none of them goes on."""
    for journal in open_journals(name, root):
        if journal.intent.way is Way.PROCESS:
            with suppress(OSError):
                journal.finish(Outcome(Ending.FAILED, reason=_CUT_OFF))


def command_words(text: str) -> tuple[dict[str, str], Sequence[str]]:
    """The variables that stand in front of a command, and its words.

    Args:
        text: in the form of a shell, without anything that a shell would fill in.
    """
    import shlex  # noqa: PLC0415 - slow to load

    words = shlex.split(text)
    variables: dict[str, str] = {}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return variables, words
