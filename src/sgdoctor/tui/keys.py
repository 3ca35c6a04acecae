"""The one table of keys: bindings, the bar at the bottom, the help screen and the README are made from it."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from sgdoctor.texts import Text


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
    Group.CURE: Text("Curing", "修复"),
    Group.APP: Text("Program", "程序"),
}


def _key(group: Group, action: str, keys: str, english: str, chinese: str, *, label: tuple[str, str] = ("", "")) -> Key:
    scope = Scope.PANE if group is Group.MOVE else Scope.APP
    return Key(action, tuple(keys.split()), Text(*label), Text(english, chinese), group, scope)


KEYS: Final[Sequence[Key]] = (
    _key(Group.PANES, "pane('startup')", "1", "start-up", "启动过程"),
    _key(Group.PANES, "pane('diagnosis')", "2", "diagnosis", "诊断"),
    _key(Group.PANES, "pane('log')", "3", "log", "日志"),
    _key(Group.PANES, "pane('gpu')", "4", "GPUs and load", "GPU 与负载"),
    _key(Group.PANES, "zoom", "z", "this pane alone, and back", "只看当前窗格，再按还原"),
    _key(Group.PANES, "next_pane", "tab", "next pane", "下一个窗格"),
    _key(Group.PANES, "previous_pane", "shift+tab", "previous pane", "上一个窗格"),
    _key(Group.MOVE, "line_up", "up k", "up; in the diagnosis the card above", "上移；在诊断中选上一张卡片"),
    _key(Group.MOVE, "line_down", "down j", "down; in the diagnosis the card below", "下移；在诊断中选下一张卡片"),
    _key(Group.MOVE, "page_up", "pageup ctrl+u", "a page up", "上翻一页"),
    _key(Group.MOVE, "page_down", "pagedown ctrl+d", "a page down", "下翻一页"),
    _key(Group.MOVE, "scroll_home", "home g", "to the top", "到顶部"),
    _key(Group.MOVE, "scroll_end", "end G", "to the end; the log follows again", "到末尾；日志恢复跟随"),
    _key(
        Group.CURE,
        "fix",
        "f",
        "the plan: what to change, with values to edit",
        "修复方案：要改什么，值可编辑",
        label=("Fix", "修复"),
    ),
    _key(
        Group.READ,
        "details",
        "enter",
        "everything about the selected diagnosis",
        "所选诊断的全部内容",
        label=("Details", "详情"),
    ),
    _key(Group.READ, "explain", "e", "the page of its rule", "所用规则的说明页", label=("Explain", "解释")),
    _key(
        Group.READ,
        "evidence(1)",
        "n",
        "next line of evidence, in the log",
        "日志中的下一行证据",
        label=("Evidence", "证据"),
    ),
    _key(
        Group.CURE,
        "relaunch",
        "r",
        "relaunch with the plan as it is; go on with one that was cut off",
        "按方案重启；继续被中断的重启",
        label=("Relaunch", "重启"),
    ),
    _key(
        Group.CURE,
        "rollback",
        "u",
        "back to the launch before; undo a relaunch that was cut off",
        "回到之前的启动；撤销被中断的重启",
        label=("Roll back", "恢复"),
    ),
    _key(
        Group.CURE,
        "heal",
        "h",
        "fix and relaunch until it serves",
        "反复修复并重启直到可用",
        label=("Heal", "自动修复"),
    ),
    _key(
        Group.CURE,
        "preflight",
        "p",
        "check the launch: what would fail before a start",
        "启动前检查：找出启动会失败的原因",
        label=("Preflight", "启动前检查"),
    ),
    _key(Group.CURE, "later('verify')", "v", "check that it really serves (later)", "验证服务是否真正可用（后续版本）"),
    _key(Group.READ, "evidence(-1)", "N", "previous line of evidence", "上一行证据"),
    _key(
        Group.READ,
        "benign",
        "b",
        "list what looks alarming and is not",
        "列出看起来吓人但正常的内容",
        label=("Harmless", "无害行"),
    ),
    _key(Group.READ, "attempts", "a", "choose one of the starts", "选择某一次启动", label=("Starts", "各次启动")),
    _key(Group.READ, "attempt(-1)", "left_square_bracket", "the start before", "前一次启动"),
    _key(Group.READ, "attempt(1)", "right_square_bracket", "the start after", "后一次启动"),
    _key(Group.READ, "search", "slash", "search the log", "搜索日志", label=("Search", "搜索")),
    _key(
        Group.SHARE,
        "save",
        "s",
        "save report and log, secrets hidden",
        "保存报告和日志（隐去机密）",
        label=("Save", "保存"),
    ),
    _key(
        Group.SHARE,
        "copy",
        "c",
        "copy the corrected command or flags",
        "复制修正后的命令或参数",
        label=("Copy flags", "复制参数"),
    ),
    _key(Group.APP, "theme", "t", "next theme", "下一个主题"),
    _key(Group.APP, "language", "l", "中文", "English", label=("中文", "English")),
    _key(Group.APP, "command_palette", "ctrl+p", "every action by name", "按名称执行任何操作"),
    _key(Group.APP, "help", "question_mark f1", "this help", "本帮助", label=("Help", "帮助")),
    _key(Group.APP, "leave", "q", "quit; the server is left alone", "退出；不影响服务", label=("Quit", "退出")),
    _key(Group.APP, "interrupt", "ctrl+c", "copy the marked text, else quit", "复制选中的文字，否则退出"),
)

_SHOWN: Final = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "slash": "/",
    "question_mark": "?",
    "space": "Space",
    "backspace": "Backspace",
    "delete": "Del",
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
    "ctrl": "Ctrl",
    "shift": "Shift",
    "alt": "Alt",
}


def name_of(key: Key) -> str:
    """What ``[keys]`` of the settings calls it: ``pane.log`` for ``pane('log')``, ``evidence.next``, ``log.fold``."""
    name, _, argument = key.action.partition("(")
    argument = argument.rstrip(")").strip("'")
    argument = {"1": "next", "-1": "previous"}.get(argument, argument)
    name = f"{name}.{argument}" if argument else name
    return f"log.{name}" if key.scope is Scope.LOG else name


def shown_key(key: str) -> str:
    """A key as it stands on the keyboard: ``slash`` is ``/``, ``shift+up`` is ``Shift+↑``."""
    *held, last = key.split("+")
    names = [_SHOWN.get(name, name) for name in held]
    is_letter = len(last) == 1 and bool(held)
    is_numbered = last[:1] == "f" and last[1:].isdecimal()
    return "+".join([*names, last.upper() if is_letter or is_numbered else _SHOWN.get(last, last)])


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
        keys = tuple(entry for entry in changed.get(name, key.keys) if taken.get((key.scope, entry), name) == name)
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
