"""YAML scalars of every style: where each character stands in the file, and how new text is written there."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from sgdoctor.launch.compose.layers import Layer, Place
from sgdoctor.launch.compose.lines import CannotSpliceError, newline_of
from sgdoctor.launch.compose.syntax import Scalar

_FOLD: Final = re.compile(r"[ \t]*(?P<breaks>(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*)[ \t]*")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_CONTINUATION: Final = re.compile(r"\\[ \t]*(?:\r\n|\r|\n)(?:[ \t]*(?:\r\n|\r|\n))*[ \t]*")
_ESCAPE: Final = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[^\r\n])")
_BLOCK_HEADER: Final = re.compile(r"[|>][0-9+-]*[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|$)")
# YAML 1.2, "Escaped Characters".
_ESCAPED: Final = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "\\": "\\", "/": "/", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_WRITTEN: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
# What a plain scalar may not begin with, or be, so that YAML 1.1 and 1.2 readers both take it for this very text.
_INDICATOR: Final = re.compile(r"[-?:](?:\s|$)|[,\[\]{}#&*!|>'\"%@`]|\s|---|\.\.\.|=$|<<$")
_OTHER_TYPE: Final = re.compile(
    r"(?i:~|null|true|false|yes|no|on|off|y|n)|[-+]?\.?[0-9][0-9_a-fA-FxXoOeE.+:-]*|[-+]?\.(?:inf|nan)(?i:)",
)


class _Unit(NamedTuple):
    """Some characters of the value that stand for ``start`` to ``end`` of the file."""

    text: str
    start: int
    end: int


@lru_cache(maxsize=64)
def layer_of(scalar: Scalar, text: str, *, in_flow: bool = False, style: str | None = None) -> Layer | None:
    """The value of ``scalar`` above the text of its file; None if its places cannot be told with certainty.

    Args:
        scalar: a node of the file.
        text: of the file.
        in_flow: whether the scalar stands inside of brackets.
        style: in which new text is to be written, if it is to be another one than that of the scalar.
    """
    read = next((one for one in _readings(scalar, text) if "".join(u.text for u in one[1]) == scalar.value), None)
    if read is None:
        return None
    indent, units = read
    places = [Place(unit.start, unit.end) for unit in units for _ in unit.text]
    inner_end = {"'": scalar.end - 1, '"': scalar.end - 1, "": scalar.end}.get(scalar.style)
    at_end = (places[-1].end if places else scalar.end) if inner_end is None else inner_end

    kept = scalar.style if style is None else style
    line_break = newline_of(text) + " " * indent

    def encoded(new: str, at: int) -> str:
        return _encoded(new, kept, first=at == 0, in_flow=in_flow).replace("\n", line_break)

    return Layer(scalar.value, places, at_end, encoded)


def is_safe_plain(value: str, *, in_flow: bool = False) -> bool:
    """Whether ``value`` is read as this text when it is written without quotes."""
    if not value or _INDICATOR.match(value) or value[-1:].isspace() or _OTHER_TYPE.fullmatch(value):
        return False
    if in_flow and value[0] in "?:":
        return False
    return _is_safe_inside(value, in_flow=in_flow) and not value.endswith(":")


def written(value: str, *, like: str, in_flow: bool) -> str:
    """``value`` as a scalar of its own, in the style ``like`` (of :class:`Scalar`) where that is possible."""
    if like == "" and is_safe_plain(value, in_flow=in_flow):
        return value
    easier = any(char in value for char in '"\\') and "'" not in value
    if (like == "'" or easier) and not _CONTROL.search(value) and not any(char in value for char in "\n\t"):
        return "'" + value.replace("'", "''") + "'"
    return '"' + _double_quoted(value) + '"'


def _is_safe_inside(value: str, *, in_flow: bool) -> bool:
    if _CONTROL.search(value) or any(char in value for char in "\n\t"):
        return False
    if ": " in value or " #" in value:
        return False
    return not (in_flow and re.search(r"[,?\[\]{}]|:$", value))


def _encoded(new: str, style: str, *, first: bool, in_flow: bool) -> str:
    if style == '"':
        return _double_quoted(new)
    # Folding would turn a line break into something else; the caller writes those itself, in the text of the file.
    if "\n" in new and style != "|":
        raise CannotSpliceError
    if _CONTROL.search(new):
        raise CannotSpliceError
    if style == "'":
        return new.replace("'", "''")
    if style == "" and (not _is_safe_inside(new, in_flow=in_flow) or (first and new and _INDICATOR.match(new))):
        raise CannotSpliceError
    # A colon is one of YAML's if a blank comes behind it, a hash if one stands before it: both may be around here.
    if style == "" and (new.endswith(":") or new.startswith("#")):
        raise CannotSpliceError
    return new


def _double_quoted(value: str) -> str:
    parts = []
    for char in value:
        if char in _WRITTEN:
            parts.append(_WRITTEN[char])
        elif _CONTROL.match(char):
            parts.append(f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")
        else:
            parts.append(char)
    return "".join(parts)


def _readings(scalar: Scalar, text: str) -> Iterator[tuple[int, list[_Unit]]]:
    """Indentation of block scalars, and the value."""
    if scalar.style in ("|", ">"):
        yield from _block_readings(scalar, text)
    elif scalar.style:
        yield 0, list(_flow_units(text, scalar.start + 1, scalar.end - 1, scalar.style))
    else:
        yield 0, list(_flow_units(text, scalar.start, scalar.end, ""))


def _flow_units(text: str, start: int, end: int, style: str) -> Iterator[_Unit]:
    """Plain and quoted scalars: a line break is a blank, n of them are n - 1 line breaks."""
    at = start
    while at < end:
        char = text[at]
        if char in " \t\r\n" and (fold := _FOLD.match(text, at, end)):
            breaks = len(_BREAK.findall(fold["breaks"]))
            yield _Unit("\n" * (breaks - 1) or " ", at, fold.end())
            at = fold.end()
        elif style == '"' and (continued := _CONTINUATION.match(text, at, end)):
            breaks = len(_BREAK.findall(continued[0]))
            if breaks > 1:
                yield _Unit("\n" * (breaks - 1), at, continued.end())
            at = continued.end()
        elif style == '"' and (escape := _ESCAPE.match(text, at, end)):
            code = escape[0][1:]
            value = _ESCAPED.get(code) or (chr(int(code[1:], 16)) if len(code) > 1 else code)
            yield _Unit(value, at, escape.end())
            at = escape.end()
        elif style == "'" and char == "'":
            yield _Unit("'", at, at + 2)
            at += 2
        else:
            yield _Unit(char, at, at + 1)
            at += 1


def _block_readings(scalar: Scalar, text: str) -> Iterator[tuple[int, list[_Unit]]]:
    """A block scalar with each indentation that it may have: the header may give one relative to an unknown parent."""
    header = _BLOCK_HEADER.match(text, scalar.start)
    if header is None:
        return
    lines = list(_lines(text, header.end(), scalar.end))
    filled = [(start, end) for start, end, _ in lines if text[start:end].strip(" ")]
    widest = min((end - start - len(text[start:end].lstrip(" ")) for start, end in filled), default=1)
    for indent in range(widest, 0, -1):
        units = _block_units(lines, text, indent, folded=scalar.style == ">")
        value = "".join(unit.text for unit in units)
        # The chomping indicator only decides how many line breaks stay at the end.
        while len(value) > len(scalar.value) and value.endswith("\n"):
            last = units.pop()
            value = value[: -len(last.text)]
        yield indent, units


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and end with line break of every line."""
    while start < end:
        found = _BREAK.search(text, start, end)
        if found is None:
            yield start, end, end
            return
        yield start, found.start(), found.end()
        start = found.end()


def _block_units(lines: list[tuple[int, int, int]], text: str, indent: int, *, folded: bool) -> list[_Unit]:
    units: list[_Unit] = []
    breaks: list[tuple[int, int]] = []
    more_indented = True  # Line breaks before the first line are kept.
    for start, end, with_break in lines:
        begin = min(start + indent, end)
        content = text[begin:end]
        if content:
            deeper = content[0] in " \t"
            if breaks:
                first, last = breaks[0][0], begin
                if not folded or deeper or more_indented or not units:
                    units += [_Unit("\n", at, behind) for at, behind in breaks]
                else:
                    units.append(_Unit("\n" * (len(breaks) - 1) or " ", first, last))
            units += [_Unit(char, begin + offset, begin + offset + 1) for offset, char in enumerate(content)]
            breaks = []
            more_indented = deeper
        if with_break > end:
            breaks.append((end, with_break))
    units += [_Unit("\n", at, behind) for at, behind in breaks]
    return units
