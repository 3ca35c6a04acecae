"""The keys of the log, as rows of the one table of keys."""

from collections.abc import Iterable, Sequence
from typing import Final

from textual.binding import Binding, BindingType

from sgdoctor.texts import Text
from sgdoctor.tui.keys import KEYS, Group, Key, Scope, name_of

_NONE: Final = Text("", "")


def _key(action: str, keys: tuple[str, ...], english: str, chinese: str, *, label: Text = _NONE) -> Key:
    return Key(action, keys, label, Text(english, chinese), Group.LOG, Scope.LOG)


MOVES: Final[Sequence[Key]] = tuple(key for key in KEYS if key.scope is Scope.PANE)
"""What every pane has, done by the log in its own way."""

LOG_KEYS: Final[Sequence[Key]] = (
    _key("follow", ("space",), "follow the newest line, or stop", "跟随最新一行，或停止", label=Text("Follow", "跟随")),
    _key("sideways(-1)", ("left",), "to the left", "向左"),
    _key("sideways(1)", ("right",), "to the right", "向右"),
    _key("extend(-1)", ("shift+up",), "select upwards", "向上选择"),
    _key("extend(1)", ("shift+down",), "select downwards", "向下选择"),
    _key("copy_selection", ("ctrl+c",), "copy the selection, if there is one", "复制选中的行（如有）"),
    _key("copy_lines", ("y",), "copy the selected lines, secrets hidden", "复制选中的行（隐去机密）"),
    _key("fold", ("enter",), "unfold the traceback, or fold it", "展开或折叠堆栈"),
    _key("fold_all", ("F",), "unfold all tracebacks, or fold them", "展开或折叠全部堆栈"),
    _key("wrap", ("w",), "wrap long lines, or cut them", "长行换行或截断", label=Text("Wrap", "换行")),
    _key("as_written", ("T",), "lines as written, with time and rank", "显示原始行（含时间和 rank）"),
    _key("filter", ("x",), "all lines, errors, stages", "全部、错误、阶段", label=Text("Filter", "筛选")),
    _key("only_rule", ("o",), "only lines of the same rule", "只看同一规则的行"),
    _key("only_rank", ("O",), "only lines of the same rank", "只看同一 rank 的行"),
    _key("only_stage", ("X",), "only lines of the same stage", "只看同一阶段的行"),
    _key("hide_benign", ("B",), "hide lines that look alarming and are not", "隐藏看起来吓人但正常的行"),
    _key("search", ("slash",), "search", "搜索"),
    _key("match(1)", ("n",), "next match", "下一个匹配"),
    _key("match(-1)", ("N",), "previous match", "上一个匹配"),
    _key("jump_back", ("backspace",), "back to where you were", "回到之前的位置"),
    _key("clear", ("escape",), "end the search, the selection, the filter", "结束搜索、选择、筛选"),
)
"""What only the log has."""


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """Keys as Textual wants them; the bar at the bottom is not made from these."""
    return [Binding(",".join(key.keys), key.action, key.help.en, show=False, id=name_of(key)) for key in keys]
