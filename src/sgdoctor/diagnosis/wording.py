"""The sentences of a verdict, in both languages."""

from collections.abc import Mapping
from typing import Final

from sgdoctor.diagnosis.model import Diagnosis, State, Verdict
from sgdoctor.engines.base import PhaseName
from sgdoctor.exit_codes import exit_text, is_signal
from sgdoctor.messages import MESSAGES
from sgdoctor.texts import Text

PHASES: Final[Mapping[PhaseName, Text]] = {
    PhaseName.DOCKER: Text("container start", "容器启动"),
    PhaseName.ARGS: Text("arguments", "参数解析"),
    PhaseName.CONFIG: Text("model configuration", "模型配置"),
    PhaseName.DISTRIBUTED: Text("distributed set-up", "分布式初始化"),
    PhaseName.WEIGHTS: Text("weights", "加载权重"),
    PhaseName.STATE_CACHE: Text("state cache", "状态缓存"),
    PhaseName.KV_CACHE: Text("KV cache", "KV 缓存"),
    PhaseName.GRAPH_CAPTURE: Text("graph capture", "CUDA 图捕获"),
    PhaseName.HTTP: Text("HTTP server", "HTTP 服务启动"),
    PhaseName.WARMUP: Text("warm-up", "预热"),
    PhaseName.SERVING: Text("serving", "服务中"),
    PhaseName.SHUTDOWN: Text("shutdown", "关闭"),
}
_BEFORE: Final = Text("before the first phase", "第一个阶段之前")


def summary_of(verdict: Verdict) -> Text:
    """The root cause, or how it stands."""
    return verdict.diagnoses[0].title if verdict.diagnoses else verdict.summary


def phase_label(phase: PhaseName | None) -> Text:
    """What a person calls the phase."""
    return _BEFORE if phase is None else PHASES[phase]


def duration(seconds: float) -> Text:
    """Seconds the way people say them: ``0.4 s``, ``46 s``, ``3 min 12 s``."""
    if seconds < 10:
        return Text(f"{seconds:.1f} s", f"{seconds:.1f} 秒")
    whole = round(seconds)
    if whole < 60:
        return Text(f"{whole} s", f"{whole} 秒")
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return Text(f"{minutes} min {rest} s", f"{minutes} 分 {rest} 秒")
    hours, minutes = divmod(minutes, 60)
    return Text(f"{hours} h {minutes} min", f"{hours} 小时 {minutes} 分")


def failed(root: Diagnosis, phase: PhaseName | None) -> Text:
    """The cause is known."""
    title = _sentence(root.title)
    if phase is PhaseName.SERVING:
        return Text(f"The server died: {title.en}", f"服务已崩溃：{title.zh}")
    if phase is None:
        return title
    label = phase_label(phase)
    return Text(f"The start failed at {label.en}: {title.en}", f"启动在“{label.zh}”阶段失败：{title.zh}")


def degraded(first: Diagnosis | None, line: int | None, *, serving: bool, stopped: bool = False) -> Text:
    """It works, with something wrong: the first diagnosis, or an exception in ``line`` that no rule knows.

    Args:
        first: that diagnosis.
        line: of that exception.
        serving: whether it was at work.
        stopped: whether it has been stopped on request since.
    """
    if first is not None:
        title = _sentence(first.title)
        if stopped:
            return Text(f"Stopped on request; before that: {title.en}", f"服务已按要求停止；在此之前：{title.zh}")
        if serving:
            return Text(f"It serves, but: {title.en}", f"服务在运行，但是：{title.zh}")
        return Text(f"Not fatal, but wrong: {title.en}", f"不致命，但有问题：{title.zh}")
    if stopped:
        return Text(
            f"Stopped on request; before that, line {line} holds an exception that no rule knows.",
            f"服务已按要求停止；在此之前，第 {line} 行有一个规则库无法解释的异常。",
        )
    return Text(
        f"It serves, but line {line} holds an exception that no rule knows.",
        f"服务在运行，但第 {line} 行有一个规则库无法解释的异常。",
    )


def fixed_in(release: str, running: str, *, since: bool | None) -> Text:
    """A release that cures a failure, seen from the one that ran.

    Args:
        release: such as ``SGLang 0.5.20``.
        running: the version that ran, or its bounds; empty if unknown.
        since: whether that release or a later one ran; None where the log does not say.
    """
    if since is None:
        return Text(f"Fixed in {release} and later.", f"{release} 及以后的版本已修复。")
    if since:
        return Text(
            f"{release} fixed one cause of this, and {running} runs here: look for another cause, such as a patch or "
            "packages of two versions.",
            f"{release} 已修复其中一种原因，而这里运行的是 {running}：请查找其他原因，例如补丁或混装了不同版本的包。",
        )
    return Text(
        f"Fixed in {release}: upgrade ({running} runs here).", f"{release} 已修复：请升级（当前为 {running}）。"
    )


