"""What ``sgdoctor run`` says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.texts import Text

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "about": (
        (
            "Starts a server without a container and stays with it: its output is kept, a line is printed for each "
            "phase, a failure is diagnosed, and after a yes it is started again with the corrected flags, never twice "
            "with the same. Ctrl-C stops the server with all of its processes; nothing of it outlives sgdoctor. "
            "Exit code: 0 it served and was stopped, 3 it failed and the cause is known, 5 it failed and the cause is "
            "not determined, 2 bad usage, 130 it was stopped before it served."
        ),
        (
            "不用容器启动服务并一直跟踪：保存其输出，每个阶段打印一行，失败时给出诊断，经同意后用修正过的参数再次启动，"
            "同一启动配置不会尝试两次。Ctrl-C 会停止服务及其全部进程；sgdoctor 退出后不会留下任何进程。"
            "退出码：0 提供过服务后被停止，3 失败且原因已知，5 失败但原因无法确定，2 用法错误，130 就绪前被停止。"
        ),
    ),
    "program": (
        "the command, behind --: python -m sglang.launch_server --model-path ...",
        "要运行的命令，写在 -- 之后：python -m sglang.launch_server --model-path ...",
    ),
    "name": (
        "what the server is called in the history; default: the model's name",
        "服务在 history 中的名称；默认取自模型名",
    ),
    "heal": (
        "start it again by itself after each failure, until a server is ready and has answered a question well",
        "失败后自动再次启动，直到服务就绪并正确回答一个问题",
    ),
    "max_attempts": ("further starts at most (default 3)", "最多再启动几次（默认 3）"),
    "yes": ("start again without asking", "再次启动前不询问"),
    "ready_timeout": (
        "seconds until it has to serve; default: as long as it makes progress",
        "多少秒内必须就绪；默认只要有进展就一直等待",
    ),
    "tui": ("in the app instead of line by line", "用界面而不是逐行显示"),
    "usage": ("sgdoctor run [OPTION ...] -- PROGRAM [ARGUMENT ...]", "sgdoctor run [选项 ...] -- 程序 [参数 ...]"),
    "usage.program": (
        "name the command: sgdoctor run -- python -m sglang.launch_server --model-path ...",
        "请给出命令：sgdoctor run -- python -m sglang.launch_server --model-path ...",
    ),
    "usage.name": (
        "--name {given}: letters, digits, '.', '_' and '-' only, and not dots alone",
        "--name {given}：只能包含字母、数字、“.”、“_”和“-”，且不能只有点",
    ),
    "usage.tui": ("--tui needs a terminal and the app (Textual)", "--tui 需要终端和界面（Textual）"),
    "container": (
        "docker runs it in a container; for those: sgdoctor watch, relaunch and heal",
        "这是由 docker 在容器中运行的；请使用 sgdoctor watch、relaunch 和 heal",
    ),
    "running": (
        "{name} runs already, by process {pid}, since {since}; another name: --name",
        "{name} 已在运行：进程 {pid}，开始于 {since}；可用 --name 指定其他名称",
    ),
    # On the way
    "begun": (
        "Start {number} of {name}, process {pid}; its log: {log}",
        "{name} 第 {number} 次启动，进程 {pid}；日志：{log}",
    ),
    "no_log": ("kept in memory only", "仅保存在内存中"),
    "stopping.1": (
        "Stopping the server. Ctrl-C again: faster.",
        "正在停止服务。再按一次 Ctrl-C 可加快。",
    ),
    "stopping.2": ("It is given three more seconds. Ctrl-C again: now.", "再等三秒。再按一次 Ctrl-C 立即结束。"),
    "stopping.3": ("It is ended now.", "立即结束。"),
    "ends.failed": (
        "It has failed and does not end by itself; it is stopped.",
        "服务已失败但没有自行退出，正在停止。",
    ),
    "ends.time": ("It was not ready within {seconds} s; it is stopped.", "在 {seconds} 秒内未就绪，正在停止。"),
    "ends.stalled": ("Nothing has happened for minutes; it is stopped.", "数分钟没有任何进展，正在停止。"),
    "ends.faulty": ("It serves, and what it answers is wrong; it is stopped.", "能提供服务但回答有误，正在停止。"),
    "asking": ("Its answers are asked for.", "正在检查它的回答。"),
    "next": ("The next start, with {changes}", "下一次启动，改动：{changes}"),
    "ask": ("Start it again like this? [y/N] ", "这样再次启动吗？[y/N] "),
    "ask.unsafe": (
        "This can make answers worse: {what} Start it again like this? [y/N] ",
        "这可能降低回答质量：{what}这样再次启动吗？[y/N] ",
    ),
    "left": (
        "a part of the change has no place in a command: {changes}",
        "部分改动无法写在命令里：{changes}",
    ),
    "unseen": (
        "the command does not show how the engine is started, so that its flags cannot be changed from here",
        "从这条命令看不出引擎是如何启动的，因此无法在这里修改其参数",
    ),
    # The app
    "ask.relaunch": ("Relaunch {name} (process {pid})?", "重启 {name}（进程 {pid}）？"),
    "ask.rollback": (
        "Start {name} (process {pid}) as at start {number}?",
        "将 {name}（进程 {pid}）恢复为第 {number} 次启动的配置？",
    ),
    "ask.heal": ("Heal {name} (process {pid})?", "自动修复 {name}（进程 {pid}）？"),
    "state.serves": (
        "It serves, and is down from the moment that it is stopped until the new start serves.",
        "它正在提供服务；从停止到新的启动就绪之间服务中断。",
    ),
    "state.lives": ("It runs and does not serve; it is stopped first.", "它在运行但未提供服务；会先停止它。"),
    "state.ended": ("It has ended.", "它已退出。"),
    "files": (
        "Written for it, beside everything that is yours: {paths}",
        "会为它写入（不改动你的任何文件）：{paths}",
    ),
    "way_back.serves": (
        "If the new start does not serve, the launch of now is started again.",
        "如果新的启动无法提供服务，会重新用现在的配置启动。",
    ),
    "way_back.ended": (
        "The launch of now is kept, for the way back; it does not serve, so it is not started again by itself.",
        "现在的启动配置会保留，可以恢复；由于它没有提供服务，不会自动再次启动。",
    ),
    "way_back.none": ("The launch of now is kept, for the way back.", "现在的启动配置会保留，可以恢复。"),
    "undone.ended": (
        "The new start is ended. The launch of before counts again; it did not serve, so it is not started.",
        "结束新的启动。恢复为之前的启动配置；由于它没有提供过服务，不会启动。",
    ),
    "rollback.failed": (
        "That launch failed: {title} It is started, and not waited for.",
        "那次启动失败过：{title}将启动它，但不等待就绪。",
    ),
    "rollback.none": (
        "{name}: there is no other launch to go back to; all starts so far had this one.",
        "{name}：没有可恢复的其他启动配置；到目前为止都是同一配置。",
    ),
    "nothing_open": ("{name}: nothing of it was cut off.", "{name}：没有中断的操作。"),
    "no_file": ("{name}: a command has no file to write.", "{name}：命令没有可写入的文件。"),
    "errand.done": (
        "{name} serves with the new launch, after {time}.",
        "{name} 已用新的启动配置提供服务，用时 {time}。",
    ),
    "errand.returned": (
        "{name} serves as at start {number}, after {time}.",
        "{name} 已恢复为第 {number} 次启动的配置并提供服务，用时 {time}。",
    ),
    "errand.back_failed": (
        "{name} is started as at start {number}, which failed before.",
        "{name} 已按第 {number} 次启动的配置启动，它之前失败过。",
    ),
    "errand.failed": ("{name} does not run. {why}", "{name} 未在运行。{why}"),
    "errand.back": ("{why} {name} serves with the launch of before again.", "{why}{name} 已恢复之前的配置并提供服务。"),
    "errand.not_back": (
        "{why} {name} was started with the launch of before again, and does not serve: {then}",
        "{why}{name} 已用之前的配置重新启动，但无法提供服务：{then}",
    ),
    "errand.left": ("The app was left.", "界面已退出。"),
    "heal.unsafe": (
        "What can make answers worse is taken, too (--allow-unsafe).",
        "也采用可能降低回答质量的改动（--allow-unsafe）。",
    ),
    "heal.idle": (
        "{name} does not run, and its last start did not fail: there is nothing to heal.",
        "{name} 未在运行，上一次启动也没有失败：无需修复。",
    ),
    "heal.stopped": ("{name} does not run: stopped by you.", "{name} 未在运行：已被你中止。"),
    "heal.back": ("{name} is not healed. {why} {restored}", "{name} 未修好。{why}{restored}"),
    "heal.restored": ("The launch of before serves again.", "之前的启动配置已恢复并提供服务。"),
    "heal.not_restored": (
        "The launch of before was started again, and does not serve: {why}",
        "已用之前的配置重新启动，但无法提供服务：{why}",
    ),
    "try": ("Start {number}", "第 {number} 次启动"),
    # The last line
    "stuck": (
        (
            "{name}: process {pid}, or one below it, cannot be ended: it hangs in the kernel, mostly in the driver of "
            "the GPU, and may hold GPU memory. Nothing is started again."
        ),
        ("{name}：进程 {pid} 或其子进程无法结束：它卡在内核中，多半是 GPU 驱动，可能仍占用显存。不再启动。"),
    ),
    "stopped.served": ("{name}: stopped by you; it served for {time}.", "{name}：已被你停止；提供服务 {time}。"),
    "stopped.before": ("{name}: stopped by you before it served.", "{name}：就绪前已被你停止。"),
    "ended": (
        "{name}: ended after it served for {time}; nothing is wrong.",
        "{name}：提供服务 {time} 后退出，没有问题。",
    ),
    "end.verified": (
        "{name} serves{after}, and its answers were checked. Ctrl-C stops it.",
        "{name} 已提供服务{after}，回答已检查。Ctrl-C 停止。",
    ),
    "end.serves": (
        "{name} serves{after}; its answers were not checked. {why} Ctrl-C stops it.",
        "{name} 已提供服务{after}；回答未检查。{why}Ctrl-C 停止。",
    ),
    "after.1": (" after one more start", "（又启动了 1 次）"),
    "after.n": (" after {count} more starts", "（又启动了 {count} 次）"),
    "end.faulty": (
        "{name} does not run: what it answers is wrong; why is not determined. {why}",
        "{name} 未在运行：回答有误，原因无法确定。{why}",
    ),
    "end.manual": ("{name} does not run: only you can put this right. {why}", "{name} 未在运行：需要你手动处理。{why}"),
    "end.undetermined": (
        "{name} does not run: why it failed is not determined. {why}",
        "{name} 未在运行：失败原因无法确定。{why}",
    ),
    "end.ended": (
        "{name} does not run: it ended by itself with exit code 0, and never served.",
        "{name} 未在运行：它以退出码 0 自行退出，从未提供服务。",
    ),
    "end.told": ("{name} does not run. {why}", "{name} 未在运行。{why}"),
    "end.unsafe": (
        "{name} does not run: what is left to try can make answers worse (--allow-unsafe). {why}",
        "{name} 未在运行：剩下的办法可能降低回答质量（--allow-unsafe）。{why}",
    ),
    "end.does-not-fit": (
        "{name} does not run: this model does not fit this card. {why}",
        "{name} 未在运行：这张卡放不下该模型。{why}",
    ),
    "end.nothing-new": (
        "{name} does not run: nothing is left to try. {why}",
        "{name} 未在运行：没有可再尝试的办法。{why}",
    ),
    "end.limit": (
        "{name} does not run. {why} More: --max-attempts",
        "{name} 未在运行。{why}可用 --max-attempts 增加次数",
    ),
    "end.refused": ("{name} does not run and was not started again: {why}", "{name} 未在运行，未再次启动：{why}"),
    "end.not-agreed": ("{name} does not run. {why}", "{name} 未在运行。{why}"),
    "end.nobody": (
        "{name} does not run. {why} Start it again by itself: --yes, --heal",
        "{name} 未在运行。{why}自动再次启动：--yes、--heal",
    ),
}


def words(lang: str, key: str, /, **values: Any) -> str:
    """A text in ``en`` or ``zh`` with its values filled in."""
    english, chinese = _TEXTS[key]
    return (chinese if lang == "zh" else english).format(**values)


def both(key: str, /, **values: Any) -> Text:
    """A text in both languages with its values filled in; a value that is a ``Text`` is in the language, too."""

    def said(lang: str) -> str:
        filled = {name: one.in_language(lang) if isinstance(one, Text) else one for name, one in values.items()}
        return words(lang, key, **filled).strip()

    return Text(said("en"), said("zh"))


def sentence(text: Text | None, lang: str) -> str:
    """A text with a full stop, which titles do not have; empty for none."""
    said = "" if text is None else text.in_language(lang)
    return said if not said or said[-1] in ".。!?！？" else said + ("。" if lang == "zh" else ".")
