"""Where the panes stand: a pure function of the size of the screen and of how the server is."""

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from sgdoctor.config import PANES


class Shape(StrEnum):
    """How much room there is."""

    TINY = "tiny"
    """Too small for anything but the verdict and a bit of one pane."""
    SINGLE = "single"
    """One pane at a time, chosen by its key."""
    WHOLE = "whole"
    """All panes in two rows."""
    WIDE = "wide"
    """All panes in three columns."""


class Box(NamedTuple):
    """A place on the screen, in cells."""

    x: int
    y: int
    width: int
    height: int


_WHOLE: Final = (100, 28)
_WIDE: Final = (160, 34)
_TINY: Final = (40, 12)
_GPU_WIDTH: Final = (42, 54)
_STARTUP_ROWS: Final = 15
_LEAST_ROWS: Final = 6
_LOG_ROWS: Final = 11

_Wanted = Sequence[tuple[int, Sequence[str]]]
"""Columns: their width, and the names of the panes in them from top to bottom."""


def shape_of(width: int, height: int) -> Shape:
    """The shape for a terminal of this size."""
    if width < _TINY[0] or height < _TINY[1]:
        return Shape.TINY
    if width < _WHOLE[0] or height < _WHOLE[1]:
        return Shape.SINGLE
    return Shape.WIDE if width >= _WIDE[0] and height >= _WIDE[1] else Shape.WHOLE


def arrange(
    shape: Shape,
    width: int,
    height: int,
    *,
    shown: Collection[str],
    active: str,
    trouble: bool,
    rows: Callable[[int], int],
) -> Mapping[str, Box]:
    """The places of the panes that can be seen.

    Args:
        shape: of the terminal.
        width: of the room for panes, in cells.
        height: of it.
        shown: names of the panes that the user wants.
        active: name of the pane that has the keyboard.
        trouble: whether something is wrong: the diagnosis gets the room.
        rows: how many rows the start-up pane would like, by its width.

    Returns:
        Boxes that fill the room and do not overlap, by the names of panes.
    """
    names = [name for name in PANES if name in shown]
    if width <= 0 or height <= 0:
        return {}
    if shape in (Shape.TINY, Shape.SINGLE) or len(names) < 2:
        return {active if active in names else names[0]: Box(0, 0, width, height)}

    def startup_rows(room: int) -> int:
        return max(_LEAST_ROWS, min(rows(room), _STARTUP_ROWS, height // 2))

    if shape is Shape.WIDE:
        side = min(_GPU_WIDTH[1], width // 4)
        left = min(96, (width - side) * (48 if trouble else 44) // 100)
        whole = ((left, ("startup", "diagnosis")), (width - left - side, ("log",)), (side, ("gpu",)))
        return _columns(whole, names, Box(0, 0, width, height), startup_rows)
    side = max(_GPU_WIDTH[0], width * 3 // 8)
    upper: _Wanted
    lower: _Wanted
    if trouble:
        top = max(height * 3 // 5, height - _LOG_ROWS)
        upper = ((width - side, ("diagnosis",)), (side, ("startup", "gpu")))
        lower = ((width, ("log",)),)
    else:
        top = min(height - 2 * _LEAST_ROWS, _STARTUP_ROWS)
        upper = ((width - side, ("startup",)), (side, ("gpu",)))
        lower = ((side, ("diagnosis",)), (width - side, ("log",)))
    if not any(name in names for _, column in upper for name in column):
        top = 0
    elif not any(name in names for _, column in lower for name in column):
        top = height
    return {
        **_columns(upper, names, Box(0, 0, width, top), startup_rows),
        **_columns(lower, names, Box(0, top, width, height - top), startup_rows),
    }


def _columns(wanted: _Wanted, names: Sequence[str], room: Box, startup_rows: Callable[[int], int]) -> Mapping[str, Box]:
    """Columns side by side, the last one that is not empty taking what is left; each is filled from top to bottom."""
    filled = [(width, [name for name in column if name in names]) for width, column in wanted]
    filled = [(width, column) for width, column in filled if column]
    boxes: dict[str, Box] = {}
    x = room.x
    for index, (width, column) in enumerate(filled):
        cells = room.x + room.width - x if index == len(filled) - 1 else width
        y = room.y
        for place, name in enumerate(column):
            left = room.y + room.height - y
            rows = left if place == len(column) - 1 else min(startup_rows(cells), room.height // 2)
            boxes[name] = Box(x, y, cells, rows)
            y += rows
        x += cells
    return boxes
