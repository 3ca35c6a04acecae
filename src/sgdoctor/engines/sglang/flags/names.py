"""What is wrong with the name of a flag: not there, gone, too new, of another engine, shortened, deprecated."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from sgdoctor.engines.sglang.flags.model import Option, Schema
from sgdoctor.engines.sglang.flags.settings import place_of
from sgdoctor.engines.sglang.history import load_history
from sgdoctor.engines.sglang.suggestions import Placed, place, predecessor_of, successor_of
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import Given
from sgdoctor.launch.model import Arity, Problem
from sgdoctor.texts import Text, listed

_FEW: Final = 12
# `--enable-mla`, which is gone, is as much as 0.88 like `--enable-lora`.
_SURE: Final = 0.9


def unknown_flag(given: Given, schema: Schema) -> Problem:
    """A flag that this version does not have."""
    where = place_of(given.start)
    flag = given.flag
    placed = _placed(flag, schema.names)
    # What is not in the nearest known version may be in the one that runs.
    severity = "fatal" if schema.exact else "error"
    version = schema.version
    if placed.underscore and placed.suggestion is not None:
        return Problem(
            "flag-underscore",
            severity,
            Text(f"`{flag}` is written `{placed.suggestion}`", f"`{flag}` 应写成 `{placed.suggestion}`"),
            where,
            renaming(given, (placed.suggestion, None), schema),
            rule="SGL101",
        )
    if placed.renamed_to is not None:
        new = " ".join(part for part in (placed.renamed_to, placed.renamed_value) if part)
        return Problem(
            "flag-renamed",
            severity,
            Text(f"`{flag}` is now `{new}`", f"`{flag}` 现在是 `{new}`"),
            where,
            renaming(given, (placed.renamed_to, placed.renamed_value), schema),
            rule="SGL103",
            detail=_last_seen(placed),
        )
    if placed.other_engine is not None:
        return _foreign(given, placed, schema, severity)
    if placed.since is not None and placed.until is not None:
        if version_key(placed.since) > version_key(version):
            return _newer(given, placed, schema, severity)
        return Problem(
            "flag-removed",
            severity,
            Text(f"`{flag}` is not in {version} any more", f"{version} 已没有 `{flag}`"),
            where,
            (Change("flag.unset", flag),),
            rule="SGL105",
            detail=_last_seen(placed),
        )
    return _never_there(given, placed, schema, severity)


def _never_there(given: Given, placed: Placed, schema: Schema, severity: str) -> Problem:
    """A flag that no version has: one that is like it, or none."""
    where, flag = place_of(given.start), given.flag
    if placed.suggestion is not None:
        return Problem(
            "flag-misspelled",
            severity,
            Text(
                f"There is no flag `{flag}`; did you mean `{placed.suggestion}`?",
                f"没有参数 `{flag}`；是否想写 `{placed.suggestion}`？",
            ),
            where,
            renaming(given, (placed.suggestion, None), schema) if _surely(flag, placed.suggestion) else (),
            rule="SGL106",
        )
    return Problem(
        "flag-unknown",
        severity,
        Text(f"There is no flag `{flag}` in {schema.version}", f"{schema.version} 没有参数 `{flag}`"),
        where,
        (Change("flag.unset", flag),),
        rule="SGL109",
    )


@lru_cache(maxsize=8192)
def _placed(flag: str, names: frozenset[str]) -> Placed:
    return place(flag, names)


def ambiguous_flag(given: Given, matches: Sequence[str], schema: Schema) -> Problem:
    """An abbreviation that fits several flags."""
    successor = successor_of(given.flag, schema.names, load_history())
    names = listed(f"`{name}`" for name in matches[:_FEW])
    return Problem(
        "flag-ambiguous",
        "fatal",
        Text(f"`{given.flag}` could be any of {names.en}", f"`{given.flag}` 可能是 {names.zh} 中的任何一个"),
        place_of(given.start),
        renaming(given, successor, schema) if successor is not None else (),
        rule="SGL111",
        detail=None
        if successor is None
        else Text(f"What it meant is now called `{successor[0]}`.", f"它原来的含义现在叫 `{successor[0]}`。"),
    )


def abbreviated_flag(given: Given, name: str) -> Problem:
    """An abbreviation that fits one flag."""
    return Problem(
        "flag-abbreviated",
        "notice",
        Text(f"`{given.flag}` is taken for `{name}`", f"`{given.flag}` 被当作 `{name}`"),
        place_of(given.start),
        detail=Text(
            "It works until a version has a second flag that begins like this. Write the whole name.",
            "目前可用，但一旦某个版本有另一个同样开头的参数就会失效。请写完整名称。",
        ),
    )


def deprecated_flag(given: Given, option: Option, schema: Schema) -> Problem:
    """A flag that the engine warns about."""
    history = load_history()
    last = history.until(option.flag)
    gone = last is not None and version_key(last) < version_key(history.versions[-1])
    successor = successor_of(option.flag, schema.names, history)
    new = " ".join(part for part in successor or () if part) or option.replaced_by
    return Problem(
        "flag-deprecated",
        "notice",
        Text(
            f"`{given.flag}` is deprecated" + (f"; its successor is `{new}`" if new else ""),
            f"`{given.flag}` 已弃用" + (f"，请改用 `{new}`" if new else ""),
        ),
        place_of(given.start),
        renaming(given, successor, schema) if successor is not None else (),
        detail=Text(f"{last} is the last version that has it.", f"{last} 是最后一个有它的版本。") if gone else None,
    )


def renaming(given: Given, successor: tuple[str, str | None], schema: Schema) -> tuple[Change, ...]:
    """The changes that put a successor in the place of a flag; without it where its value is not known or not valid."""
    new, needed = successor
    removed = Change("flag.unset", given.flag)
    option = schema.option(new)
    values = (needed,) if needed is not None else given.values
    if option is None or (option.arity is not Arity.NONE and not values):
        return (removed,)
    if option.choices and any(value not in option.choices for value in values):
        return (removed,)
    return (removed, setting(option, new, values))


def setting(option: Option, flag: str, values: Iterable[str]) -> Change:
    """The change that gives an option these values."""
    return Change("flag.set", flag, None if option.arity is Arity.NONE else " ".join(values))


def _newer(given: Given, placed: Placed, schema: Schema, severity: str) -> Problem:
    value = given.values[0] if given.values else None
    older = predecessor_of(given.flag, value, schema.names)
    changes: tuple[Change, ...] = ()
    detail = Text(f"Use SGLang {placed.since} or later.", f"请使用 SGLang {placed.since} 或更高版本。")
    if older is not None:
        name, whole = older
        removed = Change("flag.unset", given.flag)
        changes = (removed, Change("flag.set", name)) if whole else renaming(given, (name, None), schema)
        detail = Text(
            f"Here it is called `{name}`; or use SGLang {placed.since} or later.",
            f"在这个版本中它叫 `{name}`；或使用 SGLang {placed.since} 或更高版本。",
        )
    return Problem(
        "flag-newer",
        severity,
        Text(
            f"`{given.flag}` came with {placed.since}; this is {schema.version}",
            f"`{given.flag}` 从 {placed.since} 开始才有，而这里是 {schema.version}",
        ),
        place_of(given.start),
        changes,
        rule="SGL104",
        detail=detail,
    )


def _foreign(given: Given, placed: Placed, schema: Schema, severity: str) -> Problem:
    ours = placed.suggestion
    return Problem(
        "flag-foreign",
        severity,
        Text(
            f"`{given.flag}` is a flag of {placed.other_engine}" + (f"; here it is `{ours}`" if ours else ""),
            f"`{given.flag}` 是 {placed.other_engine} 的参数" + (f"，这里对应 `{ours}`" if ours else ""),
        ),
        place_of(given.start),
        renaming(given, (ours, None), schema) if ours else (Change("flag.unset", given.flag),),
        rule="SGL102",
    )


def _surely(flag: str, suggestion: str) -> bool:
    """Whether a flag is so much like another that it is changed, and not only asked about."""
    return SequenceMatcher(None, flag, suggestion).ratio() >= _SURE


def _last_seen(placed: Placed) -> Text | None:
    if placed.until is None:
        return None
    return Text(f"{placed.until} was the last version that had it.", f"{placed.until} 是最后一个有它的版本。")
