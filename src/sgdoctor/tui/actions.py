"""What the keys do, all but leaving; every action is a row of ``tui.keys``."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import Any, Final

from textual.app import App
from textual.command import CommandPalette
from textual.screen import Screen

from sgdoctor.config import state_dir
from sgdoctor.diagnosis.model import Diagnosis
from sgdoctor.report.redact import redact
from sgdoctor.report.safe import printable
from sgdoctor.tui.panes.log import EvidenceLog
from sgdoctor.tui.ports import Options, Session
from sgdoctor.tui.saving import save
from sgdoctor.tui.screens.choose import NEWEST, attempts_screen
from sgdoctor.tui.screens.detail import DetailScreen
from sgdoctor.tui.screens.dialog import Dialog
from sgdoctor.tui.screens.explain import ExplainScreen, LaterScreen
from sgdoctor.tui.screens.help import HelpScreen
from sgdoctor.tui.screens.watch import WatchScreen
from sgdoctor.tui.theme import CYCLE
from sgdoctor.tui.view import View, command_of, evidence_lines, flags_of
from sgdoctor.tui.words import tell

_REDRAWN_SECONDS: Final = 0.15
"""How long the whole screen takes to be drawn anew, and some more."""
_TOAST_SECONDS: Final = {"information": 4, "warning": 8, "error": 8}


class Actions(App[int]):
    """The part of the app that keys reach.

    Attributes:
        options: as they were given.
        view: what is on the screen.
        main: the screen with the panes.
    """

    def __init__(self, session: Session, options: Options, view: View, main: WatchScreen) -> None:
        super().__init__()
        self.options = options
        self.view = view
        self.main = main
        self.session = session
        self._place = -1

    @abstractmethod
    def draw(self, view: View) -> None:
        """Show another view."""

    def open_window(self, window: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Show a window above the panes.

        Args:
            window: the window.
            then: called with what it was left with.
        """
        self.session.step_back(_REDRAWN_SECONDS)
        self.push_screen(window, then)

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002 - Textual's signature
        """See ``App``: all colours change."""
        self.session.step_back(_REDRAWN_SECONDS)
        super().refresh_css(animate=animate)

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
            self.open_window(DetailScreen(self.view, self.main.diagnosis.selected))

    def action_explain(self) -> None:
        """The page of the rule of the selected diagnosis, else of the first notice."""
        diagnosis = self.selected
        if diagnosis is not None:
            self.open_window(ExplainScreen(self.view, diagnosis.rule))
            return
        notices = self.view.snapshot.verdict.notices if self.view.snapshot is not None else ()
        if not notices or self.options.base is None:
            self.say(tell(self.view.lang, "explain.none"))
            return
        self.explain_rule(notices[0].rule)

    def explain_rule(self, rule: str) -> None:
        """The page of a rule by its id."""
        with suppress(KeyError):
            if self.options.base is not None:
                self.open_window(ExplainScreen(self.view, self.options.base.rule(rule)))

    def action_evidence(self, way: int) -> None:
        """To the next line of evidence, or the one before."""
        diagnosis = self.selected
        numbers = evidence_lines(diagnosis) if diagnosis is not None else []
        unexplained = self.view.snapshot.verdict.unexplained if self.view.snapshot is not None else None
        if not numbers and unexplained is not None:
            numbers = [unexplained.line]
        if not numbers:
            self.say(tell(self.view.lang, "evidence.none"))
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
        self.draw(replace(self.view, benign=not self.view.benign))
        if self.view.benign:
            self.main.diagnosis.show_notices()

    def action_attempts(self) -> None:
        """Choose one of the starts."""
        if self.view.snapshot is None or not self.view.snapshot.attempts:
            self.say(tell(self.view.lang, "attempts.none"))
            return
        self.open_window(attempts_screen(self.view), self._chosen)

    def _chosen(self, name: str | None) -> None:
        if name is not None:
            self.choose_attempt(None if name == NEWEST else int(name))

    def action_attempt(self, way: int) -> None:
        """The start before or after."""
        snapshot = self.view.snapshot
        numbers = [attempt.number for attempt in snapshot.attempts] if snapshot is not None else []
        wanted = snapshot.verdict.attempt + way if snapshot is not None else 0
        if wanted not in numbers:
            self.say(tell(self.view.lang, "no_attempt"))
            return
        self.choose_attempt(None if wanted == numbers[-1] else wanted)

    def choose_attempt(self, number: int | None) -> None:
        """Show this start from now on; None for always the newest."""
        self._place = -1
        self.draw(replace(self.view, chosen=number))
        self.session.show_attempt(number)

    def watch_container(self, name: str) -> None:
        """Leave, to watch another container."""
        self.options.switch(name)
        self.exit(0)

    def action_search(self) -> None:
        """Search the log."""
        if self.main.activate("log"):
            self.main.log_pane.start_search()

    # ------------------------------------------------------------ taking away

    def action_copy(self) -> None:
        """Copy the corrected command, or the corrected flags where the command is not known."""
        diagnosis = self.selected
        flags = flags_of(diagnosis, self.view.lang) if diagnosis is not None else []
        if diagnosis is None or not flags:
            self.say(tell(self.view.lang, "copy.none"))
            return
        text = redact(command_of(diagnosis, self.view.snapshot)) or "\n".join(flags)
        self.copy_to_clipboard(text)
        self.say(tell(self.view.lang, "copied", text=printable(text)))

    def action_save(self) -> None:
        """Save the report and the log of the start that is shown."""
        snapshot = self.view.snapshot
        if snapshot is not None:
            folder = self.options.reports or self.options.config.reports or state_dir() / "reports"
            lang, lines, now = self.view.lang, self.session.lines, self.options.clock()

            def work() -> None:
                try:
                    report, _ = save(snapshot, lines, folder, lang, now)
                except OSError as error:
                    text = printable(error.strerror or str(error))
                    self._from_thread(lambda: self.say(tell(lang, "save.failed", text=text), severity="error"))
                else:
                    self._from_thread(lambda: self.say(tell(lang, "saved", path=printable(str(report)))))

            Thread(target=work, name="save", daemon=True).start()

    def action_later(self, action: str) -> None:
        """What a reserved key shows for now."""
        self.open_window(LaterScreen(self.view, action, self.selected))

    # ------------------------------------------------------------ program

    def action_help(self) -> None:
        """The keys."""
        self.open_window(HelpScreen(self.view))

    def action_theme(self) -> None:
        """The next theme."""
        names = [name for name in CYCLE if name in self.available_themes]
        place = names.index(self.theme) if self.theme in names else -1
        self.use_theme(names[(place + 1) % len(names)])

    def use_theme(self, name: str) -> None:
        """A theme by name."""
        self.theme = name
        self.say(tell(self.view.lang, "theme", name=name))

    def action_language(self) -> None:
        """The other language."""
        self.session.step_back(_REDRAWN_SECONDS)
        self.draw(replace(self.view, lang="en" if self.view.lang == "zh" else "zh"))

    def action_command_palette(self) -> None:
        """The palette of Textual, in the language of the app."""
        if not any(isinstance(screen, CommandPalette) for screen in self.screen_stack):
            self.open_window(CommandPalette(placeholder=tell(self.view.lang, "palette.placeholder")))

    def _from_thread(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):
            self.call_from_thread(work)

    def say(self, text: str, *, severity: Any = "information") -> None:
        """A line in the corner, for some seconds."""
        self.notify(text, severity=severity, timeout=_TOAST_SECONDS[severity], markup=False)
