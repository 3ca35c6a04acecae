"""Errands of the app: what the user agreed to is carried out in a thread, seen step by step, and can be stopped."""

import signal
import sys
from abc import abstractmethod
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

from textual.message import Message

from sgdoctor.interrupts import on_ctrl_c
from sgdoctor.report.safe import printable
from sgdoctor.tui.asking import Asking
from sgdoctor.tui.course import Runner
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.doctor import Doctor, Errand
from sgdoctor.tui.screens.confirm import ConfirmScreen, consent_screen, stop_screen
from sgdoctor.tui.screens.course import CourseScreen
from sgdoctor.tui.screens.plan import PlanScreen
from sgdoctor.tui.screens.report import ReportScreen


class Errands(Asking):
    """The part of the app that acts. Nothing begins before a screen that names the container was answered with yes."""

    class Moved(Message):
        """There is something new about the errand that goes on."""

        def can_replace(self, message: Message) -> bool:
            """One is enough."""
            return isinstance(message, Errands.Moved)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._runner: Runner | None = None
        self._leaves = False
        """Whether the app is left once the errand has gone back."""

    @abstractmethod
    def code_now(self) -> int:
        """The exit code for what is known."""

    # ------------------------------------------------------------ who may act

    @property
    def is_busy(self) -> bool:
        """Whether an errand goes on."""
        return self._runner is not None and self._runner.alive

    def may_act(self) -> bool:
        """Whether anything may be acted on; if not, it is said why."""
        if self.options.read_only or self.options.config.read_only:
            self.say(say_cure(self.view.lang, "read_only"), severity="warning")
            return False
        return True

    def free_doctor(self) -> Doctor | None:
        """The doctor, unless it is on an errand: then that is shown."""
        if self.is_busy:
            self._show_course()
            return None
        if self.doctor is None:
            self.say(say_cure(self.view.lang, "no_doctor"))
        return self.doctor

    def acting_doctor(self) -> Doctor | None:
        """The same, where anything may be acted on."""
        doctor = self.free_doctor()
        return doctor if doctor is not None and self.may_act() else None

    # ------------------------------------------------------------ beginning and end

    def consent(self, errand: Errand) -> None:
        """Ask, and begin only if the user agrees."""

        def then(agreed: bool | None) -> None:  # noqa: FBT001 - what the screen was left with
            if agreed and not self.is_busy:
                self._begin(errand)

        self.open_window(consent_screen(self.view, errand), then)

    def _begin(self, errand: Errand) -> None:
        while isinstance(self.screen, PlanScreen):
            self.pop_screen()
        self._runner = Runner(errand, self._tell_moved)
        self.choose_attempt(None)
        # That is where the new start is seen.
        self.main.activate("startup")
        self.draw(replace(self.view, course=self._runner.course, unfinished=None))
        self._show_course()
        self._runner.start()

    def _show_course(self) -> None:
        if not self._course_is_open:
            self.open_window(CourseScreen(self.view))

    @property
    def _course_is_open(self) -> bool:
        return any(isinstance(screen, CourseScreen) for screen in self.screen_stack)

    def _tell_moved(self) -> None:
        """From the thread of the errand, which waits for no screen."""
        with suppress(RuntimeError):
            self.post_message(self.Moved())

    def on_errands_moved(self) -> None:
        """Draw it; once it is over, say so wherever the user is."""
        runner, before = self._runner, self.view.course
        if runner is None:
            return
        course = runner.course
        self.draw(replace(self.view, course=course))
        if course.ended is None or (before is not None and before.ended is not None):
            return
        self._forecast_of = ()
        self.look_for_unfinished()
        if self._leaves:
            self.leave_now()
        elif not self._course_is_open and course.ended.done and course.ended.report is None:
            self.say(printable(course.errand.hide(course.ended.text.in_language(self.view.lang))))
        else:
            self._show_course()

    def action_errand_report(self) -> None:
        """All that is to be said about an errand that is over."""
        course = self.view.course
        if course is not None and course.ended is not None and course.ended.report is not None:
            name, report = printable(course.errand.container), course.ended.report
            self.open_window(ReportScreen(self.view, lambda lang: say_cure(lang, "report.title", name=name), report))

    # ------------------------------------------------------------ stopping and leaving

    def action_stop_errand(self) -> None:
        """Ask whether the errand that goes on is to go back."""
        self._ask_to_stop(leaves=False)

    def action_leave(self) -> None:
        """Leave; while something goes on, only after asking."""
        if self.is_busy:
            self._ask_to_stop(leaves=True)
        else:
            self.leave_now()

    def leave_now(self) -> None:
        """Leave; the server is left alone."""
        self.exit(self.code_now())

    def _ask_to_stop(self, *, leaves: bool) -> None:
        runner = self._runner
        if runner is None or not runner.alive or isinstance(self.screen, ConfirmScreen):
            return
        if runner.course.stopping and not (leaves and runner.course.errand.leave is not None):
            self._leaves = self._leaves or leaves
            return

        def then(agreed: bool | None) -> None:  # noqa: FBT001
            if agreed and leaves and runner.course.errand.leave is not None:
                self.leave_now()
            elif agreed and runner.alive:
                self._leaves = leaves
                runner.stop()
            elif agreed and leaves:
                self.leave_now()

        self.open_window(stop_screen(self.view, runner.course.errand, leaves=leaves), then)

    def finish(self) -> None:
        """Wait for an errand that goes on while its screen is gone.

        A closed terminal is no reason to leave a server down. Ctrl-C and a signal to end make everything as it was.
        An errand on a server that goes with the app is ended.
        """
        runner = self._runner
        if runner is None or not runner.alive:
            return
        if (leave := runner.course.errand.leave) is not None:
            leave()
            with on_ctrl_c(lambda: None):
                runner.join()
            return

        def stop(_: int, __: FrameType | None) -> None:
            if runner.course.stopping:
                raise KeyboardInterrupt
            runner.stop()

        before: dict[int, Any] = {signal.SIGHUP.value: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number.value] = signal.signal(number, stop)
        text = say_cure(self.view.lang, "still", name=printable(runner.course.errand.container))
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        try:
            runner.join()
        finally:
            for signal_number, handler in before.items():
                signal.signal(signal_number, handler)
