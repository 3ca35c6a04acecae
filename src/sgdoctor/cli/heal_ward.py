"""One container that is being healed: its launches are planned, tried and judged here."""

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

from sgdoctor.cli.fix_answer import answer_for
from sgdoctor.cli.fix_files import remove_files, write_files
from sgdoctor.cli.relaunch_proposal import Proposal, proposal_of
from sgdoctor.cli.relaunch_steps import Interrupts
from sgdoctor.containers.client import Client
from sgdoctor.containers.launches import container_document
from sgdoctor.containers.spool import bytes_of, spooled
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose, diagnose_bytes
from sgdoctor.diagnosis.telling import telling
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Step, WrittenFile
from sgdoctor.launch.amended import Amended
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.model import FlagTable
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.identity import identity_of
from sgdoctor.relaunch.heal.judging import for_original, with_plan
from sgdoctor.relaunch.heal.model import Identity, Relaunch, Result, Try
from sgdoctor.relaunch.launching import refusal, relaunch
from sgdoctor.relaunch.model import Ending, NotReady, Outcome, Patience, Watcher
from sgdoctor.relaunch.verified import Expected, VerifiedReadiness
from sgdoctor.targets import AsDockerRun, open_target
from sgdoctor.texts import Text

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

_NO_WISHES: Final = argparse.Namespace(choose=[], set=[], unset=[], env=[], version=None)
_RUNS: Final = frozenset({"running", "restarting"})


class Shown(Protocol):
    """Where the user sees healing go on, and is asked."""

    @property
    def lang(self) -> str:
        """``en`` or ``zh``."""

    def knows(self, proposal: Proposal) -> None:
        """From now on the secrets of this launch are hidden, too."""

    def agrees(self, proposal: Proposal) -> bool:
        """Whether the user agrees to begin."""

    def consents(self, steps: Sequence[Step]) -> bool:
        """Whether the user takes steps that can make answers worse."""

    def steps(self) -> AbstractContextManager[Watcher]:
        """Takes the steps of a relaunch for the length of a ``with`` block."""

    def waiting(self) -> AbstractContextManager[Callable[[Text], None]]:
        """Takes what a server that runs is asked for the length of a ``with`` block."""


