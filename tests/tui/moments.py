"""Moments of real starts: snapshots made of fixture logs, a store of their lines, a session that gives what it is told."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.diagnosis.verdict import LiveClock
from sgdoctor.engines.base import PhaseName
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.logs.framing import read_lines
from sgdoctor.report.safe import printable
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.rules.model import Text
from sgdoctor.watching.model import (
    AttemptSummary,
    LineKind,
    LineMark,
    Link,
    Load,
    Snapshot,
    Stage,
    StageState,
    Subject,
)

REAL = Path(__file__).parents[2] / "fixtures" / "logs" / "real"
CONTAINER = "3f1c9a2bd0e4" + "0" * 52
STARTED = 1_780_000_000.0
_BASE: list[RuleBase] = []


def base() -> RuleBase:
    if not _BASE:
        _BASE.append(load_rule_base(user_dirs=()))
    return _BASE[0]


class FixedLines:
    """The lines of a log that does not grow."""

    def __init__(self, data: bytes) -> None:
        self._lines = list(read_lines(data, 0, len(data)))

    def __len__(self) -> int:
        return len(self._lines)

    def text(self, number: int) -> str:
        return printable(self._lines[number - 1].text)

    def raw(self, number: int) -> str:
        return self.text(number)

    def mark(self, number: int) -> LineMark:
        return LineMark(LineKind.ENGINE if self._lines[number - 1].engine else LineKind.PLAIN, 1)

    def revision(self) -> int:
        return 0

    def search(self, pattern: str, *, regex: bool, ignore_case: bool, limit: int = 100_000) -> Sequence[int]:
        return [n for n in range(1, len(self) + 1) if pattern in self.text(n)][:limit]

    def select(self, kinds: frozenset[LineKind] | None, *, rule: str = "", attempt: int = 0) -> Sequence[int]:
        return [n for n in range(1, len(self) + 1) if kinds is None or self.mark(n).kind in kinds]


def data_of(name: str, *, until: str = "") -> bytes:
    """A fixture log, or its beginning up to and with the first line that holds ``until``."""
    data = (REAL / f"{name}.log").read_bytes()
    if not until:
        return data
    at = data.index(until.encode())
    return data[: data.index(b"\n", at) + 1]


def verdict_of(data: bytes, *, live: bool = False) -> Verdict:
    return diagnose_bytes(data, "log", base(), live=LiveClock(3.0, 60.0) if live else None)[-1]


def snapshot_of(
    data: bytes,
    *,
    live: bool = False,
    name: str = "sgl-qwen27b",
    attempts: int = 1,
    attempt: int = 0,
    uptime: float | None = None,
    load: Load | None = None,
    ready_in: tuple[float, float] | None = None,
    note: Text = Text("", ""),
    link: Link = Link.FOLLOWING,
) -> Snapshot:
    """What a session would say about these bytes, in a container that was started ``attempts`` times."""
    verdict = verdict_of(data, live=live)._replace(attempt=attempt or attempts, attempts=attempts)
    facts = verdict.facts
    model = str(facts["model_path"].value).rsplit("/", 1)[-1] if "model_path" in facts else ""
    quantisation = str(facts["quantisation"].value) if "quantisation" in facts else ""
    seconds = sum(phase.seconds or 0.0 for phase in verdict.phases)
    title = verdict.diagnoses[0].title if verdict.diagnoses else verdict.summary
    return Snapshot(
        subject=Subject(
            "container", name, CONTAINER, "lmsysorg/sglang:v0.5.15", f"sglang {verdict.version}".strip(), model,
            quantisation if quantisation != "None" else "", "15433->30000", attempts - 1,
        ),
        link=link,
        note=note,
        attempts=tuple(
            AttemptSummary(
                number, verdict.state if number == attempts else State.FAILED, STARTED + 41 * number, seconds,
                verdict.first_line, verdict.last_line, title,
            )
            for number in range(1, attempts + 1)
        ),
        verdict=verdict,
        stages=_stages(verdict),
        ready_in=ready_in,
        uptime=uptime,
        load=load or Load(),
        lines=data.count(b"\n"),
    )  # fmt: skip


def _stages(verdict: Verdict) -> tuple[Stage, ...]:
    stages = []
    last = verdict.phases[-1].name if verdict.phases else None
    failed = verdict.state is State.FAILED
    seen = {phase.name: phase for phase in verdict.phases}
    hybrid = "state_gib" in verdict.facts
    for name in PhaseName:
        if name in (PhaseName.DOCKER, PhaseName.SERVING, PhaseName.SHUTDOWN):
            continue
        if name is PhaseName.STATE_CACHE and not hybrid and name not in seen:
            continue
        phase = seen.get(name)
        if phase is None:
            stages.append(Stage(name, StageState.WAITING))
            continue
        state = StageState.DONE if phase.done or name is not last else StageState.RUNNING
        if failed and name is last:
            state = StageState.FAILED
        detail = Text("", "")
        if name is PhaseName.KV_CACHE and "kv_tokens" in verdict.facts:
            tokens = f"{verdict.facts['kv_tokens'].value:,}"
            detail = Text(f"{tokens} tokens", f"{tokens} 个 token")
        if name is PhaseName.WEIGHTS and "shards_total" in verdict.facts:
            total = verdict.facts["shards_total"].value
            detail = Text(f"{total} shards", f"{total} 个分片")
        progress = None
        usual = None
        seconds = phase.seconds
        if state is StageState.RUNNING and name is PhaseName.GRAPH_CAPTURE:
            done, total = (verdict.facts.get(key) for key in ("capture_done", "capture_total"))
            progress = (int(done.value), int(total.value)) if done and total else (2, 4)
            usual, seconds = (171.0, 184.0), 47.0
        stages.append(Stage(name, state, seconds, phase.memory_gib, progress, usual, usual is not None, detail))
    return tuple(stages)


def reading_at(used_gib: float, *, count: int = 1, work: int = 34) -> GpuReading:
    """Cards of 24 GiB; this server on the last one, a desktop on the first."""
    gpus = []
    for number in range(count):
        ours = number == count - 1
        used = used_gib * 1024 if ours else 700.0
        processes = []
        if ours:
            processes.append(GpuProcess(4711, "sglang::schedul", max(0.0, used - 420.0), CONTAINER, "sgl-qwen27b"))
        if number == 0:
            processes.append(GpuProcess(1203, "Xorg", 310.0, graphics=True))
        gpus.append(
            Gpu(
                number, f"GPU-{number}", "NVIDIA GeForce RTX 3090", 86, 24576.0, used, 24576.0 - used,
                work if ours else 0, 71 if ours else 38, 182.0 if ours else 22.0, 350.0, tuple(processes),
            )  # fmt: skip
        )
    return GpuReading(STARTED, tuple(gpus), "recorded")


class ToldSession:
    """A session that gives the snapshots it is told to give."""

    def __init__(self, data: bytes, snapshot: Snapshot | None) -> None:
        self.lines = FixedLines(data)
        self.snapshot = snapshot
        self.shown: list[int | None] = []
        self.stopped = False
        self.give: Callable[[Snapshot], None] = lambda _: None
        self.fail: Callable[[Exception], None] = lambda _: None

    def start(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None]) -> None:
        self.give, self.fail = on_snapshot, on_failure
        if self.snapshot is not None:
            on_snapshot(self.snapshot)

    def show_attempt(self, number: int | None) -> None:
        self.shown.append(number)

    def stop(self) -> None:
        self.stopped = True
