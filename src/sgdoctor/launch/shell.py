"""Words of a command line with their places in the text, as a POSIX shell or Compose splits it."""

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from sgdoctor.errors import UserError

_OPERATOR: Final = re.compile(r"[0-9]*(?:<<-|<<<|<<|<&|<>|>>|>&|>\||<|>)|&>>|&>|&&|\|\||\|&|;;|[|&;()\n]")
_EXPANSION: Final = re.compile(r"\$(?:[A-Za-z0-9_@*#?$!-]|\{|\()")
_PLAIN: Final = re.compile(r"[\w@%+=:,./-]+")
_GLUED: Final = re.compile(r"(?P<name>-{0,2}[\w.-]+=)(?P<value>.+)", re.DOTALL)
# Bash manual, "ANSI-C Quoting".
_ANSI_C: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI_C_NUMBER: Final = re.compile(r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})")


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
    """

    text: str
    start: int
    end: int
    raw: str
    operator: bool = False
    expands: bool = False


def words(text: str, *, operators: bool = True) -> list[Word]:
    """The words of ``text`` in their order; comments and backslash-newlines are between them.

    Args:
        text: one or more commands.
        operators: as a shell reads it. False is how Compose splits ``command: "..."``: ``| & ; < > ( ) #`` and ``$``
            are ordinary characters, a line break is a blank, and a backslash before a line break gives a line break as
            (part of) an argument, which is hardly ever meant.

    Raises:
        UserError: a quote, an expansion or a here-document is not closed; it names the line.
    """
    return _Scanner(text, operators=operators).words()


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
    if len(like) > 1 and like[0] == like[-1] == '"':
        return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'
    if len(like) > 1 and like[0] == like[-1] == "'" and "'" not in value:
        return f"'{value}'"
    if _PLAIN.fullmatch(value):
        return value
    return "'" + value.replace("'", "'\"'\"'") + "'"


@dataclass(slots=True)
class _Scanner:
    """Reads one text from the left to the right; ``at`` is the index of the next character."""

    source: str
    operators: bool
    at: int = 0
    found: list[Word] = field(default_factory=list)
    here_documents: list[tuple[str, bool, int]] = field(default_factory=list)

    def words(self) -> list[Word]:
        while self.at < len(self.source):
            char = self.source[self.at]
            if char in " \t\r" or (char == "\n" and not self.operators):
                self.at += 1
            elif self.operators and self.source.startswith("\\\n", self.at):
                self.at += 2
            elif self.operators and char == "#":
                self._comment()
            elif not (self.operators and self._operator()):
                self._word()
        if self.here_documents:
            self._unclosed(self.here_documents[0][2], "the here-document", "here-document")
        return self.found

    def _comment(self) -> None:
        end = self.source.find("\n", self.at)
        self.at = len(self.source) if end < 0 else end

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
                    self._unclosed(start, "the here-document", "here-document")
                end = self.source.find("\n", self.at)
                end = len(self.source) if end < 0 else end
                line = self.source[self.at : end]
                self.at = min(end + 1, len(self.source))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self.here_documents.clear()

    def _word(self) -> None:
        start = self.at
        parts: list[str] = []
        expands = self.operators and self.source[start] == "~"
        while self.at < len(self.source):
            char = self.source[self.at]
            if char in " \t\r\n" or (self.operators and char in "|&;<>()"):
                break
            if char == "'":
                parts.append(self._single_quoted())
            elif char == '"':
                text, inside = self._double_quoted()
                parts.append(text)
                expands = expands or inside
            elif char == "\\":
                parts.append(self._escaped())
            elif self.operators and self.source.startswith("$'", self.at):
                parts.append(self._ansi_c())
            elif self.operators and self.source.startswith('$"', self.at):
                self.at += 1
            elif self.operators and (expansion := self._expansion()):
                parts.append(expansion)
                expands = True
            else:
                parts.append(char)
                self.at += 1
        raw = self.source[start : self.at]
        word = Word("".join(parts), start, self.at, raw, expands=expands)
        if self.found and self.found[-1].operator and self.found[-1].text.lstrip("0123456789") in ("<<", "<<-"):
            self.here_documents.append((word.text, self.found[-1].text.endswith("-"), start))
        self.found.append(word)

    def _escaped(self) -> str:
        """The backslash at the place, outside of quotes."""
        self.at += 2
        following = self.source[self.at - 1 : self.at]
        self.at = min(self.at, len(self.source))
        if following == "\n" and self.operators:
            return ""
        return following or "\\"

    def _single_quoted(self) -> str:
        end = self.source.find("'", self.at + 1)
        if end < 0:
            self._unclosed(self.at, "the quote '", "引号 '")
        text = self.source[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double_quoted(self) -> tuple[str, bool]:
        """The text inside, and whether something in it expands."""
        start = self.at
        self.at += 1
        parts: list[str] = []
        expands = False
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == '"':
                self.at += 1
                return "".join(parts), expands
            following = self.source[self.at + 1 : self.at + 2]
            if char == "\\" and following and following in '"\\$`\n':
                parts.append("" if following == "\n" else following)
                self.at += 2
            elif self.operators and (expansion := self._expansion()):
                parts.append(expansion)
                expands = True
            else:
                parts.append(char)
                self.at += 1
        self._unclosed(start, 'the quote "', '引号 "')

    def _ansi_c(self) -> str:
        start = self.at
        self.at += 2
        parts: list[str] = []
        while self.at < len(self.source):
            char = self.source[self.at]
            self.at += 1
            if char == "'":
                return "".join(parts)
            if char != "\\" or self.at >= len(self.source):
                parts.append(char)
            elif number := _ANSI_C_NUMBER.match(self.source, self.at):
                digits = number[4]
                parts.append(chr(int(digits, 8) if digits else int(number[0][1:], 16)))
                self.at = number.end()
            else:
                parts.append(_ANSI_C.get(self.source[self.at], "\\" + self.source[self.at]))
                self.at += 1
        self._unclosed(start, "the quote $'", "引号 $'")

    def _expansion(self) -> str:
        """The expansion that begins at the place, passed over; empty if none does."""
        start = self.at
        if self.source[start] == "`":
            end = self.source.find("`", start + 1)
            if end < 0:
                self._unclosed(start, "the quote `", "引号 `")
            self.at = end + 1
        elif match := _EXPANSION.match(self.source, start):
            self.at = match.end()
            if match[0] in ("${", "$("):
                self._to_closing("}" if match[0] == "${" else ")", start)
            else:
                while self.at < len(self.source) and re.match(r"\w", self.source[self.at], re.ASCII):
                    self.at += 1
        return self.source[start : self.at]

    def _to_closing(self, closing: str, start: int) -> None:
        opening = {"}": "{", ")": "("}[closing]
        depth = 1
        while self.at < len(self.source):
            char = self.source[self.at]
            if char == "'":
                self._single_quoted()
                continue
            if char == '"':
                self._double_quoted()
                continue
            self.at += 2 if char == "\\" else 1
            depth += (char == opening) - (char == closing)
            if not depth:
                return
        self._unclosed(start, f"“{self.source[start : start + 2]}”", f"“{self.source[start : start + 2]}”")

    def _unclosed(self, start: int, what_en: str, what_zh: str) -> NoReturn:
        line = line_of(self.source, start)
        raise UserError(f"line {line}: {what_en} is not closed", f"第 {line} 行：{what_zh} 没有结束")
