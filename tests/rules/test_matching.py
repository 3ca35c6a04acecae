"""Which events a rule hits, and what a hit says."""

from typing import Any

import pytest

from sgdoctor.logs import literals
from sgdoctor.logs.event import Event, EventKind, Frame
from sgdoctor.rules.base import RuleBase
from sgdoctor.rules.matching import match_attempt
from sgdoctor.rules.model import Hit

from .samples import base_of, line, of_kind, reading, traceback

LITERAL = {"literals": ["out of memory"]}


def hits(base: RuleBase, *events: Event, **read: Any) -> list[Hit]:
    return match_attempt(base, events, reading(**read))


def test_literals_decide_where_there_is_no_pattern() -> None:
    base = base_of({"literals": ["out of memory", "memory exhausted"]})

    found = hits(base, line("CUDA out of memory", 7), line("Out Of Memory", 8), line("memory exhausted", 9))

    assert [(hit.event.line.number, hit.weight, hit.evidence) for hit in found] == [(7, 13, (7,)), (9, 16, (9,))]


def test_a_literal_does_not_span_two_events() -> None:
    base = base_of({"literals": ["firstsecond", "first second"]})

    assert hits(base, line("first"), line("second", 2)) == []


def test_a_rule_hits_an_event_once_with_the_first_entry_that_matches() -> None:
    base = base_of({**LITERAL, "message": r"(?P<size>\d+) GiB"}, captures={"size": {"type": "gib"}})

    found = hits(base, line("out of memory: 3 GiB of 24 GiB, out of memory"))

    assert [hit.captures for hit in found] == [{"size": 3.0}]


@pytest.mark.parametrize(
    ("event", "kinds"),
    [
        ("any", {EventKind.LINE, EventKind.TRACEBACK, EventKind.PROGRESS, EventKind.EXIT}),
        ("line", {EventKind.LINE}),
        ("traceback", {EventKind.TRACEBACK}),
        ("exit", {EventKind.EXIT}),
    ],
)
def test_kinds_of_events_and_data_is_never_matched(event: str, kinds: set[EventKind]) -> None:
    base = base_of({**LITERAL, "event": event})
    events = [of_kind(kind, "out of memory", number) for number, kind in enumerate(EventKind, 1)]

    assert {hit.event.kind for hit in hits(base, *events)} == kinds


def test_the_depth_is_that_of_the_exception_that_matches() -> None:
    base = base_of({**LITERAL, "message": "out of memory"}, {"literals": ["capture failed"]}, LITERAL)
    event = traceback(
        ("torch.OutOfMemoryError", "CUDA out of memory"), ("RuntimeError", "capture failed: out of memory")
    )

    found = hits(base, event)

    assert [(hit.rule.id, hit.depth) for hit in found] == [("SGL401", 0), ("SGL402", 1), ("SGL403", 0)]


def test_an_exception_is_matched_whole_with_or_without_its_module() -> None:
    event = traceback(("torch.OutOfMemoryError", "CUDA out of memory"), ("RuntimeError", "x"))
    matches = ["OutOfMemoryError", r"torch\.OutOfMemoryError", "OutOfMemory", "Memory", "RuntimeError", "ValueError"]
    base = base_of(*({**LITERAL, "exception": pattern} for pattern in matches))

    found = hits(base, event, line("OutOfMemoryError: out of memory", 20))

    assert [(hit.rule.id, hit.depth) for hit in found] == [("SGL401", 0), ("SGL402", 0), ("SGL405", 1)]


def test_exception_and_message_hold_of_the_same_exception_before_the_joined_text_is_asked() -> None:
    event = traceback(("ValueError", "out of memory 1"), ("RuntimeError", "out of memory 2"))
    base = base_of(
        {**LITERAL, "exception": "RuntimeError", "message": r"memory (?P<n>\d)"}, captures={"n": {"type": "int"}}
    )

    found = hits(base, event)

    assert [(hit.depth, hit.captures) for hit in found] == [(1, {"n": 2})]


def test_frames_and_headers() -> None:
    frames = (Frame("/sgl/model_runner.py", 7, "init_memory_pool"),)
    event = traceback(("RuntimeError", "out of memory"), header="Scheduler hit an exception:", frames=frames)
    base = base_of(
        {**LITERAL, "frame": r"model_runner\.py:init_memory_pool"},
        {**LITERAL, "frame": "capture"},
        {**LITERAL, "header": "Scheduler hit"},
        {**LITERAL, "header": "Detokenizer hit"},
        {"literals": ["Scheduler hit an exception"]},
        {"literals": ["Scheduler hit an exception"], "message": "Scheduler hit"},
        {"literals": ["init_memory_pool"]},
    )

    assert [hit.rule.id for hit in hits(base, event)] == ["SGL401", "SGL403", "SGL405"]


