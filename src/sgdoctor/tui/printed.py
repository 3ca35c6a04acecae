"""Reports that are made for a terminal, as lines of the app, in the colours of its theme."""

import io
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.text import Text as Styled
from textual.content import Content

from sgdoctor.tui.drawing import BAD, BUSY, CODE, GOOD, MUTED, ODD, STRONG

# By the number of the colour: red, green, yellow, blue, magenta, cyan.
_THEMED: Final = {1: BAD, 2: GOOD, 3: ODD, 4: BUSY, 5: BUSY, 6: CODE}


def printed(write: Callable[[Console], None], width: int) -> list[Content]:
    """What ``write`` prints on a console that is ``width`` cells wide, line by line."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=max(1, width),
        height=1000,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    write(console)
    text = Styled.from_ansi(out.getvalue().rstrip("\n"))
    return [_content(line) for line in text.split("\n", allow_blank=True)]


def _content(line: Styled) -> Content:
    content = Content(line.plain)
    for span in line.spans:
        if isinstance(span.style, str):
            continue
        style = span.style
        words = [_THEMED.get(style.color.number or 0, "")] if style.color is not None else []
        words += [MUTED] if style.dim and not words else []
        words += [STRONG] if style.bold else []
        words += ["underline"] if style.underline else []
        if text := " ".join(filter(None, words)):
            content = content.stylize(text, span.start, span.end)
    return content
