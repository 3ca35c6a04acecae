"""YAML files of the user: composed, so that every value knows its line, and bounded in size and depth."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sgdoctor.texts import Text

MAX_FILE: Final = 1 << 20
"""Bytes of one rule file."""
MAX_NODES: Final = 50_000
"""Values in one rule file, those that aliases repeat included."""

YamlPath = tuple[str | int, ...]
"""Keys and places in lists that lead to a part of a file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a rule file.

    Attributes:
        file: the file as it was named.
        line: 1-based number of the line.
        text: what is wrong and what would be right, on one line.
        warning: whether the rule works in spite of it.
    """

    file: str
    line: int
    text: Text
    warning: bool = False

    def shown(self, lang: str = "en") -> str:
        """``file:line: what is wrong``."""
        warning = {"en": "warning: ", "zh": "警告："}[lang] if self.warning else ""
        return f"{self.file}:{self.line}: {warning}{self.text.in_language(lang)}"


def read_yaml(path: Path) -> tuple[tuple[Any, dict[str, Any]] | None, list[Problem]]:
    """The composed node and the plain value of a YAML file that holds one mapping; or its mistakes."""
    file = str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            return None, [Problem(file, 1, Text("larger than 1 MiB", "文件大于 1 MiB"))]
        node = yaml.compose(data.decode("utf-8"), Loader=_loader())
    except OSError as error:
        reason = error.strerror or str(error)
        return None, [Problem(file, 1, Text(f"cannot be read: {reason}", f"无法读取：{reason}"))]
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        return None, [Problem(file, line, Text("is not UTF-8 text", "不是 UTF-8 文本"))]
    except yaml.reader.ReaderError as error:
        line = data[: error.position].count(b"\n") + 1
        reason = f"{error.reason} (#x{error.character:02x})" if isinstance(error.character, int) else error.reason
        return None, [Problem(file, line, Text(f"not valid YAML: {reason}", f"不是合法的 YAML：{reason}"))]
    except yaml.YAMLError as error:
        return None, [_yaml_problem(file, error)]
    except RecursionError:
        return None, [Problem(file, 1, Text("nested too deeply", "嵌套过深"))]
    if not isinstance(node, yaml.MappingNode):
        text = Text("the file is not a mapping; it begins with `id: SGL...`", "文件不是映射；应以 `id: SGL...` 开头")
        return None, [Problem(file, 1, text)]
    reader = _Plain(file)
    value = reader.value(node, frozenset())
    return (None, reader.problems) if reader.problems else ((node, value), [])


def _loader() -> Any:
    # The C loader is ten times as fast and not in every build of PyYAML.
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Plain:
    """Turns a composed file into plain data, all scalars as text."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._left = MAX_NODES

    def value(self, node: Any, above: frozenset[int]) -> Any:
        line = node.start_mark.line + 1
        # Aliases of aliases can stand for more nodes than any memory holds.
        self._left -= 1
        if self._left <= 0:
            if not self._left:
                self._add(line, "the anchors of the file stand for too much", "文件中的锚点展开后过大")
            return None
        if id(node) in above:
            self._add(line, "an anchor contains itself", "锚点引用了自身")
            return None
        if isinstance(node, yaml.ScalarNode):
            # The C loader says "" where the other one says None.
            is_null = not node.style and node.value in ("", "~", "null", "Null", "NULL")
            return None if is_null else node.value
        above |= {id(node)}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(element, above) for element in node.value if self._left > 0]
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._add(key_line, "a key is not a word", "键不是单词")
                continue
            key = key_node.value
            if key in mapping:
                self._add(
                    key_line, f"the key {key!r} stands twice; keep one of them", f"键 {key!r} 出现两次；请只保留一个"
                )
            mapping[key] = self.value(value_node, above)
        return mapping

    def _add(self, line: int, en: str, zh: str) -> None:
        self.problems.append(Problem(self._file, line, Text(en, zh)))


def _yaml_problem(file: str, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    reason = getattr(error, "problem", None) or str(error)
    reason = " ".join(str(reason).split())
    hints = {
        "mapping values are not allowed": (
            "; a text with `: ` in it needs quotes",
            "；含有 `: ` 的文本需要加引号",
        ),
        "found character '\\t'": ("; indent with blanks", "；请用空格缩进"),
        "found unknown escape character": (
            "; put patterns between single quotes",
            "；正则表达式请用单引号括起来",
        ),
    }
    en, zh = next((hint for start, hint in hints.items() if start in reason), ("", ""))
    return Problem(
        file,
        mark.line + 1 if mark else 1,
        Text(f"not valid YAML: {reason}{en}", f"不是合法的 YAML：{reason}{zh}"),
    )


def _node_at(node: Any, path: YamlPath) -> tuple[Any, Any]:
    """The key node and the value node at a path, as far down as the file goes with it."""
    key = node
    for step in path:
        if isinstance(node, yaml.MappingNode):
            for key_node, value_node in node.value:
                if key_node.value == step:
                    key, node = key_node, value_node
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            key = node = node.value[step]
    return key, node


def line_of(node: Any, path: YamlPath) -> int:
    """The 1-based line on which a part of a composed file stands, as far down as the file goes."""
    line: int = _node_at(node, path)[0].start_mark.line
    return line + 1
