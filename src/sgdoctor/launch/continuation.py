"""Commands that run over several lines, and what ends them too early."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

Report = Callable[[str, int], None]
"""Takes the kind of a mistake and the number of its line."""

_FLAG_LINE: Final = re.compile(r"[ \t]*--?[A-Za-z]")
_CONTINUED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_BEHIND: Final = re.compile(r"\\[ \t]+\Z")
_HERE: Final = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")


def continued_lines(text: str, report: Report) -> list[tuple[str, int]]:
    """The lines of a shell text, each with its number as written, so that commands end where they were meant to.

    A line that begins with a flag belongs to the command before it: no command has such a name. Comments inside a
    command are moved in front of it.
    """
    joiner = _Joiner([line.removesuffix("\r") for line in text.split("\n")], report)
    lines = joiner.lines()
    if "\\\r\n" in text:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.endswith("\\\r"):
                report("windows-line-ends", number)
    elif "\r" in text:
        ends = [line[len(line.rstrip("\r")) :] for line in text.split("\n")]
        return [(line + ends[number - 1], number) for line, number in lines]
    return lines


@dataclass(slots=True)
class _Joiner:
    """Goes over the lines once; ``start`` is where the command of the present line begins in ``done``."""

    source: Sequence[str]
    report: Report
    done: list[tuple[str, int]] = field(default_factory=list)
    start: int = 0
    quote: str = ""
    continued: bool = False
    here: str | None = None

    def lines(self) -> list[tuple[str, int]]:
        for index, line in enumerate(self.source):
            if self.here is not None:
                self.here = None if line.strip() == self.here else self.here
                self.done.append((line, index + 1))
            elif self.quote:
                self._take(line, index + 1)
            else:
                self._line(line, index)
        return self.done

    def _line(self, line: str, index: int) -> None:
        number = index + 1
        if self.continued and not line.strip() and self._flag_follows(index):
            self.report("blank-line-in-command", number)
            return
        if self.continued and line.lstrip().startswith("#") and (line.endswith("\\") or self._flag_follows(index)):
            self.report("comment-in-command", number)
            self._move_up(line.strip(), number)
            return
        if not self.continued and _FLAG_LINE.match(line) and self.done and self.done[-1][0].strip():
            previous, at = self.done[-1]
            self.report("no-backslash", at)
            self.done[-1] = (f"{previous.rstrip()} \\", at)
            self.continued = True
        if not self.continued:
            self.start = len(self.done)
        self._take(line, number, flag_follows=self._flag_follows(index))

    def _take(self, line: str, number: int, *, flag_follows: bool = False) -> None:
        """Adds a line, or what was meant by it."""
        comment, quote = _scan(line, self.quote)
        code = line if comment is None else line[:comment]
        if not quote and flag_follows and code.strip():
            if comment is not None and (code.rstrip().endswith("\\") or line.endswith("\\")):
                self.report("comment-in-command", number)
                self._move_up(line[comment:].removesuffix("\\").rstrip(), number)
                line, comment = f"{code.rstrip().removesuffix(chr(92)).rstrip()} \\", None
            elif comment is None and (match := _BEHIND.search(line)):
                self.report("blank-behind-backslash", number)
                line = line[: match.start() + 1]
        here = _HERE.search(code) if not quote else None
        self.here = here[2] if here else None
        self.quote = quote
        self.continued = not quote and comment is None and _CONTINUED.search(line) is not None
        self.done.append((line, number))

    def _move_up(self, comment: str, number: int) -> None:
        self.done.insert(self.start, (comment, number))
        self.start += 1

    def _flag_follows(self, index: int) -> bool:
        """Whether the next lines go on with flags of the same command; empty ones and comments are passed over."""
        for line in self.source[index + 1 :]:
            if _FLAG_LINE.match(line):
                return True
            if line.strip() and not line.lstrip().startswith("#") and not line.rstrip().endswith("\\"):
                return False
        return False


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
