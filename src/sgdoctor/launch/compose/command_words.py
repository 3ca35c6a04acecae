"""Entrypoint and command of a service as words, and edits of words as splices of the file."""

import re
from collections.abc import Iterable
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.compose import shellwords
from sgdoctor.launch.compose.interpolation import Reference
from sgdoctor.launch.compose.layers import Layer, Place, span
from sgdoctor.launch.compose.lines import (
    CannotSpliceError,
    indentation,
    line_end,
    line_start,
    newline_of,
    next_line,
)
from sgdoctor.launch.compose.nodes import is_in_flow, items_added, items_removed, style_of
from sgdoctor.launch.compose.scalars import layer_of, written
from sgdoctor.launch.compose.syntax import Alias
from sgdoctor.launch.compose.texts import VariableError, default_given, in_single_quotes, replaced_text
from sgdoctor.launch.compose.values import Fields, Items, Text, Value
from sgdoctor.launch.flag_edits import WordEdit, is_flag
from sgdoctor.launch.shell import Splice

_NEWLINE: Final = "\n"
_LINE_BREAK: Final = re.compile(r"[ \t]*\\?\n[ \t]*")


@dataclass(frozen=True, slots=True)
class CommandWord:
    """One argument.

    Attributes:
        text: as the container gets it.
        value: the scalar that it stands in.
        shell: its place in that scalar's text where Compose splits it; None for an item of a list.
    """

    text: str
    value: Text
    shell: shellwords.Word | None

    @property
    def shown(self) -> Place:
        """Its span in the text of the scalar with variables in place."""
        return Place(self.shell.start, self.shell.end) if self.shell else Place(0, len(self.text))

    @property
    def references(self) -> list[Reference]:
        """The variables in it."""
        return self.value.interpolated.references_in(*self.shown)

    @property
    def line(self) -> int:
        """Number of the line of the file where it begins."""
        node, text = self.value.node, self.value.file.text
        layer = layer_of(node, text)
        if layer is None:
            return node.line
        at, _ = span(*self.shown, (self.value.interpolated.layer, layer))
        return text.count("\n", 0, at) + 1


@dataclass(frozen=True, slots=True)
class CommandPart:
    """What ``entrypoint`` or ``command`` says.

    Attributes:
        key: which of the two.
        value: as written; None where it is not.
        words: the arguments.
        cut_at: index, in the text of the scalar, of the operator behind which Compose drops everything.
    """

    key: str
    value: Value | None
    words: tuple[CommandWord, ...] = ()
    cut_at: int | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The values of the words."""
        return tuple(word.text for word in self.words)

    @property
    def is_list(self) -> bool:
        """Whether it is written as a list of words."""
        return isinstance(self.value, Items)


@lru_cache(maxsize=64)
def command_part(key: str, value: Value | None) -> CommandPart:
    """The words of ``entrypoint`` or ``command``.

    Raises:
        UserError: it is something that Compose refuses.
    """
    if isinstance(value, Text):
        if value.is_typed and not value.is_null:
            raise not_a_text(key, value)
        try:
            found = shellwords.split(value.text)
        except shellwords.SplitError as error:
            char = value.text[error.at]
            line = _line_of(value, error.at)
            what_en, what_zh = {
                "(": ("a bracket outside of quotes", "引号外的括号"),
                ")": ("a bracket outside of quotes", "引号外的括号"),
                "\\": ("a backslash at the end", "末尾的反斜杠"),
            }.get(char, (f"the quote {char} is not closed", f"引号 {char} 没有结束"))
            name = value.file.name
            raise UserError(
                f"{name}:{line}: {what_en} in `{key}`; Compose refuses it",
                f"{name} 第 {line} 行：`{key}` 中{what_zh}；Compose 会拒绝",
            ) from None
        return CommandPart(key, value, tuple(CommandWord(word.text, value, word) for word in found.words), found.cut_at)
    if isinstance(value, Items):
        words = []
        for item in value.items:
            if not isinstance(item, Text):
                name, line = item.file.name, item.node.line
                raise UserError(
                    f"{name}:{line}: an argument of `{key}` has to be a text; put it in quotes",
                    f"{name} 第 {line} 行：`{key}` 的参数必须是文本；请加引号",
                )
            words.append(CommandWord(item.text, item, None))
        return CommandPart(key, value, tuple(words))
    if isinstance(value, Fields):
        name, line = value.file.name, value.node.line
        raise UserError(
            f"{name}:{line}: `{key}` has to be a text or a list", f"{name} 第 {line} 行：`{key}` 应为文本或列表"
        )
    return CommandPart(key, None)


def not_a_text(key: str, value: Text) -> UserError:
    """That Compose refuses a value which YAML takes for a number or a truth value."""
    name, line, written = value.file.name, value.node.line, value.text
    return UserError(
        f"{name}:{line}: `{key}` has to be a text and {written} without quotes is none; Compose refuses it",
        f"{name} 第 {line} 行：`{key}` 应为文本，而不加引号的 {written} 不是文本；Compose 会拒绝",
    )


def script_splices(word: CommandWord, splices: Iterable[Splice]) -> list[Splice]:
    """Changes inside one word as splices of its file; raises as ``word_splices``."""
    found: list[Splice] = []
    for splice in splices:
        try:
            found += replaced_text(word.value, splice.start, splice.end, splice.text, word.shell)
        except CannotSpliceError:
            # A scalar that folds has no place for the line break with which a script would go on.
            flat = _LINE_BREAK.sub(" ", splice.text)
            found += replaced_text(word.value, splice.start, splice.end, flat, word.shell)
    return found


def word_splices(part: CommandPart, edits: SequenceABC[WordEdit]) -> list[Splice]:
    """Edits of the words of one part as splices of its file.

    Raises:
        CannotSpliceError: there is no safe place for them.
        VariableError: a word comes from a variable.
    """
    write = _list_splices if isinstance(part.value, Items) else _string_splices
    return [splice for edit in edits for splice in write(part, edit)]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of an edit in which old and new words differ.

    Attributes:
        first: index of its first word in the part of the command.
        changed: new words, each in place of an old one, from ``first`` on.
        removed: indices of the words that go, half-open, behind those; where ``added`` go in.
        added: new words beyond those.
    """

    first: int
    changed: SequenceABC[str]
    removed: tuple[int, int]
    added: SequenceABC[str]


