"""Line mode of ``watch``: a line for each phase, a card for each diagnosis, the verdict last."""

import sys
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from rich.cells import cell_len

from sgdoctor.cli.diagnose import EXIT_FINE, EXIT_UNDETERMINED, exit_code
from sgdoctor.cli.main import complain
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.wording import PHASES, duration, phase_label, state_label
from sgdoctor.engines.base import Phase, PhaseName
from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.messages import say
from sgdoctor.report.canvas import console_for
from sgdoctor.report.redact import redactor_for
from sgdoctor.report.safe import printable
from sgdoctor.report.text import Options, print_verdict
from sgdoctor.report.wording import last_line
from sgdoctor.watching.model import Link, Snapshot, Stage, StageState

if TYPE_CHECKING:
    from sgdoctor.watching.session import Session

_SETTLE_SECONDS: Final = 1.5
"""A traceback comes in pieces, and its cause is known when the last one is there."""
_SHORTEST: Final = 0.05
_BAD: Final = frozenset({State.FAILED, State.UNDETERMINED, State.DEGRADED})


class Attendant(Protocol):
    """Somebody who has a part in the server that is watched, and not only looks on."""

    def interrupted(self) -> None:
        """Ctrl-C was pressed; in a handler, so that no lock may be taken."""

    def attend(self, snapshot: Snapshot) -> None:
        """How things stand, some times a second, once what is new was printed."""

    @property
    def explains(self) -> bool:
        """Whether how it ended is to be printed: not where that was wanted."""


def watch_plain(
    session: "Session",
    lang: str,
    *,
    until_ready: bool = False,
    redact: bool = True,
    attendant: Attendant | None = None,
) -> int:
    """Watches until the log is over, or with ``until_ready`` until the server serves or has failed.

    Args:
        session: what is watched; started and stopped here.
        lang: ``en`` or ``zh``.
        until_ready: whether a serving server ends it, with code 0.
        redact: whether secrets are hidden.
        attendant: is asked what Ctrl-C is to do; None where it ends the watching.

    Returns:
        The exit code.
    """
    mailbox = _Mailbox()
    printer = _Printer(lang, redact=redact)
    session.start(mailbox.put, mailbox.fail)
    try:
        # Ctrl-C: the person has seen enough; the answer so far is still due.
        with on_ctrl_c(mailbox.leave if attendant is None else attendant.interrupted):
            while not mailbox.left and not _is_over(session, mailbox, printer, until_ready=until_ready):
                if attendant is not None and printer.newest is not None:
                    attendant.attend(printer.newest)
    finally:
        session.stop()
    if mailbox.failure is not None:
        raise mailbox.failure
    # A crash loop may have begun its next start meanwhile.
    snapshot = printer.newest if until_ready and printer.decided else session.snapshot()
    if snapshot is None:
        return EXIT_UNDETERMINED if until_ready else EXIT_FINE
    if attendant is None or attendant.explains:
        printer.close(snapshot)
    state = snapshot.verdict.state
    if until_ready:
        return EXIT_FINE if snapshot.serves else exit_code(state) or EXIT_UNDETERMINED
    return exit_code(state)


def _is_over(session: "Session", mailbox: "_Mailbox", printer: "_Printer", *, until_ready: bool) -> bool:
    snapshot = mailbox.get(0.2)
    if snapshot is not None:
        printer.take(snapshot)
    printer.settle()
    if mailbox.failure is not None:
        return True
    newest = printer.newest
    if newest is None:
        return False
    if until_ready and printer.decided:
        return True
    return session.over and mailbox.is_empty and newest is session.snapshot()


