"""The app of ``sgdoctor watch``: it draws snapshots; reading, judging and asking the driver happen in other threads."""

from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any, ClassVar, Final

from textual import events
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input

from sgdoctor.config import Remembered
from sgdoctor.diagnosis.model import State
from sgdoctor.errors import UserError
from sgdoctor.gpu.model import GpuReading, GpuSource
from sgdoctor.gpu.source import Sampler
from sgdoctor.report.redact import redact
from sgdoctor.report.safe import printable
from sgdoctor.tui.bindings import app_bindings, keymap
from sgdoctor.tui.commands import Offers
from sgdoctor.tui.curing import Curing
from sgdoctor.tui.heap import Heap
from sgdoctor.tui.keys import KEYS, table_with
from sgdoctor.tui.leaving import Exit, leaving_in_order
from sgdoctor.tui.log_keys import LOG_KEYS
from sgdoctor.tui.ports import Options, Session
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.screens.watch import WatchScreen
from sgdoctor.tui.theme import ALIASES, DARK, LIGHT, variables_of
from sgdoctor.tui.view import View, server_gpus
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import Link, Snapshot

_PAINT_SECONDS: Final = 1 / 30
_ANSWER_SECONDS: Final = 0.06
_TIDY_SECONDS: Final = 0.2
_OVER_SECONDS: Final = 0.25
"""How long it takes to answer a key."""
_SETTLED_SECONDS: Final = 1.0
_AT_WORK: Final = 10
"""Percent: a desktop alone stays below."""


def run_app(session: Session, gpu: GpuSource | None, options: Options) -> int:
    """Open the app on the terminal, until the user leaves it.

    Args:
        session: what is watched; started and stopped here.
        gpu: the driver; closed here. None where nobody is to be asked.
        options: how.

    Returns:
        The exit code.

    Raises:
        Exception: what went wrong in the app itself, once the terminal is as it was.
    """
    app = SgdoctorApp(session, gpu, options)
    with leaving_in_order(app.way_out):
        code = app.run()
    app.finish()
    if app.broken is not None:
        raise app.broken
    return code if code is not None else app.code_now()


