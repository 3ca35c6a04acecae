"""While a log arrives in pieces of any size, the answer is that for the finished log."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.logs.sources import open_log
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.watching.live import Live
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

    live, store, newest = fed(base, data, [3000, 800, 12_000])
    actual = [live.verdict_of(number, len(expected)) for number in range(1, newest.attempt)]

    assert expected[-1] == newest
    assert [verdict.state for verdict in expected[:-1]] == [verdict and verdict.state for verdict in actual]
    assert [verdict.first_line for verdict in expected] == [entry.first_line for entry in live.attempts(newest)]
    store.close()
