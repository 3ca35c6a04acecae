"""The diagnosis of a log while it is being written: the same answer as for the finished log, at every moment."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import WHOLE_BELOW, Judged, judge_attempt, unready_before
from sgdoctor.diagnosis.verdict import LiveClock, Place
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.line import Line
from sgdoctor.rules.base import RuleBase
from sgdoctor.watching.intake import Finder, Intake, StoreQuotes
from sgdoctor.watching.marks import RuleMark
from sgdoctor.watching.model import AttemptSummary
from sgdoctor.watching.store import LineStore

_KEPT_VERDICTS: Final = 32
_EDGE: Final = WHOLE_BELOW // 2


class Live:
    """Follows the starts in a log.

    Args:
        base: the rules.
        store: takes the lines.
        redact: whether secrets among the values in texts of rules are hidden.
    """

    def __init__(self, base: RuleBase, store: LineStore, *, redact: bool = True) -> None:
        self._base = base
        self._redact = redact
        self.container: str | None = ""
        """Name of the container that writes the log; empty where that is not known, None where there is none."""
        self._store = store
        self._finder = Finder(base)
        self._intake = Intake(self._finder, store)
        self._over: list[AttemptSummary] = []
        """Starts whose events were dropped."""
        self._ended: dict[tuple[int, int], AttemptSummary] = {}
        self._earlier: list[AttemptSummary] = []
        self._verdicts: OrderedDict[int, Verdict] = OrderedDict()
        self._split_for: tuple[int, int] = (-1, 0)
        self._newest_at = 0
        """Where the newest start begins among the events, the open ones included."""
        self._newest_first = 1
        """Number of its first line, as far as events tell."""
        self._first_line = 1
        """Number of the first line of the stretch."""
        self._started_at: float | None = None
        self._clocks: tuple[datetime | None, datetime | None] = (None, None)

    # ------------------------------------------------------------ taking

    def add(self, data: bytes, *, added: bool = False) -> bool:
        """Take whole lines; see ``Intake.add``."""
        return self._intake.add(data, added=added)

    def begin_start(self, started: float | None = None) -> None:
        """A start begins here, by the word of the container engine.

        Args:
            started: when, in seconds since the epoch.
        """
        if len(self._store) >= self._first_line:
            self._intake.close()
            verdict = self._judge_newest([], None, full=True)
            self._keep(verdict.attempt, verdict)
            self._over += [*self._earlier, _summary(verdict, *self._times())]
            self._intake = Intake(self._finder, self._store)
            self._earlier, self._ended = [], {}
            self._split_for = (-1, 0)
            self._first_line = self._newest_first = len(self._store) + 1
            self._newest_at = 0
            self._clocks = (None, None)
            self._store.marks.begin_attempt(len(self._over) + 1, self._first_line)
        self._started_at = started

    # ------------------------------------------------------------ answers

    @property
    def number(self) -> int:
        """Of the newest start."""
        return len(self._over) + len(self._earlier) + 1

    @property
    def samples(self) -> Mapping[bytes, Event]:
        """The newest line of the newest start of each kind that a busy server prints by the million."""
        samples = self._intake.samples
        return {name: event for name, event in samples.items() if event.first >= self._newest_first}

    def judge(
        self, *, tail: bytes = b"", clock: LiveClock | None = None, full: bool = False, ended: bool = False
    ) -> Verdict:
        """The verdict on the newest start.

        Args:
            tail: the bytes after the last line feed.
            clock: while the log is being written.
            full: whether every event counts, or a quick look is enough for now.
            ended: whether nothing more will be written to the log.
        """
        verdict = self._judge_newest(self._intake.peek(tail), clock, full=full, ended=ended)
        if self._earlier and (self._store.size > WHOLE_BELOW or not self._intake.whole):
            self._drop_earlier()
        self._intake.compact()
        return verdict

    def attempts(self, verdict: Verdict) -> tuple[AttemptSummary, ...]:
        """All starts.

        Args:
            verdict: the newest one of ``judge``.
        """
        return (*self._over, *self._earlier, _summary(verdict, *self._times()))

    def verdict_of(self, number: int, attempts: int) -> Verdict | None:
        """The verdict on an earlier start, from the lines in the store; None if there is no such start."""
        earlier = [*self._over, *self._earlier]
        if not 1 <= number <= len(earlier):
            return None
        kept = self._verdicts.get(number)
        if kept is None:
            summary = earlier[number - 1]
            events = list(fold(self._lines_of(summary), SGLANG.is_data))
            unready = _unready(*earlier[: number - 1])
            place = Place(number, attempts, summary.first_line, summary.last_line, unready, self.container)
            kept = self._mark(
                judge_attempt(events, place, self._base, StoreQuotes(self._store), None, redact=self._redact)
            )
            self._keep(number, kept)
        return kept._replace(attempts=attempts)

    # ------------------------------------------------------------ the newest start

    def _judge_newest(
        self, open_events: Sequence[Event], clock: LiveClock | None, *, full: bool, ended: bool = False
    ) -> Verdict:
        intake = self._intake
        last_line = intake.last_number
        self._find_starts(open_events)
        events, exact = intake.look(full=full)
        if exact:
            part = [*events, *open_events][self._newest_at :]
        else:
            first = self._newest_first
            part = [event for event in (*events, *open_events) if event.first >= first]
        unready = _unready(*self._over, *self._earlier)
        first_line = part[0].first if part else self._first_line
        place = Place(self.number, self.number, first_line, last_line, unready, self.container)
        self._note_clocks(part)
        quotes = StoreQuotes(self._store, intake)
        return self._mark(judge_attempt(part, place, self._base, quotes, clock, ended=ended, redact=self._redact))

    def _find_starts(self, open_events: Sequence[Event]) -> None:
        """Split the stretch into starts, if anything could have changed that."""
        intake = self._intake
        signs = sum(SGLANG.begins_attempt(event) for event in open_events)
        state = (intake.signs, signs)
        if state == self._split_for and not signs:
            return
        self._split_for = state
        events = [*intake.events, *open_events]
        slices = SGLANG.split_attempts(events)
        earlier: list[AttemptSummary] = []
        for index, part in enumerate(slices[:-1]):
            end = events[slices[index + 1].start].first - 1
            unready = _unready(*self._over, *earlier)
            earlier.append(self._ended_start(events[part], end, len(self._over) + index + 1, unready))
        if [known.first_line for known in earlier] != [known.first_line for known in self._earlier]:
            for number, border in enumerate(slices[1:], len(self._over) + 2):
                self._store.marks.begin_attempt(number, events[border.start].first)
        self._earlier = earlier
        self._newest_at = slices[-1].start
        self._newest_first = events[self._newest_at].first if earlier else self._first_line

    def _ended_start(self, events: Sequence[Event], end: int, number: int, unready: int) -> AttemptSummary:
        key = (events[0].first, end)
        known = self._ended.get(key)
        if known is None or known.number != number:
            place = Place(number, number, events[0].first, end, unready, self.container)
            verdict = self._mark(
                judge_attempt(
                    events, place, self._base, StoreQuotes(self._store, self._intake), None, redact=self._redact
                )
            )
            times = [event.time for event in events if event.time is not None]
            started = self._started_at if number == len(self._over) + 1 else None
            known = _summary(verdict, started, times[0] if times else None, _span(times[:1] + times[-1:]))
            self._ended[key] = known
            self._keep(number, verdict)
        return known

    def _drop_earlier(self) -> None:
        """A long log: the events of starts that are over are not needed any more."""
        intake = self._intake
        if self._newest_at >= len(intake.events):
            return
        border = intake.events[self._newest_at]
        self._over += self._earlier
        self._earlier, self._ended = [], {}
        self._first_line = self._newest_first = border.first
        self._started_at = None
        self._newest_at = 0
        intake.forget_before(border)
        self._split_for = (intake.signs, 0)

    def _mark(self, judged: Judged) -> Verdict:
        """Tell the store what the lines of a start mean."""
        verdict = judged.verdict
        severities = {diagnosis.rule.id: diagnosis.severity for diagnosis in verdict.diagnoses}
        severities |= {notice.rule: notice.severity for notice in verdict.notices}
        for diagnosis in verdict.diagnoses:
            for below in diagnosis.consequences:
                severities.setdefault(below.rule, diagnosis.severity)
        rules: dict[int, RuleMark] = {}
        for hit in judged.hits:
            severity = severities.get(hit.rule.id)
            if severity is None:
                continue
            numbers = {*hit.evidence, hit.event.line.number}
            if hit.event.kind is EventKind.TRACEBACK:
                numbers.add(hit.event.first)
            for number in numbers:
                rules.setdefault(number, RuleMark(hit.rule.id, severity))
        phases = {phase.start_line for phase in verdict.phases}
        phases |= {phase.end_line for phase in verdict.phases if phase.done}
        self._store.marks.replace(range(verdict.first_line, verdict.last_line + 1), rules, phases - set(rules))
        return verdict

    def _keep(self, number: int, verdict: Verdict) -> None:
        self._verdicts[number] = verdict
        self._verdicts.move_to_end(number)
        while len(self._verdicts) > _KEPT_VERDICTS:
            self._verdicts.popitem(last=False)

    # ------------------------------------------------------------ times and lines

    def _note_clocks(self, events: Sequence[Event]) -> None:
        first = next((event.time for event in events if event.time is not None), None)
        last = next((event.time for event in reversed(events) if event.time is not None), None)
        self._clocks = (first, last)

    def _times(self) -> tuple[float | None, datetime | None, float | None]:
        first, last = self._clocks
        started = self._started_at if not self._earlier else None
        return started, first, _span([time for time in (first, last) if time is not None])

    @property
    def clocks(self) -> tuple[datetime | None, datetime | None]:
        """The first and the last time that the newest start printed."""
        return self._clocks

    def _lines_of(self, summary: AttemptSummary) -> list[Line]:
        """The lines of a start; of a very long one its beginning and its end."""
        store = self._store
        start, end = store.offset(summary.first_line), store.offset(summary.last_line + 1)
        if end - start <= WHOLE_BELOW:
            pieces = [(summary.first_line, start, end)]
        else:
            head = store.number_at(start + _EDGE)
            tail = store.number_at(end - _EDGE)
            pieces = [(summary.first_line, start, store.offset(head)), (tail, store.offset(tail), end)]
        lines: list[Line] = []
        for number, begin, stop in pieces:
            data = store.read(begin, stop)
            lines += (line._replace(offset=line.offset + begin) for line in read_lines(data, first_number=number))
        return lines


def _summary(verdict: Verdict, started: float | None, first: datetime | None, seconds: float | None) -> AttemptSummary:
    """A start in the list; ``started`` by the container engine, ``first`` by the log."""
    title = verdict.diagnoses[0].title if verdict.diagnoses and verdict.state is not State.HEALTHY else verdict.summary
    by_log = started is None
    if started is None and first is not None:
        started = first.timestamp()
    return AttemptSummary(
        verdict.attempt,
        verdict.state,
        started,
        seconds,
        verdict.first_line,
        verdict.last_line,
        title,
        by_log,
        "ready" in verdict.facts,
    )


def _unready(*starts: AttemptSummary) -> int:
    return unready_before([start.ready for start in starts])


def _span(times: Sequence[datetime]) -> float | None:
    if len(times) < 2 or (times[0].tzinfo is None) != (times[-1].tzinfo is None):
        return None
    seconds = (times[-1] - times[0]).total_seconds()
    return seconds if seconds >= 0 else None
