"""Commands that run over several lines, and what ends them too early."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

Report = Callable[[str, int], None]
"""Takes the kind of a mistake and the number of its line."""

# `--tp)` and `-h | --help)` are patterns of `case`, in scripts that read flags of their own.
_FLAG_LINE: Final = re.compile(r"[ \t]*(?!-[^\s()|]*(?:[ \t]*\|[ \t]*[^\s()|]+)*[ \t]*\))--?[A-Za-z]")
_CONTINUED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_BEHIND: Final = re.compile(r"\\[ \t]+\Z")
_HERE: Final = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_QUOTES: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""")
_ARRAY: Final = re.compile(r"(?:^|[\s;&|])\w+\+?=\(")


def continued_lines(text: str, report: Report) -> list[tuple[str, int]]:
    """The lines of a shell text, each with its number as written, so that commands end where they were meant to.

    A line that begins with a flag belongs to the command before it: no command has such a name. Comments inside a
    command are moved in front of it.
    """
    source = text.split("\n")
    lines = _Joiner([line.removesuffix("\r") for line in source], report).lines()
    if "\\\r\n" in text:
        for number, line in enumerate(source, start=1):
            if line.endswith("\\\r"):
                report("windows-line-ends", number)
        return lines
    return [(_with_its_end(line, source[number - 1]), number) for line, number in lines]


def _with_its_end(line: str, written: str) -> str:
    """A line with the carriage return that it had, unless it has been given a backslash."""
    kept = written.endswith("\r") and (line == written[:-1] or not line.endswith("\\"))
    return f"{line}\r" if kept else line


@dataclass(slots=True)
class _Joiner:
    """Goes over the lines once.

    Attributes:
        source: the lines.
        report: takes what is put right.
        done: the lines as they were meant.
        start: index in ``done`` where the command of the present line begins.
        quote: that is open at the end of the line before.
        continued: whether the line before ends with a backslash.
        code: whether the line before is nothing but (part of) a command.
        here: the end of the here-document that the line stands in.
        array: whether the line stands in the brackets of ``NAME=(...)``, where a line break only parts words.
        followed: of each line, whether the next ones go on with flags of the same command; empty ones, comments and
            lines with a backslash are passed over.
        followed_at_once: the same without lines with a backslash between.
    """

    source: Sequence[str]
    report: Report
    done: list[tuple[str, int]] = field(default_factory=list)
    start: int = 0
    quote: str = ""
    continued: bool = False
    code: bool = False
    here: str | None = None
    array: bool = False
    followed: Sequence[bool] = field(init=False)
    followed_at_once: Sequence[bool] = field(init=False)

    def __post_init__(self) -> None:
        self.followed = _followed(self.source, at_once=False)
        self.followed_at_once = _followed(self.source, at_once=True)

    def lines(self) -> list[tuple[str, int]]:
        for index, line in enumerate(self.source):
            if self.here is not None:
                self.here = None if line.strip() == self.here else self.here
                self.done.append((line, index + 1))
            elif self.quote or self.array:
                self._take(line, index + 1)
            else:
                self._line(line, index)
        return self.done

    def _line(self, line: str, index: int) -> None:
        number = index + 1
        if self.continued and not line.strip() and self.followed[index]:
            self.report("blank-line-in-command", number)
            return
        comment = line.lstrip().startswith("#")
        follows = self.followed[index]
        if not self.continued and (_FLAG_LINE.match(line) or (comment and self.followed_at_once[index])):
            self._join()
        if self.continued and comment and (line.endswith("\\") or follows):
            self.report("comment-in-command", number)
            self._move_up(line.strip(), number)
            return
        if not self.continued:
            self.start = len(self.done)
        self._take(line, number, flag_follows=follows)

    def _join(self) -> None:
        """Puts a backslash behind the line before, if that is (the rest of) a command."""
        line, number = self.done[-1] if self.done else ("", 0)
        if line.strip() and self.code:
            self.report("no-backslash", number)
            self.done[-1] = (f"{line.rstrip()} \\", number)
            self.continued = True

    def _take(self, line: str, number: int, *, flag_follows: bool = False) -> None:
        """Adds a line, or what was meant by it."""
        comment, quote = _scan(line, self.quote)
        code = line if comment is None else line[:comment]
        if not quote and flag_follows and code.strip():
            adjacent = _FLAG_LINE.match(self.source[number]) is not None
            if comment is not None and (adjacent or code.rstrip().endswith("\\") or line.endswith("\\")):
                self.report("comment-in-command", number)
                self._move_up(line[comment:].removesuffix("\\").rstrip(), number)
                line, comment = f"{code.rstrip().removesuffix(chr(92)).rstrip()} \\", None
            elif comment is None and (match := _BEHIND.search(line)):
                self.report("blank-behind-backslash", number)
                line = line[: match.start() + 1]
        here = _HERE.search(code) if not quote else None
        self.here = here[2] if here else None
        self.quote = quote
        self.array = not quote and self._in_array(code)
        self.code = not quote and not self.array and comment is None and here is None
        self.continued = self.code and _CONTINUED.search(line) is not None
        self.done.append((line, number))

    def _in_array(self, code: str) -> bool:
        """Whether the line behind ``code`` stands in an array."""
        opening = None if self.array else _ARRAY.search(code)
        if not self.array and opening is None:
            return False
        return ")" not in _QUOTES.sub("", code[opening.end() if opening else 0 :])

    def _move_up(self, comment: str, number: int) -> None:
        self.done.insert(self.start, (comment, number))
        self.start += 1


def _followed(source: Sequence[str], *, at_once: bool) -> list[bool]:
    """Of each line, whether flags of the same command follow; see ``_Joiner``."""
    found = [False] * len(source)
    for index in range(len(source) - 1, 0, -1):
        line = source[index]
        passed_over = not line.strip() or line.lstrip().startswith("#")
        goes_on = passed_over or (not at_once and line.rstrip().endswith("\\"))
        found[index - 1] = _FLAG_LINE.match(line) is not None or (goes_on and found[index])
    return found


def _scan(line: str, quote: str) -> tuple[int | None, str]:
    """Where a comment begins in a line, and the quote that is still open at its end."""
    at = 0
    while at < len(line):
        char = line[at]
        if char == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t;&|("):
            return at, ""
        at += 1
    return None, quote
