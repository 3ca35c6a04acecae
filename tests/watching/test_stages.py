"""The timeline of a start, and when it will be ready."""

import pytest

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.engines.base import Fact, PhaseName
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.texts import Text
from sgdoctor.watching.model import Stage, StageState
from sgdoctor.watching.stages import LARGE_MOE_CAPTURE, SECONDS_PER_GIB, SMALL_CAPTURE, Band, Now, ready_in, stages_of
from tests.conftest import LOGS


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base()


def verdict_at(base: RuleBase, name: str, text: bytes = b"") -> Verdict:
    """The verdict on a log, or on its part before the line with ``text``."""
    data = (LOGS / "real" / f"{name}.log").read_bytes()
    if text:
        data = data[: data.index(text)].rpartition(b"\n")[0] + b"\n"
    return diagnose_bytes(data, "", base)[-1]


def nothing_learned(_: str) -> Band | None:
    return None


def stages(verdict: Verdict, elapsed: float | None = None, *, going_on: bool = True) -> dict[PhaseName, Stage]:
    return {stage.name: stage for stage in stages_of(verdict, Now(elapsed), nothing_learned, going_on=going_on)}


def with_facts(verdict: Verdict, **facts: object) -> Verdict:
    more = {name.replace("__", "."): Fact(name, value, 1) for name, value in facts.items()}
    return verdict._replace(facts={**verdict.facts, **more})


def test_a_healthy_start_is_done_up_to_serving(base: RuleBase) -> None:
    timeline = stages(verdict_at(base, "boot-hybrid", b"SIGTERM received"), 77.0)

    assert [*timeline] == [
        PhaseName.ARGS,
        PhaseName.CONFIG,
        PhaseName.DISTRIBUTED,
        PhaseName.WEIGHTS,
        PhaseName.STATE_CACHE,
        PhaseName.KV_CACHE,
        PhaseName.GRAPH_CAPTURE,
        PhaseName.HTTP,
        PhaseName.WARMUP,
        PhaseName.SERVING,
    ]
    assert {stage.state for stage in timeline.values()} == {StageState.DONE, StageState.RUNNING}
    assert (timeline[PhaseName.SERVING].state, timeline[PhaseName.SERVING].seconds) == (StageState.RUNNING, 77.0)
    assert timeline[PhaseName.KV_CACHE].detail == Text("2,621,682 tokens", "2,621,682 个 token")
    assert timeline[PhaseName.WEIGHTS].progress == (1, 1)
    assert timeline[PhaseName.GRAPH_CAPTURE].progress == (7, 7)
    assert timeline[PhaseName.GRAPH_CAPTURE].seconds == 2.41


def test_a_failed_start_fails_in_the_stage_that_it_was_in(base: RuleBase) -> None:
    timeline = stages(verdict_at(base, "bcg-decode-hybrid"), going_on=False)

    assert timeline[PhaseName.GRAPH_CAPTURE].state is StageState.FAILED
    assert timeline[PhaseName.HTTP].state is StageState.WAITING
    assert timeline[PhaseName.KV_CACHE].state is StageState.DONE


def test_a_stopped_server_serves_no_more(base: RuleBase) -> None:
    timeline = stages(verdict_at(base, "boot-hybrid"), going_on=False)

    assert timeline[PhaseName.SERVING].state is StageState.DONE
    assert timeline[PhaseName.SHUTDOWN].state is StageState.DONE


def test_stages_that_a_start_does_not_have_are_left_out(base: RuleBase) -> None:
    early = verdict_at(base, "boot-dense", b"Load weight begin")

    assert PhaseName.STATE_CACHE not in stages(early)
    assert PhaseName.GRAPH_CAPTURE in stages(early)
    assert PhaseName.GRAPH_CAPTURE not in stages(with_facts(early, args__disable_cuda_graph=True))
    assert PhaseName.WARMUP not in stages(with_facts(early, args__skip_server_warmup=True))


def test_what_is_normal_depends_on_the_model(base: RuleBase) -> None:
    early = verdict_at(base, "boot-dense", b"Capture target")
    large = with_facts(early, weights_gib=18.68, model_path="/models/Qwen3.6-35B-A3B-AWQ")
    dense = with_facts(early, weights_gib=19.05, model_path="/models/Qwen3.6-27B-AWQ")

    assert stages(early)[PhaseName.GRAPH_CAPTURE].usual == SMALL_CAPTURE
    assert stages(large)[PhaseName.GRAPH_CAPTURE].usual == LARGE_MOE_CAPTURE
    assert stages(dense)[PhaseName.GRAPH_CAPTURE].usual == (10, 190)
    assert stages(dense)[PhaseName.WEIGHTS].usual == (19.05 * SECONDS_PER_GIB[0], 19.05 * SECONDS_PER_GIB[1])


def test_the_time_to_be_ready_follows_the_stages_that_are_left(base: RuleBase) -> None:
    verdict = with_facts(
        verdict_at(base, "boot-hybrid", b"Capture target decode CUDA graph end"),
        weights_gib=18.68,
        model_path="/models/Qwen3.6-35B-A3B-AWQ",
        capture_done=0,
    )

    def left(now: Now, whole: Band | None = None) -> Band | None:
        return ready_in(verdict, stages_of(verdict, now, nothing_learned, going_on=True), now, whole)

    assert left(Now(60.0)) == pytest.approx((111.0, 148.0))
    assert left(Now(500.0)) == pytest.approx((1.0, 18.0))
    assert left(Now(60.0, 100.0), (190.0, 210.0)) == (90.0, 110.0)


def test_progress_narrows_the_time_that_is_left(base: RuleBase) -> None:
    verdict = with_facts(
        verdict_at(base, "boot-hybrid", b"Capture target decode CUDA graph end"), capture_done=3, capture_total=4
    )
    now = Now(12.0)

    left = ready_in(verdict, stages_of(verdict, now, nothing_learned, going_on=True), now, None)

    assert left is not None
    assert left[1] <= 2 * 4 + 3 + 15


def test_nothing_is_said_before_anything_is_known_or_when_it_is_over(base: RuleBase) -> None:
    early, serving = verdict_at(base, "boot-dense", b"Load weight end"), verdict_at(base, "boot-dense", b"SIGTERM")

    for verdict in (early, serving, verdict_at(base, "bcg-decode-hybrid")):
        assert ready_in(verdict, stages_of(verdict, Now(1.0), nothing_learned, going_on=True), Now(1.0), None) is None
