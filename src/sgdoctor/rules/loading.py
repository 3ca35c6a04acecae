"""From YAML files to rules in their plain form, with every mistake named by file and line.

The YAML is composed, not loaded: nodes know their lines, and all scalars stay the text that stands in the file. So
``value: 0.90`` keeps its digits, a tag ``3.10`` is not a number, and ``on`` and ``no`` are not booleans (YAML 1.1);
where the schema wants a number or a boolean, pydantic reads the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pydantic
import yaml

from sgdoctor.rules.locate import MUTE_FILE, rule_files
from sgdoctor.rules.model import Text
from sgdoctor.rules.schema import RuleModel

MAX_FILE: Final = 1 << 20
"""Bytes of one rule file."""
MAX_NODES: Final = 50_000
"""Values in one rule file, those that aliases repeat included."""

Path_ = tuple[str | int, ...]


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


@dataclass(frozen=True, slots=True)
class RuleSource:
    """One rule file that follows the schema.

    Attributes:
        file: as it was named.
        plain: the rule in its plain form (see ``decoding.decode``), ``origin`` included, without its tests.
        model: the file as the schema read it, tests included.
        node: the composed YAML, for the lines of later findings.
    """

    file: str
    plain: Mapping[str, Any]
    model: RuleModel
    node: Any

    def line(self, path: Path_) -> int:
        """The line on which a part of the file stands."""
        return _line_of(self.node, path)


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies below one directory: rules, muted ids, mistakes."""

    sources: tuple[RuleSource, ...]
    muted: tuple[str, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rules in force: those of sgdoctor, overridden and muted by the user.

    Attributes:
        sources: sorted by id.
        muted: ids that the user silenced; they are not among the sources.
        built_in_problems: mistakes in files of sgdoctor.
        user_problems: mistakes in files of the user.
    """

    sources: tuple[RuleSource, ...]
    muted: tuple[str, ...]
    built_in_problems: tuple[Problem, ...]
    user_problems: tuple[Problem, ...]


def load_rules(built_in: Path, users: Sequence[Path]) -> Loaded:
    """All rule files: a rule of the user replaces the one with its id, ``mute.yaml`` silences ids."""
    own = load_folder(built_in)
    sources = {source.model.id: source for source in own.sources}
    muted: dict[str, None] = {}
    problems: list[Problem] = []
    for directory in users:
        folder = load_folder(directory)
        problems += folder.problems
        muted |= dict.fromkeys(folder.muted)
        for source in folder.sources:
            others = [other for other in sources.values() if other.model.id != source.model.id]
            if clash := next((other for other in others if other.model.name == source.model.name), None):
                text = Text(
                    f"the name {source.model.name} belongs to {clash.model.id};"
                    " give the rule another name, or that id to replace it",
                    f"名称 {source.model.name} 属于 {clash.model.id}；请换一个名称，或使用该 id 以替换它",
                )
                problems.append(Problem(source.file, source.line(("name",)), text))
            else:
                sources[source.model.id] = source
    kept = tuple(source for id_, source in sorted(sources.items()) if id_ not in muted)
    return Loaded(kept, tuple(muted), own.problems, tuple(problems))


def load_folder(directory: Path) -> Folder:
    """Every rule file below a directory; a file with a mistake is left out and its mistakes are reported."""
    sources: list[RuleSource] = []
    muted: list[str] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for relative, _ in rule_files(directory):
        path = directory / relative
        if relative == MUTE_FILE:
            ids, found = load_mute(path)
            muted += ids
            problems += found
            continue
        source, found = load_file(path)
        problems += found
        if source is None:
            continue
        for key in (source.model.id, source.model.name):
            if key in seen:
                text = Text(
                    f"{key} is already used by {seen[key]}; every rule of a folder has an id and a name of its own",
                    f"{key} 已被 {seen[key]} 使用；同一目录下每条规则的 id 和名称必须唯一",
                )
                problems.append(Problem(source.file, source.line(("id" if key == source.model.id else "name",)), text))
                break
        else:
            seen |= {source.model.id: source.file, source.model.name: source.file}
            sources.append(source)
    return Folder(tuple(sources), tuple(muted), tuple(problems))


def load_file(path: Path) -> tuple[RuleSource | None, list[Problem]]:
    """One rule file.

    Returns:
        The rule, and its mistakes; with a mistake there is no rule.
    """
    data, problems = read_yaml(path)
    if problems or data is None:
        return None, problems
    node, value = data
    try:
        model = RuleModel.model_validate(value)
    except pydantic.ValidationError as error:
        return None, list(_unique(_explained(str(path), node, entry) for entry in error.errors()))
    plain = model.model_dump(mode="json", exclude_defaults=True, exclude={"tests"})
    return RuleSource(str(path), {**plain, "origin": str(path)}, model, node), []


def load_mute(path: Path) -> tuple[tuple[str, ...], list[Problem]]:
    """The ids that a ``mute.yaml`` silences."""
    data, problems = read_yaml(path)
    if problems or data is None:
        return (), problems
    _, value = data
    ids = value.get("mute")
    if set(value) != {"mute"} or not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        text = Text(
            "the file is one list of ids, such as `mute: [SGL912]`",
            "该文件应为一个 id 列表，例如 `mute: [SGL912]`",
        )
        return (), [Problem(str(path), 1, text)]
    return tuple(id_.upper() for id_ in ids), []


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


def _node_at(node: Any, path: Path_) -> tuple[Any, Any]:
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


def _line_of(node: Any, path: Path_) -> int:
    line: int = _node_at(node, path)[0].start_mark.line
    return line + 1


def _explained(file: str, node: Any, error: Any) -> Problem:
    path: Path_ = error["loc"]
    line = _line_of(node, path)
    where = ".".join(str(step) for step in path if not isinstance(step, int) and step != "[key]")
    kind, context = error["type"], error.get("ctx", {})
    if "zh" in context and "en" in context:
        return Problem(file, line, Text(context["en"], context["zh"]))
    if kind == "extra_forbidden":
        line = _line_of(node, path)
        return Problem(file, line, _unknown_key(path))
    if kind == "missing":
        line = _line_of(node, path[:-1])
        return Problem(file, line, Text(f"`{where}` is missing", f"缺少 `{where}`"))
    given = error.get("input")
    shown = repr(given) if isinstance(given, str | int | float | None) else type(given).__name__
    if len(shown) > 60:
        shown = shown[:57] + "..."
    if kind in ("literal_error", "enum"):
        expected = context["expected"].replace(" or ", ", ").replace("'", "")
        return Problem(
            file,
            line,
            Text(
                f"`{where}` cannot be {shown}; it is one of {expected}",
                f"`{where}` 不能是 {shown}；可选：{expected}",
            ),
        )
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        example = {
            r"^SGL[0-9]{3}$": "SGL and three digits, such as SGL401",
            r"^https?://\S+$": "an http(s) address",
        }.get(pattern, "lower-case words joined by -")
        return Problem(
            file,
            line,
            Text(f"`{where}` is {shown}; write {example}", f"`{where}` 为 {shown}；正确形式：{example}"),
        )
    wanted = {
        "model_type": ("a mapping", "映射"),
        "dict_type": ("a mapping", "映射"),
        "list_type": ("a list", "列表"),
        "string_type": ("a text", "文本"),
        "string_too_short": ("a text that is not empty", "非空文本"),
        "too_short": ("a list that is not empty", "非空列表"),
        "float_parsing": ("a number", "数字"),
        "int_parsing": ("a whole number", "整数"),
        "bool_parsing": ("true or false", "true 或 false"),
    }.get(kind)
    if wanted:
        return Problem(
            file,
            line,
            Text(f"`{where}` is {shown}; write {wanted[0]}", f"`{where}` 为 {shown}；应为{wanted[1]}"),
        )
    return Problem(file, line, Text(f"`{where}`: {error['msg']}", f"`{where}`:{error['msg']}"))


def _unknown_key(path: Path_) -> Text:
    import difflib  # noqa: PLC0415
    import typing  # noqa: PLC0415

    key = str(path[-1])
    model: Any = RuleModel
    for step in path[:-1]:
        if step not in model.model_fields:
            continue  # a place in a list, or a key that the author chose
        parts = [model.model_fields[step].annotation]
        while not (isinstance(parts[-1], type) and issubclass(parts[-1], pydantic.BaseModel)):
            parts += [part for part in typing.get_args(parts.pop()) if part is not type(None)]
        model = parts[-1]
    known = list(model.model_fields)
    near = difflib.get_close_matches(key, known, 1)
    if near:
        return Text(f"unknown key {key!r}; did you mean {near[0]!r}?", f"未知的键 {key!r}；是否应为 {near[0]!r}？")
    names = ", ".join(known)
    return Text(f"unknown key {key!r}; known here are {names}", f"未知的键 {key!r}；此处可用：{names}")


def _unique(problems: Iterator[Problem]) -> Sequence[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
