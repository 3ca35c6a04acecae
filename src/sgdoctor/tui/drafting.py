"""The plan as the user edits it: which steps are taken, with which values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.names import unknown_flag
from sgdoctor.errors import UserError
from sgdoctor.fixes.memory.solution import Interval
from sgdoctor.fixes.model import NO_TEXT, Basis, Plan, Step
from sgdoctor.fixes.values import asked
from sgdoctor.launch.amended import subject
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import Given
from sgdoctor.launch.model import Arity, FlagTable
from sgdoctor.tui.doctor import Choice

FRACTION: Final = "--mem-fraction-static"
_SPELLED: Final = frozenset({"flag.set", "flag.unset", "env.set", "env.unset"})


@dataclass(frozen=True, slots=True)
class Row:
    """A step of the plan, or one that is offered beside it.

    Attributes:
        step: as it was planned.
        on: whether it is taken.
        values: of its changes, as they stand now.
        offered: whether it is another way than that of the plan.
    """

    step: Step
    on: bool
    values: tuple[str | None, ...]
    offered: bool = False

    @property
    def changes(self) -> tuple[Change, ...]:
        """With the values of now."""
        return tuple(change._replace(value=value) for change, value in zip(self.step.changes, self.values, strict=True))

    @property
    def spelled(self) -> bool:
        """Whether its changes say all of it; what writes or mounts files is taken as a whole or left."""
        return bool(self.step.changes) and all(change.kind in _SPELLED for change in self.step.changes)

    def is_editable(self, place: int) -> bool:
        """Whether the value of a change can be another one."""
        change = self.step.changes[place]
        return self.spelled and change.kind in ("flag.set", "env.set") and change.value is not None


def rows_of(plan: Plan) -> tuple[Row, ...]:
    """The steps of a plan, taken, and the other ways, not taken."""
    taken = [Row(step, on=True, values=_values(step)) for step in plan.steps]
    others = [Row(step, on=False, values=_values(step), offered=True) for step in plan.alternatives if step.changes]
    return (*taken, *others)


def toggled(rows: Sequence[Row], place: int, flags: FlagTable) -> tuple[Row, ...]:
    """The rows with one taken, or left; taken, it puts those out that contradict it."""
    row = rows[place]
    fresh = replace(row, on=not row.on)
    about = _subjects(row, flags)
    return tuple(
        fresh if index == place else replace(one, on=one.on and not (fresh.on and about & _subjects(one, flags)))
        for index, one in enumerate(rows)
    )


def edited(rows: Sequence[Row], place: int, number: int, value: str) -> tuple[Row, ...]:
    """The rows with another value of one change."""
    row = rows[place]
    values = tuple(value if index == number else one for index, one in enumerate(row.values))
    return tuple(replace(row, values=values) if index == place else one for index, one in enumerate(rows))


def with_wish(rows: Sequence[Row], text: str, flags: FlagTable) -> tuple[Row, ...]:
    """The rows with a wish of the user: ``--flag value``, ``--flag``, ``-flag`` to leave one out, ``NAME=value``.

    Raises:
        UserError: that is none.
    """
    change = _wish(text.strip(), flags)
    step = Step(f"asked-{change.name.lstrip('-')}", (change,), Basis.ASKED, NO_TEXT)
    about = subject(change, flags)
    kept = [row for row in rows if row.step.basis is not Basis.ASKED or about not in _subjects(row, flags)]
    own = [row for row in kept if not row.offered]
    others = kept[len(own) :]
    return toggled((*own, Row(step, on=False, values=_values(step)), *others), len(own), flags)


def choice_of(rows: Sequence[Row], flags: FlagTable) -> Choice:
    """What is wanted.

    Raises:
        UserError: a value cannot be meant.
    """
    steps, changes = [], []
    for row in rows:
        if not row.on:
            continue
        if not row.spelled:
            steps.append(row.step.id)
            continue
        for change, before in zip(row.changes, row.step.changes, strict=True):
            changes.append(change if change == before and change.value != "" else _checked(change, flags))
    return Choice(tuple(steps), tuple(changes))


@dataclass(frozen=True, slots=True)
class Hint:
    """What can stand in the place of a value.

    Attributes:
        interval: of the memory fraction; None for other flags.
        choices: the only ones; empty where any of its type is.
        type: ``int``, ``float``, ...; empty if nothing is known.
        outside: whether the value is none of the interval.
    """

    interval: Interval | None = None
    choices: tuple[str, ...] = ()
    type: str = ""
    outside: bool = False


def hint_for(change: Change, flags: FlagTable, interval: Interval | None) -> Hint:
    """What is known of the value of a change."""
    if change.kind != "flag.set":
        return Hint()
    if flags.canonical(change.name) == FRACTION and interval is not None:
        return Hint(interval, outside=_number(change.value) not in interval)
    option = flags.option(change.name) if isinstance(flags, Schema) else None
    if option is None:
        return Hint()
    return Hint(choices=option.choices, type="" if option.choices else option.type)


def _number(text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        return -1.0


def _values(step: Step) -> tuple[str | None, ...]:
    return tuple(change.value for change in step.changes)


def _subjects(row: Row, flags: FlagTable) -> set[tuple[str, str]]:
    return {subject(change, flags) for change in row.step.changes}


def _checked(change: Change, flags: FlagTable) -> Change:
    text = f"{change.name}={change.value or ''}"
    setting, variables = ([], [text]) if change.kind == "env.set" else ([text], [])
    return asked(setting, [], variables, flags)[0]


def _wish(text: str, flags: FlagTable) -> Change:
    name, blank, value = text.partition(" ")
    if name.startswith("--"):
        flag = name.partition("=")[0]
        if isinstance(flags, Schema) and not flags.matches(flag):
            title = unknown_flag(Given(flag, 0, 1, False, ()), flags).title  # noqa: FBT003 - Given is a record of words
            raise UserError(title.en, title.zh)
        if not blank and "=" not in name:
            # A flag that needs a value has none yet: the row has a place for it.
            needs = flags.arity(name) in (Arity.ONE, Arity.MANY)
            return Change("flag.set", name, "") if needs else asked([name], [], [], flags)[0]
        return asked([f"{name}={value.strip()}" if blank else name], [], [], flags)[0]
    if name.startswith("-"):
        return asked([], [f"--{name.lstrip('-')}"], [], flags)[0]
    return asked([], [], [text], flags)[0]
