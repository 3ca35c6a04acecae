"""One physical line of a log, as every later stage sees it."""

from datetime import datetime
from typing import NamedTuple


class Line(NamedTuple):
    """One physical line, without its prefixes.

    Attributes:
        number: 1-based number of the line in its file.
        offset: byte offset of the line's first byte in its file.
        text: the message: ANSI, stacked prefixes, the engine's own bracket and the line end are gone. Of a line
            with carriage returns only the last state is left. Never longer than ``framing.MAX_TEXT`` characters.
        time: when the line was written, by the innermost prefix that says so; naive when that prefix names no zone.
        rank: the engine's rank tag without its leading blank, such as ``TP0`` or ``DP1 TP0``; empty for one card.
        source: the outer prefix that tells one writer from another (compose service, Ray worker, pod); else empty.
        stream: ``stdout``, ``stderr`` or empty when the log does not say.
        engine: whether the engine's own ``[time rank] `` bracket stood before the text.
        progress: the percentages of a progress bar that this line redrew, in order; empty for other lines.
        level: what a logger's prefix called it (``WARNING``); empty where none did. The engine's bracket names none.
    """

    number: int
    offset: int
    text: str
    time: datetime | None = None
    rank: str = ""
    source: str = ""
    stream: str = ""
    engine: bool = False
    progress: tuple[int, ...] = ()
    level: str = ""

    @property
    def indent(self) -> int:
        """Number of blanks that ``text`` begins with."""
        return len(self.text) - len(self.text.lstrip(" "))
