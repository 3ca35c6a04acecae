"""Confirms which rules hit the events of one attempt."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from sgdoctor.engines.base import Fact, PhaseName, Reading
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.line import Line
from sgdoctor.logs.literals import FloodError
from sgdoctor.rules.base import RuleBase
from sgdoctor.rules.captures import typed
from sgdoctor.rules.model import Clause, Hit, Pattern, Rule
from sgdoctor.rules.versions import applies

TIMEOUT: Final = 0.2
"""Seconds for one pattern on one event. A sound pattern takes microseconds."""

MAX_SEARCHED: Final = 65_536
"""Characters of an event that patterns are searched in: `regex` needs time for each of them, timeouts or not."""


def match_attempt(
    base: RuleBase,
    events: Sequence[Event],
    reading: Reading,
    *,
    attempt_facts: Mapping[str, Any] | None = None,
    line_of: Callable[[int], Line] | None = None,
    slow_rules: list[str] | None = None,
) -> list[Hit]:
    """Every hit of every rule in one attempt.

    Args:
        base: the rules.
        events: those of the attempt that hold a literal of the base, or more, in log order.
        reading: phases and facts of the attempt.
        attempt_facts: facts for conditions, plain or as ``Fact``; those of the reading where None.
        line_of: gives a line by its number, for the evidence of rules over facts.
        slow_rules: gets the ids of rules that a pattern's timeout switched off for this attempt.

    Returns:
        Hits in the order of their events, those of rules over facts last; a rule hits an event at most once.
    """
    facts = reading.facts if attempt_facts is None else attempt_facts
    slow = [] if slow_rules is None else slow_rules
    return _Matcher(base, events, reading, facts=facts, line_of=line_of, slow=slow).hits()


class _Matcher:
    def __init__(
        self,
        base: RuleBase,
        events: Sequence[Event],
        reading: Reading,
        *,
        facts: Mapping[str, Any],
        line_of: Callable[[int], Line] | None,
        slow: list[str],
    ) -> None:
        self._base = base
        self._events = [event for event in events if event.kind is not EventKind.DATA]
        self._reading = reading
        self._facts = facts
        self._line_of = line_of
        self._slow = slow
        # The literals of all events are looked for in one buffer: one scan an attempt, not one an event.
        # A header is part of it, since rules may have no text but that; it comes after what is matched.
        texts = [
            f"{event.text}\n{event.header}".encode("utf-8", "replace") if event.header
            # Lone surrogates cannot be encoded, and no literal holds one.
            else event.text.encode("utf-8", "replace")
            for event in self._events
        ]  # fmt: skip
        self._buffer = b"\n".join(texts)
        self._starts: list[int] = []
        position = 0
        for text in texts:
            self._starts.append(position)
            position += len(text) + 1
        self._names: dict[str, Any] = {
            name: fact.value if isinstance(fact, Fact) else fact for name, fact in self._facts.items()
        }
        ranks = {event.rank for event in self._events if event.rank}
        self._names |= {"ready": reading.ready_line is not None, "ranks": max(1, len(ranks))}

    def hits(self) -> list[Hit]:
        found = []
        for number, literals in self._literals_by_event():
            event = self._events[number]
            candidates = sorted({rule for literal in literals for rule in self._base.literal_rules[literal]})
            texts = {self._base.literals[literal] for literal in literals}
            for rule_number in candidates:
                rule = self._base.rule_at(rule_number)
                if rule.id not in self._slow and (hit := self._match(rule, event, texts)) is not None:
                    found.append(hit)
        found += self._fact_hits()
        return found

    def _literals_by_event(self) -> Iterator[tuple[int, list[int]]]:
        by_event: dict[int, list[int]] = {}
        try:
            for offset, literal in self._base.index.find(self._buffer):
                by_event.setdefault(bisect_right(self._starts, offset) - 1, []).append(literal)
        except FloodError:
            # One event after the other: slower, and bounded by the number of events.
            for number, event in enumerate(self._events):
                text = f"{event.text}\n{event.header}".encode("utf-8", "replace")
                if literals := self._base.index.present(text):
                    by_event[number] = sorted(literals)
        yield from sorted(by_event.items())

    def _match(self, rule: Rule, event: Event, texts: set[str]) -> Hit | None:
        phase = self._reading.phase_at(event.line.number)
        if not self._applies(rule, event, phase):
            return None
        for pattern in rule.patterns:
            matched = texts.intersection(pattern.literals)
            if not matched or not _is_of_kind(pattern.event, event.kind):
                continue
            try:
                place = _place(pattern, event, matched)
                if place is None:
                    continue
                depth, groups = place
                captures = typed(rule.captures, groups)
                if not self._clauses_hold(pattern, event, self._names_for(event, phase, captures)):
                    continue
            except TimeoutError:
                self._slow.append(rule.id)
                return None
            proof = event.raised[depth].line_with(matched) if event.raised else event.line
            return Hit(rule, event, captures, phase, depth, max(map(len, matched)), (proof.number,))
        return None

    def _applies(self, rule: Rule, event: Event, phase: PhaseName | None) -> bool:
        if rule.phases and phase is not None and phase.value not in rule.phases:
            return False
        if rule.versions and not applies(rule.versions, self._facts):
            return False
        return not rule.when or _holds(rule.when, self._names_for(event, phase, {}))

    def _names_for(self, event: Event, phase: PhaseName | None, captures: Mapping[str, Any]) -> dict[str, Any]:
        ready = self._reading.ready_line
        return {
            **self._names,
            **captures,
            "phase": phase.value if phase else None,
            "survived": ready is not None and ready > event.last,
        }

    def _clauses_hold(self, pattern: Pattern, event: Event, names: Mapping[str, Any]) -> bool:
        if pattern.when and not _holds(pattern.when, names):
            return False
        return all(self._clause_holds(clause, event, names) for clause in pattern.all_of) and not any(
            self._clause_holds(clause, event, names) for clause in pattern.none_of
        )

    def _clause_holds(self, clause: Clause, event: Event, names: Mapping[str, Any]) -> bool:
        if clause.message:
            return _search(clause.message, event.text) is not None
        if clause.elsewhere:
            return clause.elsewhere.encode() in self._buffer
        return _holds(clause.when, names)

    def _fact_hits(self) -> Iterator[Hit]:
        for rule in self._base.fact_rules:
            for pattern in rule.patterns:
                if pattern.event != "fact":
                    continue
                facts = [fact for name in pattern.evidence if isinstance(fact := self._facts.get(name), Fact)]
                event = self._fact_event(facts)
                phase = self._reading.phase_at(event.line.number)
                names = self._names_for(event, phase, {})
                if (
                    self._applies(rule, event, phase)
                    and _holds(pattern.when, names)
                    and self._clauses_hold(pattern, event, names)
                ):
                    evidence = tuple(dict.fromkeys(fact.line for fact in facts))
                    yield Hit(rule, event, {}, phase, 0, 0, evidence or (event.line.number,))
                    break

    def _fact_event(self, facts: Sequence[Fact]) -> Event:
        if facts:
            number = facts[0].line
            line = self._line_of(number) if self._line_of else None
            if line is None:
                line = Line(number, 0, ", ".join(f"{fact.name}={fact.value}" for fact in facts))
        else:
            line = self._events[0].line if self._events else Line(1, 0, "")
        return Event(EventKind.LINE, line.text, line, line.number, line.number)


def _is_of_kind(wanted: str, kind: EventKind) -> bool:
    return wanted == kind.value or (wanted == "any" and kind is not EventKind.DATA)


def _place(pattern: Pattern, event: Event, literals: set[str]) -> tuple[int, Mapping[str, str | None]] | None:
    """Depth and named groups of a match; None where the pattern does not match."""
    if pattern.header and _search(pattern.header, event.header) is None:
        return None
    if pattern.frame and not any(
        _search(pattern.frame, f"{frame.file}:{frame.function}") for raised in event.raised for frame in raised.frames
    ):
        return None
    if pattern.exception and not event.raised:
        return None
    of_type = [
        depth
        for depth, raised in enumerate(event.raised)
        if not pattern.exception or _is_type(pattern.exception, raised.type)
    ]
    if pattern.exception and not of_type:
        return None
    for depth in of_type:
        text = event.raised[depth].text
        if pattern.message:
            if (match := _search(pattern.message, text)) is not None:
                return depth, match.groupdict()
        elif any(literal in text for literal in literals):
            return depth, {}
    first = of_type[0] if pattern.exception else 0
    if not pattern.message:
        return first, {}
    match = _search(pattern.message, event.text)
    return None if match is None else (first, match.groupdict())


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> Any:
    import regex  # noqa: PLC0415 - 15 ms that only a hit needs

    return regex.compile(pattern)


def _search(pattern: str, text: str) -> Any:
    """A match or None; raises TimeoutError."""
    return _compiled(pattern).search(text, endpos=MAX_SEARCHED, timeout=TIMEOUT)


def _is_type(pattern: str, name: str) -> bool:
    compiled = _compiled(pattern)
    return any(compiled.fullmatch(text, timeout=TIMEOUT) is not None for text in (name, name.rpartition(".")[2]))


def _holds(condition: str, names: Mapping[str, Any]) -> bool:
    from sgdoctor.rules.conditions import holds  # noqa: PLC0415 - few rules that hit have one

    return holds(condition, names)
