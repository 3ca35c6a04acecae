"""The steps of a relaunch as they are shown, and what Ctrl-C does meanwhile."""

import io
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Self

import pytest

from sgdoctor.cli.relaunch_steps import Interrupts, StepLines
from sgdoctor.redaction import redactor
from sgdoctor.relaunch.model import NotReady, Progress, Ready, Step, StepState
from sgdoctor.report.canvas import console_for
from sgdoctor.texts import Text

BEGAN = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Waiting:
    """A readiness that only knows whether it was cancelled."""

    cancelled = False

    def wait(self, container: str, on_note: Callable[[Text], None]) -> Ready | NotReady:
        raise AssertionError

    def cancel(self) -> None:
        self.cancelled = True


def at(step: Step, state: StepState, seconds: float = 0, note: str = "") -> Progress:
    return Progress(step, state, BEGAN + timedelta(seconds=seconds), Text(note, note) if note else None)


def shown(*told: Progress, lang: str = "en") -> list[str]:
    stream = io.StringIO()
    with StepLines(console_for(stream, {}), lang, redactor()) as lines:
        for progress in told:
            lines(progress)
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_one_line_for_each_step_and_for_each_phase_while_it_waits() -> None:
    rows = shown(
        at(Step.STOP, StepState.BEGUN),
        at(Step.STOP, StepState.DONE, 2.5),
        at(Step.READY, StepState.BEGUN, 3),
        at(Step.READY, StepState.BEGUN, 4, "weights"),
        at(Step.READY, StepState.BEGUN, 6, "weights"),
        at(Step.READY, StepState.BEGUN, 15, "graph capture"),
        at(Step.READY, StepState.FAILED, 90, "It ended: api_key=swordfish1"),
    )

    assert ["stop the old server 2.5 s", "1.0 s weights", "12 s graph capture"] == [
        row.lstrip("✔+ ") for row in rows[:3]
    ]
    assert "wait until it serves: It ended: api_key=***" == rows[3].lstrip("✖x ")
    assert 4 == len(rows)


def test_seconds_do_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = StepLines(console_for(io.StringIO(), {}), "en", redactor())

    class SetBack(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2001, 1, 1, tzinfo=tz)

    monkeypatch.setattr("sgdoctor.cli.relaunch_steps.datetime", SetBack)

    assert 0 <= lines.seconds < 1e6


def test_in_chinese() -> None:
    [row] = shown(at(Step.STOP, StepState.BEGUN), at(Step.STOP, StepState.DONE, 12), lang="zh")

    assert row.endswith("停止旧服务 12 秒")


def test_an_output_that_is_gone_stops_nothing() -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    lines = StepLines(console_for(Gone(), {}), "en", redactor())
    for state in (StepState.BEGUN, StepState.DONE):
        lines(at(Step.STOP, state))

    assert lines._gone


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_between_two_steps_and_once(number: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    readiness = Waiting()
    told: list[Progress] = []
    before = signal.getsignal(number)
    with Interrupts(readiness, "sgl", "en") as interrupts:
        watch = interrupts.watching(told.append)
        watch(at(Step.STOP, StepState.BEGUN))
        os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt):
            watch(at(Step.STOP, StepState.DONE))
        # The way back is not ended by it.
        watch(at(Step.REMOVE, StepState.BEGUN))
        watch(at(Step.START, StepState.BEGUN))

    assert readiness.cancelled
    assert (1, 4) == (interrupts.count, len(told))
    assert "Stopping: everything goes back" in capfd.readouterr().err
    assert before == signal.getsignal(number)


def test_the_way_back_is_left_by_the_third() -> None:
    with Interrupts(Waiting(), "sgl", "en") as interrupts:
        watch = interrupts.watching(lambda _: None)
        os.kill(os.getpid(), signal.SIGINT)
        watch(at(Step.SAVE_LOG, StepState.BEGUN))
        os.kill(os.getpid(), signal.SIGINT)
        watch(at(Step.REMOVE, StepState.BEGUN))
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_lost_terminal_is_not_heard_of() -> None:
    with Interrupts(Waiting(), "sgl", "en") as interrupts:
        os.kill(os.getpid(), signal.SIGHUP)
        interrupts.watching(lambda _: None)(at(Step.STOP, StepState.BEGUN))

    assert 0 == interrupts.count
    assert signal.SIG_DFL == signal.getsignal(signal.SIGHUP)


def test_what_was_deaf_to_ctrl_c_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts(Waiting(), "sgl", "en") as interrupts:
            os.kill(os.getpid(), signal.SIGINT)

        assert 0 == interrupts.count
        assert signal.SIG_IGN == signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