def test_clauses() -> None:
    events = (line("out of memory while sampling"), line("Capture begins here", 2))
    base = base_of(
        {**LITERAL, "none_of": [{"message": "sampl"}]},
        {**LITERAL, "none_of": [{"elsewhere": "Capture begins"}]},
        {**LITERAL, "none_of": [{"elsewhere": "Capture ends"}]},
        {**LITERAL, "all_of": [{"message": "sampl"}, {"when": "args.tp_size == 2"}]},
        {**LITERAL, "all_of": [{"message": "sampl"}, {"when": "args.tp_size == 3"}]},
        {**LITERAL, "when": "missing > 1"},
    )

    assert [hit.rule.id for hit in hits(base, *events, args__tp_size=2)] == ["SGL403", "SGL404"]


def test_texts_looked_for_elsewhere_are_literals_that_hit_nothing() -> None:
    base = base_of({**LITERAL, "none_of": [{"elsewhere": "Capture begins"}]})

    assert dict(zip(base.literals, base.literal_rules, strict=True)) == {"out of memory": (0,), "Capture begins": ()}


def test_where_a_rule_applies() -> None:
    event = line("out of memory", 10)
    phases = (("weights", 1), ("graph_capture", 8))

    def found(applies: dict[str, Any], **read: Any) -> int:
        return len(hits(base_of(LITERAL, applies=applies), event, **read))

    assert found({"phase": ["graph_capture"]}, phases=phases) == 1
    assert found({"phase": ["weights"]}, phases=phases) == 0
    assert found({"phase": ["weights"]}) == 1
    assert found({"versions": {"sglang": ">=0.5.14"}}, version="0.5.13") == 0
    assert found({"versions": {"sglang": ">=0.5.14"}}) == 1
    assert found({"when": "args.tp_size > 1"}, args__tp_size=1) == 0
    assert found({"when": "args.tp_size > 1"}) == 0
    assert found({"when": "phase == 'graph_capture'"}, phases=phases) == 1


def test_what_became_of_the_attempt() -> None:
    events = (line("out of memory", 10, "TP0"), line("out of memory", 30, "TP1"))
    base = base_of({**LITERAL, "when": "survived"}, {**LITERAL, "when": "ready and ranks == 2"})

    found = hits(base, *events, ready_line=20)

    assert [(hit.rule.id, hit.event.line.number) for hit in found] == [("SGL401", 10), ("SGL402", 10), ("SGL402", 30)]


def test_captures_are_names_of_the_conditions() -> None:
    base = base_of(
        {**LITERAL, "message": r"memory (?P<slots>-?\d+)", "all_of": [{"when": "slots < 0"}]},
        captures={"slots": {"type": "int", "min": -10}},
    )

    found = hits(base, line("out of memory -2"), line("out of memory 2", 2), line("out of memory -20", 3))

    assert [hit.captures for hit in found] == [{"slots": -2}]


def test_rules_over_facts_show_the_lines_of_their_evidence() -> None:
    match = {"event": "fact", "when": "context_len > kv_tokens", "evidence": ["kv_tokens", "context_len", "missing"]}
    base = base_of(match, {"event": "fact", "when": "kv_tokens > context_len"})

    found = hits(base, context_len=65536, kv_tokens=21473)

    assert [(hit.rule.id, hit.evidence, hit.event.line.number) for hit in found] == [("SGL401", (2, 1), 2)]
    assert found[0].event.text == "kv_tokens=21473, context_len=65536"


def test_a_catastrophic_pattern_is_stopped_and_not_tried_again() -> None:
    base = base_of({**LITERAL, "message": r"(a|aa|a?a)+$"}, LITERAL)
    events = [line("out of memory " + "a" * 300 + "b", number) for number in range(1, 40)]
    slow: list[str] = []

    found = match_attempt(base, events, reading(), slow_rules=slow)

    assert slow == ["SGL401"]
    assert len(found) == 39


def test_a_flood_of_literals_is_matched_event_by_event(monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_of(LITERAL)
    events = [line("out of memory " * 20, number) for number in range(1, 30)]
    find = type(base.index).find
    monkeypatch.setattr(type(base.index), "find", lambda self, data: find(self, data, limit=100))

    with pytest.raises(literals.FloodError):
        base.index.find(b"out of memory" * 101)
    assert len(hits(base, *events)) == 29


def test_no_events() -> None:
    assert hits(base_of(LITERAL)) == []
