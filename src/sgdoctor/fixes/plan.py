"""Makes the plan: one relaunch instead of one for each failure.

The order of steps, which is also the order in which contradictions are resolved: what the user asks for, the root
cause, further diagnoses, what is wrong as written, what would come next. A step that contradicts an earlier one, or
that the engine would not start with, is offered as an alternative.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Final, NamedTuple

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.fixes.changed import as_meant, changed
from sgdoctor.fixes.memory.situation import OUT_OF_MEMORY
from sgdoctor.fixes.memory.solution import Outcome, Solution
from sgdoctor.fixes.memory_steps import ways_of
from sgdoctor.fixes.model import (
    NO_TEXT,
    Basis,
    Left,
    Plan,
    Step,
)
from sgdoctor.fixes.patch_steps import NO_PATCHES, Patches
from sgdoctor.fixes.predictions import predicted_steps
from sgdoctor.fixes.said import differs, said, says
from sgdoctor.fixes.solving import Solver
from sgdoctor.fixes.steps import MEMORY_FLAGS, Remedy, check_chosen, is_chosen, remedies_of, remedy_of
from sgdoctor.launch.amended import subject
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Document, EditState, FlagTable, Launch, Problem
from sgdoctor.launch.render import unified_diff
from sgdoctor.texts import Text

Check = Callable[[Launch], Sequence[Problem]]
"""What the engine would say about the flags of a launch."""

_BAD: Final = frozenset({"fatal", "error"})
_SAFETY: Final = ("safe", "unsafe", "manual")
_NOT_AS_MEANT: Final = Text("the new text would not have said exactly what is planned", "新的文本与计划不完全一致")


class Wishes(NamedTuple):
    """What the user wants.

    Attributes:
        choose: ids of fixes, with or without the rule in front.
        changes: of ``--set``, ``--unset`` and ``--env``.
        only: whether nothing beside these is to be changed; what else would be is offered, and no other ways.
        tidy: whether flags that do nothing are taken out.
    """

    choose: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    only: bool = False
    tidy: bool = False


NO_WISHES: Final = Wishes()


class Knowledge(NamedTuple):
    """What is known beside the document.

    Attributes:
        flags: of the engine's version.
        check: says what is wrong with the flags of a launch.
        verdict: on the newest start; None without a log.
        problems: of the document, its flags and its files.
        solve: knows the card and the model; None if nobody does.
        patches: that take the place of patches in code.
        file: name of the document's file as ``patch`` takes it; empty without one.
    """

    flags: FlagTable
    check: Check
    verdict: Verdict | None = None
    problems: Sequence[Problem] = ()
    solve: Solver | None = None
    patches: Patches = NO_PATCHES
    file: str = ""


def plan_for(document: Document, known: Knowledge, wishes: Wishes = NO_WISHES) -> Plan:
    """Everything that is to be changed in a launch.

    Args:
        document: the launch in its own form.
        known: what is known about it.
        wishes: of the user.

    Raises:
        UserError: a wish cannot be fulfilled: a fix that is not there, a value that the engine would refuse.
    """
    launch = as_meant(document, known.problems, known.flags)
    maker = _Maker(launch, known)
    if wishes.changes:
        maker.ask(wishes.changes)
    diagnoses = known.verdict.diagnoses if known.verdict else ()
    remedies = [remedy_of(diagnosis, launch, known.flags, wishes.choose) for diagnosis in diagnoses]
    for remedy in remedies:
        if not remedy.about_memory:
            maker.take(remedy)
    maker.add(known.patches.steps)
    maker.offer(known.patches.others)
    maker.add(remedies_of(known.problems, tidy=wishes.tidy))
    maker.add(predicted_steps(known.verdict, maker.launch, known.flags))
    maker.take_memory([remedy for remedy in remedies if remedy.about_memory], wishes.choose)
    check_chosen(wishes.choose, diagnoses, [*maker.steps, *maker.alternatives])
    return _written(document, maker.reduced(document.launch, wishes) if wishes.only else maker, known)


class _Maker:
    """Collects steps; a step that does not go with those before it becomes an alternative."""

    def __init__(self, launch: Launch, known: Knowledge) -> None:
        self.launch = launch
        self.steps: list[Step] = []
        self.alternatives: list[Step] = []
        self._offered: set[frozenset[Change]] = set()
        self.left: list[Left] = []
        self.solution: Solution | None = None
        self.before = known.solve(launch) if known.solve is not None else None
        self.after: Solution | None = None
        self._known = known
        self._taken: dict[tuple[str, str], Change] = {}
        self._wrong = _complaints(known.check(launch))

    def ask(self, changes: Iterable[Change]) -> None:
        """Takes what the user asks for.

        Raises:
            UserError: the engine would refuse it.
        """
        changes = tuple(changes)
        # All at once: a flag may need another one that is asked for behind it.
        found = [one for one in self._known.check(changed(self.launch, changes, self._known.flags)) if _is_bad(one)]
        new = (one for one in found if _complaint(one) not in self._wrong)
        problem = next(chain(new, self._wrong_alone(changes, {one.id for one in found})), None)
        if problem is not None:
            more = problem.detail or NO_TEXT
            raise UserError(
                f"{problem.title.en}. {more.en}".rstrip(" ."), f"{problem.title.zh}。{more.zh}".rstrip("。")
            )
        for change in changes:
            self._accept(Step(f"asked-{change.name.lstrip('-')}", (change,), Basis.ASKED, NO_TEXT))

    def _wrong_alone(self, changes: Sequence[Change], found: Collection[str]) -> Iterator[Problem]:
        """What is wrong with flags that are asked for whatever else a launch says, such as a value they do not take.

        The launch may say the same already: no complaint is new then.

        Args:
            changes: that are asked for.
            found: ids of what is wrong with the launch that has them: what it puts right is not wrong.
        """
        known = self._known
        bare = replace(self.launch, argv=self.launch.argv[: self.launch.flags_at], config="", config_words=0)
        always = _complaints(known.check(bare))
        for one in known.check(changed(bare, changes, known.flags)):
            if _is_bad(one) and one.id in found and _complaint(one) not in always:
                yield one

    def take(self, remedy: Remedy) -> None:
        """Takes the first way of a remedy that goes with what is there, and keeps the others."""
        ways = () if remedy.step is None else (remedy.step, *remedy.others)
        taken = next((way for way in ways if self._goes(way)), None)
        if taken is not None:
            self._accept(taken)
        self.offer(way for way in ways if way is not taken)
        # What is to be done by hand has another way where a patch does the same.
        if all(step.rule != remedy.rule for step in self._known.patches.steps):
            self.left += remedy.left

    def add(self, steps: Iterable[Step]) -> None:
        """Takes the steps that go with those that are there, and offers the others."""
        for together, alike in groupby(steps, self._takes_unknown_away):
            several = tuple(alike)
            # To try each alone would take as many looks at all words as there are such flags.
            if together and self._goes(*several):
                self._accept(*several)
                continue
            for step in several:
                if self._goes(step):
                    self._accept(step)
                else:
                    self.offer((step,))

    def _takes_unknown_away(self, step: Step) -> bool:
        """Whether all that a step does is to take away flags that the engine does not have."""
        flags = self._known.flags
        return all(change.kind == "flag.unset" and flags.arity(change.name) is None for change in step.changes)

    def take_memory(self, remedies: Sequence[Remedy], chosen: Collection[str]) -> None:
        """Lets the card say which numbers fit; where nobody knows it, the rules of the failures do."""
        solve = self._known.solve
        self.solution = solution = solve(self.launch) if solve is not None else None
        knows = solution is not None and solution.outcome in (Outcome.ADJUST, Outcome.CUT, Outcome.IMPOSSIBLE)
        refuted = self._is_refuted()
        if remedies and (refuted or not knows):
            for remedy in remedies:
                self.take(remedy)
        elif solution is not None and not refuted:
            seen = remedies[0] if remedies else None
            ways = ways_of(solution, seen)
            wanted = (way for way in ways if way.step.id in chosen)
            fails = seen is not None or (solution.now is not None and solution.now.failure is not None)
            advised = (way for way in ways if way.advised and fails and knows)
            best = next(iter([*wanted, *advised]), None)
            if best is not None:
                self.add((best.step,))
            else:
                self.left += [left for remedy in remedies for left in remedy.left]
            self.offer(way.step for way in ways if way is not best)
        self.after = solve(self.launch) if solve is not None else None

    def reduced(self, launch: Launch, wishes: Wishes) -> "_Maker":
        """The same with nothing but what the user wants.

        Args:
            launch: as it is written, even where something else was meant.
            wishes: of the user.

        Raises:
            UserError: the engine would refuse it.
        """
        less = _Maker(launch, self._known)
        if wishes.changes:
            less.ask(wishes.changes)
        others = [step for step in self.steps if step.basis is not Basis.ASKED]
        less.add(step for step in (*others, *self.alternatives) if is_chosen(step, wishes.choose))
        less.offer(step for step in others if not is_chosen(step, wishes.choose))
        less.after = self._known.solve(less.launch) if self._known.solve is not None else None
        return less

    def _is_refuted(self) -> bool:
        """Whether the start that was seen served with memory settings that, as computed, would not do."""
        verdict = self._known.verdict
        if verdict is None or "ready" not in verdict.facts or self.before is None or self.before.now is None:
            return False
        # A server that served and then ran out of memory ended as computed.
        ended_so = any(diagnosis.rule.id in OUT_OF_MEMORY for diagnosis in verdict.diagnoses)
        served_so = not differs(self.launch, verdict.facts, MEMORY_FLAGS, self._known.flags)
        return self.before.now.failure is not None and not ended_so and served_so

    def _goes(self, *steps: Step) -> bool:
        """Whether steps contradict none before them, and lead to no complaint of the engine that is not there now."""
        fresh = [change for step in steps for change in self._fresh(step)]
        if any(subject(change, self._known.flags) in self._taken for change in fresh):
            return False
        launch = changed(self.launch, fresh, self._known.flags)
        return _complaints(self._known.check(launch)) <= self._wrong

    def _accept(self, *steps: Step) -> None:
        seen: set[Change] = set()
        accepted: list[Step] = []
        for step in steps:
            fresh = tuple(change for change in self._fresh(step) if change not in seen)
            # Two patches at start-up are one file: the second one changes nothing more in the launch.
            if fresh or step.id in self._known.patches.plans:
                accepted.append(replace(step, changes=fresh))
                seen.update(fresh)
        if not accepted:
            return
        every = [change for step in accepted for change in step.changes]
        before, self.launch = self.launch, changed(self.launch, every, self._known.flags)
        self._give_way(every)
        self.steps += accepted
        # What the user asks for stays, even if it is so already.
        lasting = [change for step in accepted if step.basis is Basis.ASKED for change in step.changes]
        kept = set(self._kept(every, before)).difference(lasting)
        self._taken |= {subject(change, self._known.flags): change for change in every if change not in kept}

    def _kept(self, changes: Sequence[Change], before: Launch) -> list[Change]:
        """The changes of a flag that leave it the value that counts: a later step may set another one."""
        flags = self._known.flags
        (_, was), (_, now) = said(before, flags), said(self.launch, flags)
        return [
            change
            for change in changes
            if change.kind.startswith("flag.")
            and (name := flags.canonical(change.name)) in was
            and was[name] == now.get(name)
        ]

    def _give_way(self, changes: Sequence[Change]) -> None:
        """Take out of earlier steps the values that were only kept and are set to others now."""
        fresh = {subject(change, self._known.flags) for change in changes} - set(self._taken)
        for place, step in enumerate(self.steps):
            left = tuple(
                change
                for change in step.changes
                if change.kind != "flag.set" or subject(change, self._known.flags) not in fresh
            )
            self.steps[place] = replace(step, changes=left)

    def offer(self, steps: Iterable[Step]) -> None:
        """Keeps other ways, each once."""
        for step in steps:
            if frozenset(step.changes) not in self._offered:
                self.alternatives.append(step)
                self._offered.add(frozenset(step.changes))

    def _fresh(self, step: Step) -> tuple[Change, ...]:
        """The changes of a step that are not made yet."""
        return tuple(change for change in step.changes if self._taken.get(subject(change, self._known.flags)) != change)


def _written(document: Document, maker: _Maker, known: Knowledge) -> Plan:
    """The plan, with the document rewritten."""
    steps = sorted(maker.steps, key=lambda step: list(Basis).index(step.basis))
    changes = [change for step in steps for change in step.changes]
    after, text, refused = maker.launch, None, None
    # A fix may be one to make by hand by what the log says, and another step makes it all the same.
    left = [one for one in maker.left if one.change is None or one.change not in changes]
    if changes:
        try:
            edited = document.edited(changes, known.flags)
        except UserError as error:
            uneditable = document.editable.why if document.editable.state is EditState.NO else None
            refused = uneditable or error.message
        else:
            told = [change for change, _ in edited.left]
            left += [Left(change, why) for change, why in edited.left]
            # Whatever the form, its new text must say exactly what was planned.
            left_out = {change.kind for change in told} & {"flag.set", "flag.unset", "docker.command"}
            lost = [change for change in changes if not says(edited.launch, change)]
            as_planned = said(edited.launch, known.flags) == said(after, known.flags)
            if (as_planned or left_out or not after.argv) and set(lost) <= set(told):
                after, text = edited.launch, edited.text
            else:
                refused = _NOT_AS_MEANT
    solution, solved = maker.solution, maker.after
    impossible = solution.why if solution is not None and solution.outcome is Outcome.IMPOSSIBLE else None
    if impossible is not None:
        left.insert(0, Left(None, impossible))
    return Plan(
        steps=tuple(steps),
        before=document.launch.typed,
        after=after.typed,
        text=text,
        diff="" if text is None else _diff(document.text, text, known.file),
        safety=max((step.safety for step in steps), key=_SAFETY.index, default="safe"),
        predicted_before=maker.before.now if maker.before else None,
        predicted=solved.now if solved else None,
        interval=solved.interval if solved else None,
        impossible=impossible,
        alternatives=tuple(maker.alternatives),
        left=tuple(left),
        warnings=tuple(warned.text for warned in solved.warnings) if solved else (),
        files=known.patches.files(steps),
        refused=refused,
    )


def _diff(old: str, new: str, file: str) -> str:
    if not file:  # a command that was typed has no line end that could be missing
        old, new = (text if text.endswith("\n") else f"{text}\n" for text in (old, new))
    return unified_diff(old, new, file or "launch")


def _is_bad(problem: Problem) -> bool:
    return problem.severity in _BAD


def _complaints(problems: Iterable[Problem]) -> frozenset[tuple[str, str]]:
    return frozenset(_complaint(problem) for problem in problems if _is_bad(problem))


def _complaint(problem: Problem) -> tuple[str, str]:
    return problem.id, problem.title.en
