"""Start after start of a process without a container: each is followed to its end, and the next one drawn from it."""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text as Styled

from sgdoctor.cli.diagnose import EXIT_FAILED, EXIT_FINE, EXIT_UNDETERMINED
from sgdoctor.cli.fix_files import remove_files
from sgdoctor.cli.heal_report import changes_line, print_report
from sgdoctor.cli.run_keeper import Wishes
from sgdoctor.cli.run_plan import ProcessPlans
from sgdoctor.cli.run_report import ProcessReport
from sgdoctor.cli.run_server import Running, Server
from sgdoctor.cli.run_texts import sentence, words
from sgdoctor.cli.watch import asked_language
from sgdoctor.cli.watch_plain import watch_plain
from sgdoctor.containers.spool import state_dir
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.wording import ENDED_UNSEEN, duration
from sgdoctor.errors import UserError
from sgdoctor.exit_codes import ASKED_TO_STOP
from sgdoctor.fixes.model import Answer, Step
from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.launch.change import Change
from sgdoctor.redaction import Redactor, redactor, unredacted
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.model import End, Healing, Limits, Relaunch, Result, Stop, Try
from sgdoctor.relaunch.heal.moves import next_move
from sgdoctor.report.canvas import Canvas, console_for
from sgdoctor.report.plan_redact import plan_redactor
from sgdoctor.report.plan_text import print_changes, print_plan
from sgdoctor.report.safe import printable
from sgdoctor.verify.launched import server_of
from sgdoctor.verify.model import Verification
from sgdoctor.watching.history import History
from sgdoctor.watching.session import Session

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase

