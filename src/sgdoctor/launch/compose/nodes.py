"""Lists and mappings of a YAML file: entries added, replaced and taken out as splices of its text."""

import re
from collections.abc import Sequence as SequenceABC
from itertools import pairwise
from typing import Final

from sgdoctor.launch.compose.lines import CannotSpliceError, line_start, newline_of, next_line
from sgdoctor.launch.compose.scalars import written
from sgdoctor.launch.compose.syntax import Alias, Mapping, Node, Scalar, Sequence, own_pair, resolved, text_end
from sgdoctor.launch.shell import Splice

_DASH: Final = re.compile(r"[ \t]*-[ \t]+")
TAB: Final = "\t"
_BLANK: Final = re.compile(r"[ \t]*")
_COMMA: Final = re.compile(r"[ \t]*,?[ \t]*\r?\n")
# A new key goes behind one of these if it stands on one line: there people look for it.
_BEHIND: Final = ("image", "container_name", "restart")


def is_in_flow(root: Node, node: Node) -> bool:
    """Whether ``node`` stands inside of brackets."""
    return _flow_of(root, node, inside=False) or False


def _flow_of(at: Node, node: Node, *, inside: bool) -> bool | None:
    if at is node:
        return inside
    children: SequenceABC[Node] = ()
    if isinstance(at, Sequence):
        children = at.items
    elif isinstance(at, Mapping):
        children = [value for _, value in at.pairs]
    inside = inside or (isinstance(at, Sequence | Mapping) and at.flow)
    return next((found for one in children if (found := _flow_of(one, node, inside=inside)) is not None), None)


def style_of(node: Node | None) -> str:
    """The style of a scalar on one line; plain for anything else."""
    found = resolved(node) if node is not None else None
    return found.style if isinstance(found, Scalar) and found.style in ("'", '"') else ""


def items_added(text: str, node: Sequence, index: int, items: SequenceABC[str]) -> Splice:
    """Items, as YAML, put before the one that has ``index`` now.

    Raises:
        CannotSpliceError: the list is written in a way that has no place for them.
    """
    if node.flow:
        return _flow_items(text, node, index, items)
    if not node.items:
        raise CannotSpliceError
    neighbour = node.items[index - 1] if index else node.items[0]
    start = line_start(text, neighbour.start)
    prefix = _DASH.match(text, start)
    if prefix is None or prefix.end() > neighbour.start:
        raise CannotSpliceError
    lines = [prefix[0] + item for item in items]
    return _lines_added(text, next_line(text, text_end(neighbour, text)) if index else start, lines)


def _flow_items(text: str, node: Sequence, index: int, items: SequenceABC[str]) -> Splice:
    if not node.items:
        return Splice(node.start + 1, node.start + 1, ", ".join(items))
    if index == 0:
        at = _written_start(text, node.items[0])
        return Splice(at, at, "".join(f"{item}, " for item in items))
    before = node.items[index - 1]
    at = before.end
    gap = " "
    own_line = line_start(text, before.start)
    if _BLANK.fullmatch(text, own_line, before.start) and own_line > node.start:
        # One item on each line.
        gap = newline_of(text) + text[own_line : before.start]
    return Splice(at, at, "".join(f",{gap}{item}" for item in items))


def items_removed(text: str, node: Sequence, start: int, end: int) -> list[Splice]:
    """The items from ``start`` to ``end`` taken out; they must not be all.

    Raises:
        CannotSpliceError: a comment stands between them.
    """
    if not node.flow:
        taken = node.items[start:end]
        return [_lines_removed(text, _written_start(text, item), text_end(item, text)) for item in taken]
    first, last = _written_start(text, node.items[start]), node.items[end - 1].end
    own_lines = not text[line_start(text, first) : first].strip() and _COMMA.match(text, last)
    if start and own_lines:
        return [Splice(line_start(text, first), own_lines.end(), "")]
    spans = []
    if start:
        spans.append((node.items[start - 1].end, node.items[end - 1].end))
    if end < len(node.items):
        spans.append((_written_start(text, node.items[start]), _written_start(text, node.items[end])))
    for first, last in spans:
        between = [(one.end, _written_start(text, other)) for one, other in pairwise(node.items)]
        if not any("#" in text[a:b] for a, b in between if a >= first and b <= last):
            return [Splice(first, last, "")]
    raise CannotSpliceError


def pair_added(text: str, node: Mapping, key: str, value: str) -> Splice:
    """An entry, as YAML, put at the end of a mapping.

    Raises:
        CannotSpliceError: the mapping is written in a way that has no place for it.
    """
    if node.flow:
        at = node.pairs[-1][1].end if node.pairs else node.start + 1
        return Splice(at, at, f"{', ' if node.pairs else ''}{key}: {value}")
    if not node.pairs:
        raise CannotSpliceError
    indent = _indent(text, node.pairs[-1][0])
    return _lines_added(text, next_line(text, text_end(node.pairs[-1][1], text)), [f"{indent}{key}: {value}"])


