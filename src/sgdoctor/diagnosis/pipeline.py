"""From the bytes of a log to the verdicts on its starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sgdoctor.diagnosis import wording
from sgdoctor.diagnosis.course import Course
from sgdoctor.diagnosis.evidence import Data, Quotes
from sgdoctor.diagnosis.explain import explain
from sgdoctor.diagnosis.model import State, Unknown, Verdict
from sgdoctor.diagnosis.silence import silence
from sgdoctor.diagnosis.verdict import LiveClock, Place, judge
from sgdoctor.engines.base import Fact, Reading
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
    return diagnose_bytes(
        source.data,
        source.name,
        base,
        all_attempts=all_attempts,
        live=live,
        redact=redact,
        container=source.container,
    )


def diagnose_bytes(
    data: Data,
    name: str,  # noqa: ARG001 - engines that name no version in the log may be told by it one day
    base: RuleBase,
    *,
    all_attempts: bool = False,
    live: LiveClock | None = None,
    redact: bool = True,
    container: str | None = "",
) -> list[Verdict]:
    """As ``diagnose``, for the bytes of a log; ``container`` is the name of the one that wrote it, None for none."""
    if len(data) <= WHOLE_BELOW:
        lines = list(read_lines(data, 0, len(data)))
        ready: list[bool] = []
    else:
        lines, ready = _lines_of_large(data, base, all_attempts=all_attempts)
    events = list(fold(lines, SGLANG.is_data))
    slices = SGLANG.split_attempts(events)
    if len(ready) < len(slices):
        ready = [became_ready(events[part]) for part in slices]
    attempts = len(ready)
    quotes = Quotes(data, lines)
    last_line = lines[-1].number if lines else 0
    wanted = range(len(slices)) if all_attempts else range(max(0, len(slices) - 1), len(slices))
    verdicts = []
    for index in wanted:
        part = events[slices[index]]
        end = events[slices[index + 1].start].first - 1 if index + 1 < len(slices) else last_line
        number = attempts - len(slices) + index
        unready = unready_before(ready[:number])
        place = Place(number + 1, attempts, part[0].first if part else 1, end, unready, container)
        clock = live if index == len(slices) - 1 else None
        verdict = judge_attempt(part, place, base, quotes, clock, ended=live is None, redact=redact).verdict
        if verdict.state is State.STARTING and live is None and unready and index:
            before = events[slices[index - 1]]
            place = Place(place.attempt - 1, attempts, before[0].first, part[0].first - 1)
            last = judge_attempt(before, place, base, quotes, None, ended=True, redact=redact).verdict
            if last.state is State.FAILED:
                verdict = verdict._replace(
                    would_decide=wording.failed_before(last.diagnoses[0].title, place.first_line)
                )
        verdicts.append(verdict)
    place = Place(1, 1, 1, max(1, last_line))
    return verdicts or [judge_attempt([], place, base, quotes, live, ended=live is None, redact=redact).verdict]


def reading_of(
    events: Sequence[Event], *, unready: int = 0, followed: bool = False, container: str | None = ""
) -> Reading:
    """What a start says, with what follows from its clock and from the starts before it.

    Args:
        events: of the start, in log order; may have gaps.
        unready: starts directly before it that never became ready.
        followed: whether a clock of its own runs beside the log, which then says how long it is silent.
        container: name of the container that wrote it; empty where that is not known, None where there is none.
    """
    reading = SGLANG.read(events)
    if container is None and events:
        reading = _with_facts(reading, Fact("no_container", value=True, line=events[0].first, derived=True))
    if unready and events:
        first = events[0].first
        reading = _with_facts(reading, Fact("starts_without_ready", unready, first, derived=True))
        if container:
            reading = _with_facts(reading, Fact("container_name", container, first, derived=True))
    if not followed and (silent := silence(events, reading)) is not None:
        reading = _with_facts(reading, silent)
    return reading


def _with_facts(reading: Reading, *facts: Fact) -> Reading:
    return reading._replace(facts={**reading.facts, **{fact.name: fact for fact in facts}})


def became_ready(events: Sequence[Event]) -> bool:
    """Whether a start says that its server serves."""
    return any(event.text.startswith(SGLANG.ready_marker) for event in events)


def unready_before(ready: Sequence[bool]) -> int:
    """How many of the last starts never became ready, one after the other; ``ready`` says it of each."""
    return next((count for count, one in enumerate(reversed(ready)) if one), len(ready))


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
    reading = reading_of(events, unready=place.unready, followed=live is not None, container=place.container)
    if live is not None:
        reading = _with_facts(reading, *live.facts(place.last_line).values())
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


def _lines_of_large(data: Data, base: RuleBase, *, all_attempts: bool) -> tuple[list[Line], list[bool]]:
    """The lines of a large log that are worth reading, and of each of its starts whether it became ready."""
    from sgdoctor.diagnosis import regions  # noqa: PLC0415 - most logs are small

    extra = tuple(dict.fromkeys((*SGLANG.markers, *SGLANG.start_markers, *ANCHORS, *ENDS)))
    literals = [literal.encode() for literal in base.literals_with(extra)]
    boundaries = [marker.encode() for marker in (*SGLANG.start_markers, SGLANG.ready_marker, *ENDS)]
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
    return lines, [became_ready([mark.event for mark in survey.marks[part]]) for part in slices]


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