def healthy(ready_seconds: float | None, *, stopped: bool, ready: bool) -> Text:
    """Nothing is wrong."""
    if stopped:
        return Text("Nothing is wrong: it was stopped on request.", "没有问题：服务是按要求停止的。")
    if not ready:
        return Text(
            "Nothing is wrong in this part of the log: the server is at work.",
            "这段日志没有问题：服务正在处理请求。",
        )
    if ready_seconds is None:
        return Text("Nothing is wrong: the server became ready.", "没有问题：服务已就绪。")
    time = duration(ready_seconds)
    return Text(f"Nothing is wrong: the server was ready after {time.en}.", f"没有问题：服务在 {time.zh}后就绪。")


STOPPED: Final = Text("healthy: stopped on request, nothing is wrong.", "已按要求停止，没有问题。")


def served(ready_seconds: float | None, *, ready: bool) -> Text:
    """The last line on a server with which nothing is wrong."""
    if not ready:
        return Text(
            "healthy: at work, nothing is wrong in this part of the log.", "正常：服务正在处理请求，这段日志没有问题。"
        )
    if ready_seconds is None:
        return Text("healthy: the server became ready, nothing is wrong.", "正常：服务已就绪，没有问题。")
    time = duration(ready_seconds)
    return Text(f"healthy: ready after {time.en}, nothing is wrong.", f"正常：服务在 {time.zh}后就绪，没有问题。")


def still_starting(phase: PhaseName | None) -> Text:
    """The last line on a start that goes on."""
    label = phase_label(phase)
    return Text(
        f"starting: {label.en}, nothing is wrong so far, not ready yet.",
        f"启动中：{label.zh}，目前没有问题，尚未就绪。",
    )


def starting(phase: PhaseName | None) -> Text:
    """Not ready, and no sign of a failure."""
    label = phase_label(phase)
    return Text(
        f"Nothing is wrong so far: still starting ({label.en}), not ready yet.",
        f"目前没有问题：仍在启动（{label.zh}），尚未就绪。",
    )


def ends_while_starting(phase: PhaseName | None) -> Text:
    """A log that ends before the server was ready, without an error."""
    label = phase_label(phase)
    return Text(
        f"The log ends in the middle of the start ({label.en}), without an error.",
        f"日志在启动途中结束（{label.zh}），没有错误。",
    )


def ended_with(code: int, phase: PhaseName | None = None) -> Text:
    """Nothing but its exit code says why it ended.

    Args:
        code: as a shell has it.
        phase: which it ended in; None where that is not known.
    """
    said = exit_text(code)
    if phase is None:
        why = ("", "") if is_signal(code) else ("; no line says why", "，没有任何一行说明原因")
        return Text(f"It ended with {said.en}{why[0]}.", f"它已退出：{said.zh}{why[1]}。")
    label = phase_label(phase)
    return Text(
        f"It ended in the middle of the start ({label.en}) with {said.en}.",
        f"它在启动途中退出（{label.zh}）：{said.zh}。",
    )


def after_the_end(patience: float) -> Text:
    """What tells a start that goes on from one that was cut off."""
    normal = duration(patience)
    return Text(
        f"Is the server still running? Then wait: up to {normal.en} without a line is normal here. If its container is "
        "gone, it was killed; its name in place of NAME, this says by what: "
        "`docker inspect -f '{{.State.ExitCode}} {{.State.OOMKilled}}' NAME`",
        f"服务还在运行吗？在运行就等待：这个阶段 {normal.zh}以内没有输出属于正常。如果容器已经退出，说明它被终止了；"
        "把 NAME 换成容器名，可查看原因：`docker inspect -f '{{.State.ExitCode}} {{.State.OOMKilled}}' NAME`",
    )


def failed_before(title: Text, line: int) -> Text:
    """The start before one that has not failed yet did, with this title, beginning in ``line``."""
    title = _sentence(title)
    return Text(
        f"The start before this one (from line {line}) failed: {title.en} Unless something was changed since, this one "
        "will too; `--all-attempts` shows every start.",
        f"上一次启动（从第 {line} 行开始）失败了：{title.zh}如果之后没有改动，这一次也会失败；"
        "`--all-attempts` 可显示每一次启动。",
    )


def stalled(phase: PhaseName | None, idle: float, patience: float) -> Text:
    """No output for longer than this phase ever takes."""
    label, quiet, normal = phase_label(phase), duration(idle), duration(patience)
    return Text(
        f"No progress for {quiet.en} ({label.en}); up to {normal.en} would be normal there.",
        f"已有 {quiet.zh}没有进展（{label.zh}）；这个阶段 {normal.zh}以内属于正常。",
    )