def _pieces(part: CommandPart, edit: WordEdit) -> Iterable[_Piece]:
    old = part.texts[edit.start : edit.end]
    for tag, a, b, c, d in SequenceMatcher(None, old, edit.words, autojunk=False).get_opcodes():
        if tag != "equal":
            first, paired = edit.start + a, min(b - a, d - c)
            rest = (first + paired, edit.start + b)
            yield _Piece(first, edit.words[c : c + paired], rest, edit.words[c + paired : d])


def _list_splices(part: CommandPart, edit: WordEdit) -> list[Splice]:
    value = part.value
    assert isinstance(value, Items)
    text, node = value.file.text, value.node
    in_flow = node.flow or _in_flow(value)
    splices: list[Splice] = []
    for piece in _pieces(part, edit):
        for index, new in enumerate(piece.changed, piece.first):
            word, item = part.words[index], node.items[index]
            if isinstance(item, Alias):
                text_of_new = written(new.replace("$", "$$"), like=_style_like(part, index, new), in_flow=in_flow)
                splices.append(Splice(item.start, item.end, text_of_new))
            else:
                splices += replaced_text(word.value, 0, len(word.text), new, None)
        at, end = piece.removed
        if end > at:
            splices += items_removed(text, node, at, end)
        if piece.added:
            items = [
                written(new.replace("$", "$$"), like=_style_like(part, at, new), in_flow=in_flow) for new in piece.added
            ]
            splices.append(items_added(text, node, at, items))
    return splices


def _style_like(part: CommandPart, at: int, new: str) -> str:
    """The style of the nearest item before that is a flag as ``new`` is, or a value as it is."""
    before = [*reversed(part.words[:at]), *part.words[at:]]
    alike = [word for word in before if is_flag(word.text) == is_flag(new)] or before
    return style_of(alike[0].value.node) if alike else ""


def _string_splices(part: CommandPart, edit: WordEdit) -> list[Splice]:
    splices: list[Splice] = []
    for piece in _pieces(part, edit):
        for index, new in enumerate(piece.changed, piece.first):
            word = part.words[index]
            assert word.shell is not None
            splices += replaced_text(word.value, 0, len(word.text), new, word.shell)
        at, end = piece.removed
        if end > at:
            splices.append(_words_removed(part, at, end))
        if piece.added:
            splices += _words_added(part, at, piece.added)
    return splices


def _source(value: Text, style: str | None = None) -> tuple[Layer, Layer]:
    layer = layer_of(value.node, value.file.text, in_flow=_in_flow(value), style=style)
    if layer is None:
        raise CannotSpliceError
    return value.interpolated.layer, layer


def _in_flow(value: Value) -> bool:
    root = value.file.root
    return root is not None and is_in_flow(root, value.node)


