"""What the app itself says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    # The pill of the header
    "pill.waiting": ("WAITING", "等待"),
    "pill.starting": ("STARTING", "启动中"),
    "pill.ready": ("READY", "就绪"),
    "pill.degraded": ("READY, WITH A PROBLEM", "就绪，但有问题"),
    "pill.failed": ("FAILED", "失败"),
    "pill.stalled": ("STALLED", "停滞"),
    "pill.stopped": ("STOPPED", "已停止"),
    "pill.unknown": ("NOT DETERMINED", "无法确定"),
    # Header
    "attempt": ("start {number} of {count}", "第 {number}/{count} 次启动"),
    "restarts.one": ("1 restart", "已重启 1 次"),
    "restarts": ("{count} restarts", "已重启 {count} 次"),
    "restarts.every": ("{restarts}, every {time}", "{restarts}，约每 {time}一次"),
    "up": ("up {time}", "已运行 {time}"),
    "failure.session": ("The log cannot be read on: {text}", "无法继续读取日志：{text}"),
    "waiting": ("Waiting for the first line.", "正在等待第一行日志。"),
    # Panes
    "pane.startup": ("Start-up", "启动过程"),
    "pane.diagnosis": ("Diagnosis", "诊断"),
    "pane.log": ("Log", "日志"),
    "pane.gpu": ("GPU", "GPU"),
    # Start-up
    "startup.none": ("No line of a start yet.", "还没有启动日志。"),
    "startup.left": ("about {time} left", "约剩 {time}"),
    "startup.over": ("{time} longer than usual", "比平时多 {time}"),
    "startup.left.short": ("{time} left", "剩 {time}"),
    "startup.over.short": ("+{time}", "+{time}"),
    "startup.normal": ("Normal: {phase} takes {usual}.", "正常：{phase}通常需要 {usual}。"),
    "startup.learned": (
        "Normal: {phase} took {usual} in earlier starts of this model here.",
        "正常：此模型以前在本机启动时，{phase}用时 {usual}。",
    ),
    "startup.ready": ("Ready in about {time}.", "约 {time}后就绪。"),
    "startup.ready_between": ("Ready in {least} to {most}.", "{least}至 {most}后就绪。"),
    # Diagnosis
    "diagnosis.fine": ("Nothing is wrong.", "没有问题。"),
    "diagnosis.so_far": ("Nothing is wrong so far.", "目前没有问题。"),
    "diagnosis.before": ("Start {number} failed: {title}", "第 {number} 次启动失败：{title}"),
    "diagnosis.before.key": ("{key} shows it.", "按 {key} 查看。"),
    "diagnosis.rules": (" ({names})", "（{names}）"),
    "diagnosis.consequences.one": ("and 1 consequence", "以及 1 个后果"),
    "diagnosis.consequences": ("and {count} consequences", "以及 {count} 个后果"),
    "diagnosis.fix": ("Fix {number}", "办法 {number}"),
    "diagnosis.more_fixes.one": ("1 more way: Enter", "另有 1 种办法：按 Enter"),
    "diagnosis.more_fixes": ("{count} more ways: Enter", "另有 {count} 种办法：按 Enter"),
    "diagnosis.harmless.one": (
        "1 kind of line looks alarming and is not ({key}).",
        "有 1 类日志看起来吓人但其实正常（按 {key}）。",
    ),
    "diagnosis.harmless": (
        "{count} kinds of lines look alarming and are not ({key}).",
        "有 {count} 类日志看起来吓人但其实正常（按 {key}）。",
    ),
    "diagnosis.notes.one": ("1 thing is worth knowing ({key}).", "有 1 条提示（按 {key}）。"),
    "diagnosis.notes": ("{count} things are worth knowing ({key}).", "有 {count} 条提示（按 {key}）。"),
    # Detail
    "detail.title": ("Diagnosis {number} of {count}", "诊断 {number}/{count}"),
    "detail.consequences": ("Only consequences", "只是后果"),
    "detail.gone": ("This diagnosis does not hold any more.", "该诊断已不再成立。"),
    "detail.keys": (
        "{close} back   {explain} explain   {copy} copy flags   {save} save   {evidence} evidence in the log",
        "{close} 返回   {explain} 解释   {copy} 复制参数   {save} 保存   {evidence} 日志中的证据",
    ),
    # GPU
    "gpu.none": ("No GPU data yet.", "还没有 GPU 数据。"),
    "gpu.no_data": ("No GPU data: {reason}", "没有 GPU 数据：{reason}"),
    "gpu.free": ("{gib} GiB free", "空闲 {gib} GiB"),
    "gpu.this": ("this container", "本容器"),
    "gpu.desktop": ("desktop", "桌面"),
    "gpu.process": ("process", "进程"),
    "gpu.ledger": ("This server, by its log", "本服务（据日志）"),
    "gpu.weights": ("weights", "权重"),
    "gpu.state": ("state", "状态"),
    "gpu.kv": ("KV", "KV"),
    "gpu.graphs": ("graphs", "CUDA 图"),
    "gpu.tokens": ("{speed} tokens/s", "{speed} tokens/s"),
    "gpu.running": ("{count} running", "运行 {count}"),
    "gpu.queued": ("{count} queued", "排队 {count}"),
    "gpu.kv_usage": ("KV {percent} %", "KV {percent} %"),
    "gpu.state_usage": ("state {percent} %", "状态 {percent} %"),
    "gpu.window_usage": ("SWA {percent} %", "SWA {percent} %"),
    # Log, until the pane has something to show
    # Starts
    "attempts.title": ("Starts", "各次启动"),
    "attempts.none": ("No start yet.", "还没有启动记录。"),
    "attempts.follow": ("always the newest", "始终显示最新一次"),
    "picker.title": ("Which container?", "查看哪个容器？"),
    "picker.hint": ("Enter chooses, Esc leaves", "Enter 选择，Esc 离开"),
    # Help
    "help.title": ("Keys", "按键"),
    "help.mouse": (
        "The mouse works too: click a pane, a card, a key in the bottom line; drag to mark text.",
        "也可使用鼠标：点击窗格、卡片或底部的按键；拖动可选中文字。",
    ),
    "leave.stops": ("quit, which stops the server", "退出，同时停止服务"),
    "help.close": ("Esc closes", "按 Esc 关闭"),
    # Explanation
    "explain.title": ("Rule {rule}", "规则 {rule}"),
    "explain.none": ("There is nothing to explain: no rule applies.", "没有可解释的规则。"),
    # Reserved keys
    "later.title": ("{action}: a later version does this", "{action}：后续版本将支持"),
    "later.flags": ("Until then, change the launch by hand:", "目前请手动修改启动参数："),
    "later.none": (
        "No corrected flags are known for this start.",
        "对于这次启动，没有已知的修正参数。",
    ),
    "later.nothing_wrong": ("Nothing is wrong, so there is nothing to correct.", "没有问题，无需修正。"),
    "later.copy": ("{key} copies them.   Esc closes.", "按 {key} 复制。   按 Esc 关闭。"),
    "later.verify": ("Verify", "验证"),
    # Toasts
    "saved": ("Saved: {path}", "已保存：{path}"),
    "save.failed": ("Not saved: {text}", "保存失败：{text}"),
    "copied": ("Copied: {text}", "已复制：{text}"),
    "copy.none": ("No corrected flags to copy.", "没有可复制的参数。"),
    "evidence.none": ("There is no evidence to go to.", "没有可跳转的证据。"),
    "theme": ("Theme: {name}", "主题：{name}"),
    "no_theme": ("There is no theme {name}.", "没有主题 {name}。"),
    "no_attempt": ("There is no other start in this direction.", "这个方向上没有其他启动记录。"),
    # Saved log
    "slice.cut.one": ("[sgdoctor: 1 line left out]", "[sgdoctor：省略 1 行]"),
    "slice.cut": ("[sgdoctor: {count} lines left out]", "[sgdoctor：省略 {count} 行]"),
    # Palette
    "palette.rule": ("Rule {rule}: {title}", "规则 {rule}：{title}"),
    "palette.container": ("Watch container {name}", "改为跟踪容器 {name}"),
    "palette.attempt": ("Start {number}: {state}", "第 {number} 次启动：{state}"),
    "palette.theme": ("Theme {name}", "主题 {name}"),
    "palette.placeholder": ("What do you want to do?", "想做什么？"),
}


def tell(lang: str, key: str, /, **values: Any) -> str:
    """A text of the app in ``en`` or ``zh`` with its values filled in."""
    english, chinese = WORDS[key]
    return (chinese if lang == "zh" else english).format(**values)


def tell_count(lang: str, key: str, count: int, /, **values: Any) -> str:
    """As ``tell``, where English has a singular of its own under ``key.one``."""
    return tell(lang, f"{key}.one" if count == 1 and f"{key}.one" in WORDS else key, count=count, **values)