def undetermined(first: Diagnosis | None, line: int | None, *, failed: bool, recognised: bool) -> Text:
    """The cause, or that there is one, cannot be told from this log.

    Args:
        first: a mere possibility, if there is one.
        line: of the first error that no rule explains.
        failed: whether something says that it failed.
        recognised: whether the log is that of a known engine.
    """
    if first is not None:
        title = _sentence(first.title)
        return Text(f"It may be this: {title.en}", f"有可能是：{title.zh}")
    if line is not None:
        return Text(
            f"It failed, but no rule knows why; the first error is in line {line}.",
            f"已失败，但没有规则知道原因；第一个错误在第 {line} 行。",
        )
    if failed:
        return Text("It failed, but this log does not say why.", "已失败，但这份日志没有说明原因。")
    if recognised:
        return Text("This part of the log does not decide it.", "这段日志不足以判断。")
    return Text(
        "No line of a known engine and no known failure in this text.",
        "文本中既没有已知引擎的日志，也没有已知的故障。",
    )


WHOLE_LOG: Final = Text(*MESSAGES["report.would_decide"])
NEW_FAILURE: Final = Text(
    "The log is complete, so this failure is new to sgdoctor. `sgdoctor diagnose --format md FILE` writes a report for "
    "an issue.",
    "日志是完整的，所以这是 sgdoctor 还不认识的故障。`sgdoctor diagnose --format md FILE` 可生成用于提交 issue 的"
    "报告。",
)
ENDED_UNSEEN: Final = Text(
    "It ended with exit code 0, and no line shows that it ever served.",
    "它以退出码 0 退出，没有任何一行表明它提供过服务。",
)
WHICH_COMMAND: Final = Text(
    "What would decide it: is this the whole log, and of the command that starts the server? No line here comes from "
    "a known engine.",
    "要作出判断，需要确认：这是完整的日志吗，运行的是启动服务的命令吗？这里没有一行来自已知引擎。",
)
EMPTY: Final = Text("The log is empty.", "日志是空的。")


def closing(
    state: State,
    summary: Text,
    root: Diagnosis | None,
    phase: PhaseName | None,
    *,
    serving: bool,
    stopped: bool = False,
) -> Text:
    """The state and the summary as one sentence, with one colon at most in front of what is wrong.

    Args:
        state: how the attempt stands.
        summary: what is said about it.
        root: the first diagnosis, if the summary is about one.
        phase: where it failed.
        serving: whether the server is at work.
        stopped: whether it was stopped on request.
    """
    if root is not None:
        title = _sentence(root.title)
        if state is State.FAILED:
            if phase is None:
                return Text(f"failed: {title.en}", f"失败：{title.zh}")
            if phase is PhaseName.SERVING:
                return Text(f"failed while serving: {title.en}", f"服务已崩溃：{title.zh}")
            label = phase_label(phase)
            return Text(f"failed at {label.en}: {title.en}", f"启动失败（{label.zh}阶段）：{title.zh}")
        if state is State.DEGRADED and stopped:
            return Text(
                f"degraded until it was stopped on request: {title.en}", f"已按要求停止，此前有问题：{title.zh}"
            )
        if state is State.DEGRADED and serving:
            return Text(f"degraded, but it serves: {title.en}", f"服务在运行，但有问题：{title.zh}")
        if state is State.DEGRADED:
            return Text(f"degraded, but not fatal: {title.en}", f"不致命，但有问题：{title.zh}")
        return Text(f"not determined, it may be this: {title.en}", f"无法确定，有可能是：{title.zh}")
    label = state_label(state)
    return Text(f"{label.en}: {summary.en}", f"{label.zh}：{summary.zh}")


def _sentence(text: Text) -> Text:
    """A title with the full stop that it lacks."""
    en, zh = text.en.rstrip(" ."), text.zh.rstrip(" 。.")
    return Text(en if en.endswith(("?", "!")) else f"{en}.", zh if zh.endswith(("？", "！", "?")) else f"{zh}。")


def state_label(state: State) -> Text:
    """The name of a state."""
    return _STATES[state]


_STATES: Final[Mapping[State, Text]] = {
    State.FAILED: Text("failed", "失败"),
    State.DEGRADED: Text("degraded", "降级"),
    State.HEALTHY: Text("healthy", "正常"),
    State.STARTING: Text("starting", "启动中"),
    State.STALLED: Text("stalled", "停滞"),
    State.UNDETERMINED: Text("not determined", "无法确定"),
}
