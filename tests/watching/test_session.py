"""A session turns a feed into snapshots."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sgdoctor.diagnosis.model import State
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.engines.base import PhaseName
from sgdoctor.errors import UserError
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.texts import Text
from sgdoctor.watching.feeds import Anew, Arrival, Begun, Output, ScriptFeed, Standing
from sgdoctor.watching.history import History
from sgdoctor.watching.model import Link, Load, Snapshot, StageState, Subject
from sgdoctor.watching.session import Session
from tests.conftest import LOGS

BOOT = LOGS / "real" / "boot-hybrid.log"
CRASH = LOGS / "real" / "bcg-decode-hybrid.log"


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base()


class Watcher:
    """Collects what a session tells."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.failures: list[Exception] = []
        self._changed = threading.Condition()

    def take(self, snapshot: Snapshot) -> None:
        with self._changed:
            self.snapshots.append(snapshot)
            self._changed.notify_all()

    def fail(self, failure: Exception) -> None:
        with self._changed:
            self.failures.append(failure)
            self._changed.notify_all()

    def wait(self, enough: Callable[[Snapshot], bool]) -> Snapshot:
        with self._changed:
            assert self._changed.wait_for(lambda: any(map(enough, self.snapshots[-1:])), 15), self.snapshots[-1:]
            return self.snapshots[-1]

    def wait_for_failure(self) -> Exception:
        with self._changed:
            assert self._changed.wait_for(lambda: bool(self.failures), 15)
            return self.failures[0]


@contextmanager
def watched(
    base: RuleBase, script: Sequence[tuple[float, bytes | Arrival]], history: History | None = None, **options: bool
) -> Iterator[tuple[Session, Watcher]]:
    feed = ScriptFeed(script, Subject("container", "sgl", "abc"), end=options.get("end", True))
    feed.learns = options.get("learns", False)
    session, watcher = Session(feed, base, history), Watcher()
    session.start(watcher.take, watcher.fail)
    try:
        yield session, watcher
    finally:
        session.stop()


def ended(snapshot: Snapshot) -> bool:
    return snapshot.link is Link.ENDED


def until(log: Path, text: bytes) -> bytes:
    data = log.read_bytes()
    return data[: data.index(text)].rpartition(b"\n")[0] + b"\n"


def test_the_clock_of_a_start_is_not_that_of_the_one_before(base: RuleBase) -> None:
    data = until(BOOT, b"Load weight end")
    now = time.time()
    # The log of the first start was a thousand seconds old when it was read.
    parts = (Output(data, time=now - 1000), Output(data, time=now))
    script: list[tuple[float, bytes | Arrival]] = [entry for part in parts for entry in ((0.3, Begun()), (0.0, part))]

    with watched(base, script, end=False) as (_, watcher):
        snapshot = watcher.wait(lambda one: len(one.attempts) == 2 and len(one.verdict.phases) > 2)
        (running,) = [stage for stage in snapshot.stages if stage.state is StageState.RUNNING]

    assert running.seconds is not None
    assert running.seconds < 100


def test_the_last_snapshot_holds_the_verdict_of_the_log(base: RuleBase) -> None:
    data = CRASH.read_bytes()
    expected = diagnose_bytes(data, "", base)[-1]

    with watched(base, [(0.0, data[:20_000]), (0.05, data[20_000:30_001]), (0.05, data[30_001:])]) as (
        session,
        watcher,
    ):
        last = watcher.wait(ended)

        assert last.verdict == expected
        assert session.snapshot() == last
        assert last.lines == len(session.lines) == data.count(b"\n")
    assert last.attempts[-1].title == expected.diagnoses[0].title
    assert last.subject == Subject("container", "sgl", "abc", "", last.subject.engine, "qwen3_5-hybrid", "", "31300")
    assert last.subject.engine.startswith("sglang 0.5.15")
    assert (last.ready_in, last.uptime) == (None, None)
    failed = [stage.name for stage in last.stages if stage.state is StageState.FAILED]
    assert failed == [PhaseName.GRAPH_CAPTURE]


def test_a_start_that_goes_on_has_a_running_stage_and_a_time_to_be_ready(base: RuleBase) -> None:
    script = [(0.0, until(BOOT, b"Capture target decode CUDA graph end"))]

    with watched(base, script, end=False) as (_, watcher):
        moment = watcher.wait(lambda snapshot: any(stage.state is StageState.RUNNING for stage in snapshot.stages))
        later = watcher.wait(lambda snapshot: (running(snapshot)[1] or 0) > (running(moment)[1] or 0) + 1)

    assert (moment.verdict.state, moment.link) == (State.STARTING, Link.FOLLOWING)
    assert running(moment)[0] is PhaseName.GRAPH_CAPTURE
    assert [stage.state for stage in moment.stages[-2:]] == [StageState.WAITING] * 2
    assert moment.ready_in is not None
    assert 0 <= moment.ready_in[0] < moment.ready_in[1]
    assert later.verdict.state is State.STARTING


def running(snapshot: Snapshot) -> tuple[PhaseName, float | None]:
    return next((stage.name, stage.seconds) for stage in snapshot.stages if stage.state is StageState.RUNNING)


