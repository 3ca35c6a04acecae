"""From arriving bytes to events: every line of a start at first, later only what a rule or a phase could be about."""

import re
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from sgdoctor.diagnosis.evidence import Quotes
from sgdoctor.diagnosis.pipeline import ANCHORS, ENDS, WHOLE_BELOW
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.folding import Folder
from sgdoctor.logs.framing import LineReader
from sgdoctor.logs.line import Line
from sgdoctor.logs.literals import FloodError, LiteralIndex
from sgdoctor.rules.base import RuleBase
from sgdoctor.watching.model import LineKind
from sgdoctor.watching.store import LineStore

_MOST_EVENTS: Final = 60_000
_BEFORE: Final = 1 << 10
_AFTER: Final = 2 << 10
# The same text a thousand times says no more than its first and its newest occurrences.
_OFTEN: Final = 64
_OFTEN_BORDER: Final = 2_000
_AGAIN_SECONDS: Final = 1.0
_AGAIN_SECONDS_BORDER: Final = 0.02
_TELLING: Final = 4_000
_BRIEF: Final = 2_000
_KEPT_ALIKE: Final = 8
_MAX_ODD: Final = 10_000
_MAX_JOINED: Final = 500
# One line of these in every piece shows what the server is doing (srt/managers/scheduler_metrics_mixin.py).
_SAMPLED: Final = (b"Decode batch", b"Prefill batch")
_DIGITS: Final = re.compile(r"\d+")


class Finder:
    """Finds the texts that any rule, phase or border of a start needs.

    Args:
        base: the rules.
    """

    def __init__(self, base: RuleBase) -> None:
        extra = tuple(dict.fromkeys((*SGLANG.markers, *SGLANG.start_markers, *ANCHORS, *ENDS)))
        literals = base.literals_with(extra)
        borders = {*SGLANG.start_markers, *ENDS}
        self.borders = frozenset(number for number, literal in enumerate(literals) if literal in borders)
        self._index: LiteralIndex = base.index_with(extra)

    def find(self, data: bytes) -> list[tuple[int, int]]:
        """``(offset, literal)`` pairs, sorted."""
        try:
            return self._index.find(data)
        except FloodError as flood:
            return flood.hits


