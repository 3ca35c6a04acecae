"""Simple commands of a shell text, and edits of their words as splices of the text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Final

from sgdoctor.launch.flag_edits import WordEdit
from sgdoctor.launch.shell import Splice, Word, quoted

_ENDS: Final = frozenset({"\n", ";", ";;", "&", "&&", "|", "||", "|&", "(", ")"})
_KEYWORDS: Final = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "{", "}", "!", "time", "fi", "done"}
)
_LOOPS: Final = frozenset({"for", "while", "until", "select"})
_ASSIGNMENT: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)\+?=(?P<value>.*)", re.ASCII | re.DOTALL)
# A line of a systemd unit; the characters behind its sign are prefixes (systemd.service(5), "COMMAND LINES").
_UNIT: Final = re.compile(r"Exec(?:Start|StartPre|StartPost|Stop|StopPost|Reload)=[-@:+!|]*(?=.)")
_DECLARING: Final = frozenset({"export", "declare", "readonly", "local", "typeset"})
# What people copy from a terminal before the command itself.
_PROMPT: Final = re.compile(r"[$%]|[\w.-]+@[\w.-]+\S*[$#%]")
_VARIABLE: Final = re.compile(
    r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>\w+)(?::?-(?P<default>[^${}`]*))?\})", re.ASCII
)
_GAPS: Final = (" ", "\t", "\\\n", "\\\r\n")


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command.

    Attributes:
        words: program first; assignments before it, redirections and keywords are left out.
        assignments: the ``NAME=value`` words before the program.
        in_loop: whether it stands between ``do`` and ``done``.
    """

    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    in_loop: bool = False

    @property
    def end(self) -> int:
        """Index of the source where an argument can be added: before redirections, unless words follow on them."""
        return self.words[-1].end

    @property
    def texts(self) -> list[str]:
        """The values of the words."""
        return [word.text for word in self.words]


@dataclass(slots=True)
class _Collector:
    """Puts tokens together into commands."""

    found: list[Command] = field(default_factory=list)
    depth: int = 0
    assignments: list[Word] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirected: bool = False

    def operator(self, token: Word) -> None:
        if token.text in _ENDS:
            self.close()
        else:
            self.redirected = True

    def word(self, token: Word) -> None:
        if self.redirected:
            self.redirected = False
        elif self.words:
            self.words.append(token)
        elif token.raw in _KEYWORDS or token.raw in _LOOPS:
            self.depth += (token.raw in _LOOPS) - (token.raw == "done")
            if token.raw == "for":
                self.words.append(token)
        elif unit := _UNIT.match(token.raw):
            self.words.append(_behind(token, unit.end()))
        elif _ASSIGNMENT.fullmatch(token.text) and _ASSIGNMENT.match(token.raw):
            self.assignments.append(token)
        elif self.assignments or not _PROMPT.fullmatch(token.raw):
            self.words.append(token)

    def close(self) -> None:
        if self.words or self.assignments:
            self.found.append(Command(tuple(self.words), tuple(self.assignments), in_loop=self.depth > 0))
        self.assignments, self.words, self.redirected = [], [], False


def commands(tokens: Iterable[Word]) -> list[Command]:
    """The simple commands of a shell text, in their order."""
    collector = _Collector()
    for token in tokens:
        if token.operator:
            collector.operator(token)
        else:
            collector.word(token)
    collector.close()
    return collector.found


def _behind(word: Word, length: int) -> Word:
    """The word without its first characters, which stand in no quotes."""
    first, *rest = word.pieces
    pieces = (first._replace(text=first.text[length:], start=first.start + length), *rest)
    return replace(word, text=word.text[length:], start=word.start + length, raw=word.raw[length:], pieces=pieces)


def assignment(word: Word) -> tuple[str, str] | None:
    """Name and value of a ``NAME=value`` word; None for any other word."""
    match = _ASSIGNMENT.fullmatch(word.text)
    return (match["name"], match["value"]) if match else None