class _Mailbox:
    """Hands the newest snapshot from the thread of the session to this one.

    Attributes:
        failure: why the session cannot go on.
        left: whether the user has pressed Ctrl-C.
    """

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.left = False
        self._snapshot: Snapshot | None = None
        self._changed = threading.Event()

    def put(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._changed.set()

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self._changed.set()

    def leave(self) -> None:
        self.left = True

    @property
    def is_empty(self) -> bool:
        return not self._changed.is_set()

    def get(self, timeout: float) -> Snapshot | None:
        """The newest snapshot; None if there is no new one in time."""
        if not self._changed.wait(timeout):
            return None
        self._changed.clear()
        return self._snapshot


class _Printer:
    """Prints what is new in a snapshot.

    Attributes:
        newest: the snapshot printed last.
        settled: whether what was found has been printed and stayed so for a moment.
    """

    def __init__(self, lang: str, *, redact: bool) -> None:
        self.newest: Snapshot | None = None
        self.settled = True
        self._lang = lang
        self._redact = redact
        self._console = console_for(sys.stdout)
        self._attempt = 0
        self._told: set[PhaseName] = set()
        self._note = ""
        self._finding: tuple[object, ...] = ()
        self._since = 0.0
        self._carded: tuple[object, ...] | None = None
        self._verdict_is_last = False
        self._stalled = False
        self._width = max(cell_len(label.in_language(lang)) for label in PHASES.values())

    @property
    def decided(self) -> bool:
        """Whether the newest start serves, or has failed for good."""
        newest = self.newest
        return newest is not None and (newest.serves or (newest.verdict.state is State.FAILED and self.settled))

    def take(self, snapshot: Snapshot) -> None:
        """Print what is new; a failure only once it has settled."""
        self.newest = snapshot
        self._attempts(snapshot)
        goes_on = snapshot.link is Link.FOLLOWING
        if goes_on:
            self._notes(snapshot)
        for stage in snapshot.stages:
            if stage.name not in self._told and _is_told(stage, snapshot.verdict):
                self._told.add(stage.name)
                self._stage(stage, snapshot)
        self._stall(snapshot.verdict)
        finding = _finding(snapshot.verdict)
        if finding != self._finding:
            self._finding, self._since = finding, time.monotonic()
            self.settled = False
        if not goes_on:
            # Why nothing more comes is said of all that came.
            self.settle()
            self._notes(snapshot)
        sys.stdout.flush()

    def settle(self) -> None:
        """Print the card of a failure that has not changed for a moment, or will not change any more."""
        if self.settled or self.newest is None:
            return
        waited = time.monotonic() - self._since >= _SETTLE_SECONDS
        if waited or self.newest.link is not Link.FOLLOWING:
            self.settled = True
            self._card(self.newest)

    def close(self, snapshot: Snapshot) -> None:
        """Print what is still due; the verdict is the last line."""
        self.take(snapshot)
        if not snapshot.lines:
            return
        if snapshot.verdict.state in _BAD and self._carded != _finding(snapshot.verdict):
            self._card(snapshot)
        elif self._carded != _finding(snapshot.verdict) or not self._verdict_is_last:
            self._print(_verdict_line(snapshot, self._lang))
        sys.stdout.flush()

    # ------------------------------------------------------------ parts

    def _notes(self, snapshot: Snapshot) -> None:
        note = snapshot.note.in_language(self._lang)
        if note and note != self._note:
            if snapshot.link is Link.WAITING and not snapshot.lines:
                # Nothing of the log yet: whoever keeps the lines in a file sees on the terminal why it stays empty.
                complain(printable(note), self._lang)
            else:
                self._print(note)
        self._note = note

    def _attempts(self, snapshot: Snapshot) -> None:
        number = snapshot.verdict.attempt
        if number == self._attempt:
            return
        for earlier in snapshot.attempts[max(0, self._attempt - 1) : -1]:
            if earlier.number == self._attempt and self._carded is not None:
                continue
            title = earlier.title.in_language(self._lang)
            state = state_label(earlier.state).in_language(self._lang)
            self._print(say(self._lang, "watch.attempt_ended", number=earlier.number, state=state, title=title))
        if number > 1:
            self._print(say(self._lang, "watch.attempt", number=number))
        self._attempt = number
        self._told.clear()
        self._finding, self._carded, self.settled = (), None, True

    def _stage(self, stage: Stage, snapshot: Snapshot) -> None:
        ready = stage.name is PhaseName.SERVING
        label = say(self._lang, "watch.ready") if ready else phase_label(stage.name).in_language(self._lang)
        padding = " " * max(0, self._width - cell_len(label))
        self._print(
            f"{_clock(stage.name, snapshot.verdict.phases)} {label}{padding}  {self._told_of(stage, snapshot)}".rstrip()
        )

    def _told_of(self, stage: Stage, snapshot: Snapshot) -> str:
        lang = self._lang
        if stage.name is PhaseName.SERVING:
            return address_of(snapshot.verdict) or stage.detail.in_language(lang)
        parts = []
        if stage.memory_gib:
            parts.append(f"{stage.memory_gib:.2f} GiB")
        if detail := stage.detail.in_language(lang):
            parts.append(detail)
        if stage.seconds is not None and stage.seconds >= _SHORTEST:
            parts.append(duration(stage.seconds).in_language(lang))
        text = ("，" if lang == "zh" else ", ").join(parts)
        if stage.usual is not None and stage.learned:
            low, high = (duration(seconds).in_language(lang) for seconds in stage.usual)
            text += say(lang, "watch.usual", low=low, high=high)
        return text

    def _stall(self, verdict: Verdict) -> None:
        stalled = verdict.state is State.STALLED
        if stalled and not self._stalled:
            self._print(verdict.summary.in_language(self._lang))
        self._stalled = stalled

    def _card(self, snapshot: Snapshot) -> None:
        verdict = snapshot.verdict
        finding = _finding(verdict)
        if verdict.state not in _BAD or finding == self._carded or not snapshot.lines:
            return
        if verdict.state is not State.DEGRADED and not _failed(verdict) and snapshot.link is Link.FOLLOWING:
            return
        self._carded = finding
        self._console.print()
        print_verdict(self._console, verdict, snapshot.subject.name, Options(lang=self._lang, redact=self._redact))
        self._verdict_is_last = True
        sys.stdout.flush()

    def _print(self, text: str) -> None:
        hide = redactor_for(self.newest.verdict, redact=self._redact) if self.newest else str
        self._verdict_is_last = False
        self._console.print(hide(printable(text)), no_wrap=True, crop=False, overflow="ignore")


def _finding(verdict: Verdict) -> tuple[object, ...]:
    """What has to change for a new card."""
    return (
        verdict.attempt,
        verdict.state,
        tuple(diagnosis.rule.id for diagnosis in verdict.diagnoses),
        verdict.unexplained.line if verdict.unexplained else 0,
    )


def _failed(verdict: Verdict) -> bool:
    return verdict.state is State.FAILED or verdict.unexplained is not None or bool(verdict.diagnoses)


def _is_told(stage: Stage, verdict: Verdict) -> bool:
    if stage.name in (PhaseName.DOCKER, PhaseName.SHUTDOWN):
        return False
    if stage.name is PhaseName.SERVING:
        return stage.state in (StageState.RUNNING, StageState.DONE) and "ready" in verdict.facts
    return stage.state is StageState.DONE


def _clock(name: PhaseName, phases: Sequence[Phase]) -> str:
    """When a phase ended, or the server became ready, by the log; else the time of now."""
    for phase, following in zip(phases, (*phases[1:], None), strict=True):
        if phase.name is not name:
            continue
        ended = phase.start
        if name is not PhaseName.SERVING:
            # Before the engine prints its clock, the next phase says when this one was over.
            ended = following.start if following is not None else ended
            if phase.start is not None and phase.seconds is not None:
                ended = phase.start + timedelta(seconds=phase.seconds)
        if ended is not None:
            return ended.strftime("%H:%M:%S")
    return time.strftime("%H:%M:%S")


def address_of(verdict: Verdict) -> str:
    """The base of the server's URLs from here; empty if the log does not tell."""
    host, port = (verdict.facts.get(name) for name in ("host", "port"))
    if port is None:
        return ""
    name = str(host.value) if host is not None and host.value not in ("0.0.0.0", "::") else "127.0.0.1"  # noqa: S104
    return f"http://[{name}]:{port.value}" if ":" in name else f"http://{name}:{port.value}"


def _verdict_line(snapshot: Snapshot, lang: str) -> str:
    """The last line of ``diagnose``, with the address of a server that can be used."""
    closing = "".join(last_line(snapshot.verdict, lang))
    address = address_of(snapshot.verdict)
    if snapshot.serves and address and snapshot.link is Link.FOLLOWING:
        return say(lang, "watch.serving", closing=closing, address=address)
    return closing
