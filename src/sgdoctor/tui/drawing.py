"""Lines of styled text for panes: wrapped also where Chinese is, measured in cells, never interpreted as markup."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from sgdoctor.patterns import lazy_pattern
from sgdoctor.report.safe import printable

MUTED: Final = "$muted"
FAINT: Final = "$faint"
STRONG: Final = "bold"
CODE: Final = "$secondary"
GOOD: Final = "$success"
BAD: Final = "$error"
ODD: Final = "$warning"
BUSY: Final = "$primary"

BLANK: Final = Content("")

# A word, a Chinese character with what must not begin a line behind it, or white space.
_PIECES: Final = lazy_pattern(r"\s+|[（《“‘「]*(?:[^\s\u2e80-\uffef]+|[\u2e80-\uffef])[，。、；：！？）》”’」…％]*")


def plain(text: str, style: str = "") -> Content:
    """Text of others: on one line, without escapes, and never markup."""
    return styled(printable(text), style)


def styled(text: str, style: str = "") -> Content:
    """Text with one style, never markup."""
    return Content.styled(text, style) if style else Content(text)


def prose(text: str, style: str = "") -> Content:
    """Text of a rule; engine texts between backticks are coloured."""
    text = printable(text)
    if text.count("`") % 2:
        return styled(text, style)
    parts = [
        (part, f"{CODE} {style}".strip() if index % 2 else style) for index, part in enumerate(text.split("`")) if part
    ]
    return Content.assemble(*parts)


def wrap(content: Content, width: int, *, first: Content = BLANK, indent: int | None = None) -> list[Content]:
    """Content as lines.

    Args:
        content: of any length, on one line.
        width: cells of a line.
        first: stands in front of the first line.
        indent: cells in front of the other lines; as wide as ``first`` where None.

    Returns:
        At least one line; none is wider than ``width`` unless that is less than four cells wider than the indent.
    """
    lead = first.cell_length if indent is None else indent
    text = content.plain
    cuts: list[int] = []
    room, used = width - first.cell_length, 0
    at = 0
    for match in _PIECES.finditer(text):
        piece = match[0]
        size = cell_len(piece)
        if used + size > room and not piece.isspace():
            if used:
                cuts.append(match.start())
                room, used = max(4, width - lead), 0
            at = match.start()
            while size > room:
                taken = _fitting(text[at : match.end()], room)
                at += taken
                cuts.append(at)
                size = cell_len(text[at : match.end()])
                room = max(4, width - lead)
        used += size
    lines = content.divide(cuts) if cuts else [content]
    blank = Content(" " * lead)
    return [(blank if index else first) + line.rstrip() for index, line in enumerate(lines)]


def _fitting(text: str, room: int) -> int:
    """How many characters, at least one, fit into ``room`` cells."""
    used = 0
    for index, character in enumerate(text):
        used += cell_len(character)
        if used > room:
            return max(1, index)
    return len(text)


def cut(content: Content, width: int) -> Content:
    """Content on one line of at most ``width`` cells."""
    return content if content.cell_length <= width else content.truncate(max(0, width), ellipsis=True)


def shortened(lines: list[Content], rows: int, width: int) -> list[Content]:
    """The first ``rows`` lines; the last of them ends with an ellipsis if there are more."""
    if len(lines) <= rows:
        return lines
    last = lines[rows - 1]
    last = last if last.cell_length < width else last.truncate(max(0, width - 1))
    return [*lines[: rows - 1], last + Content("…")]


def column(text: str, width: int, *, right: bool = False) -> str:
    """Text in exactly ``width`` cells."""
    if cell_len(text) > width:
        return set_cell_size(text, max(0, width - 1)) + "…" if width else ""
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def spread(left: Content, right: Content, width: int) -> Content:
    """Two texts at the ends of a line; the left one is cut where they do not fit."""
    gap = width - left.cell_length - right.cell_length
    if gap >= 1:
        return left + Content(" " * gap) + right
    room = width - right.cell_length - 1
    if room < 1:
        return cut(left, width)
    left = cut(left, room)
    return left + Content(" " * (width - left.cell_length - right.cell_length)) + right


def bar(share: float, width: int, style: str, *, rest: str = FAINT) -> Content:
    """A thin bar, for progress: ``━━━━╸────``."""
    share = min(1.0, max(0.0, share))
    halves = round(share * width * 2)
    full, half = divmod(halves, 2)
    return Content.assemble(("━" * full + "╸" * half, style), ("─" * (width - full - half), rest))


def blocks(parts: Sequence[tuple[float, str]], total: float, width: int, *, rest: str = FAINT) -> Content:
    """A solid bar of several parts next to one another.

    Args:
        parts: size and style of each.
        total: size of the whole bar.
        width: in cells.
        rest: style of what is left.
    """
    if total <= 0:
        return Content.styled("░" * width, rest)
    pieces: list[tuple[str, str]] = []
    end = 0
    reached = 0.0
    for size, style in parts:
        reached += max(0.0, size)
        stop = min(width, round(reached / total * width))
        if stop > end:
            pieces.append(("█" * (stop - end), style))
            end = stop
    pieces.append(("░" * (width - end), rest))
    return Content.assemble(*(piece for piece in pieces if piece[0]))


_LEVELS: Final = "▁▂▃▄▅▆▇█"


def spark(values: Sequence[float], width: int, style: str, *, top: float | None = None) -> Content:
    """The newest ``width`` values as columns of one row."""
    shown = list(values)[-width:]
    most = max(top or 0.0, *shown, 1e-9) if shown else 1.0
    text = "".join(_LEVELS[min(7, int(max(0.0, value) / most * 7.999))] for value in shown)
    return Content.assemble((" " * (width - len(text)), ""), (text, style))


def clock(seconds: float) -> str:
    """Seconds as on a stop watch: ``0:47``, ``12:05``, ``1:02:03``."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def took(seconds: float) -> str:
    """As ``clock``, with tenths below ten seconds: ``0.4 s``."""
    return clock(seconds) if seconds >= 9.95 else f"{seconds:.1f} s"
