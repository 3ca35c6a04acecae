"""The flags that are assumed for a launch, and what the engine would say of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sgdoctor.engines.sglang.flags.check import check_flags
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.schemas import schema, versions
from sgdoctor.engines.sglang.flags.settings import place_of
from sgdoctor.engines.sglang.flags.values import read_value
from sgdoctor.engines.sglang.suggestions import place
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.errors import UserError
from sgdoctor.fixes.changed import as_meant
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import NO_FLAGS, WordEdit, given_flags, with_edits
from sgdoctor.launch.model import Document, Launch, Problem
from sgdoctor.texts import Text

_REPEATED: Final = "flag-repeated"
_MISSING: Final = "flag-missing"
_BAD: Final = frozenset({"fatal", "error"})


def flag_problems(launch: Launch, table: Schema, facts: Mapping[str, Any]) -> Sequence[Problem]:
    """What is wrong with the flags of a launch, where it starts SGLang.

    Args:
        launch: which.
        table: the flags of its version.
        facts: of a log, by name.
    """
    if not launch.argv or launch.engine != "sglang":
        return ()
    found = check_flags(launch.argv, launch.flags_at, table, facts, config_read=bool(launch.config))
    if not launch.config:
        return found
    # That the command line says something else than the file is what it is for.
    repeated = [one for one in check_flags(launch.typed.argv, launch.flags_at, table, facts) if one.id == _REPEATED]
    places = {place_of(index): launch.place_of(index) for index in range(len(launch.argv))}
    behind = launch.flags_at + launch.config_words
    inside = {place_of(index) for index in range(launch.flags_at, behind)}
    placed = [
        replace(_for_file(one, launch) if one.where in inside else one, where=places.get(one.where, one.where))
        if one.where is not None
        else _beside_file(one, launch)
        for one in found
        if one.id != _REPEATED
    ]
    return (*placed, *repeated)


def _for_file(problem: Problem, launch: Launch) -> Problem:
    """A mistake in the file of ``--config``: argparse refuses it also where the command line says something else."""
    if problem.severity not in _BAD:
        return problem
    lines = "; ".join(
        f"{one.name.removeprefix('--')}: {'true' if one.value is None else one.value}"
        for one in problem.changes
        if one.kind == "flag.set"
    )
    before = problem.detail or Text("", "")
    new = Text(
        f"{before.en} In {launch.config} write: {lines}" if lines else f"{before.en} Put it right in {launch.config}.",
        f"{before.zh} 在 {launch.config} 中改成：{lines}" if lines else f"{before.zh} 请在 {launch.config} 中改正。",
    )
    return replace(problem, changes=(), detail=Text(new.en.strip(), new.zh.strip()))


def _beside_file(problem: Problem, launch: Launch) -> Problem:
    """A flag that is missing may also be written into the file."""
    if problem.id != _MISSING:
        return problem
    return replace(problem, detail=Text(f"{launch.config} does not give it either.", f"{launch.config} 里也没有。"))


def refuse_unread(changes: Iterable[Change], table: Schema) -> None:
    """Refuses values that are asked for and would have to be filled in by a shell first: they are written as they are.

    Raises:
        UserError: the engine could not read one.
    """
    for change in changes:
        option = table.option(change.name) if change.kind == "flag.set" else None
        if option is None or not change.value or not {"$", "`"} & set(change.value):
            continue
        try:
            read_value(option, change.value)
        except ValueError:
            raise UserError(
                f"--set {change.name}={change.value}: written as it is, this is no value of the flag",
                f"--set {change.name}={change.value}：会按原样写入，这不是该参数的值",
            ) from None


def refuse_missing(changes: Iterable[Change], launch: Launch, table: Schema) -> None:
    """Refuses to leave out what is neither a flag of the engine nor in the launch: a misspelled wish would do nothing.

    Raises:
        UserError: there is no such flag; with the one that is like it.
    """
    given = {one.flag for one in given_flags(launch.argv, launch.flags_at, table)}
    for change in changes:
        if change.kind != "flag.unset" or change.name in given or table.option(change.name) is not None:
            continue
        close = place(change.name, table.names).suggestion
        en = f"; did you mean `{close}`?" if close is not None else ""
        zh = f"；是否想写 `{close}`？" if close is not None else ""
        raise UserError(
            f"--unset {change.name}: {table.version} has no such flag, and the launch does not have it either{en}",
            f"--unset {change.name}：{table.version} 没有这个参数，启动命令中也没有{zh}",
        )


def likeliest(document: Document | None, facts: Mapping[str, Any]) -> Schema:
    """The newest version that takes the flags of a launch, or else most of them."""
    newest = schema()
    if document is None:
        return newest
    launch = as_meant(document, document.problems, newest)
    least = facts.get("version_min")
    known = [one for one in versions() if not isinstance(least, str) or version_key(one) >= version_key(least)]
    tables = list(map(schema, reversed(known)))
    launch = _of_some_version(launch, tables)
    return min(
        tables,
        key=lambda table: sum(problem.severity in _BAD for problem in flag_problems(launch, table, facts)),
        default=newest,
    )


def _of_some_version(launch: Launch, tables: Sequence[Schema]) -> Launch:
    """The launch without the flags that no version has: they are as wrong in each of them."""
    unknown = [
        one
        for one in given_flags(launch.argv, launch.flags_at, NO_FLAGS)
        if not any(table.matches(one.flag) for table in tables)
    ]
    if not unknown:
        return launch
    edits = [WordEdit(one.start, one.end, ()) for one in unknown]
    return replace(launch, argv=tuple(with_edits(launch.argv, edits)))


def assumed(version: str, table: Schema) -> Text | None:
    """That the flags of another version stand for those of this one."""
    if version and table.exact:
        return None
    if not version:
        return Text(
            f"The version of SGLang is not known; by these flags it may be {table.version}. --version tells it.",
            f"SGLang 的版本未知；从参数看可能是 {table.version}。可用 --version 指定。",
        )
    return Text(
        f"The flags of {version} are not known; those of {table.version} were taken. "
        "sgdoctor flags add --image IMAGE reads them from an image.",
        f"未知 {version} 的参数，采用了 {table.version} 的参数。sgdoctor flags add --image 镜像 可从镜像中读取。",
    )
