"""Moments of real starts: snapshots made of fixture logs, a store of their lines, a session that gives what it is told."""

from collections.abc import Callable
from pathlib import Path

from sgdoctor.diagnosis.model import State
from sgdoctor.diagnosis.verdict import LiveClock
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.texts import Text
from sgdoctor.watching.live import Live
from sgdoctor.watching.model import AttemptSummary, Link, Load, Snapshot, Subject
from sgdoctor.watching.stages import Now, stages_of
from sgdoctor.watching.store import LineStore

REAL = Path(__file__).parents[2] / "fixtures" / "logs" / "real"
CONTAINER = "3f1c9a2bd0e4" + "0" * 52
STARTED = 1_780_000_000.0
NO_NOTE = Text("", "")
_BASE: list[RuleBase] = []


def base() -> RuleBase:
    if not _BASE:
        _BASE.append(load_rule_base(user_dirs=()))
    return _BASE[0]


def data_of(name: str, *, until: str = "") -> bytes:
    """A fixture log, or its beginning up to and with the first line that holds ``until``."""
    data = (REAL / f"{name}.log").read_bytes()
    if not until:
        return data
    at = data.index(until.encode())
    return data[: data.index(b"\n", at) + 1]


def live_of(data: bytes) -> tuple[LineStore, Live]:
    """A store of these bytes, and what follows its starts."""
    store = LineStore()
    live = Live(base(), store)
    live.add(data)
    return store, live


def snapshot_of(
    data: bytes,
    *,
    live: bool = False,
    name: str = "sgl-qwen27b",
    attempts: int = 1,
    attempt: int = 0,
    uptime: float | None = None,
    load: Load | None = None,
    elapsed: float | None = None,
    learned: Callable[[str], tuple[float, float] | None] | None = None,
    ready_in: tuple[float, float] | None = None,
    note: Text = NO_NOTE,
    link: Link = Link.FOLLOWING,
) -> Snapshot:
    """What a session would say about these bytes, in a container that was started ``attempts`` times."""
    _, follower = live_of(data)
    verdict = follower.judge(clock=LiveClock(3.0, 60.0) if live else None, full=True)
    verdict = verdict._replace(attempt=attempt or attempts, attempts=attempts)
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
        stages=stages_of(verdict, Now(elapsed, 68.0 if live else None), learned or (lambda _: None), going_on=live),
        ready_in=ready_in,
        uptime=uptime,
        load=load or Load(),
        lines=data.count(b"\n"),
    )  # fmt: skip


# fmt: off
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
                number,
                f"GPU-{number}",
                "NVIDIA GeForce RTX 3090",
                86,
                24576.0,
                used,
                24576.0 - used,
                work if ours else 0,
                71 if ours else 38,
                182.0 if ours else 22.0,
                350.0,
                tuple(processes),
            )
        )
    return GpuReading(STARTED, tuple(gpus), "recorded")
# fmt: on


class ToldSession:
    """A session that gives the snapshots it is told to give."""

    def __init__(self, data: bytes, snapshot: Snapshot | None) -> None:
        self.lines = live_of(data)[0]
        self.snapshot = snapshot
        self.shown: list[int | None] = []
        self.stopped = False
        self.activity = 0
        self.gpu_name = ""
        self.give: Callable[[Snapshot], None] = lambda _: None
        self.fail: Callable[[Exception], None] = lambda _: None

    def start(self, on_snapshot: Callable[[Snapshot], None], on_failure: Callable[[Exception], None]) -> None:
        self.give, self.fail = on_snapshot, on_failure
        if self.snapshot is not None:
            on_snapshot(self.snapshot)

    def show_attempt(self, number: int | None) -> None:
        self.shown.append(number)

    def step_back(self, seconds: float) -> None:
        """It takes nothing from the screen."""

    def note_activity(self) -> None:
        self.activity += 1

    def stop(self) -> None:
        self.stopped = True
