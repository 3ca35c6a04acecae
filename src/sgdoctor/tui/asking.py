"""Asks the doctor, in threads: its answers take time, and the screen must not."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from sgdoctor.diagnosis.model import State
from sgdoctor.errors import UserError
from sgdoctor.report.safe import printable
from sgdoctor.texts import Text
from sgdoctor.tui.actions import Actions
from sgdoctor.tui.cure_words import say_cure
from sgdoctor.tui.doctor import Doctor
from sgdoctor.tui.view import Forecast
from sgdoctor.watching.model import Snapshot

Answer = TypeVar("Answer")

_LONG_SECONDS: Final = 1.0
"""An answer that takes longer than this is said to be on its way."""
_AGAIN_SECONDS: Final = 3.0
_FORESEEN: Final = frozenset({State.FAILED, State.DEGRADED})


class Asking(Actions):
    """The part of the app that asks the doctor."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._asks = False
        self._forecast_of: tuple[object, ...] = ()
        self._looked_for = ""

    @property
    def doctor(self) -> Doctor | None:
        """Who is asked; None where nobody knows the launch."""
        return self.options.doctor

    def ask(self, work: Callable[[], Answer], then: Callable[[Answer], None]) -> None:
        """Ask something in a thread; one question of the user at a time.

        Args:
            work: asks; what it raises is said.
            then: takes the answer, in the loop of the app, unless the user has gone elsewhere meanwhile.
        """
        if self._asks:
            return
        self._asks = True
        before = self.screen
        looking = False

        def say_looking() -> None:
            nonlocal looking
            looking = True
            self.say(say_cure(self.view.lang, "looking", name=self.subject_name))

        timer = self.set_timer(_LONG_SECONDS, say_looking)

        def over(act: Callable[[], object]) -> None:
            self._asks = False
            timer.stop()
            if looking:
                # It would stand in front of what was found.
                self.clear_notifications()
            act()

        def run() -> None:
            try:
                answer = work()
            except UserError as error:
                self._from_thread(partial(over, partial(self._say_why, error.message, "warning")))
            except Exception as error:  # noqa: BLE001 - a thread has nobody above it
                text = f"{type(error).__name__}: {error}"
                self._from_thread(partial(over, partial(self._say_why, Text(text, text), "error")))
            else:
                self._from_thread(partial(over, lambda: then(answer) if self.screen is before else None))

        threading.Thread(target=run, name="sgdoctor-doctor", daemon=True).start()

    def ask_quietly(self, work: Callable[[], Answer], then: Callable[[Answer], None]) -> None:
        """Ask something that nobody waits for; where there is no answer, nothing is said."""

        def run() -> None:
            with suppress(UserError, OSError):
                answer = work()
                self._from_thread(lambda: then(answer))

        threading.Thread(target=run, name="sgdoctor-aside", daemon=True).start()

    def _say_why(self, text: Text, severity: str) -> None:
        self.say(printable(text.in_language(self.view.lang)), severity=severity)

    @property
    def subject_name(self) -> str:
        """What is watched, as the user knows it."""
        name = self.doctor.container if self.doctor is not None else ""
        return printable(name or (self.view.snapshot.subject.name if self.view.snapshot is not None else ""))

    # ------------------------------------------------------------ what nobody asked for

    def attend(self, snapshot: Snapshot) -> None:
        """Find out what belongs to a moment: cut off relaunches of its container, the plan against its failure."""
        if snapshot.subject.name != self._looked_for:
            self._looked_for = snapshot.subject.name
            self.look_for_unfinished()
        self._foresee(snapshot)

    def _foresee(self, snapshot: Snapshot) -> None:
        """Find out what the plan against a failure comes to; once for each failure."""
        verdict, doctor = snapshot.verdict, self.doctor
        if doctor is None or verdict.state not in _FORESEEN or not verdict.diagnoses:
            return
        root = verdict.diagnoses[0]
        about = (snapshot.subject.id, verdict.attempt, root.rule.id, root.title)
        if about == self._forecast_of:
            return
        self._forecast_of = about

        def work() -> Forecast:
            plan = doctor.draft().answer.plan
            return Forecast(root.rule.id, len(plan.changes), plan.interval, plan.predicted, plan.impossible)

        def then(forecast: Forecast) -> None:
            if about == self._forecast_of:
                self.draw(replace(self.view, forecast=forecast))

        self.ask_quietly(work, then)

    def look_for_unfinished(self) -> None:
        """Find out whether a relaunch of this container was cut off, or goes on elsewhere."""
        if self.doctor is not None:
            self.ask_quietly(self.doctor.unfinished, self._take_unfinished)

    def _take_unfinished(self, found: Text | None) -> None:
        self.draw(replace(self.view, unfinished=found))
        if found is not None:
            # Somebody else may be at work on it, or put it right.
            self.set_timer(_AGAIN_SECONDS, self.look_for_unfinished)
