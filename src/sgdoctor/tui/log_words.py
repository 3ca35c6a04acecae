"""What the log pane says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Log", "日志"),
    "following": ("following", "跟随中"),
    "paused": ("paused", "已暂停"),
    "count": ("{count:,} lines", "{count:,} 行"),
    "count.one": ("1 line", "1 行"),
    "count.of": ("{count:,} of {total:,} lines", "{count:,}/{total:,} 行"),
    "place": ("line {number:,}", "第 {number:,} 行"),
    "column": ("column {number}", "第 {number} 列"),
    "no_benign": ("harmless hidden", "隐藏无害行"),
    "selected": ("{count:,} selected", "已选 {count:,} 行"),
    "looking": ("looking through…", "正在筛选…"),
    "empty": ("No lines yet.", "还没有日志。"),
    "nothing": ("No line passes this filter. Esc shows all.", "没有符合筛选条件的行。按 Esc 显示全部。"),
    "start": ("start {number}", "第 {number} 次启动"),
    "frames": ("{count} frames", "{count} 帧"),
    "frames.one": ("1 frame", "1 帧"),
    "folded": ("{count} lines", "{count} 行"),
    "folded.one": ("1 line", "1 行"),
    "search.text": ("text", "文本"),
    "search.regex": ("regular expression", "正则表达式"),
    "search.placeholder": ("search", "搜索"),
    "search.kind": ("{kind} (Ctrl+R)", "{kind}（Ctrl+R）"),
    "search.count": ("{count:,} matches", "{count:,} 处匹配"),
    "search.count.one": ("1 match", "1 处匹配"),
    "search.place": ("match {place:,} of {count:,}", "第 {place:,}/{count:,} 处匹配"),
    "search.none": ("no match", "无匹配"),
    "search.more": ("more than {count:,} matches", "超过 {count:,} 处匹配"),
    "search.percent": ("{percent} %", "{percent}%"),
    "search.error": ("cannot be searched for: {text}", "无法搜索：{text}"),
    "copied": ("{count:,} lines copied, secrets hidden.", "已复制 {count:,} 行（机密已隐去）。"),
    "copied.one": ("1 line copied, secrets hidden.", "已复制 1 行（机密已隐去）。"),
    "copied.part": ("Selected text copied, secrets hidden.", "已复制选中的文字（机密已隐去）。"),
    "copied.cut": (
        "The first {count:,} of {total:,} lines copied, secrets hidden.",
        "已复制前 {count:,} 行，共 {total:,} 行（机密已隐去）。",
    ),
}


def say_log(lang: str, key: str, /, **values: Any) -> str:
    """A text of the log pane in ``en`` or ``zh`` with its values filled in."""
    english, chinese = WORDS[key]
    return (chinese if lang == "zh" else english).format(**values)


def count_log(lang: str, key: str, count: int, /, **values: Any) -> str:
    """As ``say_log``, where English has a singular of its own under ``key.one``."""
    return say_log(lang, f"{key}.one" if count == 1 else key, count=count, **values)
