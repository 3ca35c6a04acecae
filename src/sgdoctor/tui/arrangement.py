"""Where the panes stand: a pure function of the size of the screen and of how the server is."""

from collections.abc import Collection, Mapping
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


def shape_of(width: int, height: int) -> Shape:
    """The shape for a terminal of this size."""
    if width < _TINY[0] or height < _TINY[1]:
        return Shape.TINY
    if width < _WHOLE[0] or height < _WHOLE[1]:
        return Shape.SINGLE
    return Shape.WIDE if width >= _WIDE[0] and height >= _WIDE[1] else Shape.WHOLE


def arrange(
    shape: Shape, width: int, height: int, *, shown: Collection[str], active: str, trouble: bool, rows: int
) -> Mapping[str, Box]:
    """The places of the panes that can be seen.

    Args:
        shape: of the terminal.
        width: of the room for panes, in cells.
        height: of it.
        shown: names of the panes that the user wants.
        active: name of the pane that has the keyboard.
        trouble: whether something is wrong: the diagnosis gets the room.
        rows: rows that the start-up pane would like.

    Returns:
        Boxes that fill the room and do not overlap, by the names of panes.
    """
    names = [name for name in PANES if name in shown]
    if width <= 0 or height <= 0:
        return {}
    if shape in (Shape.TINY, Shape.SINGLE) or len(names) < 2:
        return {active if active in names else names[0]: Box(0, 0, width, height)}
    startup_rows = max(_LEAST_ROWS, min(rows, _STARTUP_ROWS, height // 2))
    if shape is Shape.WIDE:
        side = min(_GPU_WIDTH[1], width // 4)
        left = min(96, (width - side) * (46 if trouble else 40) // 100)
        return _columns(
            [
                (left, [name for name in ("startup", "diagnosis") if name in names]),
                (width - left - side, [name for name in ("log",) if name in names]),
                (side, [name for name in ("gpu",) if name in names]),
            ],
            width,
            height,
            startup_rows,
        )
    side = max(_GPU_WIDTH[0], width * 3 // 8)
    if trouble:
        top = max(height * 3 // 5, height - 14)
        upper = [
            (width - side, [name for name in ("diagnosis",) if name in names]),
            (side, [name for name in ("startup", "gpu") if name in names]),
        ]
        lower = [(width, [name for name in ("log",) if name in names])]
    else:
        top = max(startup_rows, min(height - 2 * _LEAST_ROWS, _STARTUP_ROWS))
        upper = [
            (width - side, [name for name in ("startup",) if name in names]),
            (side, [name for name in ("gpu",) if name in names]),
        ]
        lower = [
            (side, [name for name in ("diagnosis",) if name in names]),
            (width - side, [name for name in ("log",) if name in names]),
        ]
    if not any(column for _, column in upper):
        top = 0
    elif not any(column for _, column in lower):
        top = height
    boxes = dict(_columns(upper, width, top, startup_rows))
    boxes.update(
        {name: box._replace(y=box.y + top) for name, box in _columns(lower, width, height - top, startup_rows).items()}
    )
    return boxes


def _columns(columns: list[tuple[int, list[str]]], width: int, height: int, startup_rows: int) -> Mapping[str, Box]:
    """Columns side by side, the last one that is not empty taking what is left; each is filled from top to bottom."""
    filled = [(wanted, names) for wanted, names in columns if names]
    boxes: dict[str, Box] = {}
    x = 0
    for index, (wanted, names) in enumerate(filled):
        room = width - x if index == len(filled) - 1 else wanted
        y = 0
        for place, name in enumerate(names):
            rows = height - y if place == len(names) - 1 else min(startup_rows, height // 2)
            boxes[name] = Box(x, y, room, rows)
            y += rows
        x += room
    return boxes
