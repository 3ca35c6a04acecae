"""How Compose splits ``command: "..."`` into arguments.

It is no shell: https://github.com/mattn/go-shellwords, as compose-go uses it. An unquoted operator ends the command and
everything behind it is dropped without a word; a backslash before a line break gives a line break as an argument.
"""

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sgdoctor.launch.compose.layers import Layer, Place
from sgdoctor.launch.compose.lines import CannotSpliceError

_PLAIN: Final = re.compile(r"[\w@%+=:,./{}\[\]*?~^!#-]+")
# Characters that are what they are, by the quote that is open.
_RUNS: Final = {
    "": re.compile(r"""[^ \t\r\n\\'"`();&|<>]+"""),
    "'": re.compile(r"[^']+"),
    '"': re.compile(r'[^"\\]+'),
}


class SplitError(Exception):
    """The text is no command line for Compose; ``at`` is the index of the quote or bracket in question."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


@dataclass(frozen=True, slots=True)
class Word:
    """One argument; ``start`` and ``end`` are its span in the text, ``layer`` has its value above the whole text."""

    start: int
    end: int
    layer: Layer

    @property
    def text(self) -> str:
        """The value, quotes taken off."""
        return self.layer.text


class Split(NamedTuple):
    """The arguments, and the index of the operator behind which everything is dropped; None if there is none."""

    words: tuple[Word, ...]
    cut_at: int | None


def split(text: str) -> Split:
    """The arguments that Compose makes of ``text``.

    Raises:
        SplitError: a quote is not closed, or there is a bracket; Compose refuses such a file.
    """
    return _Splitter(text).split()


def quoted(value: str, like: str = "") -> str:
    """``value`` as one argument; ``like`` is the source of the one that it replaces, whose quotes are kept."""
    flag, equals, rest = value.partition("=")
    if equals and like.startswith(f"{flag}=") and like[len(flag) + 1 : len(flag) + 2] in ("'", '"'):
        return f"{flag}={quoted(rest, like[len(flag) + 1 :])}"
    if value and _PLAIN.fullmatch(value) and like[:1] not in ("'", '"'):
        return value
    if "'" in value or like[:1] == '"':
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"'{value}'"


@dataclass(slots=True)
class _Splitter:
    """Reads a text from the left to the right.

    Attributes:
        text: the whole.
        found: words that are complete.
        chars: of the present word.
        places: of its characters.
        quotes: in which each of them stands; ``)`` is that of ``$(``.
        start: where the word begins; None between words.
        quote: that is open now.
        opened: where it was opened.
    """

    text: str
    found: list[Word] = field(default_factory=list)
    chars: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    start: int | None = None
    quote: str = ""
    opened: int = 0

    def split(self) -> Split:
        at = 0
        while at < len(self.text):
            if (runs := _RUNS.get(self.quote)) and (run := runs.match(self.text, at)):
                self._put_run(at, run.end())
                at = run.end()
                continue
            char = self.text[at]
            if char == "\\" and self.quote != "'":
                at = self._escaped(at)
                continue
            if not self.quote and char in ";&|<>":
                return self._cut(at)
            if char in " \t\r\n" and not self.quote:
                self._finish(at)
            elif not self._is_quote(char, at):
                self._put(char, at, at + 1)
            at += 1
        if self.quote:
            raise SplitError(self.opened)
        self._finish(at)
        return Split(tuple(self.found), None)

    def _escaped(self, at: int) -> int:
        if at + 1 == len(self.text):
            raise SplitError(at)
        following = self.text[at + 1]
        self._put({"t": "\t", "n": "\n"}.get(following, following), at, at + 2)
        return at + 2

    def _is_quote(self, char: str, at: int) -> bool:
        """Whether ``char`` opens or closes a quote; backticks and ``$(...)`` keep theirs in the word."""
        if char in "'\"" and self.quote in ("", char):
            self.start = at if self.start is None else self.start
            self.quote, self.opened = ("" if self.quote else char), at
            return True
        if char == "`" and self.quote in ("", "`"):
            self._put(char, at, at + 1)
            self.quote, self.opened = ("" if self.quote else char), at
            return True
        if char == "(" and not self.quote and self.chars[-1:] == ["$"]:
            self._put(char, at, at + 1)
            self.quote, self.opened = ")", at
            return True
        if char == ")" and self.quote == ")":
            self.quote = ""
        elif char in "()" and not self.quote:
            raise SplitError(at)
        return False

    def _cut(self, at: int) -> Split:
        # `2>` drops the number as well, but not a word that only ends in one.
        if self.text[at] == ">" and len(self.chars) == 1 and "0" <= self.chars[0] <= "9":
            self.start = None
        self._finish(at)
        return Split(tuple(self.found), at)

    def _put(self, char: str, begin: int, end: int) -> None:
        self.start = begin if self.start is None else self.start
        self.chars.append(char)
        self.places.append(Place(begin, end))
        self.quotes.append(self.quote)

    def _put_run(self, begin: int, end: int) -> None:
        self.start = begin if self.start is None else self.start
        self.chars += self.text[begin:end]
        self.places += map(Place, range(begin, end), range(begin + 1, end + 1))
        self.quotes += [self.quote] * (end - begin)

    def _finish(self, end: int) -> None:
        if self.start is not None:
            content = ("".join(self.chars), tuple(self.places), tuple(self.quotes))
            self.found.append(_word(self.text, self.start, end, content))
        self.start, self.chars, self.places, self.quotes = None, [], [], []


def _word(text: str, start: int, end: int, content: tuple[str, tuple[Place, ...], tuple[str, ...]]) -> Word:
    value, places, quotes = content

    def encoded(new: str, at: int) -> str:
        quote = quotes[min(at, len(quotes) - 1)] if quotes else text[start : start + 1]
        if quote == "'":
            if "'" in new:
                raise CannotSpliceError
            return new
        if quote == '"':
            return new.replace("\\", "\\\\").replace('"', '\\"')
        if quote in ("`", ")") or (new and not _PLAIN.fullmatch(new)):
            raise CannotSpliceError
        return new

    return Word(start, end, Layer(value, places, end, encoded))
