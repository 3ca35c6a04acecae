"""What the doctor of ``watch`` says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.texts import Text

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "no_container": (
        "This is a log and no container: there is nothing to act on. The plan can be copied.",
        "这里看的是日志而不是容器：没有可以操作的对象。方案可以复制。",
    ),
    "recorded": (
        "This is the demonstration, a recorded run: there is nothing to act on. The plan can be copied.",
        "这是演示，播放的是录像：没有可以操作的对象。方案可以复制。",
    ),
    "not_yet": ("Nothing is known of the launch yet.", "目前还不了解这个启动配置。"),
    "relaunch": ("Relaunch {name} ({id})?", "重启 {name}（{id}）？"),
    "rollback": ("Go back to launch {number} of {name} ({id})?", "将 {name}（{id}）恢复到第 {number} 次启动？"),
    "lost": ("Lost: {what}", "丢失：{what}"),
    "undo": (
        "Undo the relaunch of {name} that was cut off at: {step}?",
        "撤销 {name} 在以下步骤中断的重启：{step}？",
    ),
    "resume": (
        "Go on with the relaunch of {name} that was cut off at: {step}?",
        "继续 {name} 在以下步骤中断的重启：{step}？",
    ),
    "heal": ("Heal {name} ({id})?", "自动修复 {name}（{id}）？"),
    "heal.how_once": (
        "One relaunch, drawn from how the start before failed, and a question to the server.",
        "重启一次，依据上一次的失败，然后向服务提一个问题。",
    ),
    "heal.how": (
        "Up to {tries} relaunches, each drawn from how the one before failed, until a server has answered a question.",
        "最多重启 {tries} 次，每次都依据上一次的失败，直到服务正确回答一个问题。",
    ),
    "heal.safe": (
        "Only safe changes are made; what can make answers worse is named in the report and left.",
        "只做安全的改动；可能降低回答质量的改动只在报告中列出，不会采用。",
    ),
    "heal.back": (
        "If none of them serves, the launch of now is back at the end.",
        "如果都不能提供服务，最后会恢复现在的启动配置。",
    ),
    "write": ("Write {file}?", "写入 {file}？"),
    "write.backup": (
        "A copy of the file as it is now is kept beside it. No container is touched.",
        "会在旁边保留现有文件的副本。不会改动任何容器。",
    ),
    "written": ("Written: {files}", "已写入：{files}"),
}


def told(key: str, /, **values: Any) -> Text:
    """A text in both languages with its values filled in."""
    english, chinese = _TEXTS[key]
    return Text(english.format(**values), chinese.format(**values))
