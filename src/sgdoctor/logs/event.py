"""What rules are matched against: a line, a folded traceback, a progress bar, or data that is never matched."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sgdoctor.logs.line import Line


class EventKind(StrEnum):
    """What an event is made of."""

    LINE = "line"
    """One line that stands for itself."""
    TRACEBACK = "traceback"
    """An exception: a folded Python traceback, or a lone ``SomeError: message`` line of a quoted excerpt."""
    PROGRESS = "progress"
    """A progress bar in its last state."""
    EXIT = "exit"
    """How the process or its container ended, as a shell, compose or the daemon reports it."""
    DATA = "data"
    """Text that others wrote: dumped requests, access lines, ``server_args=``, usage texts. Read, never matched."""


class Frame(NamedTuple):
    """One stack frame of a traceback: ``File "file", line line, in function``."""

    file: str
    line: int
    function: str


class Raised(NamedTuple):
    """One exception of a chain.

    Attributes:
        type: as printed, module path included (``torch.OutOfMemoryError``).
        message: everything after ``type: `` up to the end of the exception, white space folded to single blanks.
        frames: outermost first; empty for an exception quoted without its stack.
        line: the line on which ``type`` stands.
        lines: every line that the message stands on, in order; ``line`` is the first of them.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    line: Line
    lines: tuple[Line, ...] = ()

    def line_with(self, texts: Iterable[str]) -> Line:
        """The first line of the message that holds one of ``texts``; ``line`` if none does."""
        wanted = tuple(texts)
        return next((line for line in self.lines if any(text in line.text for text in wanted)), self.line)

    @property
    def text(self) -> str:
        """``type: message`` on one line."""
        return f"{self.type}: {self.message}" if self.message else self.type


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        kind: what it is made of.
        text: what rules match, white space folded to single blanks. Of a traceback: every exception of the chain as
            ``type: message``, the cause first, joined by blanks; the header (``Scheduler hit an exception:``),
            frames and echoed source lines are not part of it.
        line: the line that proves it: of a traceback the line of the *first* (causing) exception's message.
        first: number of its first line.
        last: number of its last line.
        raised: the exceptions of a traceback, the cause first; empty for other kinds.
        header: the text in front of ``Traceback (most recent call last):`` (``Scheduler hit an exception:``), or empty.
    """

    kind: EventKind
    text: str
    line: Line
    first: int
    last: int
    raised: tuple[Raised, ...] = ()
    header: str = ""

    @property
    def rank(self) -> str:
        """Rank tag of the line that proves it."""
        return self.line.rank

    @property
    def time(self) -> datetime | None:
        """When the line that proves it was written."""
        return self.line.time
