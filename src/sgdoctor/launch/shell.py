"""Words of a shell text with their places in it."""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sgdoctor.errors import UserError

_OPERATOR: Final = re.compile(r"[0-9]*(?:<<-|<<<|<<|<&|<>|>>|>&|>\||<|>)|&>>|&>|&&|\|\||\|&|;;|[|&;()\n]")
_EXPANSION: Final = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{|\()", re.ASCII)
_QUOTED: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
_CLOSING: Final = {"(": ")", "{": "}"}
_CONTINUED: Final = re.compile(r"\\(?:\r?\n|\Z)")
_ENDS: Final = " \t\r\n|&;<>()"
# What stands in for a comment inside a command of several lines; the shell makes no word of it.
_COMMENT: Final = re.compile(r"`[ \t]*#[^`\n]*`")
_PLAIN: Final = re.compile(r"[\w@%+=:,./-]+")
# Characters that are what they are, outside of quotes and in double ones.
_RUN: Final = re.compile(r"""[^ \t\r\n|&;<>()'"\\$`~]+""")
_QUOTED_RUN: Final = re.compile(r"""[^"\\$`]+""")
_GLUED: Final = re.compile(r"(?P<name>-{0,2}[\w.-]+=)(?P<value>.+)", re.DOTALL)
# Bash manual, "ANSI-C Quoting".
_ANSI_C: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI_C_NUMBER: Final = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")


class Piece(NamedTuple):
    """Part of a word that stands in one kind of quotes.

    Attributes:
        text: its value.
        start: index of its first character in the source.
        end: index behind its last one; a piece is as long as its text, unless it is one character with an escape.
        quote: what it stands in: empty, ``'``, ``"`` or ``$'``.
        expands: whether the shell puts something else in its place.
    """

    text: str
    start: int
    end: int
    quote: str = ""
    expands: bool = False


class Splice(NamedTuple):
    """Characters ``start`` to ``end`` (half-open) of a text become ``text``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word or operator of a command line.

    Attributes:
        text: its value, quotes taken off; expansions stand in it as they were written.
        start: index of its first character in the source.
        end: index behind its last character.
        raw: as written. That of a line break covers the here-documents that begin on its line.
        operator: whether it is ``|``, ``&&``, ``2>&``, a line break, ...
        expands: whether the shell puts something else in its place: a variable, a command's output, a home directory.
        pieces: what its value is made of.
    """

    text: str
    start: int
    end: int
    raw: str
    operator: bool = False
    expands: bool = False
    pieces: tuple[Piece, ...] = field(default=(), repr=False, compare=False)


def words(text: str) -> list[Word]:
    """The words and operators of a shell text in their order; comments and backslash-newlines are between them.

    Raises:
        UserError: a quote, an expansion or a here-document is not closed; it names the line.
    """
    return _Scanner(text).words()


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """``text`` with ``splices`` made, which must not overlap; of several at one place the later one comes later."""
    ordered = sorted(splices, key=lambda one: (one.start, one.end))
    for splice in ordered[::-1]:
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def splice_inside(word: Word, start: int, end: int, new: str) -> Splice:
    """The splice of the source that makes characters ``start`` to ``end`` of the word's value ``new``.

    A script in ``bash -c "..."`` is changed in this way without a touch to the rest of it. Where the characters stand
    in different kinds of quotes, the whole word is written anew.
    """
    first, last = _place(word, start - 1 if start == end else start), _place(word, max(end - 1, 0))
    if first is None or last is None or first[0].quote != last[0].quote:
        return Splice(word.start, word.end, quoted(word.text[:start] + new + word.text[end:], word.raw))
    (piece, offset), (other, behind) = first, last
    a = piece.end if start == end and not _verbatim(piece) else piece.start + offset + (start == end)
    b = a if start == end else (other.start + behind + 1 if _verbatim(other) else other.end)
    return Splice(a, b, _in_quotes(new, piece.quote))


def splices_inside(word: Word, splices: Iterable[Splice]) -> list[Splice]:
    """Splices of a word's value as splices of its source."""
    splices = list(splices)
    made = [splice_inside(word, *splice) for splice in splices]
    if any(splice[:2] == (word.start, word.end) for splice in made):
        return [Splice(word.start, word.end, quoted(spliced(word.text, splices), word.raw))]
    return made


def _verbatim(piece: Piece) -> bool:
    return piece.end - piece.start == len(piece.text)


def _place(word: Word, index: int) -> tuple[Piece, int] | None:
    """The piece with character ``index`` of the word's value, and the index in it."""
    for piece in word.pieces:
        if 0 <= index < len(piece.text):
            return piece, index
        index -= len(piece.text)
    return None


def _in_quotes(value: str, quote: str) -> str:
    """``value`` as it is written between ``quote`` and its end."""
    match quote:
        case '"':
            return re.sub(r'([\\"$`])', r"\\\1", value)
        case "'":
            return value.replace("'", "'\"'\"'")
        case "$'":
            return re.sub(r"([\\'])", r"\\\1", value)
        case _:
            return re.sub(r"([^\w@%+=:,./-])", r"\\\1", value)


def line_of(text: str, index: int) -> int:
    """Number of the line, from 1, in which the character at ``index`` stands."""
    return text.count("\n", 0, index) + 1


def quoted(value: str, like: str = "") -> str:
    """``value`` as one word of a shell command.

    Args:
        value: any text without NUL.
        like: the raw word that it takes the place of: its kind of quotes is kept where it can be, also behind
            ``--flag=``.
    """
    old, new = _GLUED.fullmatch(like), _GLUED.fullmatch(value)
    if old and new and old["name"] == new["name"]:
        return new["name"] + quoted(new["value"], old["value"])
    inside = any(char in value for char in '"\\$`')
    if len(like) > 1 and like[0] == like[-1] == '"' and not (inside and "'" not in value):
        return f'"{_in_quotes(value, like[0])}"'
    if len(like) > 1 and like[0] == like[-1] == "'" and "'" not in value:
        return f"'{value}'"
    if _PLAIN.fullmatch(value):
        return value
    return f"'{_in_quotes(value, chr(39))}'"


@dataclass(slots=True)
class _Scanner:
    """Reads one text from the left to the right; ``at`` is the index of the next character."""

    source: str
    at: int = 0
    found: list[Word] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    here_documents: list[tuple[str, bool, int]] = field(default_factory=list)

    def words(self) -> list[Word]:
        while self.at < len(self.source):
            char = self.source[self.at]
            if char in " \t\r":
                self.at += 1
            elif joint := _CONTINUED.match(self.source, self.at):
                self.at = joint.end()
            elif char == "#":
                end = self.source.find("\n", self.at)
                self.at = len(self.source) if end < 0 else end
            elif (comment := _COMMENT.match(self.source, self.at)) and self.source[comment.end() :][:1] in ("", *_ENDS):
                self.at = comment.end()
            elif not self._operator():
                self._word()
        if self.here_documents:
            raise self._unclosed(self.here_documents[0][2], "here-document")
        return self.found

    def _operator(self) -> bool:
        match = _OPERATOR.match(self.source, self.at)
        if match is None:
            return False
        self.at = match.end()
        if match[0] == "\n":
            self._bodies()
        raw = self.source[match.start() : self.at]
        self.found.append(Word(match[0], match.start(), self.at, raw, operator=True))
        return True

    def _bodies(self) -> None:
        """Passes over the here-documents whose operators stand on the line that has just ended."""
        for delimiter, tabs, start in self.here_documents:
            while True:
                if self.at >= len(self.source):
                    raise self._unclosed(start, "here-document")
                end = self.source.find("\n", self.at)
                end = len(self.source) if end < 0 else end
                line = self.source[self.at : end].rstrip("\r")
                self.at = min(end + 1, len(self.source))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self.here_documents.clear()

    def _word(self) -> None:
        start = self.at
        self.pieces = []
        while self.at < len(self.source):
            char = self.source[self.at]
            if char in _ENDS:
                break
            if run := _RUN.match(self.source, self.at):
                self._take(run[0], run.end())
            elif char == "'":
                self._single_quoted()
            elif char == '"':
                self._double_quoted()
            elif char == "\\":
                self._escaped()
            elif self.source.startswith("$'", self.at):
                self._ansi_c()
            elif self.source.startswith('$"', self.at):
                self.at += 1
            elif not self._expansion():
                home = char == "~" and self.at == start
                self._take(char, self.at + 1, expands=home)
        text = "".join(piece.text for piece in self.pieces)
        expands = any(piece.expands for piece in self.pieces)
        raw = self.source[start : self.at]
        previous = self.found[-1].text.lstrip("0123456789") if self.found and self.found[-1].operator else ""
        if previous in ("<<", "<<-"):
            self.here_documents.append((text, previous == "<<-", start))
        self.found.append(Word(text, start, self.at, raw, expands=expands, pieces=tuple(self.pieces)))

    def _take(self, text: str, end: int, quote: str = "", *, expands: bool = False) -> None:
        """The characters up to ``end`` are ``text``; like ones are put together."""
        piece = Piece(text, self.at, end, quote, expands)
        self.at = end
        last = self.pieces[-1] if self.pieces else None
        alike = last is not None and last[2:] == (piece.start, quote, False) and not expands
        if last is not None and alike and _verbatim(last) and _verbatim(piece):
            self.pieces[-1] = Piece(last.text + text, last.start, end, quote)
        else:
            self.pieces.append(piece)

    def _escaped(self) -> None:
        """The backslash at the place, outside of quotes."""
        following = self.source[self.at + 1 : self.at + 2]
        if joint := _CONTINUED.match(self.source, self.at):
            self.at = joint.end()
        else:
            self._take(following or "\\", self.at + 1 + len(following))

    def _single_quoted(self) -> None:
        end = self.source.find("'", self.at + 1)
        if end < 0:
            raise self._unclosed(self.at, "'")
        self.at += 1
        self._take(self.source[self.at : end], end, "'")
        self.at = end + 1

    def _double_quoted(self) -> None:
        start = self.at
        self.at += 1
        self._take("", self.at, '"')
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == '"':
                self.at += 1
                return
            if run := _QUOTED_RUN.match(self.source, self.at):
                self._take(run[0], run.end(), '"')
                continue
            following = self.source[self.at + 1 : self.at + 2]
            if char == "\\" and following and following in '"\\$`\n':
                if following == "\n":
                    self.at += 2
                else:
                    self._take(following, self.at + 2, '"')
            elif not self._expansion('"'):
                self._take(char, self.at + 1, '"')
        raise self._unclosed(start, '"')

    def _ansi_c(self) -> None:
        start = self.at
        self.at += 2
        self._take("", self.at, "$'")
        while self.at < len(self.source):
            char = self.source[self.at]
            following = self.source[self.at + 1 : self.at + 2]
            if char == "'":
                self.at += 1
                return
            if char != "\\" or not following:
                self._take(char, self.at + 1, "$'")
            elif number := _ANSI_C_NUMBER.match(self.source, self.at + 1):
                code = int(number[4], 8) if number[4] else int(number[0][1:], 16)
                self._take(chr(code) if code <= sys.maxunicode else "\ufffd", number.end(), "$'")
            else:
                self._take(_ANSI_C.get(following, "\\" + following), self.at + 2, "$'")
        raise self._unclosed(start, "$'")

    def _expansion(self, quote: str = "") -> bool:
        """Passes over the expansion that begins at the place, if one does."""
        start = end = self.at
        if self.source[start] == "`":
            end = self.source.find("`", start + 1) + 1
            if not end:
                raise self._unclosed(start, "`")
        elif match := _EXPANSION.match(self.source, start):
            opening = match[0][-1]
            end = self._closing(match.end(), start, opening) if opening in "({" else match.end()
        if end == start:
            return False
        self._take(self.source[start:end], end, quote, expands=True)
        return True

    def _closing(self, at: int, start: int, opening: str) -> int:
        """The index behind the bracket that closes ``opening``; quotes between are passed over."""
        depth = 1
        while at < len(self.source):
            inner = _QUOTED.match(self.source, at)
            if inner:
                at = inner.end()
                continue
            depth += (self.source[at] == opening) - (self.source[at] == _CLOSING[opening])
            at += 1
            if not depth:
                return at
        raise self._unclosed(start, "$" + opening)

    def _unclosed(self, start: int, what: str) -> UserError:
        line = line_of(self.source, start)
        return UserError(f"line {line}: {what} is not closed", f"第 {line} 行：{what} 没有结束")
