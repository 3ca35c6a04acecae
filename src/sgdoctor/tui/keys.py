"""The one table of keys: bindings, the bar at the bottom, the help screen and the README are made from it."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from sgdoctor.rules.model import Text


class Group(StrEnum):
    """What keys have in common, in the order of the help screen."""

    PANES = "panes"
    MOVE = "move"
    READ = "read"
    LOG = "log"
    SHARE = "share"
    CURE = "cure"
    APP = "app"


class Scope(StrEnum):
    """Who answers to a key."""

    APP = "app"
    PANE = "pane"
    """The pane that has the keyboard, where it scrolls."""
    LOG = "log"
    """The log pane, which brings its own bindings."""


class Key(NamedTuple):
    """One row of the table.

    Attributes:
        action: what it does: the name of an action of the app, of the panes or of the log.
        keys: as Textual names them; the first one is shown.
        label: one or two words for the bar; empty for keys that stand in the help only.
        help: what it does, for the help screen.
        group: with which others it stands.
        scope: who answers to it.
    """

    action: str
    keys: tuple[str, ...]
    label: Text
    help: Text
    group: Group
    scope: Scope = Scope.APP


GROUPS: Final[Mapping[Group, Text]] = {
    Group.PANES: Text("Panes", "窗格"),
    Group.MOVE: Text("Moving", "移动"),
    Group.READ: Text("Reading", "阅读"),
    Group.LOG: Text("Log", "日志"),
    Group.SHARE: Text("Taking away", "带走"),
    Group.CURE: Text("Curing (a later version; shows the corrected flags)", "修复（后续版本；目前显示修正后的参数）"),
    Group.APP: Text("Program", "程序"),
}

_NONE: Final = Text("", "")

KEYS: Final[Sequence[Key]] = (
    Key("pane('startup')", ("1",), _NONE, Text("start-up", "启动过程"), Group.PANES),
    Key("pane('diagnosis')", ("2",), _NONE, Text("diagnosis", "诊断"), Group.PANES),
    Key("pane('log')", ("3",), _NONE, Text("log", "日志"), Group.PANES),
    Key("pane('gpu')", ("4",), _NONE, Text("GPUs and load", "GPU 与负载"), Group.PANES),
    Key("zoom", ("z",), _NONE, Text("this pane alone, and back", "只看当前窗格，再按还原"), Group.PANES),
    Key("next_pane", ("tab",), _NONE, Text("next pane", "下一个窗格"), Group.PANES),
    Key("previous_pane", ("shift+tab",), _NONE, Text("previous pane", "上一个窗格"), Group.PANES),
    Key("line_up", ("up", "k"), _NONE, Text("up; in the diagnosis the card above", "上移；在诊断中选上一张卡片"), Group.MOVE, Scope.PANE),
    Key("line_down", ("down", "j"), _NONE, Text("down; in the diagnosis the card below", "下移；在诊断中选下一张卡片"), Group.MOVE, Scope.PANE),
    Key("page_up", ("pageup", "ctrl+u"), _NONE, Text("a page up", "上翻一页"), Group.MOVE, Scope.PANE),
    Key("page_down", ("pagedown", "ctrl+d"), _NONE, Text("a page down", "下翻一页"), Group.MOVE, Scope.PANE),
    Key("scroll_home", ("home", "g"), _NONE, Text("to the top", "到顶部"), Group.MOVE, Scope.PANE),
    Key("scroll_end", ("end", "G"), _NONE, Text("to the end; the log follows again", "到末尾；日志恢复跟随"), Group.MOVE, Scope.PANE),
    Key("details", ("enter",), Text("Details", "详情"), Text("everything about the selected diagnosis", "所选诊断的全部内容"), Group.READ),
    Key("explain", ("e",), Text("Explain", "解释"), Text("the page of its rule", "所用规则的说明页"), Group.READ),
    Key("evidence(1)", ("n",), Text("Evidence", "证据"), Text("next line of evidence, in the log", "日志中的下一行证据"), Group.READ),
    Key("evidence(-1)", ("N",), _NONE, Text("previous line of evidence", "上一行证据"), Group.READ),
    Key("benign", ("b",), Text("Harmless", "无害行"), Text("list what looks alarming and is not", "列出看起来吓人但正常的内容"), Group.READ),
    Key("attempts", ("a",), Text("Starts", "各次启动"), Text("choose one of the starts", "选择某一次启动"), Group.READ),
    Key("attempt(-1)", ("left_square_bracket",), _NONE, Text("the start before", "前一次启动"), Group.READ),
    Key("attempt(1)", ("right_square_bracket",), _NONE, Text("the start after", "后一次启动"), Group.READ),
    Key("search", ("slash",), Text("Search", "搜索"), Text("search the log", "搜索日志"), Group.READ),
    Key("save", ("s",), Text("Save", "保存"), Text("save report and log, secrets hidden", "保存报告和日志（隐去机密）"), Group.SHARE),
    Key("copy", ("c",), Text("Copy flags", "复制参数"), Text("copy the corrected flags", "复制修正后的参数"), Group.SHARE),
    Key("later('fix')", ("f",), Text("Fix", "修复"), Text("apply the fix", "应用修复"), Group.CURE),
    Key("later('relaunch')", ("r",), _NONE, Text("start again with the fix", "用修复后的参数重新启动"), Group.CURE),
    Key("later('rollback')", ("u",), _NONE, Text("back to the launch before", "回到之前的启动方式"), Group.CURE),
    Key("later('heal')", ("h",), _NONE, Text("fix and start until it serves", "反复修复并启动直到可用"), Group.CURE),
    Key("later('verify')", ("v",), _NONE, Text("check that it really serves", "验证服务是否真正可用"), Group.CURE),
    Key("later('preflight')", ("p",), _NONE, Text("check a launch before it starts", "启动前检查"), Group.CURE),
    Key("theme", ("t",), _NONE, Text("next theme", "下一个主题"), Group.APP),
    Key("language", ("l",), Text("中文", "English"), Text("中文", "English"), Group.APP),
    Key("command_palette", ("ctrl+p",), _NONE, Text("every action by name", "按名称执行任何操作"), Group.APP),
    Key("help", ("question_mark", "f1"), Text("Help", "帮助"), Text("this help", "本帮助"), Group.APP),
    Key("leave", ("q",), Text("Quit", "退出"), Text("quit; the server is left alone", "退出；不影响服务"), Group.APP),
    Key("interrupt", ("ctrl+c",), _NONE, Text("copy the marked text, else quit", "复制选中的文字，否则退出"), Group.APP),
)  # fmt: skip

_SHOWN: Final = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "question_mark": "?",
    "space": "space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift+Tab",
    "f1": "F1",
}


def name_of(key: Key) -> str:
    """What ``[keys]`` of the settings calls it: ``pane.log`` for ``pane('log')``, ``evidence.next``, ``log.fold``."""
    name, _, argument = key.action.partition("(")
    argument = argument.rstrip(")").strip("'")
    argument = {"1": "next", "-1": "previous"}.get(argument, argument)
    name = f"{name}.{argument}" if argument else name
    return f"log.{name}" if key.scope is Scope.LOG else name


def shown_key(key: str) -> str:
    """A key as it stands on the keyboard: ``slash`` is ``/``."""
    if key in _SHOWN:
        return _SHOWN[key]
    if key.startswith("ctrl+"):
        return f"Ctrl+{key.removeprefix('ctrl+').upper()}"
    return key


def table_with(
    changed: Mapping[str, Sequence[str]], table: Sequence[Key] = KEYS
) -> tuple[tuple[Key, ...], tuple[Text, ...]]:
    """The table with the keys that the user set.

    Args:
        changed: keys by the name of the action (``name_of``).
        table: as it is without them.

    Returns:
        The table, and what is wrong with ``changed``, one line each: unknown actions, keys that are taken twice.
    """
    problems = []
    names = {name_of(key): key.scope for key in table}
    for name in changed:
        if name not in names:
            problems.append(Text(f"[keys] {name}: there is no such action", f"[keys] {name}：没有这个操作"))
    taken = {(names[name], entry): name for name, entries in changed.items() if name in names for entry in entries}
    owners: dict[tuple[Scope, str], str] = {}
    result = []
    for key in table:
        name = name_of(key)
        # A key that the user gave to another action is that action's alone.
        keys = tuple(
            entry for entry in changed.get(name, key.keys) if taken.get((key.scope, entry), name) == name
        )
        result.append(key._replace(keys=keys))
        for entry in changed.get(name, ()):
            owner = owners.setdefault((key.scope, entry), name)
            if owner != name:
                problems.append(
                    Text(
                        f"[keys] {entry} stands for both {owner} and {name}",
                        f"[keys] {entry} 同时对应 {owner} 和 {name}",
                    )
                )
    return tuple(result), tuple(problems)


def as_markdown(lang: str, table: Iterable[Key] = KEYS) -> str:
    """The table for the README."""
    rows = list(table)
    lines = []
    for group, title in GROUPS.items():
        members = [key for key in rows if key.group is group and key.keys]
        if not members:
            continue
        lines += [f"| {title.in_language(lang)} | |", "|---|---|"]
        for key in members:
            keys = " ".join(f"`{shown_key(entry)}`" for entry in key.keys)
            lines.append(f"| {keys} | {key.help.in_language(lang)} |")
        lines.append("")
    return "\n".join(lines)
