"""Starts that hang, by the clock of their own log."""

import pytest

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.rules.base import load_rule_base

ARGS = "[2026-11-30 10:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=1)\n"
WEIGHTS = "[2026-11-30 10:00:10] Load weight begin. avail mem=23.20 GB\n"
PROBE = '[2026-11-30 10:{}] INFO:     127.0.0.1:5555 - "GET /health HTTP/1.1" 503 Service Unavailable\n'
BAR = "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:01<00:03,  1.00it/s]\n"
LOADED = "[2026-11-30 10:20:00] Load weight end. elapsed=1190.00 s, type=T, avail mem=4.20 GB, mem usage=19.00 GB.\n"


def verdict_of(text: str) -> Verdict:
    return diagnose_bytes(text.encode(), "log", load_rule_base(user_dirs=()))[-1]


def silent(verdict: Verdict) -> float | None:
    fact = verdict.facts.get("silent_seconds")
    return fact.value if fact else None


@pytest.mark.parametrize(
    ("text", "state", "seconds"),
    [
        pytest.param(ARGS + WEIGHTS + PROBE.format("20:10"), State.STALLED, 1200.0, id="only probes"),
        pytest.param(ARGS + WEIGHTS + PROBE.format("05:10"), State.STARTING, 300.0, id="within what is normal"),
        pytest.param(ARGS + WEIGHTS + PROBE.format("00:40"), State.STARTING, None, id="too short to be told"),
        pytest.param(
            ARGS + WEIGHTS + PROBE.format("20:10") + BAR + PROBE.format("20:20"), State.STARTING, None, id="a bar moves"
        ),
        pytest.param(ARGS + WEIGHTS + LOADED + PROBE.format("20:30"), State.STARTING, None, id="slow but done"),
        pytest.param(
            ARGS
            + WEIGHTS
            + "[2026-11-30 10:00:20] The server is fired up and ready to roll!\n"
            + PROBE.format("40:00"),
            State.HEALTHY,
            None,
            id="ready",
        ),
    ],
)
def test_progress_is_what_counts(text: str, state: State, seconds: float | None) -> None:
    verdict = verdict_of(text)

    assert state is verdict.state
    assert seconds == silent(verdict)


def test_a_line_that_repeats_is_no_progress() -> None:
    waiting = "[2026-11-30 10:{:02}:10] Waiting for the lock of the cache, try {}\n"

    verdict = verdict_of(ARGS + WEIGHTS + "".join(waiting.format(minute, minute) for minute in range(1, 30)))

    assert verdict.state is State.STALLED
    assert silent(verdict) == 28 * 60.0
    assert [diagnosis.rule.id for diagnosis in verdict.diagnoses] == ["SGL343"]
    assert "28 min" in verdict.summary.en
    assert verdict.closing is not None
    assert "SGL" not in verdict.closing.en


def test_a_loop_names_what_ended_the_start_before() -> None:
    start = "[2026-11-30 10:0{0}:00] server_args=ServerArgs(model_path='/models/m', tp_size=1)\n"
    died = "RuntimeError: No CUDA GPUs are available\n"

    verdict = verdict_of(start.format(0) + died + start.format(1) + died + start.format(2))

    assert verdict.state is State.STARTING
    assert ["SGL075"] == [diagnosis.rule.id for diagnosis in verdict.diagnoses]
    assert verdict.would_decide is not None
    assert "The start before this one (from line 3) failed" in verdict.would_decide.en
    assert "上一次启动（从第 3 行开始）失败了" in verdict.would_decide.zh
