"""The start-up timeline: how far each phase is, how long it takes, and how long that normally takes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.engines.base import Phase, PhaseName
from sgdoctor.texts import Text, counted
from sgdoctor.watching.model import Stage, StageState

Band = tuple[float, float]

# Seconds that are normal where nothing was learned on this machine. Measured with SGLang 0.5.15 and 0.5.23 on one card
# (fixtures/logs/real), with the large ends from reports about models of 27 to 35 billion parameters on 24 GB cards.
BANDS: Final[Mapping[PhaseName, Band]] = {
    PhaseName.ARGS: (2, 15),
    PhaseName.CONFIG: (2, 30),
    PhaseName.DISTRIBUTED: (0.1, 5),
    PhaseName.WEIGHTS: (5, 60),
    PhaseName.STATE_CACHE: (0, 3),
    PhaseName.KV_CACHE: (0, 5),
    PhaseName.GRAPH_CAPTURE: (10, 190),
    PhaseName.HTTP: (0, 3),
    PhaseName.WARMUP: (1, 15),
}
LARGE_MOE_CAPTURE: Final[Band] = (170, 190)
"""First capture of Qwen3.6-35B-A3B AWQ on an RTX 3090: compiles its kernels; later ones may be shorter."""
SMALL_CAPTURE: Final[Band] = (1, 40)
"""Models of a few hundred million parameters: 2.4 s with Triton, 28 s with FlashInfer, which compiles first."""
LARGE_GIB: Final = 12.0
SMALL_GIB: Final = 4.0
SECONDS_PER_GIB: Final[Band] = (0.5, 3.0)
"""Weights: 13.3 s for 19.05 GiB and 20.9 s for 18.68 GiB from an NVMe disk; a SATA disk needs 2 to 3 s each."""

_ALWAYS: Final = (
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
)
_TIMED: Final = frozenset(BANDS)


class Now(NamedTuple):
    """The clock of a start that goes on.

    Attributes:
        elapsed: seconds since the beginning of its running phase; None if unknown or if it does not go on.
        since_start: seconds since its first line; None if unknown.
    """

    elapsed: float | None = None
    since_start: float | None = None


def stages_of(
    verdict: Verdict, now: Now, learned: Callable[[str], Band | None], *, going_on: bool
) -> tuple[Stage, ...]:
    """The timeline of a start.

    Args:
        verdict: on the start.
        now: its clock.
        learned: shortest and longest time of a phase in earlier starts of this kind on this machine.
        going_on: whether the start may still go on.
    """
    seen = {phase.name: phase for phase in verdict.phases}
    current = _current(verdict)
    names = [name for name in PhaseName if name in seen or (name in _ALWAYS and _expected(name, verdict))]
    result = []
    for name in names:
        phase = seen.get(name)
        state = _state(name, current, verdict, seen=phase is not None, going_on=going_on)
        if phase is None and state is StageState.DONE:
            continue
        usual, is_learned = _usual(name, verdict, learned)
        seconds = phase.seconds if phase else None
        if state is StageState.RUNNING and now.elapsed is not None:
            seconds = max(now.elapsed, seconds or 0.0)
        result.append(
            Stage(
                name=name,
                state=state,
                seconds=seconds,
                memory_gib=phase.memory_gib if phase else None,
                progress=_progress(name, verdict, state) if phase else None,
                usual=usual,
                learned=is_learned,
                detail=_detail(name, verdict) if phase else Text("", ""),
            )
        )
    return tuple(result)


def ready_in(verdict: Verdict, stages: Sequence[Stage], now: Now, whole: Band | None) -> Band | None:
    """Seconds until the server serves, at least and at most; None if it serves, failed, or nothing can be said.

    Args:
        verdict: on the start.
        stages: its timeline.
        now: its clock.
        whole: how long whole starts of this kind took on this machine; None if nothing is known.
    """
    if verdict.state not in (State.STARTING, State.STALLED):
        return None
    open_stages = [stage for stage in stages if stage.name in _TIMED and stage.state is not StageState.DONE]
    if not open_stages:
        return None
    if whole is not None and now.since_start is not None and now.since_start < whole[1]:
        return max(0.0, whole[0] - now.since_start), whole[1] - now.since_start
    capture = next((stage for stage in open_stages if stage.name is PhaseName.GRAPH_CAPTURE), None)
    if capture is not None and not capture.learned and _fact(verdict, "weights_gib") is None:
        return None  # from seconds to minutes: that says nothing
    least = most = 0.0
    for stage in open_stages:
        low, high = stage.usual or (0.0, 0.0)
        spent = (stage.seconds or 0.0) if stage.state is StageState.RUNNING else 0.0
        share = _left(stage)
        least += max(0.0, low - spent) if share is None else min(max(0.0, low - spent), share)
        most += max(0.0, high - spent) if share is None else min(max(high - spent, 0.0), 2 * share)
    return (least, max(most, least)) if most > 0 else None


def _left(stage: Stage) -> float | None:
    """Seconds that are left by what is done of a stage; None if too little is done to say."""
    if stage.state is not StageState.RUNNING or stage.progress is None or not stage.seconds:
        return None
    done, total = stage.progress
    return stage.seconds * (total - done) / done if 0 < done <= total else None


def _current(verdict: Verdict) -> Phase | None:
    own = [phase for phase in verdict.phases if phase.name is not PhaseName.SHUTDOWN]
    return own[-1] if own else None


def _expected(name: PhaseName, verdict: Verdict) -> bool:
    """Whether a start like this one goes through a phase that it has not come to yet."""
    if name is PhaseName.STATE_CACHE:
        return bool(_fact(verdict, "is_hybrid"))
    if name is PhaseName.GRAPH_CAPTURE:
        return not _fact(verdict, "args.disable_cuda_graph")
    if name is PhaseName.WARMUP:
        return not _fact(verdict, "args.skip_server_warmup")
    return True


_ORDER: Final = {name: place for place, name in enumerate(PhaseName)}


def _state(name: PhaseName, current: Phase | None, verdict: Verdict, *, seen: bool, going_on: bool) -> StageState:
    if current is None or _ORDER[name] > _ORDER[current.name]:
        if name is PhaseName.SHUTDOWN and seen:
            return StageState.RUNNING if going_on and not verdict.phases[-1].done else StageState.DONE
        return StageState.WAITING
    if name is not current.name:
        return StageState.DONE
    if verdict.state is State.FAILED or (verdict.state is State.UNDETERMINED and _died(verdict)):
        return StageState.FAILED
    if current.name is PhaseName.SERVING:
        stopped = any(phase.name is PhaseName.SHUTDOWN for phase in verdict.phases)
        return StageState.RUNNING if going_on and not stopped else StageState.DONE
    return StageState.DONE if current.done else StageState.RUNNING


def _died(verdict: Verdict) -> bool:
    return (
        verdict.unexplained is not None
        or any(diagnosis.severity.is_diagnosis for diagnosis in verdict.diagnoses)
        or _fact(verdict, "exit_code") is not None
    )


def _usual(name: PhaseName, verdict: Verdict, learned: Callable[[str], Band | None]) -> tuple[Band | None, bool]:
    if name not in _TIMED:
        return None, False
    known = learned(name.value)
    if known is not None:
        return known, True
    return built_in(name, verdict), False


def built_in(name: PhaseName, verdict: Verdict) -> Band | None:
    """What is normal for a phase of this start, by the table."""
    weights = _fact(verdict, "weights_gib")
    if name is PhaseName.WEIGHTS and isinstance(weights, int | float) and weights >= 1:
        return weights * SECONDS_PER_GIB[0], weights * SECONDS_PER_GIB[1]
    if name is PhaseName.GRAPH_CAPTURE and isinstance(weights, int | float):
        if _is_large_moe(verdict, weights):
            return LARGE_MOE_CAPTURE
        if weights < SMALL_GIB:
            return SMALL_CAPTURE
    return BANDS.get(name)


def _is_large_moe(verdict: Verdict, weights: float) -> bool:
    kind = f"{_fact(verdict, 'architecture') or ''} {_fact(verdict, 'model_path') or ''}".lower()
    return weights >= LARGE_GIB and ("moe" in kind or "-a3b" in kind)


def _progress(name: PhaseName, verdict: Verdict, state: StageState) -> tuple[int, int] | None:
    names = {
        PhaseName.WEIGHTS: ("shards_loaded", "shards_total"),
        PhaseName.GRAPH_CAPTURE: ("capture_done", "capture_total"),
    }.get(name)
    if names is None:
        return None
    done, total = (_fact(verdict, fact) for fact in names)
    if not isinstance(done, int) or not isinstance(total, int) or total <= 0:
        return None
    return (total, total) if state is StageState.DONE else (min(done, total), total)


def _detail(name: PhaseName, verdict: Verdict) -> Text:
    def value(fact: str) -> Any:
        return _fact(verdict, fact)

    if name is PhaseName.WEIGHTS and isinstance(total := value("shards_total"), int):
        done = value("shards_loaded") or 0
        return Text(f"{done}/{total} shards", f"{done}/{total} 个分片")
    if name is PhaseName.STATE_CACHE and isinstance(slots := value("state_slots"), int):
        return Text(counted(slots, "slot"), f"{slots:,} 个槽位")
    if name is PhaseName.KV_CACHE and isinstance(tokens := value("kv_tokens"), int):
        return Text(f"{tokens:,} tokens", f"{tokens:,} 个 token")
    if name is PhaseName.SERVING and isinstance(port := value("port"), int):
        return Text(f"port {port}", f"端口 {port}")
    return Text("", "")


def _fact(verdict: Verdict, name: str) -> Any:
    fact = verdict.facts.get(name)
    return None if fact is None else fact.value