class SgdoctorApp(Curing):
    """See ``run_app``.

    Attributes:
        broken: what went wrong in the app itself; None if nothing did.
        way_out: leaves from outside its loop.
    """

    TITLE = "sgdoctor"
    CSS_PATH = "sgdoctor.tcss"
    COMMANDS: ClassVar[set[Any]] = {Offers}
    BINDINGS: ClassVar[list[Any]] = [*app_bindings()]
    NOTIFICATION_TIMEOUT = 4

    class Moment(Message):
        """There is something new to draw."""

        def can_replace(self, message: Message) -> bool:
            """One is enough."""
            return isinstance(message, SgdoctorApp.Moment)

    def __init__(self, session: Session, gpu: GpuSource | None, options: Options) -> None:
        config, remembered = options.config, options.remembered
        table, problems = table_with(config.keys, (*KEYS, *LOG_KEYS))
        lang = config.language or remembered.language or options.lang
        hide = redact if options.redact else str
        view = View(lang=lang, keys=table, benign=remembered.benign, hide=hide, clock=options.clock)
        screen = WatchScreen(session.lines, config.panes, remembered.pane, view)
        super().__init__(session, options, view, screen)
        self.broken: BaseException | None = None
        self.way_out = Exit(self.leave_now)
        self._problems = (*config.problems, *problems)
        self.set_keymap(dict(keymap(table)))
        self._sampler = (
            Sampler(gpu, per_second=config.gpu_rate, on_reading=self.take_reading) if gpu is not None else None
        )
        self._snapshot: Snapshot | None = None
        self._reading: GpuReading | None = None
        self._failures: tuple[str, ...] = ()
        self._rung = False
        self._painted = 0.0
        self._timer: Timer | None = None
        self._heap = Heap()
        self._so_far: tuple[int, State, int] | None = None
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        wanted = config.theme or remembered.theme or "dark"
        wanted = ALIASES.get(wanted, wanted)
        self._no_theme = "" if wanted in self.available_themes else wanted
        self.theme = wanted if wanted in self.available_themes else DARK.name

    # ------------------------------------------------------------ beginning and end

    def get_default_screen(self) -> WatchScreen:
        """The panes."""
        return self.main

    def on_ready(self) -> None:
        """Begin to watch."""
        if self.way_out.open():
            return
        self.main.show(self.view)
        for problem in self._problems:
            self.say(printable(problem.in_language(self.view.lang)), severity="warning")
        if self._no_theme:
            self.say(tell(self.view.lang, "no_theme", name=printable(self._no_theme)), severity="warning")
        for note in self.options.notes:
            self.say(printable(note))
        self._heap.settle()
        self.set_interval(_TIDY_SECONDS, self._heap.tidy)
        self.session.start(self.take_snapshot, self.take_failure)
        if self._sampler is not None:
            self._sampler.start()
        if self.options.over is not None:
            self.set_interval(_OVER_SECONDS, self._leave_when_over)

    def on_unmount(self) -> None:
        """Leave no thread at work, and remember how the app was left."""
        if self._sampler is not None:
            self._sampler.stop()
        with suppress(Exception):
            self.session.stop()
        self._heap.release()
        remembered = Remembered(self.theme, self.view.lang, self.view.benign, self.main.active)
        with suppress(OSError):
            self.options.remember(remembered)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """See ``variables_of``."""
        return variables_of(self.current_theme)

    def code_now(self) -> int:
        """The exit code for what is known."""
        snapshot = self._snapshot
        return self.options.exit_code(snapshot.attempts[-1].state if snapshot and snapshot.attempts else State.STARTING)

    def _fatal_error(self) -> None:
        """A traceback of the app is no help to its user: ``run_app`` raises, and the command line says one line."""
        self.broken = self._exception
        self._close_messages_no_wait()

    async def on_event(self, event: events.Event) -> None:
        """See ``App``.

        What is typed right behind the key that leads to a field is sent to where the keyboard was before, and comes up
        from there; nothing printable comes up from a field itself.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            self.session.step_back(_ANSWER_SECONDS)
            self._heap.hold()
        elif isinstance(event, events.Key) and event.is_printable:
            field = self.focused
            if isinstance(field, Input):
                field.post_message(events.Key(event.key, event.character))
                return
        await super().on_event(event)

    # ------------------------------------------------------------ from other threads

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """A new moment, from any thread."""
        self._snapshot = snapshot
        self._ring()

    def take_reading(self, reading: GpuReading) -> None:
        """A reading of the GPUs, from any thread."""
        self._reading = reading
        ours = server_gpus(reading, self._snapshot)
        if ours:
            self.session.gpu_name = ours[0].name
        if any((gpu.utilisation or 0) >= _AT_WORK for gpu in ours):
            self.session.note_activity()
        self._ring()

    def take_failure(self, error: Exception) -> None:
        """The session cannot go on, from any thread."""
        if isinstance(error, UserError):
            text = error.text(self.view.lang)
        else:
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        self._failures = (tell(self.view.lang, "failure.session", text=printable(text)),)
        self._ring()

    def _ring(self) -> None:
        if not self._rung:
            self._rung = True
            self.post_message(self.Moment())

    # ------------------------------------------------------------ drawing

    def on_sgdoctor_app_moment(self) -> None:
        """Draw now, or when it is time again."""
        wait = self._painted + _PAINT_SECONDS - monotonic()
        if wait <= 0:
            self._paint()
        elif self._timer is None:
            self._timer = self.set_timer(wait, self._paint)

    def _paint(self) -> None:
        # Cleared before anything is read: what comes meanwhile rings again.
        self._rung, self._timer, self._painted = False, None, monotonic()
        snapshot, reading = self._snapshot, self._reading
        history = self.view.history
        if reading is not None and reading is not self.view.reading:
            history = history.with_reading(reading)
        self.draw(replace(self.view, snapshot=snapshot, reading=reading, history=history, failures=self._failures))
        self.main.log_pane.wake()
        if snapshot is not None:
            self.attend(snapshot)
        if self.options.until_ready:
            self._leave_when_decided()

    def draw(self, view: View) -> None:
        """Show another view, in windows too."""
        self.view = view
        if not self.main.is_running:
            return
        with self.batch_update():
            self.main.show(view)
            for screen in self.screen_stack:
                if isinstance(screen, Dialog):
                    screen.show(view)

    def _leave_when_over(self) -> None:
        if self.options.over is not None and not self.is_busy and self.options.over():
            self.leave_now()

    def _leave_when_decided(self) -> None:
        snapshot = self.view.snapshot
        if snapshot is None:
            return
        if snapshot.serves:
            self.exit(0)
        elif snapshot.link is Link.ENDED or snapshot.verdict.state is State.FAILED:
            # The cause is often printed some lines before the end of its traceback: wait until nothing changes.
            so_far = (snapshot.verdict.attempt, snapshot.verdict.state, snapshot.lines)
            if so_far != self._so_far:
                self._so_far = so_far
                self.set_timer(_SETTLED_SECONDS, lambda: self._leave_if_still(so_far))

    def _leave_if_still(self, so_far: tuple[int, State, int]) -> None:
        """It has failed, or its log is over, and nothing was added."""
        snapshot = self.view.snapshot
        if snapshot is not None and so_far == self._so_far and not snapshot.serves:
            self.exit(self.options.exit_code(snapshot.verdict.state) or self.options.exit_code(State.UNDETERMINED))

    # ------------------------------------------------------------ leaving

    def action_interrupt(self) -> None:
        """Ctrl-C, where no text is marked."""
        self.action_leave()
