"""A search through millions of lines that shows how far it is and can be given up."""

import re
from array import array
from bisect import bisect_left, bisect_right
from typing import Any, Final

from sgdoctor.watching.model import Lines

SLICE: Final = 20_000
"""Lines that are searched in one go: in between the search can be given up, and the screen gets its turn."""
BREATH: Final = 0.0005
"""Seconds that a worker sleeps after each go, so that another thread gets the interpreter at once."""
MOST: Final = 1_000_000
_DRAW_SECONDS: Final = 0.02
_DRAW_CHARACTERS: Final = 4096
_ESCAPED: Final = re.compile(r"\\.")


class Search:
    """One search. A worker calls ``advance``; the screen reads the rest at any time.

    Upper and lower case are the same unless the pattern holds an upper case letter.

    Args:
        lines: what is searched.
        pattern: not empty.
        regex: whether it is a regular expression.

    Raises:
        ValueError: it is none.
    """

    def __init__(self, lines: Lines, pattern: str, *, regex: bool) -> None:
        import regex as engine  # noqa: PLC0415 - only who searches pays for it

        self.pattern = pattern
        self.regex = regex
        self.ignore_case = not any(character.isupper() for character in _ESCAPED.sub("", pattern))
        self.matches = array("I")
        self.searched = 0
        self.total = 0
        """Number of lines that there were when it last looked."""
        self.error = ""
        self._lines = lines
        try:
            self._drawn: Any = engine.compile(
                pattern if regex else engine.escape(pattern), engine.IGNORECASE if self.ignore_case else 0
            )
        except engine.error as error:
            raise ValueError(str(error)) from None

    @property
    def full(self) -> bool:
        """Whether it stopped because nobody can look at so many matches."""
        return len(self.matches) >= MOST

    @property
    def complete(self) -> bool:
        """Whether it has seen every line there is."""
        return bool(self.error) or self.full or self.searched >= len(self._lines)

    def advance(self) -> bool:
        """Searches the next slice; says whether there is more to do."""
        self.total = len(self._lines)
        first = self.searched + 1
        last = min(self.total, self.searched + SLICE)
        if self.error or self.full or last < first:
            return False
        try:
            found = self._lines.search(
                self.pattern, regex=self.regex, ignore_case=self.ignore_case, limit=SLICE, first=first, last=last
            )
        except ValueError as error:
            self.error = str(error)
            return False
        self.matches.extend(found)
        self.searched = last
        return not self.complete

    def next(self, number: int, step: int) -> int | None:
        """The match behind line ``number`` (in front of it with ``step`` -1), from the other end if there is none."""
        matches = self.matches
        if not matches:
            return None
        place = bisect_right(matches, number) if step > 0 else bisect_left(matches, number) - 1
        return matches[place % len(matches)]

    def place(self, number: int) -> int:
        """Which match line ``number`` is, 1-based; 0 if it is none."""
        place = bisect_left(self.matches, number)
        return place + 1 if place < len(self.matches) and self.matches[place] == number else 0

    def spans(self, text: str, start: int, stop: int) -> list[tuple[int, int]]:
        """Where it matches in a part of a text, to be coloured: none if that takes too long."""
        begin = max(0, start - _DRAW_CHARACTERS)
        spans = []
        try:
            for match in self._drawn.finditer(text, begin, min(len(text), stop + 256), timeout=_DRAW_SECONDS):
                low, high = match.span()
                if low >= stop:
                    break
                if high > max(low, start):
                    spans.append((max(low, start), min(high, stop)))
        except TimeoutError:
            return []
        return spans
