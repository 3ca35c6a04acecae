"""One Python traceback while its lines come in."""

from copy import copy
from enum import Enum, auto
from typing import Final

from sgdoctor.logs import shapes
from sgdoctor.logs.event import Event, EventKind, Frame, Raised
from sgdoctor.logs.line import Line

MAX_EVENT_TEXT: Final = 8192
MAX_FRAMES: Final = 2000
MAX_MESSAGE_LINES: Final = 60
MAX_ECHO_LINES: Final = 200
MAX_FOREIGN: Final = 30
MAX_CHAIN: Final = 50


class Take(Enum):
    """What a traceback does with a line."""

    TAKEN = auto()
    """It is part of it."""
    PASSED = auto()
    """It is not, and the traceback still waits for the rest of itself."""
    ENDED = auto()
    """It is not, and it shows that the traceback is over."""


class _State(Enum):
    STACK = auto()
    MESSAGE = auto()
    CHAIN = auto()


class OpenTraceback:
    """A traceback of one writer that may still go on."""

    def __init__(self, line: Line, header: str = "") -> None:
        self.source = line.source
        self._opener = line
        self._header = header
        self._last = line.number
        self._state = _State.STACK
        self._frames: list[Frame] = []
        self._raised: list[Raised] = []
        self._type = ""
        self._parts: list[str] = []
        self._lines: list[Line] = []
        self._size = 0
        self._type_line = line
        self._blanks = 0
        self._echo = 0
        self._foreign = 0

    @classmethod
    def of_exception(cls, line: Line, found: tuple[str, str]) -> "OpenTraceback":
        """One that begins with the exception itself: its stack was not quoted."""
        self = cls(line)
        self._begin_message(line, found)
        return self

    @classmethod
    def of_chain(cls, line: Line) -> "OpenTraceback":
        """One that begins with a chain phrase: the cause was not quoted."""
        self = cls(line)
        self._state = _State.CHAIN
        return self

    @property
    def first(self) -> int:
        """Number of its first line."""
        return self._opener.number

    def copy(self) -> "OpenTraceback":
        """One that goes its own way from here."""
        twin = copy(self)
        twin._frames, twin._raised = self._frames.copy(), self._raised.copy()  # noqa: SLF001
        twin._parts, twin._lines = self._parts.copy(), self._lines.copy()  # noqa: SLF001
        return twin

    @property
    def in_stack(self) -> bool:
        """Whether frames or the exception itself are still to come."""
        return self._state is _State.STACK

    def take(self, line: Line, *, data: bool) -> Take:
        """Offer the next line of this writer that has no engine bracket.

        Args:
            line: the line.
            data: whether it holds text of others.
        """
        if self._state is _State.STACK:
            taken = self._take_in_stack(line, data=data)
        elif self._state is _State.MESSAGE:
            taken = self._take_in_message(line, data=data)
        else:
            taken = self._take_in_chain(line)
        if taken is Take.TAKEN:
            self._last = line.number
        elif taken is Take.PASSED:
            self._foreign += 1
            if self._foreign > MAX_FOREIGN:
                return Take.ENDED
        return taken

    def _take_in_stack(self, line: Line, *, data: bool) -> Take:
        text = line.text
        if not text.strip():
            return Take.TAKEN
        if found := shapes.frame(text):
            if len(self._frames) < MAX_FRAMES:
                self._frames.append(Frame(found["file"], int(found["line"]), found["function"] or ""))
            return Take.TAKEN
        if shapes.is_dump(text):
            return Take.PASSED
        if text.startswith(("  ", "\t")) or shapes.is_marks(text):
            return Take.TAKEN
        if shapes.is_chain(text):
            self._state = _State.CHAIN
            return Take.TAKEN
        if data or shapes.begins_message(line):
            return Take.PASSED
        exception = shapes.exception_after_stack(text) if self._frames else shapes.exception(text)
        if exception is None:
            return Take.PASSED
        self._begin_message(line, exception)
        return Take.TAKEN

    def _take_in_message(self, line: Line, *, data: bool) -> Take:
        text = line.text
        if not text.strip():
            self._blanks += 1
            return Take.TAKEN
        if shapes.is_chain(text):
            self._end_message()
            self._state = _State.CHAIN
            return Take.TAKEN
        if self._echo and not shapes.is_repr_exception(text):
            # A compiler echoes source up to a line of marks; none of it is the message.
            self._echo = 0 if shapes.is_marks(text) else self._echo - 1
            self._blanks = 0
            return Take.TAKEN
        if shapes.traceback_header(text) is not None:
            # multiprocessing prints the traceback of the worker as the message of a RemoteTraceback.
            if self._type.endswith("RemoteTraceback"):
                self._parts.clear()
                self._state = _State.STACK
                return Take.TAKEN
            return Take.ENDED
        if data or shapes.frame(text) is not None:
            return Take.ENDED
        if text.startswith("frame #") or shapes.is_marks(text):
            return Take.TAKEN
        if not self._goes_on(line) or len(self._parts) >= MAX_MESSAGE_LINES:
            return Take.ENDED
        self._blanks = 0
        self._add(line, text)
        return Take.TAKEN

    def _goes_on(self, line: Line) -> bool:
        text = line.text
        so_far = next((part for part in reversed(self._parts) if part), "")
        unfinished = not so_far or so_far.endswith((":", ","))
        if text[:1].isspace():
            return True
        if self._blanks and not unfinished:
            return False
        if shapes.is_daemon(text) or shapes.exit_text(text) is not None or shapes.is_warning(text):
            return False
        if unfinished and not self._blanks:
            return True
        if shapes.begins_message(line):
            return False
        if shapes.is_repr_exception(text):
            return bool(self._parts) and not self._blanks
        return shapes.exception(text) is None

    def _take_in_chain(self, line: Line) -> Take:
        text = line.text
        if not text.strip() or shapes.is_chain(text):
            return Take.TAKEN
        if shapes.traceback_header(text) is not None:
            self._state = _State.STACK
            return Take.TAKEN
        if shapes.frame(text) is not None:
            self._state = _State.STACK
            return self._take_in_stack(line, data=False)
        exception = shapes.exception(text)
        if exception is None:
            return Take.ENDED
        self._begin_message(line, exception)
        return Take.TAKEN

    def _begin_message(self, line: Line, exception: tuple[str, str]) -> None:
        self._state = _State.MESSAGE
        self._type = exception[0]
        self._type_line = line
        self._parts = []
        self._lines = []
        self._size = 0
        self._blanks = 0
        self._add(line, exception[1])

    def _add(self, line: Line, text: str) -> None:
        part = text.strip()
        self._lines.append(line)
        if self._size < MAX_EVENT_TEXT:
            part = part[:MAX_EVENT_TEXT]
            self._parts.append(part)
            self._size += len(part)
        else:
            self._parts.append("")
        self._echo = MAX_ECHO_LINES if shapes.is_compiler_place(part) else 0

    def _end_message(self) -> None:
        line = self._type_line
        opener = self._opener
        # The bracket stands on the first line only; the exception was raised by the same rank at that time.
        if not line.rank and line.source == opener.source:
            line = line._replace(rank=opener.rank, time=line.time or opener.time)
        if len(self._raised) < MAX_CHAIN:
            message = shapes.squeeze(" ".join(self._parts), MAX_EVENT_TEXT)
            self._raised.append(Raised(self._type, message, tuple(self._frames), line, tuple(self._lines)))
        self._frames = []
        self._parts = []
        self._type = ""

    def event(self) -> Event:
        """The event that it has become; ``raised`` is empty only when no exception was seen."""
        if self._state is _State.MESSAGE:
            self._end_message()
        raised = tuple(self._raised)
        text = " ".join(part.text for part in raised) if raised else self._header
        return Event(
            EventKind.TRACEBACK,
            shapes.squeeze(text, MAX_EVENT_TEXT),
            raised[0].line if raised else self._opener,
            self._opener.number,
            self._last,
            raised,
            self._header,
        )
