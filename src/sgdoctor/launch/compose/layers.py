"""A text that was made of another one: which character came from where, and how a change is written back.

An argument of a command stands on top of three other texts: the command line that it was split from, the same with the
variables as they are written, and the YAML scalar in the file. Each layer knows the text below it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.shell import Splice


class Place(NamedTuple):
    """Where a character came from: ``start`` to ``end`` of the text below."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A text and its places in the text below.

    Attributes:
        text: of this layer.
        places: one for each character of ``text``, ascending. Characters that came from the same place, as those of a
            variable, have equal ones.
        at_end: where something behind the last character belongs.
        encoded: writes a text as it has to stand in the text below, at the index given.
    """

    text: str
    places: Sequence[Place]
    at_end: int
    encoded: Callable[[str, int], str]

    def lowered(self, splice: Splice) -> Splice:
        """The same change of the text below.

        Raises:
            CannotSpliceError: it would cut through something that only exists as a whole.
        """
        start, end = self.span(splice.start, splice.end)
        if splice.end > splice.start:
            self._check_borders(splice.start, splice.end)
        return Splice(start, end, self.encoded(splice.text, splice.start))

    def span(self, start: int, end: int) -> Place:
        """Where the characters from ``start`` to ``end`` came from; an empty span is a place between two characters."""
        if start == end:
            if start < len(self.places) and (start == 0 or self.places[start].start == self.places[start - 1].end):
                return Place(self.places[start].start, self.places[start].start)
            at = self.places[start - 1].end if start else self.at_end
            return Place(at, at)
        return Place(self.places[start].start, self.places[end - 1].end)

    def _check_borders(self, start: int, end: int) -> None:
        cut_before = start > 0 and self.places[start - 1] == self.places[start]
        cut_behind = end < len(self.places) and self.places[end - 1] == self.places[end]
        if cut_before or cut_behind:
            raise CannotSpliceError


def lowered(splice: Splice, layers: Sequence[Layer]) -> Splice:
    """A change of the text of the first layer as one of the text below the last."""
    for layer in layers:
        splice = layer.lowered(splice)
    return splice


def span(start: int, end: int, layers: Sequence[Layer]) -> Place:
    """Where a part of the text of the first layer came from in the text below the last."""
    for layer in layers:
        start, end = layer.span(start, end)
    return Place(start, end)
