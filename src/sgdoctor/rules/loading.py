"""From YAML files to rules in their plain form, with every mistake named by file and line.

The YAML is composed, not loaded: nodes know their lines, and all scalars stay the text that stands in the file. So
``value: 0.90`` keeps its digits, a tag ``3.10`` is not a number, and ``on`` and ``no`` are not booleans (YAML 1.1);
where the schema wants a number or a boolean, pydantic reads the text.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from sgdoctor.rules.locate import MUTE_FILE, rule_files
from sgdoctor.rules.schema import RuleModel
from sgdoctor.rules.yaml_files import Problem, YamlPath, line_of, read_yaml
from sgdoctor.texts import Text


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

    def line(self, path: YamlPath) -> int:
        """The line on which a part of the file stands."""
        return line_of(self.node, path)


class Mute(NamedTuple):
    """An id that a ``mute.yaml`` silences, and where it does so."""

    id: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies below one directory: rules, the places where ids are muted, mistakes."""

    sources: tuple[RuleSource, ...]
    mutes: tuple[Mute, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rules in force: those of sgdoctor, overridden and muted by the user.

    Attributes:
        sources: sorted by id.
        muted: ids that the user silenced; they are not among the sources.
        built_in_problems: mistakes in files of sgdoctor.
        user_problems: mistakes in files of the user.
        silenced: the rules that are muted, sorted by id.
        mute_files: by muted id, the file that mutes it.
        replaced: by id of a rule of the user that replaces another one, the file of that one.
    """

    sources: tuple[RuleSource, ...]
    muted: tuple[str, ...]
    built_in_problems: tuple[Problem, ...]
    user_problems: tuple[Problem, ...]
    silenced: tuple[RuleSource, ...] = ()
    mute_files: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)

    def every(self) -> list[RuleSource]:
        """The rules in force and the muted ones, by id."""
        return sorted((*self.sources, *self.silenced), key=lambda source: source.model.id)


def load_rules(built_in: Path, users: Sequence[Path]) -> Loaded:
    """All rule files: a rule of the user replaces the one with its id, ``mute.yaml`` silences ids."""
    own = load_folder(built_in)
    sources = {source.model.id: source for source in own.sources}
    mutes: list[Mute] = []
    replaced: dict[str, str] = {}
    problems: list[Problem] = []
    for directory in users:
        folder = load_folder(directory)
        problems += folder.problems
        mutes += folder.mutes
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
                if source.model.id in sources:
                    replaced[source.model.id] = sources[source.model.id].file
                sources[source.model.id] = source
    muted = {mute.id: mute.file for mute in mutes}
    problems += mutes_of_nothing(mutes, sources)
    ordered = [source for _, source in sorted(sources.items())]
    return Loaded(
        sources=tuple(source for source in ordered if source.model.id not in muted),
        muted=tuple(muted),
        built_in_problems=own.problems,
        user_problems=tuple(problems),
        silenced=tuple(source for source in ordered if source.model.id in muted),
        mute_files=muted,
        replaced=replaced,
    )


def mutes_of_nothing(mutes: Sequence[Mute], known: Collection[str]) -> list[Problem]:
    """A warning for each muted id that no rule has."""
    return [
        Problem(
            mute.file,
            mute.line,
            Text(f"there is no rule {mute.id} to mute", f"没有可停用的规则 {mute.id}"),
            warning=True,
        )
        for mute in mutes
        if mute.id not in known
    ]


def load_folder(directory: Path) -> Folder:
    """Every rule file below a directory; a file with a mistake is left out and its mistakes are reported."""
    sources: list[RuleSource] = []
    mutes: list[Mute] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for relative, _ in rule_files(directory):
        path = directory / relative
        if relative == MUTE_FILE:
            found_mutes, found = load_mute(path)
            mutes += found_mutes
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
    return Folder(tuple(sources), tuple(mutes), tuple(problems))


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


def load_mute(path: Path) -> tuple[tuple[Mute, ...], list[Problem]]:
    """The ids that a ``mute.yaml`` silences."""
    data, problems = read_yaml(path)
    if problems or data is None:
        return (), problems
    node, value = data
    ids = value.get("mute")
    if set(value) != {"mute"} or not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        text = Text(
            "the file is one list of ids, such as `mute: [SGL912]`",
            "该文件应为一个 id 列表，例如 `mute: [SGL912]`",
        )
        return (), [Problem(str(path), 1, text)]
    return tuple(Mute(id_.upper(), str(path), line_of(node, ("mute", at))) for at, id_ in enumerate(ids)), []


def _explained(file: str, node: Any, error: Any) -> Problem:
    path: YamlPath = error["loc"]
    line = line_of(node, path)
    where = ".".join(str(step) for step in path if not isinstance(step, int) and step != "[key]")
    kind, context = error["type"], error.get("ctx", {})
    if "zh" in context and "en" in context:
        return Problem(file, line, Text(context["en"], context["zh"]))
    if kind == "extra_forbidden":
        line = line_of(node, path)
        return Problem(file, line, _unknown_key(path))
    if kind == "missing":
        line = line_of(node, path[:-1])
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


def _unknown_key(path: YamlPath) -> Text:
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
