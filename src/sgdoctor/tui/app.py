"""The app of ``sgdoctor watch``: it draws snapshots; reading, judging and asking the driver happen in other threads."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Thread
from time import monotonic
from typing import Any, ClassVar, Final

from textual.app import App
from textual.command import CommandPalette
from textual.message import Message
from textual.timer import Timer

from sgdoctor.config import Remembered, state_dir
from sgdoctor.diagnosis.model import Diagnosis, State
from sgdoctor.gpu.model import GpuReading, GpuSource
from sgdoctor.gpu.source import Sampler
from sgdoctor.report.safe import printable
from sgdoctor.tui.bindings import app_bindings, keymap
from sgdoctor.tui.commands import Offers
from sgdoctor.tui.keys import KEYS, table_with
from sgdoctor.tui.log_keys import LOG_KEYS
from sgdoctor.tui.panes.log import EvidenceLog
from sgdoctor.tui.ports import Options, Session
from sgdoctor.tui.saving import save
from sgdoctor.tui.screens.choose import NEWEST, attempts_screen
from sgdoctor.tui.screens.detail import DetailScreen
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.screens.explain import ExplainScreen, LaterScreen
from sgdoctor.tui.screens.help import HelpScreen
from sgdoctor.tui.screens.watch import WatchScreen
from sgdoctor.tui.theme import ALIASES, CYCLE, DARK, LIGHT, variables_of
from sgdoctor.tui.view import View, evidence_lines, flags_of, server_gpus
from sgdoctor.tui.words import tell
from sgdoctor.watching.model import Link, Snapshot

_PAINT_SECONDS: Final = 1 / 30
_TOAST_LONG: Final = 8
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
    with _signals(app.leave_at_once):
        code = app.run()
    if app.broken is not None:
        raise app.broken
    return code if code is not None else app.code_now()


@contextmanager
def _signals(leave: Callable[[], None]) -> Iterator[None]:
    """Signals leave the app in an orderly way: the terminal is in raw mode and has to be given back as it was."""
    before = {}
    # Only the main thread may do this; elsewhere nobody sends signals to.
    with suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before[number] = signal.signal(number, lambda *_: leave())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class SgdoctorApp(App[int]):
    """See ``run_app``.

    Attributes:
        options: as they were given.
        view: what is on the screen.
        broken: what went wrong in the app itself; None if nothing did.
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
        super().__init__()
        self.options = options
        self.broken: BaseException | None = None
        config, remembered = options.config, options.remembered
        table, problems = table_with(config.keys, (*KEYS, *LOG_KEYS))
        self._problems = (*config.problems, *problems)
        self.set_keymap(dict(keymap(table)))
        self.view = View(
            lang=config.language or remembered.language or options.lang, keys=table, benign=remembered.benign
        )
        self._session = session
        self._sampler = (
            Sampler(gpu, per_second=config.gpu_rate, on_reading=self.take_reading) if gpu is not None else None
        )
        self._snapshot: Snapshot | None = None
        self._reading: GpuReading | None = None
        self._failures: tuple[str, ...] = ()
        self._rung = False
        self._painted = 0.0
        self._timer: Timer | None = None
        self._so_far: tuple[int, State, int] | None = None
        self._wanted_out = False
        self._loop_at_work: asyncio.AbstractEventLoop | None = None
        self._place = -1
        self.main = WatchScreen(session.lines, config.panes, remembered.pane)
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
        self._loop_at_work = asyncio.get_running_loop()
        if self._wanted_out:
            self.action_leave()
            return
        self.main.show(self.view)
        for problem in self._problems:
            self._tell(printable(problem.in_language(self.view.lang)), severity="warning")
        if self._no_theme:
            self._tell(tell(self.view.lang, "no_theme", name=printable(self._no_theme)), severity="warning")
        for note in self.options.notes:
            self._tell(printable(note))
        self._session.start(self.take_snapshot, self.take_failure)
        if self._sampler is not None:
            self._sampler.start()

    def on_unmount(self) -> None:
        """Leave no thread at work, and remember how the app was left."""
        if self._sampler is not None:
            self._sampler.stop()
        with suppress(Exception):
            self._session.stop()
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

    def leave_at_once(self) -> None:
        """Leave, from a signal, at any moment: before the app has come up as well."""
        self._wanted_out = True
        if self._loop_at_work is not None:
            self._loop_at_work.call_soon_threadsafe(self.action_leave)

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
            self._session.gpu_name = ours[0].name
        if any((gpu.utilisation or 0) >= _AT_WORK for gpu in ours):
            self._session.note_activity()
        self._ring()

    def take_failure(self, error: Exception) -> None:
        """The session cannot go on, from any thread."""
        text = printable(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        self._failures = (tell(self.view.lang, "failure.session", text=text),)
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
        self._draw(replace(self.view, snapshot=snapshot, reading=reading, history=history, failures=self._failures))
        self.main.log_pane.wake()
        if self.options.until_ready:
            self._leave_when_decided()

    def _draw(self, view: View) -> None:
        self.view = view
        if not self.main.is_running:
            return
        with self.batch_update():
            self.main.show(view)
            for screen in self.screen_stack:
                if isinstance(screen, Dialog):
                    screen.show(view)

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

    # ------------------------------------------------------------ panes

    def action_pane(self, name: str) -> None:
        """Give a pane the keyboard."""
        self.main.activate(name)

    def action_next_pane(self) -> None:
        """The next one."""
        self.main.step(1)

    def action_previous_pane(self) -> None:
        """The one before."""
        self.main.step(-1)

    def action_zoom(self) -> None:
        """The active pane alone, and back."""
        self.main.zoom()

    # ------------------------------------------------------------ reading

    @property
    def selected(self) -> Diagnosis | None:
        """The diagnosis that actions are about."""
        diagnoses = self.view.diagnoses
        screen = self.screen
        number = screen.number if isinstance(screen, DetailScreen) else self.main.diagnosis.selected
        return diagnoses[number] if number < len(diagnoses) else None

    def action_details(self) -> None:
        """Everything about the selected diagnosis."""
        if self.selected is not None and not isinstance(self.screen, Dialog):
            self.push_screen(DetailScreen(self.view, self.main.diagnosis.selected))

    def action_explain(self) -> None:
        """The page of the rule of the selected diagnosis, else of the first notice."""
        diagnosis = self.selected
        if diagnosis is not None:
            self.push_screen(ExplainScreen(self.view, diagnosis.rule))
            return
        notices = self.view.snapshot.verdict.notices if self.view.snapshot is not None else ()
        if not notices or self.options.base is None:
            self._tell(tell(self.view.lang, "explain.none"))
            return
        self.explain_rule(notices[0].rule)

    def explain_rule(self, rule: str) -> None:
        """The page of a rule by its id."""
        with suppress(KeyError):
            if self.options.base is not None:
                self.push_screen(ExplainScreen(self.view, self.options.base.rule(rule)))

    def action_evidence(self, way: int) -> None:
        """To the next line of evidence, or the one before."""
        diagnosis = self.selected
        numbers = evidence_lines(diagnosis) if diagnosis is not None else []
        unexplained = self.view.snapshot.verdict.unexplained if self.view.snapshot is not None else None
        if not numbers and unexplained is not None:
            numbers = [unexplained.line]
        if not numbers:
            self._tell(tell(self.view.lang, "evidence.none"))
            return
        while isinstance(self.screen, Dialog):
            self.pop_screen()
        self._place = (self._place + way) % len(numbers)
        if self.main.activate("log"):
            self.main.log_pane.jump_to(numbers[self._place])

    def on_evidence_log_evidence_wanted(self, event: EvidenceLog.EvidenceWanted) -> None:
        """The keys for matches, where nothing is searched for."""
        self.action_evidence(event.step)

    def action_benign(self) -> None:
        """List the notices, or fold them."""
        self._draw(replace(self.view, benign=not self.view.benign))

    def action_attempts(self) -> None:
        """Choose one of the starts."""
        if self.view.snapshot is None or not self.view.snapshot.attempts:
            self._tell(tell(self.view.lang, "attempts.none"))
            return
        self.push_screen(attempts_screen(self.view), self._chosen)

    def _chosen(self, name: str | None) -> None:
        if name is not None:
            self.choose_attempt(None if name == NEWEST else int(name))

    def action_attempt(self, way: int) -> None:
        """The start before or after."""
        snapshot = self.view.snapshot
        numbers = [attempt.number for attempt in snapshot.attempts] if snapshot is not None else []
        wanted = snapshot.verdict.attempt + way if snapshot is not None else 0
        if wanted not in numbers:
            self._tell(tell(self.view.lang, "no_attempt"))
            return
        self.choose_attempt(None if wanted == numbers[-1] else wanted)

    def choose_attempt(self, number: int | None) -> None:
        """Show this start from now on; None for always the newest."""
        self._place = -1
        self._draw(replace(self.view, chosen=number))
        self._session.show_attempt(number)

    def action_search(self) -> None:
        """Search the log."""
        if self.main.activate("log"):
            self.main.log_pane.start_search()

    # ------------------------------------------------------------ taking away

    def action_copy(self) -> None:
        """Copy the corrected flags of the selected diagnosis."""
        diagnosis = self.selected
        flags = flags_of(diagnosis, self.view.lang) if diagnosis is not None else []
        if not flags:
            self._tell(tell(self.view.lang, "copy.none"))
            return
        self.copy_to_clipboard("\n".join(flags))
        self._tell(tell(self.view.lang, "copied", text=printable(" ".join(flags))))

    def action_save(self) -> None:
        """Save the report and the log of the start that is shown."""
        snapshot = self.view.snapshot
        if snapshot is not None:
            folder = self.options.reports or self.options.config.reports or state_dir() / "reports"
            lang, lines, now = self.view.lang, self._session.lines, self.options.clock()

            def work() -> None:
                try:
                    report, _ = save(snapshot, lines, folder, lang, now)
                except OSError as error:
                    text = printable(error.strerror or str(error))
                    self._from_thread(lambda: self._tell(tell(lang, "save.failed", text=text), severity="error"))
                else:
                    self._from_thread(lambda: self._tell(tell(lang, "saved", path=printable(str(report)))))

            Thread(target=work, name="save", daemon=True).start()

    def action_later(self, action: str) -> None:
        """What a reserved key shows for now."""
        self.push_screen(LaterScreen(self.view, action, self.selected))

    # ------------------------------------------------------------ program

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(HelpScreen(self.view))

    def action_theme(self) -> None:
        """The next theme."""
        names = [name for name in CYCLE if name in self.available_themes]
        place = names.index(self.theme) if self.theme in names else -1
        self.use_theme(names[(place + 1) % len(names)])

    def use_theme(self, name: str) -> None:
        """A theme by name."""
        self.theme = name
        self._tell(tell(self.view.lang, "theme", name=name))

    def action_language(self) -> None:
        """The other language."""
        self._draw(replace(self.view, lang="en" if self.view.lang == "zh" else "zh"))

    def action_command_palette(self) -> None:
        """The palette of Textual, in the language of the app."""
        if not any(isinstance(screen, CommandPalette) for screen in self.screen_stack):
            self.push_screen(CommandPalette(placeholder=tell(self.view.lang, "palette.placeholder")))

    def action_leave(self) -> None:
        """Leave; the server is left alone."""
        self.exit(self.code_now())

    def action_interrupt(self) -> None:
        """Ctrl-C, where no text is marked."""
        self.action_leave()

    def _from_thread(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):
            self.call_from_thread(work)

    def _tell(self, text: str, *, severity: Any = "information") -> None:
        self.notify(text, severity=severity, timeout=_TOAST_LONG if severity != "information" else 4, markup=False)
