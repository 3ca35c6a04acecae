"""From what is wrong to the steps that put it right: which fix of a diagnosis, which change of a problem."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from sgdoctor.diagnosis.model import Diagnosis, Fix
from sgdoctor.engines.sglang.flags.idle import IDLE_FLAGS
from sgdoctor.engines.sglang.memory.fractions import TOO_LOW
from sgdoctor.errors import UserError
from sgdoctor.fixes.memory.situation import OUT_OF_MEMORY
from sgdoctor.fixes.model import NO_TEXT, Basis, Left, Step
from sgdoctor.fixes.values import literal_changes, may_enter
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import FlagTable, Launch, Problem
from sgdoctor.texts import Text

SHOWN_ONLY: Final = frozenset(
    {"flag.raise", "flag.lower", "file.edit", "host.command", "package.pin", "client.request", "wait"}
)
"""Kinds of changes that no form of a launch has a place for, or whose value is not known."""

MEMORY_FLAGS: Final = frozenset(
    {
        "--mem-fraction-static",
        "--max-mamba-cache-size",
        "--max-total-tokens",
        "--max-running-requests",
        "--mamba-full-memory-ratio",
        "--mamba-radix-cache-strategy",
        "--mamba-scheduler-strategy",
        "--mamba-ssm-dtype",
        "--cuda-graph-max-bs",
        "--cuda-graph-max-bs-decode",
        "--cuda-graph-backend-prefill",
        "--chunked-prefill-size",
    }
)
"""Flags whose values follow from the memory of the card."""

_MEMORY_FAMILY: Final = "SGL4"


class Remedy(NamedTuple):
    """What can be done about one thing that is wrong.

    Attributes:
        step: what is done; None where nothing can be done here.
        others: other ways.
        left: what has to be done by hand.
        about_memory: whether the memory of the card has the say; ``step`` is then what is done if it has none.
        rule: of the diagnosis.
        why: what is wrong.
    """

    step: Step | None
    others: tuple[Step, ...] = ()
    left: tuple[Left, ...] = ()
    about_memory: bool = False
    rule: str = ""
    why: Text = NO_TEXT


def remedy_of(diagnosis: Diagnosis, launch: Launch, flags: FlagTable, chosen: Collection[str]) -> Remedy:
    """The best fix of a diagnosis that can be made here, and the others.

    Order: a fix that the user chose, then the first safe one, then the first with side effects. Fixes that are
    ``manual`` are only shown.

    Args:
        diagnosis: which.
        launch: what it is about.
        flags: of the engine's version.
        chosen: ids of fixes, with or without the rule in front (``SGL401/raise-fraction``).
    """
    steps = []
    left: list[Left] = []
    for fix in diagnosis.fixes:
        step, by_hand = _step(diagnosis, fix, launch, flags)
        if step is None:
            left += by_hand
        else:
            steps.append(step)
    wanted = [step for step in steps if is_chosen(step, chosen)]
    first = next(
        iter([*wanted, *(step for safety in ("safe", "unsafe") for step in steps if step.safety == safety)]), None
    )
    return Remedy(
        first,
        tuple(step for step in steps if step is not first),
        tuple(left) if first is None else (),
        about_memory=not wanted and _is_about_memory(diagnosis, flags, doable=first is not None),
        rule=diagnosis.rule.id,
        why=diagnosis.title,
    )


def remedies_of(problems: Iterable[Problem], *, tidy: bool = False) -> list[Step]:
    """The steps that put right what is wrong in a launch as it is written; none for mere notices.

    Args:
        problems: of the launch.
        tidy: whether flags that do nothing, which is no more than a notice, are taken out all the same.
    """
    return [
        Step(
            id=problem.id,
            changes=problem.changes,
            basis=Basis.WRITTEN,
            title=NO_TEXT,
            why=problem.title,
            rule=problem.rule or "",
        )
        for problem in problems
        if problem.changes and (problem.severity != "notice" or (tidy and problem.id in IDLE_FLAGS))
    ]


def check_chosen(chosen: Iterable[str], diagnoses: Sequence[Diagnosis], others: Iterable[Step]) -> None:
    """Sees to it that every fix that the user chose exists.

    Raises:
        UserError: one does not, or can only be made by hand; the message names those that can be chosen.
    """
    fixes = {f"{diagnosis.rule.id}/{fix.id}": fix for diagnosis in diagnoses for fix in diagnosis.fixes}
    known = {*(name for name, fix in fixes.items() if fix.safety != "manual")} | {step.id for step in others}
    for name in chosen:
        matching = [full for full in fixes if name in (full, full.partition("/")[2])]
        if any(fixes[full].safety == "manual" for full in matching):
            raise UserError(
                f"{name}: this fix can only be made by hand; sgdoctor fix shows it",
                f"{name}：该办法只能手动完成；sgdoctor fix 会显示它",
            )
        if not matching and name not in known:
            names = ", ".join(sorted(known)) or "-"
            raise UserError(
                f"{name}: there is no such fix here. There are: {names}",
                f"{name}：这里没有该办法。可选：{names}",
            )


def is_chosen(step: Step, chosen: Collection[str]) -> bool:
    """Whether the user chose a step, by its id with or without the rule in front."""
    return step.id in chosen or f"{step.rule}/{step.id}" in chosen


def _is_about_memory(diagnosis: Diagnosis, flags: FlagTable, *, doable: bool) -> bool:
    rule = diagnosis.rule.id
    if not doable and rule in TOO_LOW | OUT_OF_MEMORY:
        # The rule knows nothing more that could be changed; the solver may.
        return True
    changes = (change for fix in diagnosis.fixes for change in fix.changes)
    return rule.startswith(_MEMORY_FAMILY) and any(flags.canonical(change.name) in MEMORY_FLAGS for change in changes)


def _step(diagnosis: Diagnosis, fix: Fix, launch: Launch, flags: FlagTable) -> tuple[Step | None, tuple[Left, ...]]:
    """The step that a fix is; or, where it cannot be made here, what has to be done by hand."""
    literal = literal_changes(diagnosis, fix)
    given = {flags.canonical(one.flag) for one in given_flags(launch.argv, launch.flags_at, flags)}
    doable = [
        change
        for change in fix.changes
        if change.kind not in SHOWN_ONLY and (change in literal or may_enter(change, flags, given))
    ]
    changes = tuple(change for change in doable if not _is_idle(change, flags, given, launch.env))
    if fix.safety == "manual" or not changes or len(doable) < len(fix.changes):
        return None, tuple(Left(change, fix.summary) for change in fix.changes) or (Left(None, fix.summary),)
    step = Step(
        id=fix.id,
        changes=changes,
        basis=Basis.FOUND,
        title=fix.summary,
        why=diagnosis.title,
        safety=fix.safety,
        effect=fix.effect,
        rule=diagnosis.rule.id,
    )
    return step, ()


def _is_idle(change: Change, flags: FlagTable, given: Collection[str], env: Collection[str]) -> bool:
    """Whether something is to be left out that is not there."""
    if change.kind == "flag.unset":
        return flags.canonical(change.name) not in given
    return change.kind == "env.unset" and change.name not in env
