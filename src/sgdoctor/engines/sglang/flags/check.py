"""What is wrong with the flags of a command, before it costs a start."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sgdoctor.engines.sglang.flags.constraints import broken
from sgdoctor.engines.sglang.flags.idle import IDLE
from sgdoctor.engines.sglang.flags.model import SWITCH, Option, Schema
from sgdoctor.engines.sglang.flags.names import (
    abbreviated_flag,
    ambiguous_flag,
    deprecated_flag,
    setting,
    unknown_flag,
)
from sgdoctor.engines.sglang.flags.refused import REFUSED
from sgdoctor.engines.sglang.flags.refused_states_and_drafts import REFUSED_STATES_AND_DRAFTS
from sgdoctor.engines.sglang.flags.settings import Settings, place_of
from sgdoctor.engines.sglang.flags.values import is_json, read_value
from sgdoctor.engines.sglang.suggestions import closest_choice, meant_number
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import Given
from sgdoctor.launch.model import Arity, Problem
from sgdoctor.texts import Text, listed

_NO_FACTS: Final[Mapping[str, Any]] = {}
_FEW: Final = 12
_SERVE: Final = ("sglang", "serve")
# `sglang serve` takes this one for itself (sglang/cli/serve.py from 0.5.10 on).
_MODEL_TYPE: Final = Option("--model-type", "model_type", choices=("auto", "llm", "diffusion"), default="auto")
_HELP: Final = frozenset({"-h", "--help"})
_STANDS_FOR: Final = frozenset("$`")


def check_flags(
    words: Sequence[str],
    start: int,
    schema: Schema,
    facts: Mapping[str, Any] = _NO_FACTS,
    *,
    config_read: bool = False,
) -> tuple[Problem, ...]:
    """What argparse and the engine would refuse, change or ignore.

    Args:
        words: the command that starts the engine.
        start: index of the first word behind program, module and sub-command (``Launch.flags_at``).
        schema: of the engine's version.
        facts: what is known of model and GPU, by the names in ``docs/facts.md``.
        config_read: whether the flags in the file of ``--config`` are among the words.

    Returns:
        In the order of the words; those of several flags at last.
    """
    if not words:
        return ()
    if _is_serve(words, start):
        schema = replace(schema, options=(*schema.options, _MODEL_TYPE))
    settings = Settings(words, start, schema, facts)
    placed = [
        *((given.start, problem) for given in settings.given for problem in _of_flag(given, schema)),
        *_repeated(settings.given, schema),
        *_stray(settings),
    ]
    return (
        *(problem for _, problem in sorted(placed, key=itemgetter(0))),
        *_missing(settings, config_read=config_read),
        *broken((*REFUSED, *REFUSED_STATES_AND_DRAFTS, *IDLE), settings),
    )


def _of_flag(given: Given, schema: Schema) -> Iterator[Problem]:
    """Problems of one flag."""
    matches = schema.matches(given.flag)
    option = schema.option(given.flag)
    if option is not None:
        yield from _known(given, option, matches[0], schema)
    elif matches:
        yield ambiguous_flag(given, matches, schema)
    elif given.flag not in _HELP:
        yield unknown_flag(given, schema)


def _known(given: Given, option: Option, name: str, schema: Schema) -> Iterator[Problem]:
    """Problems of one flag that this version has."""
    where = place_of(given.start)
    if name != given.flag:
        yield abbreviated_flag(given, name)
    if option.deprecated:
        yield deprecated_flag(given, option, schema)
    if option.nargs == SWITCH:
        if given.glued:
            yield Problem(
                "value-on-switch",
                "fatal",
                Text(f"`{given.flag}` takes no value", f"`{given.flag}` 不接受值"),
                where,
                detail=Text(f"Write `{given.flag}` alone.", f"只写 `{given.flag}`。"),
            )
        return
    if not given.values and option.nargs not in ("?", "*"):
        yield Problem(
            "value-missing",
            "fatal",
            Text(f"`{given.flag}` needs a value", f"`{given.flag}` 需要一个值"),
            where,
            rule="SGL112",
            detail=_accepted(option),
        )
    for value in given.values:
        problem = _value(given, option, value)
        if problem is not None:
            yield problem
            return
    if option.type == "human_readable_int" and given.values and given.values[-1].endswith("k"):
        meant = given.values[-1].removesuffix("k")
        yield Problem(
            "thousands",
            "notice",
            Text(
                f"`{given.flag} {meant}k` is {meant} x 1000, not x 1024",
                f"`{given.flag} {meant}k` 是 {meant} × 1000，而不是 × 1024",
            ),
            where,
            detail=Text(f"`{meant}Ki` counts in 1024.", f"`{meant}Ki` 按 1024 计算。"),
        )


def _value(given: Given, option: Option, value: str) -> Problem | None:
    """A value that cannot be read, or is not one of the choices."""
    if _STANDS_FOR & set(value):
        # A variable, or the output of a command, that only the shell or Compose knows.
        return None
    try:
        read = read_value(option, value)
    except ValueError:
        return _unreadable(given, option, value)
    if option.choices and str(read) not in option.choices:
        return Problem(
            "choice-invalid",
            "fatal",
            Text(f"`{value}` is not a choice of `{given.flag}`", f"`{value}` 不是 `{given.flag}` 的可选值"),
            place_of(given.start),
            _instead(given, option, value, closest_choice(value, option.choices)),
            rule="SGL110",
            detail=_accepted(option),
        )
    return None


def _unreadable(given: Given, option: Option, value: str) -> Problem:
    """A value that the parser of its flag refuses."""
    where = place_of(given.start)
    if is_json(option):
        return Problem(
            "json-broken",
            "fatal",
            Text(f"The value of `{given.flag}` is not JSON", f"`{given.flag}` 的值不是 JSON"),
            where,
            rule="SGL134",
            detail=Text(
                "Names and texts in JSON stand in double quotes, which a shell takes away: put the whole value in "
                "single quotes.",
                "JSON 中的名字和文本要用双引号，而 shell 会去掉双引号：请用单引号包住整个值。",
            ),
        )
    if items := _glued_items(option, value):
        words = [word for one in given.values for word in (items if one == value else [one])]
        return Problem(
            "list-glued",
            "fatal",
            Text(
                f"`{value}`: the values of `{given.flag}` are separated by blanks, not by commas",
                f"`{value}`：`{given.flag}` 的多个值要用空格分隔，而不是逗号",
            ),
            where,
            (setting(option, option.flag, words),),
            rule="SGL113",
        )
    return Problem(
        "value-type",
        "fatal",
        Text(f"`{value}` is not a value for `{given.flag}`", f"`{value}` 不是 `{given.flag}` 可用的值"),
        where,
        _instead(given, option, value, meant_number(value, option.type)),
        rule="SGL113",
        detail=_accepted(option),
    )


def _glued_items(option: Option, value: str) -> list[str]:
    """The values that were written as one word with commas; empty if it is no list."""
    items = value.split(",")
    if option.arity is not Arity.MANY or len(items) == 1:
        return []
    try:
        for item in items:
            read_value(option, item)
    except ValueError:
        return []
    return items


def _instead(given: Given, option: Option, value: str, meant: str | None) -> tuple[Change, ...]:
    """The change that puts what was meant in the place of one value."""
    if meant is None:
        return ()
    return (setting(option, option.flag, [meant if one == value else one for one in given.values]),)


def _repeated(given: Sequence[Given], schema: Schema) -> Iterator[tuple[int, Problem]]:
    known = [(schema.canonical(one.flag), one) for one in given]
    for name, group in groupby(sorted(known, key=lambda entry: entry[0]), key=lambda entry: entry[0]):
        places = [one for _, one in group]
        if len(places) < 2:
            continue
        last = places[-1]
        option = schema.option(name)
        same = all(one.values == last.values for one in places)
        # A switch is left alone: one change cannot take away only the first of two.
        changes = (Change("flag.unset", name), setting(option, name, last.values)) if option and last.values else ()
        words = listed([str(one.start + 1) for one in places[:_FEW]] + ["…"] * (len(places) > _FEW))
        problem = Problem(
            "flag-repeated",
            "notice" if same else "error",
            # The values stay out of it: one of them may be a key.
            Text(
                f"`{name}` is given {len(places)} times"
                + ("" if same else " with different values; the last one counts"),
                f"`{name}` 写了 {len(places)} 次" + ("" if same else "，且值不同；最后一个生效"),
            ),
            Text(f"words {words.en}", f"第 {words.zh} 个词"),
            changes,
        )
        yield last.start, problem


def _stray(settings: Settings) -> Iterator[tuple[int, Problem]]:
    """Words that belong to no flag: argparse refuses them."""
    taken = {index for one in settings.given for index in range(one.start, one.end)}
    words = settings.words
    stray = [index for index in range(settings.start, len(words)) if index not in taken]
    # `sglang serve MODEL` takes the model without its flag from 0.5.16 on (sglang/cli/serve.py).
    if stray[:1] == [settings.start] and _is_serve(words, settings.start):
        stray = stray[1:]
    for index in stray:
        word = words[index]
        if _STANDS_FOR & set(word):
            continue
        before = next((one for one in reversed(settings.given) if one.end <= index), None)
        problem = Problem(
            "word-stray",
            "fatal",
            Text(f"`{word}` belongs to no flag", f"`{word}` 不属于任何参数"),
            place_of(index),
            rule="SGL109",
            detail=None
            if before is None or before.end != index
            else Text(
                f"`{before.flag}` before it takes {'no value' if not before.values else 'one value'}.",
                f"它前面的 `{before.flag}` {'不接受值' if not before.values else '只接受一个值'}。",
            ),
        )
        yield index, problem


def _missing(settings: Settings, *, config_read: bool) -> Iterator[Problem]:
    # A word such as `"$@"` may stand for any number of flags, and so may a file that nobody has read.
    if _HELP & {given.flag for given in settings.given} or any(word.startswith("$") for word in settings.words):
        return
    if "--config" in settings.words and not config_read:
        return
    for option in settings.schema.options:
        if option.required and not settings.has(option.dest):
            if option.dest == "model_path" and _gives_model(settings):
                continue
            yield Problem(
                "flag-missing",
                "fatal",
                Text(f"`{option.flag}` is missing", f"缺少 `{option.flag}`"),
                rule="SGL114",
            )


def _gives_model(settings: Settings) -> bool:
    words, start = settings.words, settings.start
    return start < len(words) and not words[start].startswith("-") and _is_serve(words, start)


def _is_serve(words: Sequence[str], start: int) -> bool:
    return start >= 2 and (words[start - 2].rpartition("/")[2], words[start - 1]) == _SERVE


def _accepted(option: Option) -> Text | None:
    """What an option takes, as a sentence."""
    if option.choices:
        shown = listed(option.choices[:_FEW])
        more = len(option.choices) - _FEW
        return Text(
            f"Choices: {shown.en}" + (f" and {more} more." if more > 0 else "."),
            f"可选值：{shown.zh}" + (f"，以及另外 {more} 个。" if more > 0 else "。"),
        )
    match option.type:
        case "int":
            return Text("It takes a whole number, digits only.", "它只接受整数，只写数字。")
        case "float":
            return Text("It takes a number with a decimal point.", "它接受带小数点的数字。")
        case "human_readable_int":
            return Text(
                "It takes a whole number, also with k, M (of 1000) or Ki, Mi (of 1024).",
                "它接受整数，也可带 k、M（按 1000）或 Ki、Mi（按 1024）。",
            )
    return None
