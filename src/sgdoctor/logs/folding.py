"""From lines to events: tracebacks folded per writer, wrapped messages joined, bars and text of others set apart."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from sgdoctor.logs import bars, shapes
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.line import Line
from sgdoctor.logs.tracebacks import MAX_EVENT_TEXT, OpenTraceback, Take
from sgdoctor.patterns import lazy_pattern

MAX_JOINED_LINES: Final = 12
MAX_JOINED_TEXT: Final = 4000
MAX_BLOCK_LINES: Final = 5000
MAX_OPEN: Final = 64
_QUOTED: Final = lazy_pattern(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')


@dataclass(slots=True)
class _Pending:
    """A line whose message may go on in the next one."""

    line: Line
    last: int
    parts: list[str] = field(default_factory=list)
    size: int = 0

    def event(self) -> Event:
        text = " ".join([self.line.text, *self.parts]) if self.parts else self.line.text
        return Event(EventKind.LINE, shapes.squeeze(text, MAX_EVENT_TEXT), self.line, self.line.number, self.last)


@dataclass(slots=True)
class _Block:
    """Lines of text of others that belong together: a usage text, a JSON body, the source that a warning echoes."""

    line: Line
    last: int
    depth: int = 0
    count: int = 1

    def goes_on(self, line: Line) -> bool:
        if line.source != self.line.source or self.count >= MAX_BLOCK_LINES:
            return False
        text = line.text
        if self.depth <= 0:
            return text[:1].isspace() and bool(text.strip())
        return not text.strip() or text[:1].isspace() or text[0] in "\"'{}[],"

    def add(self, line: Line) -> None:
        self.last = line.number
        self.count += 1
        if self.depth > 0:
            self.depth += _depth(line.text)
            if self.depth <= 0:
                self.count = MAX_BLOCK_LINES

    def event(self) -> Event:
        text = shapes.squeeze(self.line.text, MAX_EVENT_TEXT)
        return Event(EventKind.DATA, text, self.line, self.line.number, self.last)


class Folder:
    """Turns lines that arrive one by one into events.

    Args:
        is_data: whether a line holds text that others wrote (``Engine.is_data``).
    """

    def __init__(self, is_data: Callable[[Line], bool]) -> None:
        self._is_data = is_data
        self._open: list[OpenTraceback] = []
        self._pending: _Pending | None = None
        self._block: _Block | None = None
        self._out: list[Event] = []
        self.head = 0
        """Number of the first line of the traceback that the line added last is part of; 0 if it is part of none."""

    @property
    def busy(self) -> bool:
        """Whether a traceback or a block of text of others may go on in the next line."""
        return bool(self._open) or self._block is not None

    def add(self, line: Line) -> list[Event]:
        """Take the next line.

        Returns:
            The events that are complete now. A traceback is complete when a line shows that it is over.
        """
        self.head = 0
        if line.engine:
            self._end_messages(line)
            self._flush()
            self._begin(line)
        else:
            self._add_plain(line)
        return self._drain()

    def close(self) -> list[Event]:
        """The events that were still open, with what is there."""
        self._flush()
        for traceback in self._open:
            self._out.append(traceback.event())
        self._open.clear()
        return self._drain()

    def peek(self, lines: Iterable[Line] = ()) -> list[Event]:
        """The events that are still open, as they would be if ``lines`` came and the log ended; nothing changes."""
        twin = Folder(self._is_data)
        if self._pending is not None:
            twin._pending = replace(self._pending, parts=self._pending.parts.copy())
        if self._block is not None:
            twin._block = replace(self._block)
        twin._open = [traceback.copy() for traceback in self._open]
        return [event for line in lines for event in twin.add(line)] + twin.close()

    def _drain(self) -> list[Event]:
        out = self._out
        if out:
            self._out = []
            if len(out) > 1:
                out.sort(key=lambda event: event.first)
        return out

    def _flush(self) -> None:
        if self._pending is not None:
            self._out.append(self._pending.event())
            self._pending = None
        if self._block is not None:
            self._out.append(self._block.event())
            self._block = None

    def _end_messages(self, line: Line) -> None:
        """An engine line ends every message of its writer; stacks may be cut in two by it."""
        if not self._open:
            return
        for traceback in list(self._open):
            if traceback.in_stack and traceback.source == line.source:
                if traceback.take(line, data=True) is Take.PASSED:
                    continue
            elif traceback.source not in (line.source, ""):
                continue
            self._open.remove(traceback)
            self._out.append(traceback.event())

    def _add_plain(self, line: Line) -> None:
        text = line.text
        if line.progress and (not text.strip() or bars.split_bar(text) is not None):
            self._flush()
            self._out.append(_event(EventKind.PROGRESS, line))
            return
        if self._block is not None:
            if self._block.goes_on(line):
                self._block.add(line)
                return
            self._flush()
        blank = not text.strip()
        data = not blank and self._is_data(line)
        if self._open and text.startswith("  ") and (bare := shapes.without_tree(text)) != text:
            line = line._replace(text=bare)
            blank = not bare.strip()
        if self._open and self._offer(line, data=data):
            self._flush()
            return
        if blank:
            self._flush()
            return
        self._begin(line, data=data)

    def _offer(self, line: Line, *, data: bool) -> bool:
        """Give the line to the traceback that it belongs to; whether one took it."""
        while True:
            traceback = self._target(line)
            if traceback is None:
                return False
            taken = traceback.take(line, data=data)
            if taken is Take.TAKEN:
                self.head = traceback.first
                return True
            if taken is Take.PASSED:
                return False
            self._open.remove(traceback)
            self._out.append(traceback.event())

    def _target(self, line: Line) -> OpenTraceback | None:
        """The traceback opened last by the writer of ``line``; by anyone, when the line does not name its writer."""
        for traceback in reversed(self._open):
            if traceback.source == line.source:
                return traceback
        return self._open[-1] if self._open and not line.source else None

    def _begin(self, line: Line, *, data: bool | None = None) -> None:
        """A line that no traceback took."""
        text = line.text
        if data is None:
            data = self._is_data(line)
        if data:
            self._flush()
            # A body that is printed over several lines: what it holds is not told by each of them.
            if (body := text.lstrip()).startswith(("{", "[{")) and (depth := _depth(body)) > 0:
                self._block = _Block(line, line.number, depth)
            else:
                self._out.append(_event(EventKind.DATA, line))
            return
        if self._begin_traceback(line):
            return
        if not line.engine and self._begin_other(line):
            return
        if not line.engine and self._joins(line):
            pending = self._pending
            assert pending is not None
            pending.parts.append(text.strip()[:MAX_JOINED_TEXT])
            pending.size += len(text)
            pending.last = line.number
            return
        self._flush()
        if text.strip():
            self._pending = _Pending(line, line.number)

    def _begin_traceback(self, line: Line) -> bool:
        text = line.text
        header = shapes.traceback_header(text)
        if header is not None:
            self._push(OpenTraceback(line, header))
            return True
        if not line.engine:
            if shapes.frame(text) is not None:
                traceback = OpenTraceback(line)
                traceback.take(line, data=False)
                self._push(traceback)
                return True
            if shapes.is_chain(text):
                self._push(OpenTraceback.of_chain(line))
                return True
        found = shapes.exception(text)
        if found is None:
            return False
        self._push(OpenTraceback.of_exception(line, found))
        return True

    def _push(self, traceback: OpenTraceback) -> None:
        self._flush()
        if len(self._open) >= MAX_OPEN:
            self._out.append(self._open.pop(0).event())
        self._open.append(traceback)
        self.head = traceback.first

    def _begin_other(self, line: Line) -> bool:
        """Whether the line was an ending, or the first one of text of others."""
        text = line.text
        ending = shapes.exit_text(text)
        if ending is not None:
            self._flush()
            self._out.append(Event(EventKind.EXIT, ending, line, line.number, line.number))
            return True
        if shapes.is_dump(text):
            self._flush()
            self._out.append(_event(EventKind.DATA, line))
            return True
        body = text.lstrip()
        if body.startswith(("usage: ", "{", "[{")) or body == "[":
            self._flush()
            self._block = _Block(line, line.number, _depth(body) if body[0] in "{[" else 0)
            if self._block.depth <= 0 and body[0] in "{[":
                self._flush()
            return True
        pending = self._pending
        if pending is not None and text[:1].isspace() and shapes.is_warning(pending.line.text):
            self._flush()
            self._block = _Block(line, line.number)
            return True
        return False

    def _joins(self, line: Line) -> bool:
        """Whether the line goes on with the message of the line before it."""
        pending = self._pending
        if pending is None or len(pending.parts) >= MAX_JOINED_LINES:
            return False
        if pending.size + len(line.text) > MAX_JOINED_TEXT:
            return False
        if line.source != pending.line.source and line.source:
            return False
        if line.time is not None and line.time != pending.line.time and not line.source:
            return False
        wrapped = pending.line.engine or shapes.is_daemon(pending.line.text) or _last(pending).endswith(",")
        return wrapped and not shapes.begins_message(line)


def fold(lines: Iterable[Line], is_data: Callable[[Line], bool]) -> Iterator[Event]:
    """Fold ``lines`` into events.

    Args:
        lines: in log order.
        is_data: whether a line holds text that others wrote (``Engine.is_data``).

    Yields:
        Events in the order of their first lines, except that an interleaved traceback comes when it ends.
    """
    folder = Folder(is_data)
    for line in lines:
        yield from folder.add(line)
    yield from folder.close()


def _event(kind: EventKind, line: Line) -> Event:
    return Event(kind, shapes.squeeze(line.text, MAX_EVENT_TEXT), line, line.number, line.number)


def _last(pending: _Pending) -> str:
    return (pending.parts[-1] if pending.parts else pending.line.text).rstrip()


def _depth(text: str) -> int:
    text = _QUOTED.sub("", text)
    return text.count("{") + text.count("[") - text.count("}") - text.count("]")
