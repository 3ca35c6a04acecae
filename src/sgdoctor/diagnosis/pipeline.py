"""From the bytes of a log to the verdicts on its starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sgdoctor.diagnosis.course import Course
from sgdoctor.diagnosis.evidence import Data, Quotes
from sgdoctor.diagnosis.explain import explain
from sgdoctor.diagnosis.model import Unknown, Verdict
from sgdoctor.diagnosis.verdict import LiveClock, Place, judge
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.line import Line
from sgdoctor.logs.sources import LogSource
from sgdoctor.rules.base import RuleBase
from sgdoctor.rules.matching import match_attempt
from sgdoctor.rules.model import Hit

if TYPE_CHECKING:
    from sgdoctor.diagnosis.regions import Mark

WHOLE_BELOW: Final = 4 << 20
"""Logs of at most this many bytes are read whole."""

ANCHORS: Final = (
    "Traceback (most recent call last)",
    "Error: ",
    "Exception: ",
    " exited with code ",
    "kill_process_tree called",
    "\nKilled",
    "Segmentation fault",
    "core dumped",
)
"""Texts of failures that no rule knows: they are to be seen in a large log too."""
ENDS: Final = ("kill_process_tree called", " exited with code ", "serve: error: ", "launch_server.py: error: ")
"""Texts on lines with which a start may end."""
# A line that begins a start speaks for itself; a frame of a traceback does so with what stands around it.
_LOOK_BEFORE: Final = 2 << 10
_LOOK_AFTER: Final = 12 << 10
# What the shell and the container engine print belongs to the start that follows.
_LEAD: Final = 32 << 10


def diagnose(
    source: LogSource,
    base: RuleBase,
    *,
    all_attempts: bool = False,
    live: LiveClock | None = None,
    redact: bool = True,
) -> list[Verdict]:
    """The verdicts on a log that is open.

    Args:
        source: the log.
        base: the rules.
        all_attempts: whether every start is judged, or only the newest.
        live: clocks, while the log is still being written; None for a log that ends where it ends.
        redact: whether secrets among the values in texts of rules are hidden.

    Returns:
        One verdict for each start that was judged, the newest last; never empty.
    """
    return diagnose_bytes(source.data, source.name, base, all_attempts=all_attempts, live=live, redact=redact)


def diagnose_bytes(
    data: Data,
    name: str,  # noqa: ARG001 - engines that name no version in the log may be told by it one day
    base: RuleBase,
    *,
    all_attempts: bool = False,
    live: LiveClock | None = None,
    redact: bool = True,
) -> list[Verdict]:
    """As ``diagnose``, for the bytes of a log."""
    if len(data) <= WHOLE_BELOW:
        lines = list(read_lines(data, 0, len(data)))
        starts = 1
    else:
        lines, starts = _lines_of_large(data, base, all_attempts=all_attempts)
    events = list(fold(lines, SGLANG.is_data))
    slices = SGLANG.split_attempts(events)
    attempts = max(starts, len(slices))
    quotes = Quotes(data, lines)
    last_line = lines[-1].number if lines else 0
    wanted = range(len(slices)) if all_attempts else range(max(0, len(slices) - 1), len(slices))
    verdicts = []
    for index in wanted:
        part = events[slices[index]]
        end = events[slices[index + 1].start].first - 1 if index + 1 < len(slices) else last_line
        place = Place(attempts - len(slices) + index + 1, attempts, part[0].first if part else 1, end)
        clock = live if index == len(slices) - 1 else None
        verdicts.append(judge_attempt(part, place, base, quotes, clock, ended=live is None, redact=redact).verdict)
    place = Place(1, 1, 1, max(1, last_line))
    return verdicts or [judge_attempt([], place, base, quotes, live, ended=live is None, redact=redact).verdict]


class Judged(NamedTuple):
    """A verdict and what it rests on.

    Attributes:
        verdict: the answer.
        hits: every hit of every rule, those without a say included.
    """

    verdict: Verdict
    hits: Sequence[Hit]


def judge_attempt(
    events: Sequence[Event],
    place: Place,
    base: RuleBase,
    quotes: Quotes,
    live: LiveClock | None,
    *,
    ended: bool = False,
    redact: bool = True,
) -> Judged:
    """The verdict on one start.

    Args:
        events: of the start, in log order; may have gaps.
        place: where the start stands in its log.
        base: the rules.
        quotes: lines of the log.
        live: clocks, while the log is still being written.
        ended: whether nothing more will be written to the log.
        redact: whether secrets among the values in texts of rules are hidden.
    """
    reading = SGLANG.read(events)
    if live is not None:
        reading = reading._replace(facts={**reading.facts, **live.facts(place.last_line)})
    slow: list[str] = []
    hits = match_attempt(base, events, reading, slow_rules=slow)
    course = Course.of(events, reading)
    engine = SGLANG.name if reading.recognised else ""
    verdict = judge(explain(hits, course), course, quotes, place, engine=engine, live=live, ended=ended, redact=redact)
    if verdict.unexplained is not None:
        verdict = verdict._replace(unknown=_unknown(verdict, course, base, quotes))
    return Judged(verdict._replace(slow_rules=tuple(sorted(slow))), hits)


def _unknown(verdict: Verdict, course: Course, base: RuleBase, quotes: Quotes) -> Unknown | None:
    """What stands around the failure that is not explained."""
    from sgdoctor.diagnosis.unknown import investigate  # noqa: PLC0415 - most failures are known

    assert verdict.unexplained is not None
    number = verdict.unexplained.line
    failure = next((event for event in course.events if event.line.number == number), None)
    if failure is None:
        return None
    return investigate(failure, course, base, quotes, explained={notice.line for notice in verdict.notices})


def _lines_of_large(data: Data, base: RuleBase, *, all_attempts: bool) -> tuple[list[Line], int]:
    """The lines of a large log that are worth reading, and the number of starts in all."""
    from sgdoctor.diagnosis import regions  # noqa: PLC0415 - most logs are small

    extra = tuple(dict.fromkeys((*SGLANG.markers, *SGLANG.start_markers, *ANCHORS, *ENDS)))
    literals = [literal.encode() for literal in base.literals_with(extra)]
    boundaries = [marker.encode() for marker in (*SGLANG.start_markers, *ENDS)]
    survey = regions.survey(
        data,
        base.index_with(extra),
        literals,
        boundaries,
        lambda offset: _mark_at(data, offset),
        all_attempts=all_attempts,
    )
    slices = SGLANG.split_attempts([mark.event for mark in survey.marks])
    start = 0
    if len(slices) > 1 and not all_attempts:
        start = survey.marks[slices[-1].start].start
    lead = max(0, start - _LEAD)
    if lead:
        lead = data.rfind(b"\n", 0, lead) + 1
    lines: list[Line] = []
    for begin, end in regions.windows(data, lead, survey.hits):
        lines += read_lines(data, begin, end, first_number=survey.lines.number_at(begin))
    return lines, len(slices)


def _mark_at(data: Data, offset: int) -> "Mark | None":
    """The event whose line holds the text at ``offset``, if a start may begin or end with it."""
    from sgdoctor.diagnosis.regions import Mark  # noqa: PLC0415

    begin = data.rfind(b"\n", max(0, offset - _LOOK_BEFORE), offset) + 1
    if not begin and offset > _LOOK_BEFORE:
        return None
    end = min(len(data), offset + _LOOK_AFTER)
    if b'File "' in data[begin:offset]:
        begin = data.rfind(b"\n", 0, max(0, offset - _LOOK_BEFORE)) + 1
    else:
        found = data.find(b"\n", offset, end)
        end = end if found < 0 else found + 1
    lines = list(read_lines(data, begin, end))
    number = next((line.number for line in reversed(lines) if line.offset <= offset), 0)
    for event in fold(lines, SGLANG.is_data):
        if event.first <= number <= event.last:
            start = next((line.offset for line in lines if line.number == event.first), begin)
            return Mark(start, event, SGLANG.begins_attempt(event))
    return None
