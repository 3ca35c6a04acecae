"""A doctor that is a fake: its plans are real, of the log that is shown; what it does is told as it was recorded."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from rich.console import Console

from sgdoctor.cli.watch_log_doctor import LogDoctor
from sgdoctor.errors import UserError
from sgdoctor.launch.render import unified_diff
from sgdoctor.relaunch.model import Progress, Step, StepState
from sgdoctor.texts import Text
from sgdoctor.tui.doctor import Choice, Draft, Ended, Errand, Kind, Report, Told
from sgdoctor.watching.model import Snapshot
from tests.tui.moments import CONTAINER, STARTED, base

NAME = "sgl-qwen27b"
BEGAN = datetime.fromtimestamp(STARTED, UTC)
NOW = STARTED + 100.0
STARTS = Text(
    "The start takes 25 s to 5 min 23 s (by what is usual for such models)", "启动预计需要 25 秒到 5 分 23 秒"
)
LOST = Text(
    "2 files that were changed inside of the container: /tmp/a, /tmp/b", "容器内改动过的 2 个文件：/tmp/a、/tmp/b"
)
SERVES = Ended(
    done=True,
    text=Text(
        f"{NAME} serves with the new launch, after 1 min 8 s", f"{NAME} 已用新的启动配置提供服务，用时 1 分 8 秒"
    ),
)


def at(seconds: float, step: Step, state: StepState, note: Text | None = None) -> Progress:
    return Progress(step, state, BEGAN + timedelta(seconds=seconds), note)


def taken(step: Step, begin: float, end: float) -> tuple[Progress, Progress]:
    return at(begin, step, StepState.BEGUN), at(end, step, StepState.DONE)


SWAP: Sequence[Progress] = (
    *taken(Step.CREATE, 0.0, 0.1),
    *taken(Step.COMPARE, 0.1, 0.1),
    *taken(Step.HOLD, 0.1, 0.2),
    *taken(Step.STOP, 0.2, 0.9),
    *taken(Step.STEP_ASIDE, 0.9, 0.9),
    *taken(Step.TAKE_NAME, 0.9, 1.0),
    *taken(Step.START, 1.0, 1.3),
)
WAIT: Sequence[Progress] = (
    at(1.3, Step.READY, StepState.BEGUN),
    at(1.5, Step.READY, StepState.BEGUN, Text("arguments (usually 2.0 s to 15 s)", "参数解析（通常 2.0 秒到 15 秒）")),
    at(
        3.2,
        Step.READY,
        StepState.BEGUN,
        Text("weights (usually 5.0 s to 1 min 0 s)", "加载权重（通常 5.0 秒到 1 分 0 秒）"),
    ),
    at(32.0, Step.READY, StepState.BEGUN, Text("graph capture", "CUDA 图捕获")),
)
READY: Sequence[Progress] = (at(68.0, Step.READY, StepState.DONE), *taken(Step.SETTLE, 68.0, 68.1))
FAILED: Sequence[Progress] = (
    at(40.0, Step.READY, StepState.FAILED, Text("The KV cache does not fit", "KV 缓存放不下")),
    *taken(Step.SAVE_LOG, 40.0, 40.1),
    *taken(Step.REMOVE, 40.1, 40.6),
    *taken(Step.RESTART_OLD, 40.6, 41.0),
)


class FakeDoctor:
    """Acts on nothing. An errand tells ``begins``, waits for ``go``, then tells ``ends`` and is over with ``ended``."""

    def __init__(self, moment: Snapshot, *, file: str = "") -> None:
        self.container = NAME
        self.asked: list[str] = []
        self.open: Text | None = None
        self.refused: Text | None = None
        self.go = threading.Event()
        self.awake = threading.Event()
        self.awake.set()
        self.begins: Sequence[Progress | Text] = (*SWAP, *WAIT)
        self.ends: Sequence[Progress | Text] = READY
        self.ended = SERVES
        self.broken: Exception | None = None
        self.file = file
        self._plans = LogDoctor(base(), lambda: moment)

    def unfinished(self) -> Text | None:
        return self.open

    def draft(self, choice: Choice | None = None) -> Draft:
        self.asked.append("draft" if choice is None else f"draft {[change.value for change in choice.changes]}")
        draft = self._plans.draft(choice)
        self.awake.wait(30)
        return Draft(draft.answer, self.container, CONTAINER, (STARTS,), (LOST,), self.refused, self.file, draft.hide)

    def relaunch(self, draft: Draft) -> Errand:
        return self._errand("relaunch", f"Relaunch {NAME} (3f1c9a2bd0e4)?", f"重启 {NAME}（3f1c9a2bd0e4）？", draft)

    def rollback(self) -> Errand:
        return self._errand("rollback", f"Go back to launch 0 of {NAME}?", f"将 {NAME} 恢复到第 0 次启动？")

    def resume(self) -> Errand:
        return self._errand("resume", f"Go on with the relaunch of {NAME}?", f"继续 {NAME} 的重启？")

    def heal(self) -> Errand:
        return self._errand("heal", f"Heal {NAME}?", f"修复 {NAME}？")

    def write(self, draft: Draft) -> Errand:
        return self._errand("write", f"Write {draft.file}?", f"写入 {draft.file}？", draft)

    def preflight(self, draft: Draft | None) -> Report:
        self.asked.append(
            "preflight" if draft is None else f"preflight {[one.value for one in draft.answer.plan.changes]}"
        )

        def report(console: Console, lang: str) -> None:
            console.print("一切就绪" if lang == "zh" else "everything is ready", style="green")

        return report

    def _errand(self, kind: Kind, english: str, chinese: str, draft: Draft | None = None) -> Errand:
        self.asked.append(kind)
        if self.refused is not None:
            raise UserError(self.refused.en, self.refused.zh)
        lines = (STARTS, LOST) if draft is not None else ()
        diff = draft.answer.plan.diff if draft is not None else unified_diff("--a 1\n", "--a 2\n", "launch")
        name = draft.file if draft is not None and kind == "write" else NAME
        return Errand(
            kind, name, Text(english, chinese), self._act, self._stop, CONTAINER, lines, diff, stops=kind == "rollback"
        )

    def _act(self, told: Told) -> Ended:
        self.asked.append("act")
        if self.broken is not None:
            raise self.broken
        for event in self.begins:
            told(event)
        self.go.wait(30)
        for event in self.ends:
            told(event)
        return self.ended

    def _stop(self) -> None:
        self.asked.append("stop")
        self.ends = FAILED
        self.ended = Ended(done=False, text=Text("stopped by you; everything is as before", "已被你中止；一切恢复原状"))
        self.go.set()