class ContainerWard:
    """See ``Ward``.

    Args:
        client: of the engine.
        container: name.
        base: the rules.
        readiness: waits for servers, and asks them.
        screen: where the user is shown and asked things.
        accept_drift: whether it does not matter that Compose would change more than the plan.

    Attributes:
        proposal: the newest plan; None before there is one.
    """

    def __init__(
        self,
        client: Client,
        container: str,
        base: "RuleBase",
        readiness: VerifiedReadiness,
        screen: Shown,
        *,
        accept_drift: bool = False,
    ) -> None:
        self.proposal: Proposal | None = None
        self._client = client
        self._container = container
        self._base = base
        self._readiness = readiness
        self._screen = screen
        self._accept_drift = accept_drift
        self._found: Identity | None = None
        self._flags: FlagTable | None = None
        self._files: dict[str, WrittenFile] = {}
        self._written: list[Path] = []
        self._interrupts: Interrupts | None = None
        self._until_done = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._until_done.close()
        # What launches needed that did not stay.
        remove_files(self._written)

    @property
    def stopped(self) -> bool:
        """See ``Ward.stopped``."""
        return self._readiness.cancelled

    def agrees(self, move: Relaunch) -> bool:
        """See ``Ward.agrees``."""
        assert self.proposal is not None
        del move
        return self._screen.agrees(self.proposal)

    def consents(self, steps: Sequence[Step]) -> bool:
        """See ``Ward.consents``."""
        return self._screen.consents(steps)

    # ------------------------------------------------------------ the launch that is found

    def examine(self, seconds: float | None) -> Try:
        """See ``Ward.examine``."""
        began = time.monotonic()
        inspection = container_document(self._client, self._container)
        # A kept container, one of Kubernetes, podman: neither to be relaunched nor to be started by hand.
        if (why := refusal(self._client, inspection)) is not None:
            raise UserError(f"{self._container}: {why.en}", f"{self._container}：{why.zh}")
        status = (inspection.data.get("State") or {}).get("Status")
        verdicts = self._kept()
        if not inspection.launch.argv and not any(verdict.engine for verdict in verdicts):
            # Nobody would ever say that it serves.
            raise UserError(
                f"{self._container}: no engine that sgdoctor knows is started in it, and its log shows none",
                f"{self._container}：其中没有启动 sgdoctor 认识的引擎，日志中也没有",
            )
        verdict = telling(verdicts)
        proposal, _ = self._plan(verdict, ())
        self._take(proposal)
        self._flags = flags = proposal.answer.flags
        self._found = identity_of(inspection.launch, flags)
        found = Try(0, identity_of(proposal.answer.plan.before, flags), Result.IDLE, verdict=verdict)
        if verdict is not None and verdict.state is State.FAILED:
            return self._judged(found, verdict, ())
        if status not in _RUNS:
            return replace(found, reason=texts.NOT_FAILED if verdicts else texts.NEVER_STARTED)
        self._readiness.expected = Expected(inspection.launch, flags, seconds)
        with self._screen.waiting() as told:
            answer = self._readiness.wait(proposal.id, told)
        found = replace(found, verification=self._readiness.verification, seconds=time.monotonic() - began)
        if not isinstance(answer, NotReady):
            remarks = () if answer.complaint is None else (answer.complaint,)
            return self._serving(replace(found, remarks=remarks), answer.note)
        return self._judged(replace(found, reason=answer.reason), telling(self._kept()) or answer.verdict, ())

    def _kept(self) -> list[Verdict]:
        """The verdicts on all starts in the log of the container; none if it has said nothing."""
        identity = str(container_document(self._client, self._container).data["Id"])
        with open_target([identity], None) as target:
            return diagnose(target.log, self._base, all_attempts=True, redact=False) if target.log is not None else []

    # ------------------------------------------------------------ a launch that is tried

    def relaunch(self, tries: Sequence[Try], move: Relaunch, seconds: float | None) -> Try:
        """See ``Ward.relaunch``."""
        bisected = move.bisected is not None
        tried = Try(len(tries), move.identity, Result.REFUSED, move.changes, began=datetime.now(UTC), bisected=bisected)
        try:
            return self._tried(tried, move, seconds)
        except UserError as error:
            # What was found before is to be reported all the same.
            return replace(tried, reason=error.message)

    def _tried(self, tried: Try, move: Relaunch, seconds: float | None) -> Try:
        assert self._flags is not None
        began = time.monotonic()
        inspection = container_document(self._client, self._container)
        if identity_of(inspection.launch, self._flags) != self._found:
            return replace(tried, reason=texts.CHANGED)
        launch = inspection.edited(move.changes, self._flags).launch
        self._readiness.expected = Expected(launch, self._flags, seconds)
        outcome = self._carried_out(inspection, move)
        tried = replace(
            tried,
            verification=self._readiness.verification,
            reason=outcome.reason,
            log=outcome.log,
            seconds=time.monotonic() - began,
        )
        match outcome.ending:
            case Ending.DONE:
                tried = replace(tried, remarks=outcome.notes)
                return self._serving(tried, next(iter(outcome.notes), None), self._verdict_now())
            case Ending.OPEN:
                return replace(tried, result=Result.OPEN)
            case _ if self._readiness.cancelled:
                return replace(tried, result=Result.STOPPED, reason=None)
            case Ending.BACK:
                return self._judged(tried, self._verdict_of(outcome), move.changes)
        return tried

    def _carried_out(self, inspection: Inspection, move: Relaunch) -> Outcome:
        assert self._flags is not None
        assert self.proposal is not None
        if self._interrupts is None:
            interrupts = Interrupts(self._readiness, self._container, self._screen.lang)
            self._interrupts = self._until_done.enter_context(interrupts)
        written = write_files(self.proposal.answer.plan, self.proposal.folder)
        with self._screen.steps() as lines:
            try:
                outcome = relaunch(
                    self._client,
                    inspection,
                    move.changes,
                    self._flags,
                    planned=self.proposal.edition,
                    accept_drift=self._accept_drift,
                    readiness=self._readiness,
                    patience=Patience(),
                    watcher=self._interrupts.watching(lines),
                )
            except KeyboardInterrupt:
                self._readiness.cancel()
                outcome = Outcome(Ending.OPEN)
        if outcome.ending is Ending.DONE:
            self._written.clear()
        elif outcome.ending is not Ending.OPEN:
            self._written += written
        return outcome

    # ------------------------------------------------------------ what came of it

    def _serving(self, tried: Try, note: Text | None, verdict: Verdict | None = None) -> Try:
        """A server that is ready and has no fault."""
        verification = tried.verification
        if verification is not None and verification.verified:
            return replace(tried, result=Result.VERIFIED, reason=None, verdict=verdict or tried.verdict)
        gap = verification.gap if verification is not None else None
        return replace(tried, result=Result.SERVES, reason=gap or note, verdict=verdict or tried.verdict)

    def _judged(self, tried: Try, verdict: Verdict | None, changes: tuple[Change, ...]) -> Try:
        """A server that is not ready, or has a fault, with the plan that follows from it."""
        fault = tried.verification.fault if tried.verification is not None else None
        lives = verdict is None or verdict.state is not State.FAILED
        result = Result.FAULTY if lives and fault is not None else Result.FAILED
        tried = replace(tried, result=result, verdict=verdict, reason=fault if lives and fault else tried.reason)
        return tried if verdict is None else self._with_plan(tried, verdict, changes)

    def _with_plan(self, tried: Try, verdict: Verdict, changes: tuple[Change, ...]) -> Try:
        """A failure with its cause, and what the plan says about it."""
        proposal, steps = self._plan(verdict, changes)
        self._take(proposal)
        return with_plan(tried, verdict, proposal.answer, steps, proposal.refused)

    # ------------------------------------------------------------ plans

    def _plan(self, verdict: Verdict | None, changes: tuple[Change, ...]) -> tuple[Proposal, tuple[Step, ...]]:
        """What is to be done with the original launch after one with ``changes`` came to this verdict.

        Returns:
            All of it, and the steps that are new.
        """
        inspection = container_document(self._client, self._container)
        with open_target([str(inspection.data["Id"])], None, with_log=False) as target:
            document = target.document
            assert document is not None
            if isinstance(document, AsDockerRun):
                inspection = document.inspection
            folder = Path.cwd() if target.file is None else target.file.path.absolute().parent
            tried = document
            if changes:
                assert self._flags is not None
                tried = Amended(document, changes, self._flags)
            here = replace(target, name=inspection.name, document=tried)
            answer = answer_for(here, self._base, _NO_WISHES, verdict=verdict)
        steps = answer.plan.steps
        answer = for_original(answer, document, changes)
        self._files |= {file.path: file for file in answer.plan.files}
        answer = replace(answer, plan=replace(answer.plan, files=tuple(self._files.values())))
        return proposal_of(self._client, inspection, answer, folder, accept_drift=self._accept_drift), steps

    def _take(self, proposal: Proposal) -> None:
        self.proposal = proposal
        self._screen.knows(proposal)

    def _verdict_now(self) -> Verdict | None:
        """On the start of the container as it is now."""
        with suppress(UserError):
            return next(iter(reversed(self._kept())), None)
        return None

    def _verdict_of(self, outcome: Outcome) -> Verdict | None:
        """On the start that failed: from its whole log, so that no value is hidden that a plan needs."""
        kept = next((one for one in spooled() if outcome.log is not None and one.path == Path(outcome.log)), None)
        if kept is None:
            return outcome.verdict
        name = kept.container.name
        return telling(diagnose_bytes(bytes_of(kept), name, self._base, all_attempts=True, redact=False))