def _places(part: CommandPart, value: Text) -> list[Place]:
    """The span of every word in the file, variables that it ends or begins in included."""
    interpolated, layer = _source(value)
    found = []
    for word in part.words:
        start, end = interpolated.span(*word.shown)
        for one in word.references:
            start, end = min(start, one.start), max(end, one.end)
        found.append(layer.span(start, end))
    return found


def _words_added(part: CommandPart, index: int, new: SequenceABC[str]) -> list[Splice]:
    """Words put before the one that has ``index`` now: each flag on a line of its own where the command has lines."""
    value = part.value
    if not isinstance(value, Text) or not part.words:
        raise CannotSpliceError
    if len(new) == 1 and (reference := _empty_variable(part, value, index)) is not None:
        return default_given(value, reference, new[0])
    places, text = _places(part, value), value.file.text
    at = places[index - 1].end if index else places[0].start
    last_line = line_start(text, places[-1].start)
    gap = " "
    if index == len(part.words) and last_line > places[0].start and new[0].startswith("-"):
        gap = newline_of(text) + indentation(text, places[-1].start)

    def joined(style: str | None) -> Splice:
        layer = _source(value, style)[1]
        words = [layer.encoded(shellwords.quoted(word).replace("$", "$$"), 1) for word in new]
        if index == 0:
            return Splice(at, at, " ".join(words) + " ")
        gaps = [gap if word.startswith("-") and len(word) > 1 else " " for word in new]
        return Splice(at, at, "".join(before + word for before, word in zip(gaps, words, strict=True)))

    try:
        return [joined(None)]
    except CannotSpliceError:
        if value.node.style:
            raise
        return in_single_quotes(value, joined("'"))


def _empty_variable(part: CommandPart, value: Text, index: int) -> Reference | None:
    """The variable, not set and without a default, that stands alone where a word is to be added."""
    start = part.words[index - 1].shown.end if index else 0
    end = part.words[index].shown.start if index < len(part.words) else len(value.text)
    between = [
        one
        for one in value.interpolated.references
        if start < one.shown.start == one.shown.end < end or start < one.shown.start == one.shown.end == len(value.text)
    ]
    return between[0] if len(between) == 1 and between[0].value is None and not between[0].has_default else None


def _words_removed(part: CommandPart, start: int, end: int) -> Splice:
    value = part.value
    assert isinstance(value, Text)
    inside = range(start, end)
    for index, word in enumerate(part.words):
        shared = [one for one in word.references if any(one in part.words[other].references for other in inside)]
        if index not in inside and shared:
            raise VariableError(shared[0])
    places, text = _places(part, value), value.file.text
    first, last = places[start].start, places[end - 1].end
    begin, behind = line_start(text, first), line_end(text, last)
    if not text[begin:first].strip() and not text[last:behind].strip():
        after = next_line(text, last)
        if after == len(text) and not text.endswith("\n"):
            return Splice(line_end(text, begin - 1) if begin else 0, behind, "")
        return Splice(begin, after, "")
    # A variable that is empty now stands between words, and stays.
    if end < len(places) and places[end].start < behind and "$" not in text[last : places[end].start]:
        return Splice(first, places[end].start, "")
    if start and "$" not in text[places[start - 1].end : first]:
        return Splice(places[start - 1].end, last, "")
    return Splice(first, last, "")


def stray_line_breaks(part: CommandPart) -> list[CommandWord]:
    """Words that have a line break at their beginning, because a backslash stands at the end of the line before."""
    if not isinstance(part.value, Text):
        return []
    return [word for word in part.words if word.text.startswith(_NEWLINE) and word.shell and _is_continued(word)]


def _is_continued(word: CommandWord) -> bool:
    assert word.shell is not None
    first = word.shell.layer.places[0]
    return word.value.text[first.start : first.end] == "\\\n"


def stray_line_breaks_removed(part: CommandPart) -> list[Splice]:
    """The backslashes at the ends of lines taken out."""
    value = part.value
    assert isinstance(value, Text)
    layers, text = _source(value), value.file.text
    splices = []
    for word in stray_line_breaks(part):
        assert word.shell is not None
        at, _ = span(*word.shell.layer.places[0], layers)
        start = at
        while text[start - 1] in " \t":
            start -= 1
        splices.append(Splice(start, at + 1, ""))
    return splices


def _line_of(value: Text, at: int) -> int:
    layer = layer_of(value.node, value.file.text)
    if layer is None:
        return value.node.line
    start, _ = span(at, at + 1, (value.interpolated.layer, layer))
    return value.file.text.count("\n", 0, start) + 1


def line_in(value: Text, at: int) -> int:
    """Number of the line of the file in which a character of a scalar's text stands."""
    return _line_of(value, at)
