"""What is drawn of a line: its text, what is known about it, how much is folded under it."""

from collections.abc import Callable
from typing import Final, NamedTuple

from textual.cache import FIFOCache

from sgdoctor.report.redact import Redactor
from sgdoctor.tui.log_filter import fold_members
from sgdoctor.tui.log_words import count_log, say_log
from sgdoctor.watching.model import LineKind, LineMark, Lines

RECENT: Final = 2_000
"""Newest lines, about which more may be known in a moment."""
LONG: Final = 4_096
"""Characters of a line from which on only the few latest are remembered: hundreds would take 100 MiB."""
_COUNTED: Final = 2_000
_FRAME: Final = 'File "'
_INTRODUCTION: Final = "Traceback (most recent call last):"
_BARE: Final = "Traceback"


class Told(NamedTuple):
    """What is drawn of a line.

    Attributes:
        mark: what is known about it.
        ruled: the mark whose rule it shows: of the head of a fold that of a line under it.
        text: with what belongs in front of it and behind it.
        lasting: whether that stays so.
    """

    mark: LineMark
    ruled: LineMark
    text: str
    lasting: bool


class Texts:
    """Tells what is drawn of lines, and remembers the latest.

    Args:
        lines: all lines.
        is_open: whether the lines under a head are shown.
        lang: ``en`` or ``zh``.
        hide: takes secrets out of a text.
    """

    def __init__(self, lines: Lines, is_open: Callable[[int], bool], lang: str, hide: Redactor) -> None:
        self.lines = lines
        self.lang = lang
        self.as_written = False
        self.hide = hide
        self._is_open = is_open
        self._told: FIFOCache[int, Told] = FIFOCache(512)

    def clear(self) -> None:
        """Forgets what was told."""
        self._told.clear()

    def of(self, number: int) -> Told:
        """What is drawn of a line."""
        told = self._told.get(number)
        if told is None:
            told = self._tell(number)
            if told.lasting and len(told.text) <= LONG:
                self._told[number] = told
        return told

    def text(self, number: int) -> str:
        """What is drawn of a line: its text."""
        return self.of(number).text

    def read(self, number: int) -> str:
        """A line alone, without its secrets."""
        return self.hide(self.lines.raw(number) if self.as_written else self.lines.text(number))

    def _tell(self, number: int) -> Told:
        mark = self.lines.mark(number)
        text = self.read(number)
        if mark.kind is LineKind.TRACEBACK_HEAD:
            return self._head(number, mark, text)
        if mark.kind is LineKind.BORDER:
            text = f"── {say_log(self.lang, 'start', number=mark.attempt)} ── {text}"
        return Told(mark, mark, text, lasting=True)

    def _head(self, number: int, mark: LineMark, text: str) -> Told:
        lasting = number + RECENT < len(self.lines)
        if self._is_open(number):
            return Told(mark, mark, f"{text}  ▾", lasting)
        members = fold_members(self.lines, number)[:_COUNTED]
        if not members:
            return Told(mark, mark, text, lasting)
        texts = [self.lines.text(member) for member in members]
        frames = sum(line.lstrip().startswith(_FRAME) for line in texts)
        counted = count_log(self.lang, "frames", frames) if frames else count_log(self.lang, "folded", len(members))
        # What was raised stands on the last line without an indent.
        raised = self.hide(next((line for line in reversed(texts) if line and not line[0].isspace()), ""))
        ruled = mark
        if not mark.rule:
            marks = (self.lines.mark(member) for member in members)
            ruled = next((one for one in marks if one.severity is not None and one.severity.is_diagnosis), mark)
        # Every head says so, and what follows is worth the room.
        text = text.removesuffix(_INTRODUCTION).rstrip() or _BARE
        return Told(mark, ruled, f"{text}  ▸ {counted}" + (f" · {raised}" if raised else ""), lasting)
