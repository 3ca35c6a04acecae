"""Lines on a terminal: indented, wrapped, never interpreted."""

import os
from collections.abc import Mapping
from typing import IO, Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text as Styled

from sgdoctor.messages import say
from sgdoctor.report.safe import glyphs_for
from sgdoctor.report.wrapping import wrapped

_MAX_WIDTH: Final = 110
_MIN_WIDTH: Final = 24
_LEAST_ROOM: Final = 12


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves a broken pipe to the command line, where Rich would end the process with code 1."""
        raise BrokenPipeError


def console_for(stream: IO[str], environment: Mapping[str, str] | None = None) -> Console:
    """A console that prints nothing but what it is told: no markup, no emoji codes, no highlighting of log text."""
    variables = dict(os.environ if environment is None else environment)
    console = _Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        no_color=True if variables.get("NO_COLOR") else None,
        _environ=variables,
    )
    console.width = max(_MIN_WIDTH, min(console.width, _MAX_WIDTH))
    return console


class Canvas:
    """A console together with the language and the glyphs of what is printed on it."""

    def __init__(self, console: Console, lang: str) -> None:
        self.console = console
        self.lang = lang
        self.glyphs = glyphs_for(console.encoding)

    def line(self, text: Styled, indent: int = 0, prefix: Styled | None = None) -> None:
        """Prints wrapped text.

        Args:
            text: of any length.
            indent: columns in front of every line.
            prefix: stands in front of the first line; the others get as many blanks.
        """
        lead = prefix if prefix is not None else Styled()
        room = max(_LEAST_ROOM, self.console.width - indent - lead.cell_len)
        for index, (start, end) in enumerate(wrapped(text.plain, room, cell_len)):
            line = text[start:end]
            line.rstrip()
            front = Styled(" " * indent) + (Styled(" " * lead.cell_len) if index else lead)
            self.console.print(front + line, no_wrap=True, crop=False, overflow="ignore")

    def whole(self, text: Styled, indent: int = 0) -> None:
        """Prints text on one line however long it is: what is to be copied, such as an address."""
        self.console.print(Styled(" " * indent) + text, no_wrap=True, crop=False, overflow="ignore")

    def rule(self) -> None:
        """Prints a line across."""
        self.whole(Styled(self.glyphs.rule * self.console.width, style="dim"))

    def blank(self) -> None:
        """Prints an empty line."""
        self.console.print()

    def section(self, key: str) -> None:
        """Prints a heading, given by its message."""
        self.line(Styled(say(self.lang, key), style="underline" if self.console.is_terminal else ""), 2)

    def styled(self, text: str, style: str = "") -> Styled:
        """Text of a rule; engine texts between backticks are coloured, or keep them where there is no colour."""
        if not self.console.is_terminal or self.console.no_color or text.count("`") % 2:
            return Styled(text, style=style)
        styled = Styled()
        for index, part in enumerate(text.split("`")):
            styled.append(part, style=f"{style} cyan" if index % 2 else style)
        return styled

    def short(self, text: str, room: int) -> str:
        """``text`` cut at ``room`` columns."""
        if cell_len(text) <= room:
            return text
        return set_cell_size(text, max(4, room - cell_len(self.glyphs.cut))).rstrip() + self.glyphs.cut
