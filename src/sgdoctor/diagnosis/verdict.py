"""From causes to the answer: how the attempt stands, and what is said about it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sgdoctor.diagnosis import wording
from sgdoctor.diagnosis.course import Course, seconds_between
from sgdoctor.diagnosis.evidence import Quotes
from sgdoctor.diagnosis.explain import Explanation, Finding
from sgdoctor.diagnosis.fixes import fill_text, fixes_for, names_of, upgrade_for
from sgdoctor.diagnosis.mildness import is_warning
from sgdoctor.diagnosis.model import Consequence, Diagnosis, Notice, State, Verdict
from sgdoctor.diagnosis.silence import patience
from sgdoctor.engines.base import Fact, PhaseName
from sgdoctor.exit_codes import ASKED_TO_STOP
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.patterns import lazy_pattern
from sgdoctor.redaction import Redactor, redactor_of
from sgdoctor.rules.model import Confidence, Severity
from sgdoctor.texts import Text

_MAX_EVIDENCE: Final = 5
_MAX_CONSEQUENCES: Final = 20
# How a stop looks from inside; by itself it is no failure.
_STOPPED: Final = frozenset({"KeyboardInterrupt", "SystemExit", "CancelledError", "GeneratorExit"})
_ZERO: Final = lazy_pattern(r"(?i)(?:code:? ?|exited \()0\b")
# An exception that still has this much of the engine's own output behind it did not end the start.
_GOES_ON_SECONDS: Final = 5.0


class LiveClock(NamedTuple):
    """The clocks of a log that is still being written.

    Attributes:
        idle_seconds: since its last line.
        running_seconds: since it was first looked at.
    """

    idle_seconds: float
    running_seconds: float

    def facts(self, line: int) -> dict[str, Fact]:
        """The clocks as facts, read at the last line."""
        values = {
            "idle_seconds": self.idle_seconds,
            "silent_seconds": self.idle_seconds,
            "launch_seconds": self.running_seconds,
        }
        return {name: Fact(name, value, line, derived=True) for name, value in values.items()}


class Place(NamedTuple):
    """Where an attempt stands in its log.

    Attributes:
        attempt: its 1-based number.
        attempts: how many attempts the log holds.
        first_line: number of its first line.
        last_line: number of its last line.
        unready: how many starts directly before it never became ready.
        container: name of the container whose log it is; empty where that is not known, None where there is none.
    """

    attempt: int
    attempts: int
    first_line: int
    last_line: int
    unready: int = 0
    container: str | None = ""


def judge(
    explanation: Explanation,
    course: Course,
    quotes: Quotes,
    place: Place,
    *,
    engine: str,
    live: LiveClock | None = None,
    ended: bool = False,
    redact: bool = True,
) -> Verdict:
    """The verdict on one attempt.

    Args:
        explanation: what its hits mean.
        course: what became of it.
        quotes: its lines.
        place: where it stands in the log.
        engine: name of the engine whose lines it holds; empty if none.
        live: clocks while the log is being written.
        ended: whether nothing more will be written to the log.
        redact: whether secrets among the values in texts are hidden; evidence and facts are as in the log.
    """
    hide = redactor_of({name: fact.value for name, fact in course.reading.facts.items()}, redact=redact)
    diagnoses = tuple(_diagnosis(finding, course, quotes, hide) for finding in explanation.diagnoses)
    unknown = _unknown_exception(explanation, course)
    died = _died(explanation, course, unknown)
    state = _state(diagnoses, course, unknown, live, died=died)
    unexplained = None
    told = any(diagnosis.severity in (Severity.FATAL, Severity.ERROR) for diagnosis in diagnoses)
    unseen = not told and _ended_unseen(explanation, course, unknown)
    if state in (State.UNDETERMINED, State.DEGRADED) and not told and not unseen:
        first = unknown or (_first_sign(explanation, course) if died else None)
        unexplained = quotes.evidence(first.line.number) if first else None
    verdict = Verdict(
        state=state,
        attempt=place.attempt,
        attempts=place.attempts,
        first_line=place.first_line,
        last_line=place.last_line,
        summary=wording.EMPTY,
        diagnoses=diagnoses,
        notices=tuple(_notice(finding, course, hide) for finding in explanation.notices),
        unexplained=unexplained,
        facts=course.reading.facts,
        phases=course.reading.phases,
        engine=engine,
        version=_version(course.reading.facts),
    )
    unseen = unseen and state is State.UNDETERMINED
    summary = wording.ENDED_UNSEEN if unseen else _summary(verdict, explanation, course, died=died, ended=ended)
    verdict = verdict._replace(summary=summary)
    return verdict._replace(
        would_decide=wording.WHICH_COMMAND if unseen else _would_decide(verdict, course, ended=ended),
        closing=_closing(verdict, explanation, course, ended=ended),
    )


# ---------------------------------------------------------------- state


def _state(
    diagnoses: Sequence[Diagnosis], course: Course, unknown: Event | None, live: LiveClock | None, *, died: bool
) -> State:
    fatal = [diagnosis for diagnosis in diagnoses if diagnosis.severity is Severity.FATAL]
    if fatal:
        sure = any(diagnosis.confidence is not Confidence.POSSIBLE for diagnosis in fatal)
        return State.FAILED if sure or died else State.UNDETERMINED
    if died:
        return State.UNDETERMINED
    if unknown is not None:
        return State.DEGRADED if course.serving else State.UNDETERMINED
    severities = {diagnosis.severity for diagnosis in diagnoses}
    if Severity.ERROR in severities or (severities and (course.serving or not course.engine_seen)):
        return State.DEGRADED
    if course.serving or course.reading.shutdown_line is not None:
        return State.HEALTHY
    if not course.engine_seen:
        # Nothing at all was written yet: the program is being loaded, which takes SGLang 10 to 20 seconds.
        return State.STARTING if live is not None and not course.events else State.UNDETERMINED
    return State.STALLED if _silent_seconds(course) > _patience(course) else State.STARTING


def _silent_seconds(course: Course) -> float:
    silent = course.reading.facts.get("silent_seconds")
    return silent.value if silent is not None else 0.0


def _patience(course: Course) -> float:
    return patience(course.reading.phases)


def _died(explanation: Explanation, course: Course, unknown: Event | None) -> bool:
    """Whether anything besides a known cause says that the process ended badly."""
    if any(sign.severity.is_diagnosis for sign in explanation.signs):
        return True
    if any(
        below.rule.role == "consequence" and below.severity is Severity.FATAL
        for finding in explanation.diagnoses
        for below in finding.followed
    ):
        return True
    if unknown is not None and not course.serving:
        return True
    if course.reading.shutdown_line is not None:
        return False
    code = course.reading.facts.get("exit_code")
    if code is not None and isinstance(code.value, int):
        told = next((event for event in course.events if event.first <= code.line <= event.last), None)
        if told is not None and course.served_on(told):
            return False
        # SGLang as PID 1 of its container ends a failed start with exit code 0 (0.5.15), so before it was ready
        # even 0 is a bad end.
        return code.value not in ASKED_TO_STOP and (code.value != 0 or not course.serving)
    return bool(course.exits) and not course.serving


def _unknown_exception(explanation: Explanation, course: Course) -> Event | None:
    """The first exception that no rule knows and that the start did not get over."""
    known = {
        (hit.event.first, hit.event.last)
        for finding in (*explanation.diagnoses, *explanation.notices)
        for part in (finding, *finding.followed)
        for hit in part.hits
    }
    for event in course.events:
        if event.kind is not EventKind.TRACEBACK or (event.first, event.last) in known:
            continue
        if event.raised and event.raised[0].type.rpartition(".")[2] in _STOPPED:
            continue
        if is_warning(event) or course.after_shutdown(event) or course.went_on(event) or _goes_on(event, course):
            continue
        return event
    return None


def _goes_on(event: Event, course: Course) -> bool:
    """Whether the engine kept printing of its own well after an exception, before it was ready."""
    if course.serving:
        return False
    gaps = (
        seconds_between(event.time, later.time)
        for later in course.events
        if later.first > event.last and later.line.engine and later.kind is EventKind.LINE
    )
    return any(gap is not None and gap > _GOES_ON_SECONDS for gap in gaps)


def _first_sign(explanation: Explanation, course: Course) -> Event | None:
    signs = [hit.event for finding in explanation.signs for hit in finding.hits]
    # Of several programs in one log the one that ended well is not what went wrong.
    signs = signs or [event for event in course.exits if _ZERO.search(event.text) is None] or list(course.exits)
    return min(signs, key=lambda event: event.line.number, default=None)


def _exit_code(course: Course) -> int | None:
    """The code that the start ended with by the last line about an end; None if no line tells one, or it went on."""
    code = course.reading.facts.get("exit_code")
    if code is None or not isinstance(code.value, int) or code.value <= 0:
        return None
    told = next((event for event in course.exits if event.first <= code.line <= event.last), None)
    return None if told is None or course.went_on(told) else code.value


def _ended_unseen(explanation: Explanation, course: Course, unknown: Event | None) -> bool:
    """Whether all that is known is that something ended with exit code 0, which need not be an engine."""
    return (
        not course.engine_seen
        and unknown is None
        and not explanation.signs
        and bool(course.exits)
        and all(_ZERO.search(event.text) is not None for event in course.exits)
    )


# ---------------------------------------------------------------- parts of a verdict


def _diagnosis(finding: Finding, course: Course, quotes: Quotes, hide: Redactor) -> Diagnosis:
    rule = finding.rule
    names = names_of(finding, course)
    return Diagnosis(
        rule=rule,
        severity=finding.severity,
        confidence=finding.confidence,
        title=fill_text(rule.title, names, hide),
        cause=fill_text(rule.cause, names, hide),
        evidence=tuple(
            evidence for number in _evidence_lines(finding) if (evidence := quotes.evidence(number)) is not None
        ),
        ranks=finding.ranks,
        consequences=tuple(_consequences(finding, course, hide)),
        fixes=fixes_for(rule, names, hide),
        occurrences=len(finding.hits),
        upgrade=upgrade_for(rule, names) if rule.fixed_in else None,
    )


def _evidence_lines(finding: Finding) -> list[int]:
    """The lines of the decisive hit; the same again, on other ranks or later, proves nothing more."""
    numbers = finding.first.evidence or (finding.first.event.line.number,)
    return list(dict.fromkeys(numbers))[:_MAX_EVIDENCE]


def _consequences(finding: Finding, course: Course, hide: Redactor) -> Iterable[Consequence]:
    for below in finding.followed[:_MAX_CONSEQUENCES]:
        names = names_of(below, course)
        yield Consequence(below.rule.id, fill_text(below.rule.title, names, hide), below.first.event.line.number)


def _notice(finding: Finding, course: Course, hide: Redactor) -> Notice:
    names = names_of(finding, course)
    return Notice(
        rule=finding.rule.id,
        severity=finding.severity,
        title=fill_text(finding.rule.title, names, hide),
        cause=fill_text(finding.rule.cause, names, hide),
        line=finding.first.event.line.number,
        occurrences=len(finding.hits),
    )


def _version(facts: Mapping[str, Fact]) -> str:
    def value(name: str) -> Any:
        fact = facts.get(name)
        return fact.value if fact else None

    exact, low, high = value("version"), value("version_min"), value("version_max")
    if exact:
        return str(exact)
    if low and high:
        return str(low) if low == high else f"{low}-{high}"
    return f">={low}" if low else f"<={high}" if high else ""


def _would_decide(verdict: Verdict, course: Course, *, ended: bool) -> Text | None:
    """What would tell what this log does not."""
    code = _exit_code(course)
    if verdict.state is State.STARTING and ended:
        return wording.after_the_end(_patience(course)) if code is None else None
    if verdict.state is not State.UNDETERMINED or not course.events:
        return None
    if code is not None and not course.engine_seen and not verdict.diagnoses:
        return wording.WHICH_COMMAND
    # The engine prints its arguments when a start begins, so that this one is seen from there on.
    whole = any(name.startswith("args.") for name in verdict.facts)
    if whole and verdict.unexplained is not None:
        return wording.NEW_FAILURE
    return None if verdict.diagnoses else wording.WHOLE_LOG


def _closing(verdict: Verdict, explanation: Explanation, course: Course, *, ended: bool) -> Text:
    if verdict.state is State.HEALTHY:
        if course.reading.shutdown_line is not None:
            return wording.STOPPED
        seconds = verdict.facts.get("ready_seconds")
        return wording.served(seconds.value if seconds else None, ready=course.ready)
    if verdict.state is State.STARTING and not ended:
        return wording.still_starting(verdict.phases[-1].name if verdict.phases else None)
    first = verdict.diagnoses[0] if verdict.diagnoses else None
    if verdict.state in (State.STARTING, State.STALLED):
        first = None
    if verdict.state is State.UNDETERMINED and first is not None and first.severity is not Severity.FATAL:
        first = None
    phase = _failed_in(explanation.diagnoses[0], course) if first is not None else None
    stopped = course.reading.shutdown_line is not None
    return wording.closing(verdict.state, verdict.summary, first, phase, serving=course.serving, stopped=stopped)


def _failed_in(root: Finding, course: Course) -> PhaseName | None:
    """The phase of a failure; an excerpt that shows the server at work before it begins after the start."""
    hit = root.first
    if hit.phase is None and course.served is not None and course.served.first < hit.event.first:
        return PhaseName.SERVING
    return hit.phase


def _summary(verdict: Verdict, explanation: Explanation, course: Course, *, died: bool, ended: bool) -> Text:
    first = verdict.diagnoses[0] if verdict.diagnoses else None
    phase = verdict.phases[-1].name if verdict.phases else None
    line = verdict.unexplained.line if verdict.unexplained else None
    match verdict.state:
        case State.FAILED:
            assert first is not None
            return wording.failed(first, _failed_in(explanation.diagnoses[0], course))
        case State.DEGRADED:
            stopped = course.reading.shutdown_line is not None
            return wording.degraded(first, line, serving=course.serving, stopped=stopped)
        case State.HEALTHY:
            seconds = verdict.facts.get("ready_seconds")
            return wording.healthy(
                seconds.value if seconds else None,
                stopped=course.reading.shutdown_line is not None,
                ready=course.ready,
            )
        case State.STALLED:
            return wording.stalled(phase, _silent_seconds(course), _patience(course))
        case State.STARTING:
            code = _exit_code(course)
            if code is not None:
                return wording.ended_with(code, phase)
            return wording.ends_while_starting(phase) if ended else wording.starting(phase)
        case State.UNDETERMINED:
            if not course.events:
                return wording.EMPTY
            possible = first if first is not None and first.severity is Severity.FATAL else None
            code = _exit_code(course)
            silent = line is None or any(event.line.number == line for event in course.exits)
            if code is not None and possible is None and silent:
                return wording.ended_with(code)
            return wording.undetermined(possible, line, failed=died, recognised=course.engine_seen)
