"""While a log arrives in pieces of any size, the answer is that for the finished log."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.logs.sources import open_log
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.watching.live import Live
from sgdoctor.watching.model import LineKind
from sgdoctor.watching.store import LineStore
from tests.conftest import LOGS

ALL = sorted(LOGS.glob("*/*.log"), key=lambda path: path.name)


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base()


def bytes_of(log: Path) -> bytes:
    with open_log(str(log)) as source:
        return bytes(source.data)


def fed(base: RuleBase, data: bytes, sizes: list[int], *, look_every: int = 3) -> tuple[Live, LineStore, Verdict]:
    """Feeds a log in pieces of the given sizes, again and again, with looks at the answer in between."""
    store = LineStore()
    live = Live(base, store)
    rest, position, turn = b"", 0, 0
    while position < len(data):
        piece = rest + data[position : position + sizes[turn % len(sizes)]]
        position += sizes[turn % len(sizes)]
        turn += 1
        whole, _, rest = piece.rpartition(b"\n")
        if _:
            live.add(whole + b"\n")
        if turn % look_every == 0:
            live.judge(tail=rest)
    if rest:
        live.add(rest + b"\n")
    return live, store, live.judge(full=True)


@pytest.mark.parametrize("log", ALL, ids=lambda path: path.stem)
def test_answer_for_every_start_is_that_of_the_finished_log(log: Path, base: RuleBase) -> None:
    data = bytes_of(log)
    expected = diagnose_bytes(data, log.name, base, all_attempts=True)

    live, _store, newest = fed(base, data, [3000, 800, 12_000])
    actual = [live.verdict_of(number, len(expected)) for number in range(1, newest.attempt)]

    assert expected[-1] == newest
    assert [verdict.state for verdict in expected[:-1]] == [verdict and verdict.state for verdict in actual]
    assert [verdict.first_line for verdict in expected] == [entry.first_line for entry in live.attempts(newest)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(ALL), st.lists(st.integers(1, 20_000), min_size=1, max_size=6), st.integers(1, 9))
def test_pieces_of_any_size_give_the_same_answer(base: RuleBase, log: Path, sizes: list[int], every: int) -> None:
    data = bytes_of(log)
    expected = diagnose_bytes(data, log.name, base)[-1]
    pieces = [size + len(data) // 40 for size in sizes]

    _, _, actual = fed(base, data, pieces, look_every=every)

    assert expected == actual


def test_a_failure_is_known_with_its_last_line_and_not_before(base: RuleBase) -> None:
    lines = (LOGS / "real" / "bcg-decode-hybrid.log").read_bytes().splitlines(keepends=True)
    expected = [diagnose_bytes(b"".join(lines[:count]), "", base)[-1].state for count in range(100, len(lines) + 1)]
    store = LineStore()
    live = Live(base, store)
    live.add(b"".join(lines[:100]))

    actual = [live.judge().state]
    for line in lines[100:]:
        live.add(line)
        actual.append(live.judge().state)

    assert expected == actual


def test_a_bar_that_is_being_drawn_shows_how_far_it_is(base: RuleBase) -> None:
    data = (LOGS / "real" / "boot-hybrid.log").read_bytes()
    begin = data.index(b"Capturing batches")
    store = LineStore()
    live = Live(base, store)
    live.add(data[:begin])
    tail = b"Capturing batches (bs=8 avail_mem=2.7 GB):   0%|   | 0/7 [00:00<?, ?it/s]\rCapturing batches (bs=4 avail_mem=2.6 GB):  43%|###  | 3/7 [00:01<00:02]"

    facts = live.judge(tail=tail).facts

    assert (facts["capture_done"].value, facts["capture_total"].value) == (3, 7)
    assert "capture_done" not in live.judge().facts


def test_starts_that_the_container_engine_tells_are_starts(base: RuleBase) -> None:
    store = LineStore()
    live = Live(base, store)
    for number in range(3):
        live.begin_start(1000.0 + number)
        live.add(b"exec /usr/bin/python3: no such file or directory\n")
        live.add(b"sgdoctor  | sgl exited with code 1 (restarting)\n", added=True)
    newest = live.judge()

    attempts = live.attempts(newest)

    assert [(one.number, one.first_line, one.last_line) for one in attempts] == [(1, 1, 2), (2, 3, 4), (3, 5, 6)]
    assert [one.started for one in attempts] == [1000.0, 1001.0, 1002.0]
    assert [store.mark(line).attempt for line in range(1, 7)] == [1, 1, 2, 2, 3, 3]
    assert store.mark(6).kind is LineKind.ADDED
    first = live.verdict_of(1, 3)
    assert first is not None
    assert (first.attempt, first.attempts, first.state) == (1, 3, newest.state)


def test_lines_are_marked_by_what_they_mean(base: RuleBase) -> None:
    _, store, verdict = fed(base, (LOGS / "real" / "dtype-float16-hybrid-long-prompt.log").read_bytes(), [5000])
    root = verdict.diagnoses[0]
    proof = root.evidence[0].line
    head = store.mark(proof).head

    assert store.mark(proof).rule == root.rule.id
    assert store.mark(proof).kind is LineKind.TRACEBACK
    assert store.mark(head).kind is LineKind.TRACEBACK_HEAD
    assert "Traceback (most recent call last)" in store.text(head)
    assert {phase.start_line for phase in verdict.phases} <= set(
        store.select(frozenset({LineKind.PHASE, LineKind.BORDER, LineKind.BENIGN, LineKind.ERROR}))
    )
    assert {notice.line for notice in verdict.notices} <= {
        number for notice in verdict.notices for number in store.select(None, rule=notice.rule)
    }


def busy(count: int) -> bytes:
    line = b"[2026-11-30 10:53:40] Decode batch, #running-req: 6, #token: 1, token usage: 0.01, cuda graph: True, gen throughput (token/s): 9.6, #queue-req: 0\n"
    return line * count


def test_a_failure_behind_a_long_time_of_service_is_found(base: RuleBase) -> None:
    lines = (LOGS / "real" / "dtype-float16-hybrid-long-prompt.log").read_bytes()
    ready = lines.index(b"The server is fired up")
    border = lines.index(b"\n", ready) + 1
    store = LineStore()
    live = Live(base, store)
    live.add(lines[:border])
    for _ in range(100):
        live.add(busy(1000))
    live.judge()
    live.add(busy(200) + lines[border:] + busy(3))

    verdict = live.judge(full=True)

    assert (verdict.state, verdict.diagnoses[0].rule.name) == (State.FAILED, "dtype-conv-state")
    assert b"Index put requires" in store.read(*line_span(store, verdict.diagnoses[0].evidence[0].line))


def test_a_flood_of_one_error_leaves_little_in_memory_and_hides_nothing(base: RuleBase) -> None:
    boot = (LOGS / "real" / "boot-hybrid.log").read_bytes().partition(b"SIGTERM received")[0].rpartition(b"\n")[
        0
    ] + b"\n"
    flood = b"[2026-11-30 11:00:00] Input length (38001 tokens) exceeds the maximum allowed length (21735 tokens). Use a shorter input or enable --allow-auto-truncate.\n"
    death = (LOGS / "real" / "dtype-float16-hybrid-long-prompt.log").read_bytes().partition(b"ready to roll!\n")[2]
    store = LineStore()
    live = Live(base, store)
    live.add(boot)
    for _ in range(80):
        live.add(flood * 800)
    live.add(flood * 400 + death + flood * 400)

    verdict = live.judge()

    assert (verdict.state, verdict.diagnoses[0].rule.name) == (State.FAILED, "dtype-conv-state")
    assert len(live._intake.events) < 5_000


def line_span(store: LineStore, number: int) -> tuple[int, int]:
    return store.offset(number), store.offset(number + 1)


def test_a_start_of_which_only_an_open_traceback_is_there_yet_is_the_newest(base: RuleBase) -> None:
    boot = (LOGS / "real" / "boot-hybrid.log").read_bytes()
    border = boot.index(b"SIGTERM received")
    begin = boot[:border].rpartition(b"\n")[0] + b"\n"
    crash = (LOGS / "real" / "cli-transformers-5.17-asr.log").read_bytes()
    store = LineStore()
    live = Live(base, store)
    live.add(begin)
    for _ in range(40):
        live.add(busy(1000))
    live.add(boot[border:].partition(b"\n")[2])
    live.add(crash)

    verdict = live.judge()

    assert (verdict.attempt, verdict.state) == (2, State.FAILED)
    assert verdict.first_line == len(store) - crash.count(b"\n") + 1
