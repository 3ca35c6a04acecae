"""Hand-made events, rules and hits, as small as the question they answer."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sgdoctor.diagnosis.course import Course
from sgdoctor.diagnosis.evidence import Quotes
from sgdoctor.diagnosis.explain import Explanation, explain
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.verdict import LiveClock, Place, judge
from sgdoctor.engines.base import Fact, Phase, PhaseName, Reading
from sgdoctor.logs.event import Event, EventKind, Raised
from sgdoctor.logs.line import Line
from sgdoctor.rules.model import Confidence, FixSpec, Hit, Pattern, Role, Rule, Severity
from sgdoctor.texts import Text

START = datetime(2026, 11, 30, 10, 0, 0)  # noqa: DTZ001 - engines print no zone


def rule(id_: str, severity: Severity = Severity.FATAL, **fields: Any) -> Rule:
    fields.setdefault("title", Text(f"title {id_}", f"标题 {id_}"))
    fields.setdefault("cause", Text(f"cause {id_}", f"原因 {id_}"))
    fields.setdefault("patterns", (Pattern(literals=(f"literal of {id_}",)),))
    return Rule(id=id_, name=fields.pop("name", id_.lower()), severity=severity, **fields)


def consequence(id_: str, severity: Severity = Severity.FATAL) -> Rule:
    return rule(id_, severity, role=Role.CONSEQUENCE)


def event(
    number: int,
    text: str = "",
    *,
    kind: EventKind = EventKind.LINE,
    seconds: float | None = None,
    rank: str = "",
    raised: Sequence[str] = (),
    engine: bool = True,
) -> Event:
    time = None if seconds is None else START + timedelta(seconds=seconds)
    line = Line(number, number * 100, text or f"line {number}", time, rank, engine=engine)
    chain = tuple(Raised(name, "message", (), line) for name in raised)
    return Event(EventKind.TRACEBACK if raised else kind, line.text, line, number, number, chain)


def hit(
    of: Rule, at: Event, *, depth: int = 0, weight: int = 20, phase: PhaseName | None = None, **captures: Any
) -> Hit:
    return Hit(of, at, captures, phase, depth, weight, (at.line.number,))


def reading(
    *,
    phases: Sequence[tuple[PhaseName, int]] = (),
    ready: int | None = None,
    shutdown: int | None = None,
    recognised: bool = True,
    **facts: tuple[Any, int],
) -> Reading:
    return Reading(
        phases=tuple(Phase(name, line, line) for name, line in phases),
        facts={name: Fact(name, value, line) for name, (value, line) in facts.items()},
        ready_line=ready,
        shutdown_line=shutdown,
        recognised=recognised,
    )


def course(of: Reading, events: Sequence[Event] = ()) -> Course:
    return Course.of(events, of)


def explained(hits: Sequence[Hit], of: Reading | None = None, events: Sequence[Event] = ()) -> Explanation:
    return explain(hits, course(of or reading(), events or [hit.event for hit in hits]))


def judged(
    hits: Sequence[Hit], of: Reading | None = None, events: Sequence[Event] = (), live: LiveClock | None = None
) -> Verdict:
    way = course(of or reading(), events or [hit.event for hit in hits])
    lines = [each.line for each in way.events]
    data = bytearray(b" " * 100 * (max((line.number for line in lines), default=0) + 2))
    for line in lines:
        text = line.text.encode() + b"\n"
        data[line.offset : line.offset + len(text)] = text
    quotes = Quotes(bytes(data), lines)
    return judge(explain(hits, way), way, quotes, Place(1, 1, 1, 99), engine="sglang", live=live)


def ids(explanation: Explanation) -> list[str]:
    return [finding.rule.id for finding in explanation.diagnoses]


__all__ = ["Confidence", "FixSpec", "Pattern", "Text", "consequence", "course", "event", "explained", "hit", "ids"]
