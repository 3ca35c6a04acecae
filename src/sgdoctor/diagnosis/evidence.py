"""Lines of the log as they are quoted: bounded, with their context, and harmless to a terminal."""

import mmap
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from sgdoctor.diagnosis.model import Evidence
from sgdoctor.logs.line import Line
from sgdoctor.patterns import lazy_pattern

Data = mmap.mmap | bytes
"""The bytes of a log."""

MAX_QUOTE: Final = 1000
"""Characters of a quoted line."""
CONTEXT_LINES: Final = 2

# CSI and OSC sequences, then the two-byte escapes. An OSC that has no end hides nothing: what follows is shown.
_ESCAPES: Final = lazy_pattern(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x9b[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
)
_BREAKS: Final = lazy_pattern(r"[\t\r\n\v\f\u2028\u2029\x85]+")
# Characters that turn the direction of text around or cannot be seen can make a quoted line say something else.
_HIDDEN_CATEGORIES: Final = ("Cc", "Cf", "Cs", "Co")
_VISIBLE_FORMATS: Final = frozenset("\u200c\u200d")


def printable(text: str) -> str:
    """``text`` on one line, without terminal escapes, control, bidi and other invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub(" ", _ESCAPES.sub("", text))
    if text.isprintable():
        return text
    return "".join(
        character
        for character in text
        if character.isprintable()
        or character in _VISIBLE_FORMATS
        or unicodedata.category(character) not in _HIDDEN_CATEGORIES
    )


class Quotes:
    """Quotes lines of one log, by number.

    Args:
        data: the bytes of the whole log.
        lines: the lines that were read; others cannot be quoted.
    """

    def __init__(self, data: Data, lines: Iterable[Line]) -> None:
        self._data = data
        self._lines: Mapping[int, Line] = {line.number: line for line in lines}

    def evidence(self, number: int) -> Evidence | None:
        """Line ``number`` with its context; None if it was not read."""
        text = self.text(number)
        if text is None:
            return None
        return Evidence(
            line=number,
            text=text,
            before=self._context(range(number - CONTEXT_LINES, number)),
            after=self._context(range(number + 1, number + 1 + CONTEXT_LINES)),
        )

    def text(self, number: int) -> str | None:
        """Line ``number`` as it stands in the log, made printable; None if it was not read."""
        line = self._lines.get(number)
        if line is None:
            return None
        # Enough bytes for MAX_QUOTE characters behind a prefix; a progress bar or a line wrapped in JSON is shown
        # by its message, since its raw form cannot be read.
        raw = bytes(self._data[line.offset : line.offset + 4 * MAX_QUOTE + 512]).partition(b"\n")[0].rstrip(b"\r")
        if b"\r" in raw or raw.startswith(b'{"'):
            return _cut(printable(line.text))
        return _cut(printable(raw.decode("utf-8", "replace")))

    def _context(self, numbers: Iterable[int]) -> tuple[tuple[int, str], ...]:
        return tuple((number, text) for number in numbers if (text := self.text(number)))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"
