"""What flags ask of each other: one small function for each rule of the engine, with the versions that have it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sgdoctor.engines.sglang.flags.settings import Settings
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Problem
from sgdoctor.texts import Text


class Finding(NamedTuple):
    """What a function found.

    Attributes:
        title: what is wrong, with the flags as they were typed.
        fields: of the flags that it is about; the first one that was given tells the place.
        changes: what puts it right.
        detail: one or two sentences more.
    """

    title: Text
    fields: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    detail: Text | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule of the engine.

    Attributes:
        name: id of the problem.
        examine: says what is wrong, once or for each flag; None if nothing.
        severity: as of ``Problem``.
        source: where the engine does so.
        since: first version that was read and has it; empty for the oldest one.
        until: last version that was read and has it; empty for the newest one.
        rule: the rule for the same mistake in a log.
    """

    name: str
    examine: Callable[[Settings], Finding | Iterator[Finding] | None]
    severity: str
    source: str
    since: str = ""
    until: str = ""
    rule: str | None = None

    def holds_for(self, version: str) -> bool:
        """Whether a version has it."""
        key = version_key(version)
        return not ((self.since and key < version_key(self.since)) or (self.until and key > version_key(self.until)))


def broken(constraints: Iterable[Constraint], settings: Settings) -> Iterator[Problem]:
    """The problems that a command has with ``constraints``."""
    for constraint in constraints:
        if not constraint.holds_for(settings.schema.version):
            continue
        found = constraint.examine(settings)
        for one in (found,) if isinstance(found, Finding) else found or ():
            yield Problem(
                constraint.name,
                constraint.severity,
                one.title,
                settings.where(*one.fields),
                one.changes,
                constraint.rule,
                one.detail,
            )


def unset(settings: Settings, *fields: str) -> tuple[Change, ...]:
    """The changes that take away those of the fields' flags that were given."""
    return tuple(Change("flag.unset", settings.flag(field)) for field in fields if settings.has(field))


def both(settings: Settings, first: str, second: str, *, drop: str = "") -> Finding:
    """Two flags of which only one may be there."""
    one, other = settings.flag(first), settings.flag(second)
    return Finding(
        Text(f"`{one}` and `{other}` exclude each other", f"`{one}` 与 `{other}` 不能同时使用"),
        (first, second),
        unset(settings, drop) if drop else (),
    )


def needs(settings: Settings, field: str, other: str, *, changes: tuple[Change, ...] = ()) -> Finding:
    """A flag that needs another one."""
    flag, needed = settings.flag(field), settings.flag(other)
    return Finding(Text(f"`{flag}` needs `{needed}`", f"`{flag}` 需要同时使用 `{needed}`"), (field,), changes)