def test_a_serving_server_has_an_uptime_and_a_load(base: RuleBase) -> None:
    with watched(base, [(0.0, until(BOOT, b"SIGTERM received"))], end=False) as (_, watcher):
        moment = watcher.wait(lambda snapshot: snapshot.uptime is not None)

    assert moment.verdict.state is State.HEALTHY
    assert moment.load[:3] == (1938.15, 6, 0)
    assert len(moment.load.speed_history) >= 1
    assert moment.stages[-1].name is PhaseName.SERVING


def test_starts_of_a_container_are_told_and_can_be_looked_at(base: RuleBase) -> None:
    exits = Output(b"sgdoctor  | sgl exited with code 1 (restarting)\n", added=True)
    waiting = Standing(Link.WAITING, Text("again", "再来"))
    script = [
        *((0.0, entry) for entry in (Begun(1.8e9), CRASH.read_bytes(), exits, waiting)),
        (0.2, Begun(1.8e9 + 60)),
        (0.0, until(BOOT, b"SIGTERM received")),
    ]

    with watched(base, script, end=False) as (session, watcher):
        newest = watcher.wait(lambda snapshot: len(snapshot.attempts) == 2 and snapshot.verdict.state is State.HEALTHY)
        session.show_attempt(1)
        first = watcher.wait(lambda snapshot: snapshot.verdict.attempt == 1)
        session.show_attempt(None)
        watcher.wait(lambda snapshot: snapshot.verdict.attempt == 2)

    assert [entry.state for entry in newest.attempts] == [State.FAILED, State.HEALTHY]
    assert [entry.started for entry in newest.attempts] == [1.8e9, 1.8e9 + 60]
    assert first.verdict.diagnoses[0].rule.name == "bcg-decode-output"
    assert first.verdict.attempts == 2
    assert first.attempts == newest.attempts
    assert all(stage.state is not StageState.RUNNING for stage in first.stages)
    assert any(snapshot.note == waiting.note for snapshot in watcher.snapshots)


def test_an_unfinished_line_ends_where_the_log_begins_anew(base: RuleBase) -> None:
    with watched(base, [(0.0, b"half"), (0.0, Anew()), (0.0, b"new\nlast")]) as (session, watcher):
        watcher.wait(ended)

        assert [session.lines.text(number) for number in (1, 2, 3)] == ["half", "new", "last"]


def test_a_feed_that_fails_is_told(base: RuleBase) -> None:
    class Broken(ScriptFeed):
        def read(self, timeout: float) -> Sequence[Arrival]:
            raise UserError("broken", "坏了")

    session, watcher = Session(Broken([]), base), Watcher()
    session.start(watcher.take, watcher.fail)
    failure = watcher.wait_for_failure()
    session.stop()

    assert str(failure) == "broken"


def test_times_of_finished_starts_are_learned_and_told(base: RuleBase, tmp_path: Path) -> None:
    history = tmp_path / "state" / "starts.jsonl"
    script = [(0.0, BOOT.read_bytes())]
    with watched(base, script, History(history), learns=True) as (_, watcher):
        watcher.wait(ended)
    with watched(base, [(0.0, until(BOOT, b"Load weight end"))], History(history), end=False) as (_, watcher):
        moment = watcher.wait(lambda snapshot: bool(snapshot.subject.model))

    capture = next(stage for stage in moment.stages if stage.name is PhaseName.GRAPH_CAPTURE)
    assert capture.learned
    assert capture.usual == pytest.approx((2.41 * 0.9, 2.41 * 1.1))
    assert moment.ready_in == pytest.approx((28 * 0.9 - 22, 28 * 1.1 - 22), abs=2.5)
    assert history.read_bytes().count(b"\n") == 1


def test_no_snapshot_comes_after_stop(base: RuleBase) -> None:
    script = [(0.01, b"[2026-11-30 10:00:00] Decode batch\n") for _ in range(10_000)]
    with watched(base, script) as (session, watcher):
        watcher.wait(lambda snapshot: snapshot.lines > 3)
        session.stop()
        count = len(watcher.snapshots)
        threading.Event().wait(0.2)

        assert len(watcher.snapshots) == count


def test_the_load_is_that_of_the_newest_start(base: RuleBase) -> None:
    served = (LOGS / "real" / "skel27-mfs-0.88.log").read_bytes()
    failed = CRASH.read_bytes()
    with watched(base, [(0.0, served + failed)]) as (_, watcher):
        failing = watcher.wait(ended)
    with watched(base, [(0.0, failed + served)]) as (session, watcher):
        serving = watcher.wait(ended)
        session.show_attempt(1)
        earlier = watcher.wait(lambda snapshot: snapshot.verdict.attempt == 1)

    assert [len(moment.attempts) for moment in (failing, serving, earlier)] == [2, 2, 2]
    assert failing.load == Load()
    assert serving.load.token_usage is not None
    assert earlier.load == Load()


def test_a_start_without_a_line_yet_is_starting(base: RuleBase) -> None:
    script: list[tuple[float, bytes | Arrival]] = [
        (0.0, CRASH.read_bytes()),
        (0.0, Standing(Link.WAITING, Text("It has ended.", "已退出。"))),
        (0.3, Begun()),
    ]
    with watched(base, script, end=False) as (_, watcher):
        moment = watcher.wait(lambda snapshot: len(snapshot.attempts) == 2)

    assert moment.verdict.state is State.STARTING
    assert (moment.link, moment.note) == (Link.FOLLOWING, Text("", ""))
