"""Makes the plan: one relaunch instead of one for each failure.

The order of steps, which is also the order in which contradictions are resolved: what the user asks for, the root cause,
further diagnoses, what is wrong as written, what would come next. A step that contradicts an earlier one, or that the
engine would not start with, is offered as an alternative.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.fixes.model import (
    Basis,
    Left,
    MemoryAdvice,
    MemoryAdvisor,
    Plan,
    Step,
    WrittenFile,
)
from sgdoctor.fixes.predictions import predicted_steps
from sgdoctor.fixes.steps import Remedy, check_chosen, remedies_of, remedy_of
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import flag_edits, with_edits
from sgdoctor.launch.model import Document, Edited, EditState, FlagTable, Launch, Problem
from sgdoctor.texts import Text

Check = Callable[[Launch], Sequence[Problem]]
"""What the engine would say about the flags of a launch."""

_BAD: Final = frozenset({"fatal", "error"})
_SAFETY: Final = ("safe", "unsafe", "manual")


class Wishes(NamedTuple):
    """What the user wants.

    Attributes:
        choose: ids of fixes, with or without the rule in front.
        changes: of ``--set``, ``--unset`` and ``--env``.
    """

    choose: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


class Knowledge(NamedTuple):
    """What is known beside the document.

    Attributes:
        flags: of the engine's version.
        check: says what is wrong with the flags of a launch.
        verdict: on the newest start; None without a log.
        problems: of the document, its flags and its files.
        memory: knows the card; None if nobody does.
        further: steps that come from elsewhere (generated patches), and the files that they need.
        files: of ``further``.
    """

    flags: FlagTable
    check: Check
    verdict: Verdict | None = None
    problems: Sequence[Problem] = ()
    memory: MemoryAdvisor | None = None
    further: Sequence[Step] = ()
    files: Sequence[WrittenFile] = ()


def plan_for(document: Document, known: Knowledge, wishes: Wishes = Wishes()) -> Plan:
    """Everything that is to be changed in a launch.

    Args:
        document: the launch in its own form.
        known: what is known about it.
        wishes: of the user.

    Raises:
        UserError: a wish cannot be fulfilled: a fix that is not there, a value that the engine would refuse.
    """
    maker = _Maker(document.launch, known)
    if wishes.changes:
        maker.ask(wishes.changes)
    diagnoses = known.verdict.diagnoses if known.verdict else ()
    remedies = [remedy_of(diagnosis, document.launch, known.flags, wishes.choose) for diagnosis in diagnoses]
    for remedy in remedies:
        if not remedy.about_memory:
            maker.take(remedy)
    maker.add(known.further)
    maker.add(remedies_of(known.problems))
    maker.add(predicted_steps(known.verdict, maker.launch, known.flags))
    maker.take_memory([remedy for remedy in remedies if remedy.about_memory], wishes.choose)
    check_chosen(wishes.choose, diagnoses, [*maker.steps, *maker.alternatives])
    return _written(document, maker, known)


class _Maker:
    """Collects steps; a step that does not go with those before it becomes an alternative."""

    def __init__(self, launch: Launch, known: Knowledge) -> None:
        self.launch = launch
        self.steps: list[Step] = []
        self.alternatives: list[Step] = []
        self.left: list[Left] = []
        self.advice: MemoryAdvice | None = None
        self._known = known
        self._before = launch
        self._taken: dict[tuple[str, str], Change] = {}
        self._wrong = _complaints(known.check(launch))

    def ask(self, changes: Iterable[Change]) -> None:
        """Takes what the user asks for.

        Raises:
            UserError: the engine would refuse it.
        """
        for change in changes:
            launch = changed(self.launch, (change,), self._known.flags)
            problem = next((one for one in self._known.check(launch) if one.severity in _BAD and _complaint(one) not in self._wrong), None)
            if problem is not None:
                raise UserError(problem.title.en, problem.title.zh)
            self._accept(Step(f"asked-{change.name.lstrip('-')}", (change,), Basis.ASKED, NO_TITLE))

    def take(self, remedy: Remedy) -> None:
        """Takes the step of a remedy, and keeps its other ways."""
        if remedy.step is not None:
            self.add((remedy.step,))
        self.alternatives += remedy.others
        self.left += remedy.left

    def add(self, steps: Iterable[Step]) -> None:
        """Takes the steps that go with those that are there."""
        for step in steps:
            fresh = tuple(change for change in step.changes if self._taken.get(self._key(change)) != change)
            if not fresh:
                continue
            if any(self._key(change) in self._taken for change in fresh) or self._breaks(fresh):
                self.alternatives.append(step)
            else:
                self._accept(replace(step, changes=fresh))

    def take_memory(self, remedies: Sequence[Remedy], chosen: Collection[str]) -> None:
        """Lets the card say which numbers fit; where nobody knows it, the rules of the failures do."""
        memory = self._known.memory
        advice = memory.advise(self.launch) if memory else None
        if advice is None or (advice.step is None and advice.impossible is None and remedies):
            for remedy in remedies:
                self.take(remedy)
            advice = advice and memory and memory.advise(self.launch)
        else:
            basis = Basis.FOUND if remedies else Basis.PREDICTED
            ways = [replace(step, basis=basis) for step in (advice.step, *advice.others) if step is not None]
            wanted = next((step for step in ways if step.id in chosen), advice.step and ways[0])
            if wanted is not None:
                self.add((wanted,))
            self.alternatives += [step for step in ways if step is not wanted]
            if wanted is not None and advice.step is not None and wanted.id != advice.step.id and memory is not None:
                advice = memory.advise(self.launch) or advice
        self.advice = advice

    def _accept(self, step: Step) -> None:
        self.steps.append(step)
        self._taken |= {self._key(change): change for change in step.changes}
        self.launch = changed(self.launch, step.changes, self._known.flags)

    def _breaks(self, changes: Sequence[Change]) -> bool:
        """Whether the engine would complain about something that it does not complain about now."""
        launch = changed(self.launch, changes, self._known.flags)
        return not _complaints(self._known.check(launch)) <= self._wrong

    def _key(self, change: Change) -> tuple[str, str]:
        """What a change is about: two changes with the same key contradict each other unless they are equal."""
        family = change.kind.partition(".")[0]
        if family == "flag":
            return family, self._known.flags.canonical(change.name)
        return (family, change.name) if family == "env" else (change.kind, change.name)