class Intake:
    """Reads the lines of one stretch of a log as they are added to the store.

    Attributes:
        events: of the stretch, in log order; those without a telling text are left out once the stretch is long.
        telling: those of them that hold a text of a rule or a phase, and everything that is not a mere line.
        samples: the newest line of each kind that a busy server prints by the million.
        whole: whether ``events`` are all there are.
    """

    def __init__(self, finder: Finder, store: LineStore) -> None:
        self.events: list[Event] = []
        self.telling: list[Event] = []
        self.samples: dict[bytes, Event] = {}
        self.whole = True
        self.signs = 0
        """How many events so far began a start."""
        self._finder = finder
        self._store = store
        self._framed = 0
        self._folder = Folder(SGLANG.is_data)
        self._reader = LineReader(first_number=len(store) + 1, offset=store.size)
        self._next_line = len(store) + 1
        self._hit_lines: list[int] = []
        self._counts: dict[int, int] = {}
        self._again: dict[int, float] = {}
        self.absent: set[int] = set()
        """Numbers of lines that a container runtime cut off another one, of which they are a part."""
        self.joined: dict[int, Line] = {}
        self.last_number = len(store)
        """Number of the line that was completed last."""

    # ------------------------------------------------------------ taking

    def add(self, data: bytes, *, added: bool = False) -> bool:
        """Take whole lines into the store.

        Args:
            data: ends with a line feed; some hundred KiB at most.
            added: whether sgdoctor wrote them.

        Returns:
            Whether the answer may be another one now.
        """
        first = len(self._store) + 1
        base = self._store.size
        self._store.append(data)
        hits = self._finder.find(data)
        known = len(self.telling)
        busy = self._folder.busy
        if self.whole:
            self._note_hits(data, hits, first)
            self._frame(data, first, base)
            self._framed += len(data)
            if self._framed > WHOLE_BELOW or len(self.events) > _MOST_EVENTS:
                self.whole = False
                self.events = self.telling
        else:
            self._frame_some(data, hits, first, base)
        self._sample(data, first)
        if added:
            for number in range(first, len(self._store) + 1):
                self._store.marks.set_kind(number, LineKind.ADDED)
        return bool(hits) or busy or self._folder.busy or len(self.telling) > known

    def close(self) -> None:
        """The stretch is over: what is open is complete."""
        for line in self._reader.close():
            self._add_line(line)
        self._take(self._folder.close())

    def peek(self, tail: bytes) -> list[Event]:
        """The events that are still open.

        Args:
            tail: the bytes after the last line feed.
        """
        lines: list[Line] = []
        if b"\r" in tail:
            # A progress bar is one long line until it is done; other unfinished lines could still say anything.
            reader = LineReader(first_number=len(self._store) + 1, offset=self._store.size)
            lines = reader.feed(tail) + reader.close()
        return self._folder.peek(lines)

    def forget_before(self, event: Event) -> None:
        """Drop what came before a start, and read all of what follows again."""
        self.events = [kept for kept in self.events if kept.first >= event.first]
        self.telling = [kept for kept in self.telling if kept.first >= event.first]
        self.samples = {name: kept for name, kept in self.samples.items() if kept.first >= event.first}
        self._counts.clear()
        self._framed = 0
        self.whole = True

    def look(self, *, full: bool) -> tuple[list[Event], bool]:
        """The complete events.

        Args:
            full: whether all are wanted, or for a long stretch only those that can change the answer.

        Returns:
            The events, and whether they are ``events`` itself.
        """
        if self.whole and (full or len(self.events) <= _BRIEF):
            return self.events, True
        known = {event.first for event in self.telling[-2 * _KEPT_ALIKE :]}
        extra = [event for event in self.samples.values() if event.first not in known]
        return sorted([*self.telling, *extra], key=lambda event: event.first), False

    def compact(self) -> None:
        """Keep memory small when the stretch is long."""
        if not self.whole and len(self.telling) > _TELLING:
            self.telling[:] = _thinned(self.telling)

    # ------------------------------------------------------------ framing

    def _note_hits(self, data: bytes, hits: Sequence[tuple[int, int]], first: int) -> None:
        position, number = 0, first
        del self._hit_lines[:-64]
        for offset, literal in hits:
            number += data.count(b"\n", position, offset)
            position = offset
            self._counts[literal] = self._counts.get(literal, 0) + 1
            self._hit_lines.append(number)

    def _frame(self, data: bytes, first: int, base: int) -> None:
        """Read lines that follow what was read before, or begin anew behind a gap."""
        if first != self._next_line:
            self.close()
            self._reader = LineReader(first_number=first, offset=base)
        expected = first
        for line in self._reader.feed(data):
            self._note_pieces(expected, line)
            expected = max(expected, line.number + 1)
            self._add_line(line)
        self._next_line = first + data.count(b"\n")
        if expected < self._next_line and len(self.absent) < _MAX_ODD:
            self.absent.update(range(expected, self._next_line))

    def _note_pieces(self, expected: int, line: Line) -> None:
        if line.number != expected and len(self.absent) < _MAX_ODD:
            if line.number < expected:
                self.absent.discard(line.number)
                if len(self.joined) < _MAX_JOINED:
                    self.joined[line.number] = line
            else:
                self.absent.update(range(expected, line.number))

    def _add_line(self, line: Line) -> None:
        self.last_number = line.number
        events = self._folder.add(line)
        marks = self._store.marks
        head = self._folder.head
        if head == line.number:
            marks.set_kind(line.number, LineKind.TRACEBACK_HEAD)
        elif head:
            marks.set_head(line.number, head)
        else:
            marks.set_kind(line.number, LineKind.ENGINE if line.engine else LineKind.PLAIN)
        if events:
            self._take(events)

    def _take(self, events: Sequence[Event]) -> None:
        marks = self._store.marks
        for event in events:
            kind = _KINDS.get(event.kind)
            if kind is not None:
                for number in range(event.first, event.last + 1):
                    marks.set_kind(number, kind)
            if SGLANG.begins_attempt(event):
                self.signs += 1
            self.events.append(event)
            if self.whole:
                if (event.kind is not EventKind.LINE and event.kind is not EventKind.DATA) or self._is_hit(event):
                    self.telling.append(event)
            elif self.events is not self.telling:
                self.telling.append(event)

    def _is_hit(self, event: Event) -> bool:
        place = bisect_left(self._hit_lines, event.first)
        return place < len(self._hit_lines) and self._hit_lines[place] <= event.last

    def _frame_some(self, data: bytes, hits: Sequence[tuple[int, int]], first: int, base: int) -> None:
        """Read the surroundings of what was found, and tracebacks to their ends."""
        position, number = 0, first

        def frame(end: int) -> None:
            nonlocal position, number
            piece = data[position:end]
            self._frame(piece, number, base + position)
            number += piece.count(b"\n")
            position = end

        for offset in self._wanted(hits):
            while self._folder.busy and number == self._next_line and position < offset:
                frame(_line_end(data, position + _AFTER))
            if offset < position:
                continue
            begin = max(position, data.rfind(b"\n", 0, max(0, offset - _BEFORE)) + 1)
            number += data.count(b"\n", position, begin)
            position = begin
            frame(_line_end(data, offset + _AFTER))
        while self._folder.busy and number == self._next_line and position < len(data):
            frame(_line_end(data, position + _AFTER))

    def _wanted(self, hits: Sequence[tuple[int, int]]) -> Iterator[int]:
        now = time.monotonic()
        for offset, literal in hits:
            count = self._counts[literal] = self._counts.get(literal, 0) + 1
            border = literal in self._finder.borders
            if count > (_OFTEN_BORDER if border else _OFTEN):
                if now < self._again.get(literal, 0.0):
                    continue
                self._again[literal] = now + (_AGAIN_SECONDS_BORDER if border else _AGAIN_SECONDS)
            yield offset

    def _sample(self, data: bytes, first: int) -> None:
        for name in _SAMPLED:
            place = data.rfind(name)
            if place < 0:
                continue
            begin = data.rfind(b"\n", 0, place) + 1
            number = first + data.count(b"\n", 0, begin)
            for line in LineReader(first_number=number).feed(data[begin : _line_end(data, place)]):
                if line.text.startswith(name.decode()):
                    self.samples[name] = Event(EventKind.LINE, line.text, line, number, number)


