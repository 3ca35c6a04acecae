"""Steps of a relaunch and their journal: what all ways of carrying one out have in common."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.transport import UnreachableError
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.beside import Beside
from sgdoctor.relaunch.claim import claim, release
from sgdoctor.relaunch.engine import Engine, name_of, runs
from sgdoctor.relaunch.journal import Journal
from sgdoctor.relaunch.model import (
    Ending,
    NotReady,
    Outcome,
    Patience,
    Progress,
    Readiness,
    Step,
    StepState,
    Watcher,
)
from sgdoctor.relaunch.saving import Saved
from sgdoctor.texts import Text

_POLL: Final = 0.1
_TRIES: Final = 3


class FailedError(Exception):
    """A step did not work out.

    Attributes:
        reason: goes to the user.
        verdict: on the start that failed.
    """

    def __init__(self, reason: Text, verdict: Verdict | None = None) -> None:
        super().__init__(reason.en)
        self.reason = reason
        self.verdict = verdict


class Steps(ABC):
    """One relaunch, from its journal.

    Args:
        engine: of the containers.
        journal: open.
        readiness: knows when the new server serves.
        patience: how long is waited.
        watcher: told of each step, once it is in the journal.
        root: stands for the state folder of sgdoctor.
    """

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        *,
        readiness: Readiness,
        patience: Patience,
        watcher: Watcher,
        root: Path | None = None,
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._intent = journal.intent
        self._readiness = readiness
        self._patience = patience
        self._watcher = watcher
        self._root = root
        self._notes: list[Text] = []
        self._gives_way = False

    def claim(self) -> None:
        """Keep all other users of the engine from relaunching the container, until this has an end.

        Raises:
            UserError: somebody else is at work on it, or the engine does not answer.
        """
        if (note := claim(self._engine, self._journal)) is not None:
            self._notes.append(note)

    def begin(self) -> Outcome:
        """``forward`` for a journal that was just begun.

        Raises:
            UserError: somebody else is at work on the container; nothing was touched, and the journal is gone.
        """
        try:
            try:
                self.claim()
            except UnreachableError:
                if not self._engine_returns():
                    raise
                self.claim()
            self._check_place()
        except UnreachableError as error:
            # The claim may have been made all the same.
            return self._open(error.message)
        except UserError:
            self._journal.discard()
            raise
        return self.forward()

    def forward(self) -> Outcome:
        """Everything that is left to be done; after a failure the way back."""
        try:
            self._go()
        except FailedError as failure:
            return self.back(failure.reason, failure.verdict)
        except KeyboardInterrupt:
            return self.back(texts.STOPPED_BY_USER)
        except UserError as error:
            if isinstance(error, UnreachableError) and self._journal.begun(Step.SETTLE):
                # It serves. Only the last touch is missing.
                return self._open(error.message)
            return self.back(error.message)
        except OSError as error:
            return self.back(texts.journal_unwritable(error.strerror or str(error)))
        new = self._find_new() or {}
        return self._finish(Outcome(Ending.DONE, container=str(new.get("Id") or ""), notes=tuple(self._notes)))

    @abstractmethod
    def back(self, reason: Text, verdict: Verdict | None = None) -> Outcome:
        """Everything as it was before.

        Args:
            reason: why.
            verdict: on the start that failed.
        """

    @abstractmethod
    def _go(self) -> None:
        """Take all steps; those that were taken find nothing to do."""

    @abstractmethod
    def _find_new(self) -> dict[str, Any] | None:
        """Inspection of the new container; None if there is none."""

    def _old(self) -> dict[str, Any] | None:
        return self._engine.inspect(self._intent.old_id)

    def _displaced(self) -> Text | None:
        """That the old container does not hold the name any more; None if it does.

        Another relaunch may have come to its end between the look that the plan was made from and the claim.
        """
        old, name = self._old(), self._intent.container
        if old is None:
            return texts.old_gone(name)
        return None if name_of(old) == name else texts.old_renamed(name, name_of(old))

    def _check_place(self) -> None:
        if (why := self._displaced()) is not None:
            release(self._engine, self._journal.id)
            raise UserError(why.en, why.zh)

    def _new(self) -> dict[str, Any]:
        new = self._find_new()
        if new is None:
            raise FailedError(texts.NEW_GONE)
        return new

    def _ready(self) -> None:
        new = str(self._new()["Id"])
        with Beside(self._engine, self._intent.old_id, new, self._patience.stop) as beside:
            answer = self._readiness.wait(new, self._tell_ready)
        if beside.found:
            self._gives_way = True
            raise FailedError(texts.old_started_beside(self._intent.container))
        if isinstance(answer, NotReady):
            raise FailedError(answer.reason, answer.verdict)
        if answer.lives and not runs(self._new()):
            raise FailedError(texts.DIED_AT_ONCE)
        self._notes += [note for note in (answer.note, answer.complaint) if note is not None]

    def _judged(self, verdict: Verdict | None, saved: Saved) -> Verdict | None:
        """The verdict on the start that failed; None on one that was ended from here."""
        return verdict or (None if self._gives_way else saved.verdict)

    def _keep(self, saved: Saved) -> Saved:
        """The same; whoever goes on is told where it could not be kept."""
        if saved.problem is not None and saved.problem not in self._notes:
            self._notes.append(saved.problem)
        return saved

    def _tell_ready(self, note: Text) -> None:
        self._watcher(Progress(Step.READY, StepState.BEGUN, datetime.now(UTC), note))

    def _do(
        self, step: Step, act: Callable[[], Mapping[str, str] | None], known: Mapping[str, str] | None = None
    ) -> None:
        """Take a step, again if the engine went away in the middle of it."""
        self._note(step, StepState.BEGUN, known=known)
        for tries_left in reversed(range(_TRIES)):
            try:
                learned = act()
                break
            except UnreachableError as error:
                if not tries_left or not self._engine_returns():
                    self._note(step, StepState.FAILED, error.message, known={"lost": step})
                    raise
            except UserError as error:
                self._note(step, StepState.FAILED, error.message)
                raise
            except FailedError as failure:
                self._note(step, StepState.FAILED, failure.reason)
                raise
        self._note(step, StepState.DONE, known=learned)

    def _note(
        self, step: Step, state: StepState, note: Text | None = None, *, known: Mapping[str, str] | None = None
    ) -> None:
        progress = Progress(step, state, datetime.now(UTC), note)
        learned = dict(known or {})
        going_back = "back" in {**self._journal.known, **learned}
        try:
            self._journal.note(progress, **learned)
        except OSError:
            # Forward nothing is done that is not in the journal. The way back is taken even without it.
            if not going_back and state is not StepState.FAILED:
                raise
            self._journal.known |= learned
        self._watcher(progress)

    def _engine_returns(self) -> bool:
        limit = time.monotonic() + self._patience.engine
        while True:
            with suppress(UnreachableError):
                self._engine.inspect(self._intent.old_id)
                return True
            if time.monotonic() >= limit:
                return False
            time.sleep(_POLL)

    def _finish(self, outcome: Outcome) -> Outcome:
        try:
            self._journal.finish(outcome)
            outcome = replace(outcome, journal=self._journal.id)
        except FileNotFoundError:
            # Somebody removed it: nothing is open, and nothing is left to go on from.
            pass
        except OSError as error:
            return self._open(texts.journal_unwritable(error.strerror or str(error)), outcome.verdict)
        with suppress(UserError):
            # Whoever finds a claim whose journal has an end takes it away.
            release(self._engine, self._journal.id)
        return outcome

    def _open(self, reason: Text, verdict: Verdict | None = None) -> Outcome:
        known = self._journal.known
        return Outcome(
            Ending.OPEN, self._journal.id, known.get("new", ""), reason, known.get("log"), verdict, tuple(self._notes)
        )
