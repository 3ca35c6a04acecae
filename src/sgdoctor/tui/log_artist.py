"""One row of the log as a strip: gutter, text, colours."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sgdoctor.report.safe import GLYPHS
from sgdoctor.rules.model import Severity
from sgdoctor.tui.log_cells import Cells, Piece
from sgdoctor.watching.model import LineKind, LineMark

PREFIX: Final = "log-view--"
_KINDS: Final[Mapping[LineKind, str]] = {
    LineKind.PLAIN: "plain",
    LineKind.ENGINE: "engine",
    LineKind.ERROR: "error",
    LineKind.TRACEBACK: "traceback",
    LineKind.TRACEBACK_HEAD: "error",
    LineKind.PROGRESS: "progress",
    LineKind.DATA: "data",
    LineKind.BENIGN: "benign",
    LineKind.PHASE: "phase",
    LineKind.BORDER: "border",
    LineKind.ADDED: "added",
}
_SEVERITIES: Final[Mapping[Severity, tuple[str, str]]] = {
    Severity.FATAL: (GLYPHS.failed, "error"),
    Severity.ERROR: (GLYPHS.failed, "error"),
    Severity.DEGRADED: (GLYPHS.warned, "warning"),
    Severity.NOTICE: (GLYPHS.dot, "notice"),
    Severity.BENIGN: (GLYPHS.fine, "benign"),
}
_OVERLAYS: Final = ("cursor", "selected", "flash", "number", "match", "rule")
COMPONENTS: Final = frozenset(
    PREFIX + name for name in (*_KINDS.values(), *(name for _, name in _SEVERITIES.values()), *_OVERLAYS)
)

COLOURS: Final = """
& > .log-view--number { color: $foreground 45%; }
& > .log-view--plain { color: $foreground 85%; }
& > .log-view--engine { color: $foreground; }
& > .log-view--error { color: $text-error; }
& > .log-view--traceback { color: $text-error 75%; }
& > .log-view--warning { color: $text-warning; }
& > .log-view--notice { color: $text-accent; }
& > .log-view--benign { color: $foreground 55%; }
& > .log-view--progress { color: $text-primary; }
& > .log-view--data { color: $foreground 55%; }
& > .log-view--phase { color: $text-success; text-style: bold; }
& > .log-view--border { color: $text-primary; text-style: bold; }
& > .log-view--added { color: $text-warning; text-style: italic; }
& > .log-view--rule { text-style: reverse; }
& > .log-view--match { background: $warning 40%; text-style: underline; }
& > .log-view--cursor { background: $foreground 8%; }
& > .log-view--selected { background: $primary 30%; }
& > .log-view--flash { text-style: reverse; }
&:focus > .log-view--cursor { background: $primary 25%; }
&:ansi {
    & > .log-view--number { color: ansi_default; text-style: dim; }
    & > .log-view--plain, & > .log-view--engine { color: ansi_default; }
    & > .log-view--benign, & > .log-view--data { color: ansi_default; text-style: dim; }
    & > .log-view--traceback { color: $text-error; }
    & > .log-view--match { background: ansi_default; text-style: reverse underline; }
    & > .log-view--cursor, &:focus > .log-view--cursor { background: ansi_default; text-style: bold; }
    & > .log-view--selected { background: ansi_default; text-style: reverse; }
}
"""
"""Rules for the component classes, to stand inside those of the widget."""


class Row(NamedTuple):
    """One row to be drawn.

    Attributes:
        number: of its line.
        mark: what is known about the line.
        rule: the mark whose rule is shown; of a folded traceback that of one of its lines.
        cells: the whole line.
        piece: what of it is in this row.
        spans: indices of characters that match the search.
        first: whether it is the line's first row.
        more: whether the line goes on behind the right edge.
        chip: what stands at the right edge: the id of a rule, or nothing.
        states: ``cursor``, ``selected``, ``flash``: whatever holds.
    """

    number: int
    mark: LineMark
    rule: LineMark
    cells: Cells
    piece: Piece
    spans: Sequence[tuple[int, int]]
    first: bool
    more: bool
    chip: str
    states: tuple[str, ...]


def gutter_width(digits: int) -> int:
    """Cells in front of the text: pointer, mark, number, a blank."""
    return digits + 3


def chip_of(mark: LineMark) -> str:
    """What stands at the right edge of a line: the id of its rule, if that names something wrong."""
    return f" {mark.rule} " if mark.rule and mark.severity is not None and mark.severity.is_diagnosis else ""


def draw(row: Row, width: int, digits: int, style: Callable[..., Style]) -> Strip:
    """A row as a strip of exactly ``width`` cells.

    Args:
        row: what to draw.
        width: of the strip, in cells.
        digits: of the largest line number.
        style: the style of component classes, merged.
    """
    severity = _SEVERITIES.get(row.rule.severity) if row.rule.severity is not None else None
    kind = _KINDS[row.mark.kind]
    if severity and row.mark.kind is not LineKind.BORDER:
        kind = severity[1]
    states = tuple(PREFIX + state for state in row.states)
    base = style(PREFIX + kind, *states)
    faint = style(PREFIX + "number", *states)

    pointer = GLYPHS.pointer if "cursor" in row.states and row.first else " "
    segments = [
        Segment(pointer, faint),
        Segment(severity[0] if severity and row.first else " ", base),
    ]
    segments.append(Segment(f"{row.number if row.first else '':>{digits}} ", faint))

    piece = row.piece
    if piece.before:
        segments.append(Segment(" " * piece.before, base))
    text = row.cells.text
    at = piece.start
    matched = style(PREFIX + kind, *states, PREFIX + "match") if row.spans else base
    for low, high in row.spans:
        low, high = max(low, at), min(high, piece.stop)  # noqa: PLW2901 - clipped to what is seen
        if low >= high:
            continue
        if low > at:
            segments.append(Segment(text[at:low], base))
        segments.append(Segment(text[low:high], matched))
        at = high
    if at < piece.stop:
        segments.append(Segment(text[at : piece.stop], base))
    rest = width - gutter_width(digits) - piece.before - piece.cells - len(row.chip)
    if row.more:
        segments.append(Segment(" " * (rest - 1) + GLYPHS.cut, base))
    elif row.mark.kind is LineKind.BORDER:
        segments.append(Segment(" " + "─" * (rest - 1), base))
    else:
        segments.append(Segment(" " * rest, base))
    if row.chip:
        segments.append(Segment(row.chip, style(PREFIX + kind, PREFIX + "rule", *states)))
    return Strip(segments).adjust_cell_length(width, base)