_KINDS: Final = {
    EventKind.DATA: LineKind.DATA,
    EventKind.PROGRESS: LineKind.PROGRESS,
    EventKind.EXIT: LineKind.ERROR,
}


def _line_end(data: bytes, position: int) -> int:
    found = data.find(b"\n", min(position, len(data) - 1))
    return len(data) if found < 0 else found + 1


def _thinned(events: Sequence[Event]) -> list[Event]:
    """The first and the last few of events that look alike; of those that do not, the first and the last thousand."""
    places: dict[tuple[EventKind, str], list[int]] = {}
    for place, event in enumerate(events):
        places.setdefault((event.kind, _DIGITS.sub("0", event.text[:64])), []).append(place)
    kept = sorted(place for alike in places.values() for place in {*alike[:_KEPT_ALIKE], *alike[-_KEPT_ALIKE:]})
    if len(kept) > _TELLING // 2:
        kept = kept[: _TELLING // 4] + kept[-_TELLING // 4 :]
    return [events[place] for place in kept]


class StoreQuotes(Quotes):
    """Quotes lines out of a store.

    Args:
        store: the lines.
        intake: knows which lines are pieces of others; None where there are none.
    """

    def __init__(self, store: LineStore, intake: Intake | None = None) -> None:
        super().__init__(b"", ())
        self._store = store
        self._absent = intake.absent if intake else frozenset()
        self._joined = intake.joined if intake else {}

    def text(self, number: int) -> str | None:
        """Line ``number`` as it stands in the log, made printable; None if there is no such line."""
        if not 1 <= number <= len(self._store) or number in self._absent:
            return None
        line = self._joined.get(number) or self._store.line(number)
        start = self._store.offset(number)
        raw = self._store.read(start, self._store.offset(number + 1))
        return Quotes(raw, [line._replace(offset=0)]).text(number)