def declared(command: Command) -> tuple[Word, ...]:
    """The ``NAME=value`` words with which a command sets variables of the shell itself."""
    if not command.words:
        return command.assignments
    if command.words[0].text in _DECLARING:
        return tuple(word for word in command.words[1:] if assignment(word))
    return ()


def literal_variables(found: Sequence[Command]) -> dict[str, str]:
    """Variables that a script gives one literal value, once and outside of loops."""
    values: dict[str, str] = {}
    seen: set[str] = set()
    for command in found:
        for word in declared(command):
            name, _ = assignment(word) or ("", "")
            value = (assignment(Word(resolved(word, values), 0, 0, "")) or ("", ""))[1]
            if name in seen or command.in_loop or (word.expands and _expanding(word, values)):
                values.pop(name, None)
            else:
                values[name] = value
            seen.add(name)
    return values


def resolved(word: Word, values: Mapping[str, str]) -> str:
    """The value of a word with those variables filled in that are known, and with the defaults of ``${NAME:-x}``."""
    return "".join(_filled(piece.text, values) if piece.expands else piece.text for piece in word.pieces) or word.text


def resolved_words(found: Iterable[Word], values: Mapping[str, str]) -> list[str]:
    """The values of words; a variable without quotes becomes as many words as its value has."""
    texts: list[str] = []
    for word in found:
        value = resolved(word, values)
        split = word.expands and value != word.text and not any(piece.quote for piece in word.pieces)
        texts += value.split() if split else [value]
    return texts


def _expanding(word: Word, values: Mapping[str, str]) -> bool:
    return any(_filled(piece.text, values) == piece.text for piece in word.pieces if piece.expands)


def _filled(expansion: str, values: Mapping[str, str]) -> str:
    match = _VARIABLE.fullmatch(expansion)
    if match is None:
        return expansion
    name, default = match["plain"] or match["braced"], match["default"]
    return values.get(name, expansion if default is None else default)


def gap_before(source: str, word: Word) -> str:
    """Blanks and backslash-newlines between a word and what stands before it."""
    at = word.start
    while gap := next((one for one in _GAPS if source.endswith(one, 0, at)), ""):
        at -= len(gap)
    return source[at : word.start]


def word_splices(source: str, found: Sequence[Word], edits: Iterable[WordEdit], end: int, gap: str) -> list[Splice]:
    """Edits of words as splices of the text that they stand in; a word that stays the same is not touched.

    Args:
        source: the text.
        found: the words that the edits count.
        edits: what becomes of them.
        end: index of the source where a word behind the last one is added.
        gap: what is put between a word and a new flag behind it.
    """
    return [splice for edit in edits for splice in _edit_splices(source, found, edit, end, gap)]


def _edit_splices(source: str, found: Sequence[Word], edit: WordEdit, end: int, gap: str) -> list[Splice]:
    old = found[edit.start : edit.end]
    if not old:
        place = end if edit.start == len(found) else found[edit.start].start
        return [Splice(place, place, _joined(edit.words, gap, before=edit.start < len(found)))]
    splices: list[Splice] = []
    matcher = SequenceMatcher(None, [word.text for word in old], edit.words, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        paired = min(b - a, d - c)
        for word, new in zip(old[a : a + paired], edit.words[c : c + paired], strict=True):
            splices.append(Splice(word.start, word.end, quoted(new, word.raw)))
        for word in old[a + paired : b]:
            splices.append(Splice(word.start - len(gap_before(source, word)), word.end, ""))
        if extra := edit.words[c + paired : d]:
            place = old[a + paired - 1].end if a + paired else old[0].start
            splices.append(Splice(place, place, "".join(f" {quoted(new)}" for new in extra)))
    return splices


def _joined(new: Sequence[str], gap: str, *, before: bool) -> str:
    """Words of new flags: ``gap`` before each flag (or, ``before`` an old word, behind the last one), a blank else."""
    parts = [quoted(word) for word in new]
    text = parts[0]
    for word, part in zip(new[1:], parts[1:], strict=True):
        text += (gap if word.startswith("--") else " ") + part
    return text + gap if before else gap + text
