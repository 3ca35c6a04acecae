"""Mistakes of writing in a command that have one meaning: where they are, and the command as it was meant."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from sgdoctor.launch.compose import shellwords
from sgdoctor.launch.compose.command_words import CommandPart, CommandWord, stray_line_breaks, stray_line_breaks_removed
from sgdoctor.launch.compose.lines import CannotSpliceError, indentation, line_end, line_start, newline_of, next_line
from sgdoctor.launch.compose.nodes import is_in_flow, items_added, style_of
from sgdoctor.launch.compose.scalars import layer_of, written
from sgdoctor.launch.compose.syntax import Mapping
from sgdoctor.launch.compose.texts import VariableError, replaced_text
from sgdoctor.launch.compose.values import Items, Text
from sgdoctor.launch.flag_edits import is_flag
from sgdoctor.launch.model import Problem
from sgdoctor.launch.shell import Splice
from sgdoctor.launch.typography import repaired

# No other character than those of a keyboard, and no JSON. Almost all words are, and are not looked at one by one.
_SOUND: Final = re.compile(r"[ -z|}~]*\n?")
_CHARACTERS: Final = frozenset({"typographic-dash", "typographic-quote", "odd-blank", "invisible-character"})


@dataclass(frozen=True, slots=True)
class Repair:
    """A mistake put right.

    Attributes:
        key: ``command`` or ``entrypoint``.
        way: splices of the file.
        want: the words that the key has afterwards.
    """

    key: str
    way: list[Splice]
    want: tuple[str, ...]


class Line(NamedTuple):
    """The part of a scalar's text that stands on one line of its file: number from 1, and span in the text."""

    number: int
    start: int
    end: int


def repairs(part: CommandPart, home: Mapping) -> Iterator[Repair]:
    """What can be put right in one part, one after the other; each is for the text as it is now."""
    for make in (_stray, _comments, _items, _characters):
        try:
            yield from make(part, home)
        except (CannotSpliceError, VariableError):
            continue


@lru_cache(maxsize=16)
def lines_of(value: Text) -> tuple[Line, ...]:
    """The lines of the file that a text stands on."""
    layer = layer_of(value.node, value.file.text)
    if layer is None or not value.text:
        return (Line(value.node.line, 0, len(value.text)),)
    upper = value.interpolated.layer
    breaks = [index for index, char in enumerate(value.file.text) if char == "\n"]
    starts: list[tuple[int, int]] = []
    line_ends = -1
    for index, place in enumerate(upper.places):
        at = layer.places[place.start].start
        if at > line_ends:
            number = bisect_right(breaks, at - 1) + 1
            line_ends = breaks[number - 1] if number <= len(breaks) else len(value.file.text)
            starts.append((number, index))
    ends = [*(index for _, index in starts[1:]), len(value.text)]
    return tuple(Line(number, start, end) for (number, start), end in zip(starts, ends, strict=True))


def comments_in(part: CommandPart) -> list[Line]:
    """Lines of a command that are meant as comments, and are arguments."""
    value = part.value
    if not isinstance(value, Text):
        return []
    lines = lines_of(value)
    starts = {word.shell.start for word in part.words if word.shell and word.text.startswith("#")}
    return [line for line in lines[1:] if any(_begins(value.text, line, start) for start in starts)]


def _begins(text: str, line: Line, start: int) -> bool:
    return line.start <= start < line.end and not text[line.start : start].strip()


def glued_items(part: CommandPart) -> list[CommandWord]:
    """Items that hold a flag and its value in one."""
    if not isinstance(part.value, Items):
        return []
    return [word for word in part.words if is_flag(word.text) and _halves(word.text) is not None]


def _halves(text: str) -> list[str] | None:
    flag, _, rest = text.partition(" ")
    if "=" in flag or not flag.startswith("--") or not rest.strip() or "\n" in text:
        return None
    try:
        return [word.text for word in shellwords.split(text).words]
    except shellwords.SplitError:
        return None


def bare_items(part: CommandPart) -> list[CommandWord]:
    """Items that YAML takes for numbers or truth values, which Compose refuses."""
    if not isinstance(part.value, Items):
        return []
    return [word for word in part.words if word.value.is_typed]


