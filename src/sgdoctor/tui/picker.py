"""Asks which container is meant, before there is anything to watch."""

from collections.abc import Sequence

from textual.app import App

from sgdoctor.tui.leaving import Exit, leaving_in_order
from sgdoctor.tui.screens.choose import Choice, containers_screen
from sgdoctor.tui.theme import ALIASES, DARK, LIGHT, variables_of


def pick_container(choices: Sequence[Choice], lang: str, theme: str = "") -> str | None:
    """Ask on the terminal.

    Args:
        choices: the containers.
        lang: ``en`` or ``zh``.
        theme: name of a theme; empty for the usual one.

    Returns:
        The name of one; None if the user left.
    """
    picker = Picker(choices, lang, theme)
    with leaving_in_order(picker.way_out):
        return picker.run()


class Picker(App[str | None]):
    """See ``pick_container``.

    Attributes:
        way_out: leaves from outside its loop.
    """

    CSS_PATH = "sgdoctor.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, choices: Sequence[Choice], lang: str, theme: str = "") -> None:
        super().__init__()
        self.way_out = Exit(self.action_interrupt)
        self._choices = choices
        self._lang = lang
        for own in (DARK, LIGHT):
            self.register_theme(own)
        wanted = ALIASES.get(theme, theme)
        self.theme = wanted if wanted in self.available_themes else DARK.name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """See ``variables_of``."""
        return variables_of(self.current_theme)

    def on_ready(self) -> None:
        """Ask."""
        if self.way_out.open():
            return
        self.push_screen(containers_screen(self._choices, self._lang), self.exit)

    def action_interrupt(self) -> None:
        """Ctrl-C."""
        self.exit(None)
