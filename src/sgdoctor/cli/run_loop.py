"""Start after start of a process without a container: each is followed to its end, and the next one drawn from it."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text as Styled

from sgdoctor.cli.diagnose import EXIT_FAILED, EXIT_FINE, EXIT_UNDETERMINED
from sgdoctor.cli.fix_files import remove_files
from sgdoctor.cli.heal_report import Report, print_report
from sgdoctor.cli.run_keeper import Keeper, Wishes
from sgdoctor.cli.run_plan import ProcessPlans
from sgdoctor.cli.run_texts import words
from sgdoctor.cli.watch_plain import watch_plain
from sgdoctor.containers.spool import bytes_of, spooled, state_dir
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.diagnosis.wording import duration
from sgdoctor.engines.base import PhaseName
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Answer, Step
from sgdoctor.launch.change import Change
from sgdoctor.processes.feed import ProcessFeed
from sgdoctor.processes.record import Record, Start
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.model import End, Healing, Limits, Relaunch, Result, Stop, Try
from sgdoctor.relaunch.heal.moves import next_move
from sgdoctor.relaunch.model import Ending, Outcome
from sgdoctor.report.canvas import Canvas, console_for
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.plan_text import print_changes, print_plan
from sgdoctor.report.safe import printable
from sgdoctor.report.wording import change_text
from sgdoctor.texts import Text
from sgdoctor.verify.launched import server_of
from sgdoctor.verify.model import Server, Verification
from sgdoctor.watching.history import History
from sgdoctor.watching.session import Session

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

EXIT_STOPPED: Final = 130
_EXITS: Final = {End.UNDETERMINED: EXIT_UNDETERMINED, End.FAULTY: EXIT_UNDETERMINED}
_LATE: Final = frozenset({PhaseName.SERVING, PhaseName.SHUTDOWN})
_SERVES: Final = frozenset({State.HEALTHY, State.DEGRADED})


class Runs:
    """The starts of one server.

    Args:
        plans: for its command.
        arguments: of the command line.
        base: the rules.
        lang: ``en`` or ``zh``.
    """

    def __init__(self, plans: ProcessPlans, arguments: argparse.Namespace, base: "RuleBase", lang: str) -> None:
        self._plans = plans
        self._name = plans.name
        self._arguments = arguments
        self._base = base
        self._lang = lang
        self._hide: Redactor = unredacted if arguments.no_redact else redactor()
        self._canvas = Canvas(console_for(sys.stdout), lang)
        self._limits = Limits(arguments.max_attempts, unsafe=arguments.allow_unsafe)
        self._asks = not (arguments.yes or arguments.heal)
        self._tries: list[Try] = []
        self._began = time.monotonic()
        self._before: tuple[str, ...] = ()
        self._written: list[Path] = []
        self._later: list[Callable[[], None]] = []
        """What is to be said once the app is left."""

    def run(self) -> int:
        """Returns the exit code once nothing runs any more."""
        changes: tuple[Change, ...] = ()
        try:
            while True:
                tried = self._plans.tried(len(self._tries), changes)
                code, tried = self._started(tried)
                if code is not None:
                    return code
                self._tries.append(tried)
                move = self._next()
                if isinstance(move, Stop):
                    return self._over(move)
                self._before = tuple(self._plans.command(changes)[1])
                changes = move.changes
                self._written += self._plans.write_files(move.steps)
        finally:
            remove_files(self._written)

    # ------------------------------------------------------------ one start

    def _started(self, tried: Try) -> tuple[int | None, Try]:
        """Follow one start to its end; the exit code where it did not fail."""
        variables, command = self._plans.command(tried.changes)
        # Two streams of which only one is buffered would not keep the order of lines in one pipe.
        env = {"PYTHONUNBUFFERED": "1", **os.environ, **variables}
        number = len(self._tries) + 1
        feed = ProcessFeed(self._name, command, env, number=number)
        try:
            start = Start(self._name, tuple(command), self._before, self._new_changes(tried))
            record = Record.begin(start, feed.log)
            self._say_begun(number, feed, record)
            keeper = Keeper(feed, record, self._wishes(tried), self._lang, self._told_now)
            ended: Verdict | None = None
            try:
                ended = self._follow(feed, keeper)
            finally:
                feed.close()
                record.end(self._outcome(keeper, ended), _phases(ended))
        finally:
            feed.close()
        if feed.child.stuck:
            self._close(self._words("stuck", pid=str(feed.child.pid)))
            return EXIT_UNDETERMINED, tried
        return self._came_of(tried, keeper, ended)

    def _follow(self, feed: ProcessFeed, keeper: Keeper) -> Verdict:
        redact = not self._arguments.no_redact
        session = Session(feed, self._base, History(state_dir() / "starts.jsonl"), redact=redact)
        with _on_end_signals(keeper):
            if self._arguments.tui:
                from sgdoctor.cli.run_app import follow_in_app

                follow_in_app(session, keeper, self._base, self._lang, redact=redact)
                for say_it in self._later:
                    say_it()
                self._later.clear()
            else:
                watch_plain(session, self._lang, redact=redact, attendant=keeper)
        return self._verdict(feed, session)

    def _verdict(self, feed: ProcessFeed, session: Session) -> Verdict:
        """From the whole log, so that no value is hidden that a plan needs."""
        kept = next((one for one in spooled(name=self._name) if one.path == feed.log), None)
        snapshot = session.snapshot()
        if kept is not None:
            return diagnose_bytes(bytes_of(kept), self._name, self._base, redact=False)[-1]
        assert snapshot is not None
        return snapshot.verdict

    def _outcome(self, keeper: Keeper, ended: Verdict | None) -> Outcome:
        if keeper.asked or ended is None:
            return Outcome(Ending.STOPPED if keeper.ready is None else Ending.DONE)
        if not _failed(keeper, ended):
            return Outcome(Ending.DONE)
        return Outcome(Ending.FAILED, reason=keeper.reason or _summary(ended), verdict=ended)

    def _came_of(self, tried: Try, keeper: Keeper, ended: Verdict) -> tuple[int | None, Try]:
        seconds = keeper.served_seconds
        served = duration(seconds).in_language(self._lang) if seconds is not None else ""
        tried = replace(tried, seconds=keeper.seconds, verdict=ended, verification=keeper.verification)
        if keeper.ready is not None:
            # The command that served, and that the user has seen, needs its files.
            self._written.clear()
        if keeper.asked:
            self._close(self._words("stopped.served" if served else "stopped.before", time=served))
            return (EXIT_FINE if served else EXIT_STOPPED), tried
        if not _failed(keeper, ended):
            self._close(self._words("ended", time=served))
            return EXIT_FINE, tried
        fault = keeper.verification.fault if keeper.verification is not None else None
        if fault is not None and ended.state is not State.FAILED:
            tried = replace(tried, result=Result.FAULTY, reason=fault)
        elif ended.state is not State.FAILED:
            tried = replace(tried, reason=keeper.reason)
        try:
            return None, self._plans.judged(tried, ended)
        except UserError as error:
            return None, replace(tried, reason=error.message)

    # ------------------------------------------------------------ what comes next

    def _next(self) -> Stop | Relaunch:
        move = next_move(self._tries, self._limits)
        unsafe: tuple[Step, ...] = ()
        if isinstance(move, Stop) and move.end is End.UNSAFE and self._asks:
            unsafe = move.unsafe
            move = next_move(self._tries, replace(self._limits, unsafe=True))
        if self._tries[-1].proposed is not None and self._plans.answer is not None:
            self._show(self._plans.answer)
        if isinstance(move, Stop):
            return move
        self._canvas.blank()
        told = ", ".join(change_text(change, self._lang) for change in move.changes)
        if move.bisected is not None:
            between = words(self._lang, "bisected")
            told += f" ({between})"
        self._line(words(self._lang, "next", changes=told))
        if not self._asks:
            return move
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return Stop(End.REFUSED, None)
        return move if self._agrees(unsafe) else Stop(End.NOT_AGREED, self._tries[-1].reason)

    def _show(self, answer: Answer) -> None:
        """What is planned; in the app the diagnosis has gone from the screen."""
        redact = not self._arguments.no_redact
        self._hide = plan_redactor(answer, redact=redact)
        if self._arguments.tui:
            print_plan(self._canvas.console, answer, self._lang, redact=redact, closes=False)
        elif answer.plan.steps or answer.plan.left:
            self._canvas.blank()
            print_changes(self._canvas.console, answer, self._lang, redact=redact)

    def _agrees(self, unsafe: tuple[Step, ...]) -> bool:
        what = texts.unsafe(unsafe).in_language(self._lang)
        question = words(self._lang, "ask.unsafe", what=what) if unsafe else words(self._lang, "ask")
        sys.stdout.flush()
        sys.stderr.write(self._safe(question))
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def _over(self, stop: Stop) -> int:
        """Nothing is started any more."""
        last = self._tries[-1]
        nobody = stop.end is End.REFUSED and stop.why is None
        key = "end.nobody" if nobody else f"end.{stop.end.value}"
        said = self._words(key, why=_sentence(stop.why or last.reason, self._lang))
        if self._arguments.heal:
            self._report(self._tries, stop, said)
        else:
            self._canvas.blank()
            self._close(said)
        if nobody or stop.end is End.NOT_AGREED:
            return EXIT_FAILED if last.rule else EXIT_UNDETERMINED
        return _EXITS.get(stop.end, EXIT_FAILED)

    # ------------------------------------------------------------ healing

    def _wishes(self, tried: Try) -> Wishes:
        arguments = self._arguments
        launch, flags = self._plans.launch(tried.changes), self._plans.flags

        def verifies(address: str) -> Server:
            return server_of(launch, flags, address)

        def verified(verification: Verification, verdict: Verdict) -> None:
            result = Result.VERIFIED if verification.verified else Result.SERVES
            good = replace(tried, result=result, verification=verification, verdict=verdict, reason=verification.gap)
            stop = Stop(End.VERIFIED if verification.verified else End.SERVES, verification.gap)
            say_it = partial(self._healed, good, stop)
            if arguments.tui:
                self._later.append(say_it)
            else:
                say_it()

        return Wishes(
            ready_seconds=arguments.ready_timeout,
            alone=not self._asks,
            verifies=verifies if arguments.heal else None,
            verified=verified,
        )

    def _healed(self, good: Try, stop: Stop) -> None:
        count = len(self._tries)
        after = words(self._lang, "after.1" if count == 1 else "after.n", count=count) if count else ""
        said = self._words(f"end.{stop.end.value}", after=after, why=_sentence(stop.why, self._lang))
        self._report([*self._tries, good], stop, said)

    def _report(self, tries: list[Try], stop: Stop, said: str) -> None:
        healing = Healing(tuple(tries), stop, time.monotonic() - self._began)
        report = _StartReport(self._name, healing, verify=True, lang=self._lang, hide=self._hide)
        report.said = said
        print_report(self._canvas, report)
        sys.stdout.flush()

    # ------------------------------------------------------------ words

    def _say_begun(self, number: int, feed: ProcessFeed, record: Record) -> None:
        log = str(feed.log) if feed.log is not None else words(self._lang, "no_log")
        if number > 1:
            self._canvas.blank()
        begun = words(self._lang, "begun", number=number, name=self._name, pid=feed.child.pid, log=log)
        self._canvas.whole(Styled(self._safe(begun)))
        if record.problem is not None:
            self._line(record.problem.in_language(self._lang))

    def _new_changes(self, tried: Try) -> tuple[Change, ...]:
        known = self._tries[-1].changes if self._tries else ()
        return tuple(change for change in tried.changes if change not in known)

    def _told_now(self, text: str) -> None:
        if not self._arguments.tui:
            self._line(text)

    def _line(self, text: str) -> None:
        self._canvas.line(Styled(self._safe(text)))
        sys.stdout.flush()

    def _close(self, text: str) -> None:
        self._canvas.whole(Styled(self._safe(text), style="bold"))
        sys.stdout.flush()

    def _words(self, key: str, **values: str) -> str:
        return words(self._lang, key, name=self._name, **values).strip()

    def _safe(self, text: str) -> str:
        return self._hide(printable(text))


class _StartReport(Report):
    """The report of healing, of starts of a process.

    Attributes:
        said: the last line.
    """

    said = ""

    @property
    def closing(self) -> str:
        return self.safe(self.said)

    def name_of(self, tried: Try) -> str:
        return words(self.lang, "try", number=tried.number + 1)


@contextmanager
def _on_end_signals(keeper: Keeper) -> Iterator[None]:
    """SIGTERM, and the end of the terminal, stop the server before they end sgdoctor."""

    def handle(_: int, __: FrameType | None) -> None:
        keeper.terminated()

    before: dict[int, Any] = {}
    ends: tuple[int, ...] = (signal.SIGTERM, signal.SIGHUP)
    for number in ends:
        # `nohup` has it ignored, and so it stays.
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _failed(keeper: Keeper, ended: Verdict) -> bool:
    return keeper.reason is not None or keeper.ready is None or ended.state not in _SERVES


def _sentence(text: Text | None, lang: str) -> str:
    """With a full stop, which titles do not have."""
    said = "" if text is None else text.in_language(lang)
    return said if not said or said[-1] in ".。!?！？" else said + ("。" if lang == "zh" else ".")


def _summary(verdict: Verdict) -> Text:
    return verdict.diagnoses[0].title if verdict.diagnoses else verdict.summary


def _phases(verdict: Verdict | None) -> dict[str, float]:
    if verdict is None:
        return {}
    done = [phase for phase in verdict.phases if phase.done and phase.name not in _LATE]
    return {phase.name.value: round(phase.seconds, 2) for phase in done if phase.seconds is not None}
