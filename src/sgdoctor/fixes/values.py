"""What may become part of a launch: changes of a rule, values that were read from a log, wishes of the user.

The log is written by others: model names, prompts and error texts of remote users stand in it. What a rule takes from
there gets into a launch only as one plain word of the kind that its flag takes.
"""

from collections.abc import Collection, Sequence
from typing import Final

from sgdoctor.diagnosis.model import Diagnosis, Fix
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import is_flag
from sgdoctor.launch.model import Arity, FlagTable
from sgdoctor.patterns import lazy_pattern

LONGEST: Final = 4096
_FLAG: Final = lazy_pattern(r"--[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
_VARIABLE: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]{0,120}")
# No blank, quote, bracket or sign that a shell, YAML or Docker gives a meaning to.
_PLAIN: Final = lazy_pattern(r"[A-Za-z0-9_./:@+,=%-]{1,200}")
_CONTROLS: Final = lazy_pattern("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# They let the files of others run as code or open the server; no log may ask for that.
_NEVER_FROM_LOGS: Final = frozenset({"--trust-remote-code", "--api-key", "--admin-api-key"})


def literal_changes(diagnosis: Diagnosis, fix: Fix) -> frozenset[Change]:
    """The changes of a fix that stand in its rule just so, without anything that was read from the log."""
    return frozenset(
        change
        for spec in diagnosis.rule.fixes
        if spec.id == fix.id
        for change in spec.changes
        if not _is_filled(change)
    )


def may_enter(change: Change, flags: FlagTable, given: Collection[str]) -> bool:
    """Whether a change that was filled in from a log may become part of a launch.

    Args:
        change: which.
        flags: of the engine's version.
        given: names of the flags of the launch, canonical.
    """
    value = change.value
    if change.kind in ("flag.set", "flag.unset"):
        name = flags.canonical(change.name)
        if not _FLAG.fullmatch(change.name) or name in _NEVER_FROM_LOGS:
            return False
        if change.kind == "flag.unset":
            return name in given
        arity = flags.arity(change.name)
        if arity is None:
            return False
        words = _words(value, arity)
        return (not words) == (arity is Arity.NONE) and all(map(_is_plain, words))
    return _is_name(change) and (value is None or _is_plain(value))


def asked(setting: Sequence[str], leaving: Sequence[str], variables: Sequence[str], flags: FlagTable) -> list[Change]:
    """What the user asks for.

    Args:
        setting: ``FLAG=VALUE``, or ``FLAG`` for a switch.
        leaving: ``FLAG`` to be left out.
        variables: ``NAME=VALUE`` of the environment.
        flags: of the engine's version.

    Raises:
        UserError: one of them cannot be meant, or would become something else than one value of its flag.
    """
    return [
        *(_set(text, flags) for text in setting),
        *(Change("flag.unset", _flag(text, "--unset")) for text in leaving),
        *(_variable(text) for text in variables),
    ]


def _is_filled(change: Change) -> bool:
    return "{" in change.name or "{" in (change.value or "")


def _is_name(change: Change) -> bool:
    if change.kind.startswith("env."):
        return _VARIABLE.fullmatch(change.name) is not None
    return not change.name or _is_plain(change.name)


def _is_plain(word: str) -> bool:
    return _PLAIN.fullmatch(word) is not None and not is_flag(word)


def _words(value: str | None, arity: Arity | None) -> list[str]:
    if value is None:
        return []
    return value.split(" ") if arity is Arity.MANY else [value]


def _flag(text: str, option: str) -> str:
    name = text.strip()
    name = name if name.startswith("-") else f"--{name}"
    if not _FLAG.fullmatch(name):
        raise UserError(f"{option} {_shown(text)}: this is no flag", f"{option} {_shown(text)}：这不是参数名")
    return name


def _set(text: str, flags: FlagTable) -> Change:
    name, equals, value = text.partition("=")
    name = _flag(name, "--set")
    arity = flags.arity(name)
    if not equals:
        if arity in (Arity.ONE, Arity.MANY):
            raise UserError(
                f"--set {name}: this flag needs a value: --set {name}=VALUE",
                f"--set {name}：该参数需要一个值：--set {name}=值",
            )
        return Change("flag.set", name)
    if arity is Arity.NONE:
        raise UserError(
            f"--set {name}=...: this flag takes no value; write --set {name}",
            f"--set {name}=...：该参数不接受值；请写 --set {name}",
        )
    if not value.strip() or any(is_flag(word) for word in (value.split() if arity is Arity.MANY else [value])):
        raise UserError(
            f"--set {name}=...: the engine would not take this for a value of the flag",
            f"--set {name}=...：引擎不会把它当作该参数的值",
        )
    _one_line(value, f"--set {name}")
    return Change("flag.set", name, value)


def _variable(text: str) -> Change:
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        raise UserError(f"--env {_shown(name)}: write it as NAME=VALUE", f"--env {_shown(name)}：请写成 名称=值")
    _one_line(value, f"--env {name}")
    return Change("env.set", name, value)


def _one_line(value: str, option: str) -> None:
    if len(value) > LONGEST or _CONTROLS.search(value):
        raise UserError(
            f"{option}: the value has control characters or line breaks in it, or is longer than {LONGEST}",
            f"{option}：值中含有控制字符或换行，或超过 {LONGEST} 个字符",
        )


def _shown(text: str) -> str:
    shown = _CONTROLS.sub("?", text)
    return shown if len(shown) <= 80 else shown[:79] + "…"