def character_problems(part: CommandPart) -> list[tuple[Problem, int]]:
    """What word processors did to a command, each with the number of its line."""
    found: list[tuple[Problem, int]] = []
    for value, start, end, number in _shell_texts(part):
        text = value.text[start:end]
        if _SOUND.fullmatch(text):
            continue
        for problem in repaired(text).problems:
            if problem.id in _CHARACTERS or (problem.id == "json-without-quotes" and not part.is_list):
                found.append((problem, number))
    return found


def _shell_texts(part: CommandPart) -> Iterator[tuple[Text, int, int, int]]:
    """Pieces of text that are read like a shell's words: scalar, span, number of the line."""
    if isinstance(part.value, Text):
        for line in lines_of(part.value):
            yield part.value, line.start, line.end, line.number
    for word in part.words:
        if word.shell is None and not word.text.startswith("{"):
            yield word.value, 0, len(word.text), word.value.node.line


def _stray(part: CommandPart, home: Mapping) -> Iterator[Repair]:
    del home
    if stray_line_breaks(part):
        want = tuple(text for word in part.texts if (text := word.removeprefix("\n")))
        yield Repair(part.key, stray_line_breaks_removed(part), want)


def _comments(part: CommandPart, home: Mapping) -> Iterator[Repair]:
    """Comments go above the key: inside of a text there are none in YAML."""
    lines = comments_in(part)
    value = part.value
    if not lines or not isinstance(value, Text):
        return
    text = value.file.text
    key = next((key for key, node in home.pairs if node is value.node), None)
    inside = {
        index
        for index, word in enumerate(part.words)
        if word.shell and any(line.start <= word.shell.start < line.end for line in lines)
    }
    want = tuple(word.text for index, word in enumerate(part.words) if index not in inside)
    way: list[Splice] = []
    moved: list[str] = []
    begins = [0]
    for index, char in enumerate(text):
        if char == "\n":
            begins.append(index + 1)
    for line in lines:
        start = begins[line.number - 1]
        way.append(Splice(start, next_line(text, start), ""))
        moved.append(text[start : line_end(text, start)].strip())
    if key is not None:
        at = line_start(text, key.start)
        indent = indentation(text, key.start)
        way.append(Splice(at, at, "".join(f"{indent}{comment}{newline_of(text)}" for comment in moved)))
    yield Repair(part.key, way, want)


def _items(part: CommandPart, home: Mapping) -> Iterator[Repair]:
    del home
    value = part.value
    if not isinstance(value, Items):
        return
    text, node = value.file.text, value.node
    glued = glued_items(part)
    bare = bare_items(part)
    if not glued and not bare:
        return
    root = value.file.root
    in_flow = node.flow or (root is not None and is_in_flow(root, node))
    way: list[Splice] = []
    want: list[str] = []
    for index, word in enumerate(part.words):
        halves = _halves(word.text) if word in glued else None
        want += halves or [word.text]
        if node.items[index] is not word.value.node:
            continue
        if halves:
            if word.references:
                raise VariableError(word.references[0])
            like = style_of(word.value.node)
            first, *rest = (written(one.replace("$", "$$"), like=like, in_flow=in_flow) for one in halves)
            way.append(Splice(word.value.node.start, word.value.node.end, first))
            way.append(items_added(text, node, index + 1, rest))
        elif word in bare:
            way.append(
                Splice(word.value.node.start, word.value.node.end, written(word.text, like='"', in_flow=in_flow))
            )
    yield Repair(part.key, way, tuple(want))


def _characters(part: CommandPart, home: Mapping) -> Iterator[Repair]:
    del home
    if not character_problems(part):
        return
    way: list[Splice] = []
    new_items = list(part.texts)
    whole = part.value.text if isinstance(part.value, Text) else ""
    shift = 0
    for value, start, end, _ in _shell_texts(part):
        old = value.text[start:end]
        fixed = repaired(old)
        if not fixed.problems or fixed.text == old or (part.is_list and _kinds(fixed.problems) - _CHARACTERS):
            continue
        way += replaced_text(value, start, end, fixed.text, None)
        if part.is_list:
            index = next(i for i, word in enumerate(part.words) if word.value is value)
            new_items[index] = fixed.text
        else:
            whole = whole[: start + shift] + fixed.text + whole[end + shift :]
            shift += len(fixed.text) - len(old)
    if not part.is_list:
        try:
            new_items = [word.text for word in shellwords.split(whole).words]
        except shellwords.SplitError:
            return
    yield Repair(part.key, way, tuple(new_items))


def _kinds(problems: tuple[Problem, ...]) -> set[str]:
    return {problem.id for problem in problems}
