"""Reads ``server_args=ServerArgs(...)`` (or, in late versions, ``server_args={...}``) without evaluating it."""

import ast
import re
from typing import Any, Final

from sgdoctor.patterns import lazy_pattern

# Every form begins with one of these. 0.5.23 logs the resolved arguments as a dict (srt/entrypoints/engine.py).
HEADS: Final = ("server_args=ServerArgs(", "server_args={")

_ITEM: Final = lazy_pattern(
    r"""(?:(?P<name>[A-Za-z_]\w*)=|'(?P<key>[A-Za-z_]\w*)':[ ])
        (?:'(?P<plain>[^'\\]*)'|(?P<bare>[\w.+-]+))?
        (?=(?P<end>,[ ]|[)}]\s*$)|)""",
    re.VERBOSE,
)
_SECRET: Final = lazy_pattern(
    r"(?:^|_)(?:api_key|password|passwd|secret|access_token|auth_token|hf_token|watermark_key\w*)$"
)
MASK: Final = "***"

_CONSTANTS: Final[dict[str, Any]] = {"None": None, "True": True, "False": False}
_OPENING: Final = "([{"
_CLOSING: Final = ")]}"
_EVALUABLE: Final = 4000
"""Longest list or dict that is read as a value; longer ones stay text."""


def is_server_args(text: str) -> bool:
    """Whether a line is the engine's own listing of its arguments (not one quoted inside something)."""
    return text.startswith(HEADS)


def read_server_args(text: str) -> dict[str, Any]:
    """Field names and values of a ``server_args=`` line.

    Strings, numbers, bools, None, lists, tuples and dicts of these become values; objects such as
    ``CudaGraphConfig(...)`` stay text. Secrets become ``***``. A last value that was cut off is left out.
    """
    head = next((head for head in HEADS if text.startswith(head)), None)
    if head is None:
        return {}
    fields: dict[str, Any] = {}
    at = len(head)
    while item := _ITEM.match(text, at):
        name = item["name"] or item["key"]
        if item["end"] is not None and (item["plain"] is not None or item["bare"] is not None):
            at = item.end()
            value = item["plain"] if item["plain"] is not None else _bare(item["bare"])
        else:
            start = item.end("name") + 1 if item["name"] else item.end("key") + 3
            stop = _end_of_value(text, start)
            if stop is None:
                break
            at = stop
            value = _value(text[start:stop])
        fields[name] = MASK if _SECRET.search(name) and value not in (None, "") else value
        if not text.startswith(", ", at):
            break
        at += 2
    return fields


def _bare(token: str) -> Any:
    """A word without quotes: a constant, a number, or itself."""
    if token in _CONSTANTS:
        return _CONSTANTS[token]
    for number in (int, float):
        try:
            return number(token)
        except ValueError:
            continue
    return token


def _end_of_value(text: str, start: int) -> int | None:
    """Where the value that begins at ``start`` ends (a comma or bracket of the level above); None if it was cut off."""
    depth = 0
    quote = ""
    at = start
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            if depth == 0:
                return at
            depth -= 1
        elif char == "," and depth == 0:
            return at
        at += 1
    return None


def _value(source: str) -> Any:
    """The value that ``source`` spells; ``source`` itself for objects and for what is no literal."""
    if source[:1] in "[({'\"" and source and len(source) <= _EVALUABLE:
        try:
            return ast.literal_eval(source)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return source
    return _bare(source)