EXIT_STOPPED: Final = 130
_EXITS: Final = {End.UNDETERMINED: EXIT_UNDETERMINED, End.FAULTY: EXIT_UNDETERMINED}


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
        self._server = Server(plans, base, lang)
        self._by_user = 0
        self._pressed = 0
        self._follows = False
        self._later: list[Callable[[], None]] = []
        """What is to be said once the app is left."""

    def run(self) -> int:
        """Returns the exit code once nothing runs any more."""
        changes: tuple[Change, ...] = ()
        try:
            while True:
                code = self._started(changes)
                if code is not None:
                    return code
                move = self._next()
                if isinstance(move, Stop):
                    return self._over(move)
                changes = move.changes
                self._server.written += self._plans.write_files(move.steps)
        finally:
            remove_files(self._server.written)

    # ------------------------------------------------------------ one start

    def _started(self, changes: tuple[Change, ...]) -> int | None:
        """Follow a start, and those that the user makes in the app, to the end; the exit code if the last was fine."""
        server = self._server
        server.open()
        with on_ctrl_c(self._interrupted):
            self._pressed, self._follows = 0, False
            first = server.begin(changes, self._wishes(self._plans.tried(len(self._tries), changes)), self._told_now)
            newest: Verdict | None = None
            try:
                self._follows = True
                for _ in range(self._pressed):
                    self._interrupted()
                self._say_begun(first)
                newest = self._follow(first)
            finally:
                server.close(newest)
        for say_it in self._later:
            say_it()
        self._later.clear()
        for running in server.starts[first.number - 1 :]:
            if running is not first:
                self._say_begun(running)
            if running.served:
                # The command that served, and that the user has seen, needs its files.
                server.written.clear()
            # A launch that served, or that the user went back from, may be tried again.
            if running.failed and running.verdict is not None:
                tried = self._tried(running, running.verdict)
                others = [one for one in self._tries if one.identity != tried.identity]
                self._by_user += running is not first and len(others) == len(self._tries)
                self._tries = [*others, tried]
        return self._code()

    def _follow(self, first: Running) -> Verdict | None:
        redact = not self._arguments.no_redact
        with _on_end_signals(self._terminate):
            if self._arguments.tui:
                from sgdoctor.cli.run_app import follow_in_app
                from sgdoctor.cli.run_owner import Owner

                owner = Owner(self._server, self._base, self._limits, self._ready_wishes, redact=redact)
                asked = asked_language(self._arguments)
                follow_in_app(owner, self._base, self._lang, redact=redact, asked=asked, goes_on=not self._asks)
                return owner.session.judged()
            session = Session(first.feed, self._base, History(state_dir() / "starts.jsonl"), redact=redact)
            watch_plain(session, self._lang, redact=redact, attendant=first.keeper)
            return session.judged()

    def _interrupted(self) -> None:
        """Ctrl-C; one that comes while the server is being started is heard once it is."""
        if self._follows:
            self._server.current.keeper.interrupted()
        else:
            self._pressed += 1

    def _terminate(self) -> None:
        self._server.current.keeper.terminated()

    def _tried(self, running: Running, verdict: Verdict) -> Try:
        """A start that failed, with the plan that follows from it."""
        keeper = running.keeper
        tried = replace(
            self._plans.tried(running.number - 1, running.changes),
            seconds=keeper.seconds,
            verdict=verdict,
            verification=keeper.verification,
        )
        fault = keeper.verification.fault if keeper.verification is not None else None
        if fault is not None and verdict.state is not State.FAILED:
            tried = replace(tried, result=Result.FAULTY, reason=fault)
        elif verdict.state is not State.FAILED:
            tried = replace(tried, reason=keeper.reason)
        try:
            return self._plans.judged(tried, verdict)
        except UserError as error:
            return replace(tried, reason=error.message)

    def _code(self) -> int | None:
        """The exit code after the newest start, and the last line; None where it failed."""
        last = self._server.current
        if last.feed.child.stuck:
            self._close(self._words("stuck", pid=str(last.feed.child.pid)))
            return EXIT_UNDETERMINED
        seconds = last.keeper.served_seconds
        served = duration(seconds).in_language(self._lang) if seconds is not None else ""
        if last.keeper.asked or last.keeper.failed is False:
            self._close(self._words("stopped.served" if served else "stopped.before", time=served))
            return EXIT_FINE if served else EXIT_STOPPED
        if not last.failed:
            self._close(self._words("ended", time=served))
            return EXIT_FINE
        return None

    # ------------------------------------------------------------ what comes next

    def _next(self) -> Stop | Relaunch:
        # Those that the user made in the app are not among the ones that were allowed beforehand.
        limits = replace(self._limits, tries=self._limits.tries + self._by_user)
        move = next_move(self._tries, limits)
        unsafe: tuple[Step, ...] = ()
        if isinstance(move, Stop) and move.end is End.UNSAFE and self._asks:
            unsafe = move.unsafe
            move = next_move(self._tries, replace(limits, unsafe=True))
        if self._tries[-1].proposed is not None and self._plans.answer is not None:
            self._show(self._plans.answer)
        if isinstance(move, Stop):
            return move
        self._canvas.blank()
        self._line(words(self._lang, "next", changes=changes_line(move, self._lang)))
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
        unseen = last.verdict is not None and last.verdict.summary == ENDED_UNSEEN
        code = last.verdict.facts.get("exit_code") if last.verdict is not None else None
        told = stop.end is End.UNDETERMINED and code is not None and code.value in ASKED_TO_STOP
        key = "end.nobody" if nobody else "end.ended" if unseen else "end.told" if told else f"end.{stop.end.value}"
        said = self._words(key, why=sentence(stop.why or last.reason, self._lang))
        if self._arguments.heal:
            self._report(self._tries, stop, said)
        else:
            self._canvas.blank()
            self._close(said)
        if nobody or stop.end is End.NOT_AGREED:
            return EXIT_FAILED if last.rule else EXIT_UNDETERMINED
        return _EXITS.get(stop.end, EXIT_FAILED)

    # ------------------------------------------------------------ healing

    def _ready_wishes(self, changes: Sequence[Change], *, heals: bool) -> Wishes:
        """What is wanted of a start in the app, which the user has agreed to, or which heals."""
        return Wishes(
            ready_seconds=self._arguments.ready_timeout,
            alone=heals,
            verifies=partial(server_of, self._plans.launch(changes), self._plans.flags) if heals else None,
        )

    def _wishes(self, tried: Try) -> Wishes:
        arguments = self._arguments
        verifies = partial(server_of, self._plans.launch(tried.changes), self._plans.flags)

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
        said = self._words(f"end.{stop.end.value}", after=after, why=sentence(stop.why, self._lang))
        self._report([*self._tries, good], stop, said)

    def _report(self, tries: list[Try], stop: Stop, said: str) -> None:
        healing = Healing(tuple(tries), stop, time.monotonic() - self._began)
        report = _StartReport(self._name, healing, verify=True, lang=self._lang, hide=self._hide)
        report.said = said
        print_report(self._canvas, report)
        sys.stdout.flush()

    # ------------------------------------------------------------ words

    def _say_begun(self, running: Running) -> None:
        number, feed, record = running.number, running.feed, running.record
        log = str(feed.log) if feed.log is not None else words(self._lang, "no_log")
        if number > 1:
            self._canvas.blank()
        begun = words(self._lang, "begun", number=number, name=self._name, pid=feed.child.pid, log=log)
        self._canvas.whole(Styled(self._safe(begun)))
        if record.problem is not None:
            self._line(record.problem.in_language(self._lang))

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


class _StartReport(ProcessReport):
    """The report of healing without the app, where each try is a start of its own number."""

    def name_of(self, tried: Try) -> str:
        return words(self.lang, "try", number=tried.number + 1)


@contextmanager
def _on_end_signals(terminate: Callable[[], None]) -> Iterator[None]:
    """SIGTERM, and the end of the terminal, stop the server before they end sgdoctor."""

    def handle(_: int, __: FrameType | None) -> None:
        terminate()

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
