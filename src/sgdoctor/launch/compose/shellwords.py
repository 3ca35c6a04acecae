"""How Compose splits ``command: "..."`` into arguments.

It is no shell: https://github.com/mattn/go-shellwords, as compose-go uses it. An unquoted operator ends the command and
everything behind it is dropped without a word; a backslash before a line break gives a line break as an argument.
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from sgdoctor.launch.compose.layers import Layer, Place
from sgdoctor.launch.compose.lines import CannotSpliceError

_PLAIN: Final = re.compile(r"[\w@%+=:,./{}\[\]*?~^!#-]+")


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
    found: list[Word] = []
    start: int | None = None
    chars: list[str] = []
    places: list[Place] = []
    quotes: list[str] = []
    quote = ""
    opened = 0
    at = 0

    def finish(end: int) -> None:
        nonlocal start
        if start is not None:
            found.append(_word(text, start, end, ("".join(chars), tuple(places), tuple(quotes))))
        start = None
        chars.clear()
        places.clear()
        quotes.clear()

    def put(char: str, begin: int, end: int) -> None:
        nonlocal start
        start = begin if start is None else start
        chars.append(char)
        places.append(Place(begin, end))
        quotes.append(quote)

    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            if at + 1 == len(text):
                raise SplitError(at)
            put({"t": "\t", "n": "\n"}.get(text[at + 1], text[at + 1]), at, at + 2)
            at += 2
            continue
        if char in " \t\r\n" and not quote:
            finish(at)
        elif char in "'\"" and quote in ("", char):
            start = at if start is None else start
            quote, opened = ("" if quote else char), at
        elif char == "`" and quote in ("", "`"):
            put(char, at, at + 1)
            quote, opened = ("" if quote else char), at
        elif char == "(" and not quote and chars[-1:] == ["$"]:
            put(char, at, at + 1)
            quote, opened = ")", at
        elif char == ")" and quote == ")":
            quote = ""
            put(char, at, at + 1)
        elif not quote and char in "()":
            raise SplitError(at)
        elif not quote and char in ";&|<>":
            # `2>` drops the number as well, a digit in the middle of a word does not.
            if char == ">" and chars[:1] and "0" <= chars[0] <= "9" and len(chars) == 1:
                start = None
            finish(at)
            return Split(tuple(found), at)
        else:
            put(char, at, at + 1)
        at += 1
    if quote:
        raise SplitError(opened)
    finish(len(text))
    return Split(tuple(found), None)


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
