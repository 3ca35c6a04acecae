"""What one edit changed of a text, made in a text that was edited by somebody else as well."""

from difflib import SequenceMatcher
from typing import Final, TypeAlias

_SAME: Final = "equal"
_Edit: TypeAlias = tuple[int, int, tuple[str, ...]]


def merged(base: str, ours: str, theirs: str) -> str | None:
    """``theirs`` with what ``ours`` changed of ``base``; None where both changed the same lines or adjacent ones."""
    if theirs in (base, ours):
        return ours
    lines = base.splitlines(keepends=True)
    mine, others = _edits(lines, ours), _edits(lines, theirs)
    for start, end, new in mine:
        for begin, stop, text in others:
            if start <= stop and begin <= end and (start, end, new) != (begin, stop, text):
                return None
    for start, end, new in sorted({*mine, *others}, reverse=True):
        lines[start:end] = new
    return "".join(lines)


def _edits(lines: list[str], text: str) -> list[_Edit]:
    """Which lines became which."""
    other = text.splitlines(keepends=True)
    found = SequenceMatcher(None, lines, other, autojunk=False).get_opcodes()
    return [(start, end, tuple(other[at:to])) for kind, start, end, at, to in found if kind != _SAME]
