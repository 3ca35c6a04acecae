"""Lines of a log that hold a text or match an expression, found in its bytes."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from sgdoctor.logs import prefixes

_SECONDS: Final = 0.5
"""What an expression may take on one line."""

Found = Iterator[tuple[int, bytes]]


def lines_with(piece: bytes, text: bytes) -> Found:
    """Index in ``piece`` and bytes of each line that holds ``text``."""
    index = position = 0
    while (place := piece.find(text, position)) >= 0:
        index += piece.count(b"\n", position, place)
        begin = piece.rfind(b"\n", 0, place) + 1
        end = piece.find(b"\n", place)
        end = len(piece) if end < 0 else end
        yield index, piece[begin:end]
        index += 1
        position = end + 1


def with_rank(piece: bytes, rank: str, rank_of: Callable[[int, bytes], str]) -> Iterator[int]:
    """Index in ``piece`` of each line whose own rank this is.

    Args:
        piece: whole lines.
        rank: the tag of the engine, such as ``TP0``.
        rank_of: framing says it, of the line with an index and these bytes; asked where the bytes do not tell.
    """
    bracket = re.compile(prefixes.ENGINE.pattern.encode()).match
    wanted = rank.encode()
    for index, raw in lines_with(piece, wanted + b"]"):
        # Framing reads a line that begins with the bracket no other way, unless there is something to take off.
        found = bracket(raw)
        if found is None or b"\r" in raw or b"\x1b" in raw or b"\0" in raw or b"\xc2\x9b" in raw:
            if rank_of(index, raw) == rank:
                yield index
        elif (found["rank"] or found["bare"] or b"").strip() == wanted:
            yield index


def finder(pattern: str, *, regex: bool, ignore_case: bool) -> Callable[[bytes], Found]:
    """Finds lines in whole-line pieces of a log.

    Raises:
        ValueError: the pattern is no regular expression; from what is returned: it takes too long on a line.
    """
    if not regex and not ignore_case:
        return lambda piece: lines_with(piece, pattern.encode("utf-8", "surrogateescape"))
    search = _compiled(pattern, regex=regex, ignore_case=ignore_case, binary=True)
    # What a person takes for the beginning of a line stands behind the engine's bracket.
    behind_bracket = regex and "^" in pattern

    def by_lines(piece: bytes) -> Found:
        # Line by line: on the whole piece an expression could match across lines, or scan on to the end each time.
        lines = piece.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for index, raw in enumerate(lines):
            if search(raw) or (behind_bracket and search(raw.partition(b"] ")[2])):
                yield index, raw

    return by_lines


def confirmer(pattern: str, *, regex: bool, ignore_case: bool) -> Callable[[str], object]:
    """Says whether a text as it is shown holds the pattern; see ``finder`` for the errors."""
    return _compiled(pattern, regex=regex, ignore_case=ignore_case, binary=False)


def _compiled(pattern: str, *, regex: bool, ignore_case: bool, binary: bool) -> Callable[[Any], object]:
    """What looks for a pattern in one line; an expression of the user runs under a timeout.

    Raises:
        ValueError: the pattern is no regular expression, or (from what is returned) it takes too long on a line.
    """
    if not regex:
        source: str | bytes = re.escape(pattern)
        source = source.encode("utf-8", "surrogateescape") if binary and isinstance(source, str) else source
        return re.compile(source, re.IGNORECASE if ignore_case else 0).search
    import regex as engine  # noqa: PLC0415 - only who searches with an expression pays for it

    try:
        # `re` knows no timeout, but it is the dialect that people know: both have to accept the expression.
        re.compile(pattern)
        wanted = engine.compile(
            pattern.encode("utf-8", "surrogateescape") if binary else pattern, engine.IGNORECASE if ignore_case else 0
        )
    except (re.error, engine.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None

    def search(text: Any) -> object:
        try:
            return wanted.search(text, timeout=_SECONDS)
        except TimeoutError:
            raise ValueError("takes too long") from None

    return search
