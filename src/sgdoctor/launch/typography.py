"""What word processors, chat programs and web pages do to a command, and the command as it was meant.

A command with a typographic dash in it can be read by a person and by nobody else. It is read here as it was meant;
the text itself stays as it is until it is to be changed. A change is made in the repaired text: in the broken one it
would have no effect. So ``Document.edited`` with any change, and with ``REPAIR`` alone, gives the repaired text, and
with no change the text as it was written.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.continuation import continued_lines
from sgdoctor.launch.model import Problem
from sgdoctor.texts import Text

REPAIR: Final = Change("text.repair")
"""Write the command with plain characters; everything that only has one meaning is put right at once."""

_DASHES: Final = "‐‑‒–—―−﹘﹣－"
_DOUBLE: Final = "“”„‟＂"
_SINGLE: Final = "‘’‚‛＇"
_BLANKS: Final = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
_DASHED: Final = re.compile(rf"[-{_DASHES}]{{1,3}}(?=[A-Za-z])")
# Characters that nothing here is about.
_ORDINARY: Final = re.compile(r"[A-Za-z0-9_./:,@%+]+")
_NAME: Final = re.compile(rf"[\w{_DASHES}-]*")
_HERE: Final = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1[^\n]*\n(?:[^\n]*\n)*?[ \t]*\2[ \t]*(?=\r?\n|\Z)")
# A cluster of docker run: -d -i -t in any order.
_CLUSTER: Final = re.compile(r"[dit]{2,3}")
_DECODER: Final = json.JSONDecoder()
_TO_PLAIN: Final = str.maketrans(
    dict.fromkeys(_DOUBLE, '"') | dict.fromkeys(_SINGLE, "'") | dict.fromkeys(_BLANKS, " ")
)

_KINDS: Final[dict[str, tuple[str, str | None, Text]]] = {
    "typographic-dash": (
        "fatal",
        "SGL107",
        Text("Typographic dash in place of a hyphen: {words}", "用了排版用的破折号而不是连字符：{words}"),
    ),
    "typographic-quote": (
        "fatal",
        "SGL136",
        Text("Typographic quotes, which no shell knows: {words}", "用了 shell 不认识的弯引号：{words}"),
    ),
    "odd-blank": (
        "fatal",
        None,
        Text("Blanks that no shell takes for blanks: {words}", "用了 shell 不当作空格的空白字符：{words}"),
    ),
    "invisible-character": (
        "fatal",
        None,
        Text("Invisible characters: {words}", "含有看不见的字符：{words}"),
    ),
    "windows-line-ends": (
        "fatal",
        "SGL108",
        Text(
            "Windows line ends behind backslashes: the command ends there",
            "反斜杠后是 Windows 换行符（CRLF），命令会在此断开",
        ),
    ),
    "blank-behind-backslash": (
        "fatal",
        "SGL108",
        Text("Blank behind a backslash: the command ends there", "反斜杠后面有空格，命令会在此断开"),
    ),
    "comment-in-command": (
        "fatal",
        "SGL108",
        Text("Comment inside the command: the command ends there", "命令中间夹了注释，命令会在此断开"),
    ),
    "blank-line-in-command": (
        "fatal",
        "SGL108",
        Text("Blank line inside the command: the command ends there", "命令中间有空行，命令会在此断开"),
    ),
    "no-backslash": (
        "fatal",
        "SGL108",
        Text("No backslash at the end of the line: the command ends there", "行尾缺少反斜杠，命令会在此断开"),
    ),
    "json-without-quotes": (
        "fatal",
        "SGL134",
        Text(
            "JSON without quotes around it, so that the shell eats its own: {words}",
            "JSON 没有用单引号括起来，里面的引号会被 shell 去掉：{words}",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Repaired:
    """A command as it was meant.

    Attributes:
        text: plain.
        problems: what was put right.
        numbers: of each line of ``text``, the number that it had as written.
    """

    text: str
    problems: tuple[Problem, ...]
    numbers: tuple[int, ...]

    def line(self, index: int) -> int:
        """Number, as written, of the line in which the character at ``index`` of ``text`` stands."""
        return self.numbers[self.text.count("\n", 0, index)]


@dataclass(slots=True)
class _Findings:
    """What was put right, by kind: words and line numbers."""

    words: dict[str, list[str]] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, kind: str, line: int, word: str = "") -> None:
        self.words.setdefault(kind, [])
        if word and word not in self.words[kind]:
            self.words[kind].append(word)
        if line not in self.lines.setdefault(kind, []):
            self.lines[kind].append(line)

    def problems(self) -> tuple[Problem, ...]:
        return tuple(self._problem(kind) for kind in _KINDS if kind in self.lines)

    def _problem(self, kind: str) -> Problem:
        severity, rule, title = _KINDS[kind]
        shown = " ".join(self.words[kind][:3]) + (" …" if len(self.words[kind]) > 3 else "")
        titled = Text(title.en.format(words=shown), title.zh.format(words=shown))
        return Problem(kind, severity, titled, where=at_lines(self.lines[kind]), changes=(REPAIR,), rule=rule)


def at_lines(numbers: list[int]) -> Text:
    """``line 3`` or ``lines 3, 5``."""
    text = ", ".join(str(number) for number in numbers)
    return Text(f"{'line' if len(numbers) == 1 else 'lines'} {text}", f"第 {text} 行")


def repaired(text: str) -> Repaired:
    """A shell text as it was meant; comments, here-documents and what stands in plain quotes are left as they are."""
    findings = _Findings()
    plain = _Characters(text, findings).plain()
    lines = continued_lines(plain, findings.add)
    return Repaired("\n".join(line for line, _ in lines), findings.problems(), tuple(number for _, number in lines))


@dataclass(slots=True)
class _Characters:
    """Puts single characters right, from the left to the right."""

    source: str
    findings: _Findings
    at: int = 0
    done: list[str] = field(default_factory=list)
    in_word: bool = False
    translated: str = field(init=False)

    def __post_init__(self) -> None:
        self.translated = self.source.translate(_TO_PLAIN)

    def plain(self) -> str:
        while self.at < len(self.source):
            char = self.source[self.at]
            if ordinary := _ORDINARY.match(self.source, self.at):
                self._keep(ordinary.end())
                self.in_word = True
            elif not self.in_word and char == "#":
                self._keep(self._until("\n"))
            elif char == "\\" and self.source[self.at + 1 : self.at + 2] not in ("", *_BLANKS):
                self._keep(self.at + 2)
                self.in_word = self.done[-1] != "\\\n" and self.in_word
            elif char in "\"'" or (char in _DOUBLE + _SINGLE and self._begins_value()):
                self._quotes(char)
            elif char in _BLANKS:
                self._replace(1, " ", "odd-blank", f"U+{ord(char):04X}")
                self.in_word = False
            elif char in _INVISIBLE:
                self._replace(1, "", "invisible-character", f"U+{ord(char):04X}")
            elif char == "<" and (here := _HERE.match(self.source, self.at)):
                self._keep(here.end())
            elif (not self.in_word and self._dash()) or (char == "{" and self._bare_json()):
                self.in_word = True
            else:
                self._keep(self.at + 1)
                self.in_word = char not in " \t\r\n;&|()<>"
        return "".join(self.done)

    def _line(self) -> int:
        return self.source.count("\n", 0, self.at) + 1

    def _until(self, stop: str) -> int:
        end = self.source.find(stop, self.at)
        return len(self.source) if end < 0 else end

    def _keep(self, end: int) -> None:
        self.done.append(self.source[self.at : end])
        self.at = end

    def _replace(self, length: int, new: str, kind: str, word: str) -> None:
        self.findings.add(kind, self._line(), word)
        self.done.append(new)
        self.at += length

    def _dash(self) -> bool:
        match = _DASHED.match(self.source, self.at)
        if match is None:
            return False
        name = _NAME.match(self.source, match.end())
        assert name is not None
        written = match[0] + name[0]
        if not any(char in _DASHES for char in written):
            return False
        meant = re.sub(f"[{_DASHES}]", "-", name[0])
        short = len(meant) == 1 or _CLUSTER.fullmatch(meant)
        self._replace(len(written), ("-" if short else "--") + meant, "typographic-dash", written)
        return True

    def _quotes(self, opening: str) -> None:
        """What stands in quotes, up to the closing one; typographic ones become plain ones."""
        if opening == '"' and self._json(self.at + 1, self.at):
            return
        typographic = opening not in "\"'"
        double = opening in _DOUBLE + '"'
        closing = (_DOUBLE if double else _SINGLE) + ('"' if double else "'") if typographic else opening
        end = self.at + 1
        while end < len(self.source) and self.source[end] not in closing:
            end += 2 if self.source[end] == "\\" and double else 1
        if end >= len(self.source) or (typographic and not double and "\n" in self.source[self.at : end]):
            self._keep(self.at + 1)
            self.in_word = True
            return
        written = self.source[self.at : end + 1]
        inner = written[1:-1]
        if typographic or (inner[:1] in "{[" and not _is_json(inner) and _is_json(inner.translate(_TO_PLAIN))):
            quote = '"' if double else "'"
            plain = inner.translate(_TO_PLAIN) if not double or not typographic else inner
            self._replace(len(written), quote + plain + quote, "typographic-quote", written[:24])
        else:
            self._keep(end + 1)
        self.in_word = True

    def _begins_value(self) -> bool:
        """Whether a word begins here, or the value in ``--flag=value``; an apostrophe inside a word is no quote."""
        return not self.in_word or self.done[-1:] == ["="]

    def _bare_json(self) -> bool:
        return self._begins_value() and self._json(self.at, self.at)

    def _json(self, start: int, outer: int) -> bool:
        """Puts single quotes around JSON that has none, or that stands in double quotes without escapes."""
        plain = self.translated
        if plain[start : start + 1] != "{":
            return False
        try:
            _, end = _DECODER.raw_decode(plain, start)
        except (ValueError, RecursionError):
            return False
        if '"' not in plain[start:end] or "'" in plain[start:end]:
            return False
        behind = end + (outer < start)
        if outer < start and plain[end : end + 1] != '"':
            return False
        word = plain[start:end] if len(plain[start:end]) <= 40 else plain[start : start + 39] + "…"
        self._replace(behind - outer, f"'{plain[start:end]}'", "json-without-quotes", word)
        return True


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