def pair_removed(text: str, node: Mapping, key: str) -> Splice:
    """An entry taken out of a mapping.

    Raises:
        CannotSpliceError: it is not written there.
    """
    index = next((at for at, pair in enumerate(node.pairs) if pair[0].value == key), None)
    if index is None:
        raise CannotSpliceError
    name, value = node.pairs[index]
    if node.flow:
        if index + 1 < len(node.pairs):
            return Splice(name.start, node.pairs[index + 1][0].start, "")
        return Splice(node.pairs[index - 1][1].end if index else node.start + 1, value.end, "")
    return _lines_removed(text, name.start, text_end(value, text))


def field_added(text: str, node: Mapping, key: str, block: SequenceABC[str], flow: str) -> Splice:
    """A new key of a service, near its image.

    Args:
        text: of the file.
        node: the service.
        key: the new one.
        block: the lines of the value below the key, with a tab for each level; a single one that begins with a blank
            stands beside the key.
        flow: the value in brackets, for services that are written so.

    Raises:
        CannotSpliceError: the service is written in a way that has no place for it.
    """
    if node.flow or not node.pairs:
        return pair_added(text, node, key, flow)
    indent = _indent(text, node.pairs[0][0])
    if len(block) == 1 and block[0].startswith(" "):
        lines = [f"{indent}{key}:{block[0]}"]
    else:
        step = _step(text, node)
        lines = [f"{indent}{key}:", *(f"{indent}{step}{line.replace(TAB, step)}" for line in block)]
    return _lines_added(text, _place_for_key(text, node), lines)


def alias_replaced(text: str, node: Mapping, key: str, block: SequenceABC[str]) -> Splice:
    """The alias that is the value of ``key`` gives way to lines of its own.

    Raises:
        CannotSpliceError: there is no alias, or no place for lines.
    """
    pair = own_pair(node, key)
    if pair is None or not isinstance(pair[1], Alias) or node.flow:
        raise CannotSpliceError
    indent, line_break = _indent(text, pair[0]) + _step(text, node), newline_of(text)
    colon = text.index(":", pair[0].end) + 1
    return Splice(colon, pair[1].end, "".join(f"{line_break}{indent}{line}" for line in block))


def _place_for_key(text: str, node: Mapping) -> int:
    short = [
        (key, value)
        for key, value in node.pairs
        if isinstance(value, Scalar | Alias) and "\n" not in text[key.start : text_end(value, text)]
    ]
    for name in _BEHIND:
        for key, value in short:
            if key.value == name:
                return next_line(text, max(key.end, value.end))
    if short:
        key, value = short[0]
        return next_line(text, max(key.end, value.end))
    return line_start(text, node.pairs[0][0].start)


def _step(text: str, node: Mapping) -> str:
    """How much deeper the lists and mappings of this mapping stand."""
    own = len(_indent(text, node.pairs[0][0]))
    for _, value in node.pairs:
        if isinstance(value, Mapping | Sequence) and not value.flow:
            start = line_start(text, value.start)
            blanks = _BLANK.match(text, start)
            if blanks and start > node.start:
                return " " * (blanks.end() - start - own)
    return "  "


def replaced(node: Scalar, value: str, *, in_flow: bool) -> Splice:
    """Another text in the place of a scalar, in its style where that is possible.

    Raises:
        CannotSpliceError: it is a block of lines.
    """
    if node.style in ("|", ">"):
        raise CannotSpliceError
    return Splice(node.start, node.end, written(value, like=node.style, in_flow=in_flow))


def own_value(node: Mapping, key: str) -> Node | None:
    """What is written for ``key`` in this very mapping."""
    pair = own_pair(node, key)
    return pair[1] if pair else None


def _written_start(text: str, node: Node) -> int:
    """Where a node begins, anchor and tag included."""
    start = node.start
    for mark in (node.tag, node.anchor and f"&{node.anchor}"):
        if mark and (found := text.rfind(mark if mark[0] in "&!" else "!", 0, node.start)) >= 0:
            start = min(start, found)
    return start


def _indent(text: str, key: Scalar) -> str:
    start = line_start(text, key.start)
    if not _BLANK.fullmatch(text, start, key.start):
        raise CannotSpliceError
    return text[start : key.start]


def _lines_added(text: str, at: int, lines: SequenceABC[str]) -> Splice:
    line_break = newline_of(text)
    joined = line_break.join(lines)
    if at and text[at - 1] != "\n":
        # The last line of the file has no line break, and gets none.
        return Splice(at, at, line_break + joined)
    return Splice(at, at, joined + line_break)


def _lines_removed(text: str, start: int, end: int) -> Splice:
    first, behind = line_start(text, start), next_line(text, end)
    if behind == len(text) and not text.endswith("\n") and first:
        first -= 2 if text[first - 2 : first] == "\r\n" else 1
    return Splice(first, behind, "")
