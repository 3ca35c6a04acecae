"""Where lines of English and Chinese may break."""

from collections.abc import Callable
from itertools import pairwise
from typing import Final

# No line begins with these, and none ends with those.
_CLOSING: Final = frozenset("，。；：、！？）】》」』”’…％,.;:!?)]}")
_OPENING: Final = frozenset("（【《「『“‘([{")


def is_wide(character: str) -> bool:
    """Whether a character is of a script without blanks between its words."""
    return "\u2e80" <= character <= "\uffef"


def wrapped(text: str, width: int, columns: Callable[[str], int]) -> list[tuple[int, int]]:
    """The lines of a text as (start, end).

    Args:
        text: without line feeds.
        width: columns of a line.
        columns: the width of a text.

    Returns:
        At least one line. Breaks stand at blanks and between Chinese characters; only a word that is wider than a line
        is cut. Blanks at the end of a line are part of it.
    """
    lines: list[tuple[int, int]] = []
    start, used = 0, 0
    for begin, end in _pieces(text):
        wide = columns(text[begin:end].rstrip())
        if used + wide > width and text[start:begin].strip() and wide <= width:
            lines.append((start, begin))
            start, used = begin, 0
        elif used + wide > width:
            for place in range(begin, end):
                size = columns(text[place])
                if used + size > width and place > start:
                    lines.append((start, place))
                    start, used = place, 0
                used += size
            continue
        used += columns(text[begin:end])
    return [*lines, (start, len(text))]


def _pieces(text: str) -> list[tuple[int, int]]:
    """What is not to be cut, each with the blanks behind it."""
    places = [0, *(at for at in range(1, len(text)) if _may_break(text[at - 1], text[at])), len(text)]
    return list(pairwise(places)) if text else []


def _may_break(before: str, after: str) -> bool:
    if after.isspace() or before in _OPENING:
        return False
    if before.isspace():
        return True
    return (is_wide(before) or is_wide(after)) and after not in _CLOSING
