"""What the screens of plans, relaunches and checks say, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    # Waiting for an answer
    "looking": ("Looking at {name} …", "正在查看 {name}……"),
    "computing": ("computing …", "正在计算……"),
    "error": ("{kind}: {text}", "{kind}：{text}"),
    # The plan
    "plan.title": ("Relaunch {name} ({id})", "重启 {name}（{id}）"),
    "plan.title.none": ("The launch as the log shows it", "日志中显示的启动配置"),
    "plan.count.one": ("{title} with 1 change", "{title}：1 处改动"),
    "plan.count": ("{title} with {count} changes", "{title}：{count} 处改动"),
    "plan.count.zero": ("{title}: no changes", "{title}：无改动"),
    "plan.changes": ("Changes", "改动"),
    "plan.others": ("Other ways", "其他办法"),
    "plan.nothing": (
        "Nothing is wrong with this launch as far as can be seen.",
        "就目前所见，这个启动配置没有问题。",
    ),
    "plan.wish": ("further: --flag value, -flag, NAME=value", "其他：--参数 值、-参数、名称=值"),
    "plan.launch": ("The launch", "启动配置"),
    "plan.memory": ("GPU memory, as computed (GiB)", "显存计算值（GiB）"),
    "plan.means": ("What it means", "影响"),
    "plan.kept": ("Kept: {what}.", "保留：{what}。"),
    "plan.lost": ("Lost: {what}", "丢失：{what}"),
    "plan.by_hand": ("By hand: {what}", "需手动：{what}"),
    "plan.interval": ("{low:.2f} … {high:.2f}", "{low:.2f} … {high:.2f}"),
    "plan.interval.none": ("no value fits", "没有可行的值"),
    "plan.keys": (
        "space takes or leaves · Tab next · Esc back",
        "空格选用或取消 · Tab 下一项 · Esc 返回",
    ),
    "type.int": ("a whole number", "整数"),
    "type.float": ("a number", "数字"),
    "type.human_readable_int": ("a number, or as 64K", "数字，或如 64K"),
    "type.json.loads": ("JSON", "JSON"),
    "kept.image": ("image", "镜像"),
    "kept.mounts.one": ("1 mount", "1 个挂载"),
    "kept.mounts": ("{count} mounts", "{count} 个挂载"),
    "kept.ports": ("ports {ports}", "端口 {ports}"),
    "kept.shm": ("shm {gib:.3g} GiB", "共享内存 {gib:.3g} GiB"),
    "kept.ipc": ("ipc {mode}", "ipc {mode}"),
    "kept.gpus": ("GPU {ids}", "GPU {ids}"),
    "kept.gpus.all": ("all GPUs", "全部 GPU"),
    "kept.restart": ("restart {policy}", "重启策略 {policy}"),
    "kept.env.one": ("1 variable", "1 个环境变量"),
    "kept.env": ("{count} variables", "{count} 个环境变量"),
    "memory.now": ("now", "现在"),
    "memory.then": ("then", "之后"),
    "memory.fraction": ("fraction", "比例"),
    "memory.weights": ("weights", "权重"),
    "memory.state": ("state", "状态"),
    "memory.tokens": ("KV tokens", "KV token"),
    "memory.windows": ("SWA tokens", "SWA token"),
    "memory.requests": ("requests", "请求数"),
    "memory.longest": ("longest", "最长"),
    "memory.left": ("left", "剩余"),
    "memory.fails": ("fails: {message}", "会失败：{message}"),
    "memory.serves": ("expected to serve", "预计可提供服务"),
    "memory.unknown": (
        "The memory of this launch cannot be computed: the log and the model do not tell enough.",
        "无法计算这个启动配置的显存：日志和模型提供的信息不足。",
    ),
    "button.relaunch": ("Relaunch", "重启"),
    "button.write": ("Write file", "写入文件"),
    "button.copy": ("Copy command", "复制命令"),
    "button.check": ("Preflight", "启动前检查"),
    "button.cancel": ("Cancel", "取消"),
    "no_file": (
        "There is no compose file or script to write; the command can be copied.",
        "没有可写入的 compose 文件或脚本；可以复制命令。",
    ),
    "not_planned": ("Not with this plan: {why}", "这个方案不可行：{why}"),
    "no_changes": (
        "Nothing is to be changed. {key} opens the plan, where any flag can be set.",
        "没有需要改动的内容。按 {key} 打开方案，可设置任意参数。",
    ),
    "no_changes.here": ("Nothing is to be changed.", "没有需要改动的内容。"),
    # Where nothing can be done
    "read_only": (
        "Read-only: nothing is changed here. Start without --read-only (and read_only in config.toml) to act.",
        "只读模式：不做任何改动。要执行操作，请不带 --read-only（及 config.toml 中的 read_only）启动。",
    ),
    "no_doctor": ("There is nothing to act on here.", "这里没有可以操作的对象。"),
    # The card
    "forecast": ("Plan ({key})", "方案（{key}）"),
    "forecast.changes.one": ("1 change", "1 处改动"),
    "forecast.changes": ("{count} changes", "{count} 处改动"),
    "forecast.interval": ("works from {low:.2f} to {high:.2f}", "自 {low:.2f} 起至 {high:.2f} 可行"),
    "forecast.recommended": ("{interval}; recommended {best:.2f}", "{interval}，推荐 {best:.2f}"),
    "forecast.tokens": ("KV {tokens} tokens", "KV {tokens} 个 token"),
    "forecast.requests.one": ("1 request at once", "同时 1 个请求"),
    "forecast.requests": ("{count} requests at once", "同时 {count} 个请求"),
    "forecast.impossible": ("does not fit this card: {why}", "这张卡放不下：{why}"),
    "unstarted": (
        "This container was created and never started. {key} checks its launch first.",
        "该容器已创建但从未启动。按 {key} 先检查其启动配置。",
    ),
    # Consent
    "confirm.stops": ("It runs, and is going to be stopped.", "它正在运行，将被停止。"),
    "confirm.no": ("No", "否"),
    "confirm.keys": ("y yes · Esc no", "y 是 · Esc 否"),
    "confirm.yes.relaunch": ("Relaunch {name}", "重启 {name}"),
    "confirm.yes.rollback": ("Roll back {name}", "恢复 {name}"),
    "confirm.yes.resume": ("Go on with {name}", "继续 {name}"),
    "confirm.yes.heal": ("Heal {name}", "自动修复 {name}"),
    "confirm.yes.write": ("Write {name}", "写入 {name}"),
    "confirm.title": ("Please confirm", "请确认"),
    "stop.heading": ("Stop and go back to what {name} was?", "中止，并让 {name} 恢复原状？"),
    "stop.line": (
        "What was done so far is undone, step by step; the old server comes back.",
        "已完成的步骤会逐一撤销；旧服务会恢复。",
    ),
    "stop.yes": ("Stop and go back", "中止并恢复"),
    "stop.leave": ("Stop, go back, then quit", "中止、恢复后退出"),
    "stop.owned": ("Stop {name} and quit?", "停止 {name} 并退出？"),
    "stop.owned_line": (
        "The server belongs to this app: it is stopped with all of its processes.",
        "服务属于本界面：会连同其全部进程一起停止。",
    ),
    "stop.owned_yes": ("Stop and quit", "停止并退出"),
    "stop.quit_line": (
        "The app is left once everything is back.",
        "一切恢复之后才会退出。",
    ),
    # Steps
    "course.relaunch": ("Relaunching {name}", "正在重启 {name}"),
    "course.rollback": ("Rolling back {name}", "正在恢复 {name}"),
    "course.resume": ("Going on with {name}", "正在继续 {name}"),
    "course.heal": ("Healing {name}", "正在自动修复 {name}"),
    "course.write": ("Writing {name}", "正在写入 {name}"),
    "course.over": ("{name}", "{name}"),
    "course.stopping": ("Going back to what it was …", "正在恢复原状……"),
    "course.keys": (
        "c stop and go back · Esc hide, it goes on · {key} show again",
        "c 中止并恢复 · Esc 隐藏（继续执行） · {key} 再次显示",
    ),
    "course.keys.over": ("Esc closes", "按 Esc 关闭"),
    "course.keys.report": ("Enter shows the report · Esc closes", "Enter 查看报告 · Esc 关闭"),
    "course.begins": ("beginning", "开始"),
    "still": (
        "{name} is still being worked on; Ctrl-C makes everything as it was before.",
        "{name} 的操作仍在进行；按 Ctrl-C 恢复原状。",
    ),
    # Pages
    "preflight.title": ("Preflight: {name}", "启动前检查：{name}"),
    "report.title": ("Report: {name}", "报告：{name}"),
}


def say_cure(lang: str, key: str, /, **values: Any) -> str:
    """A text of these screens in ``en`` or ``zh`` with its values filled in."""
    english, chinese = _WORDS[key]
    return (chinese if lang == "zh" else english).format(**values)


def say_count(lang: str, key: str, count: int, /, **values: Any) -> str:
    """As ``say_cure``, where one and none may have words of their own."""
    own = {0: f"{key}.zero", 1: f"{key}.one"}.get(count, key)
    return say_cure(lang, own if own in _WORDS else key, count=count, **values)
