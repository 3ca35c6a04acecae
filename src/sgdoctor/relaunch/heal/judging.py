"""From a start that failed and the plan that follows from it to what healing knows of the two."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.engines.sglang.memory.fractions import TOO_LOW
from sgdoctor.errors import UserError
from sgdoctor.fixes.memory.situation import OUT_OF_MEMORY
from sgdoctor.fixes.model import Answer, Basis, Plan, Step
from sgdoctor.fixes.steps import MEMORY_FLAGS
from sgdoctor.launch.amended import merged
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Document
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.identity import identity_of
from sgdoctor.relaunch.heal.model import Proposed, Try
from sgdoctor.rules.model import Severity
from sgdoctor.texts import Text

_SERIOUS: Final = frozenset({Severity.FATAL, Severity.ERROR})
_ARGUMENTS: Final = "SGL1"


def with_plan(tried: Try, verdict: Verdict, answer: Answer, steps: Sequence[Step], refused: Text | None) -> Try:
    """A try with its cause, and what the plan says about it.

    Args:
        tried: which.
        verdict: on it.
        answer: the plan for the original launch.
        steps: those of the plan that are new.
        refused: why the plan cannot be carried out; None if it can.
    """
    root = next((one for one in verdict.diagnoses if one.severity in _SERIOUS), None)
    rule = root.rule.id if root is not None else ""
    plan = answer.plan
    fraction = verdict.facts.get("fraction")
    return replace(
        tried,
        rule=rule,
        reason=tried.reason or (root.title if root is not None else verdict.summary),
        fraction=float(fraction.value) if fraction is not None else tried.identity.fraction,
        proposed=Proposed(
            identity=identity_of(plan.after, answer.flags, plan.files),
            changes=plan.changes,
            steps=tuple(steps),
            fraction=plan.predicted.fraction if plan.predicted is not None else None,
            interval=plan.interval,
            cures=any(_cures(step, rule) for step in steps),
            by_hand=tuple(left.why for left in plan.left),
            impossible=plan.impossible,
            refused=refused if plan.changes else None,
            others=tuple(_others(answer, rule)) if rule in TOO_LOW | OUT_OF_MEMORY else (),
        ),
    )


def _others(answer: Answer, rule: str) -> Iterator[Proposed]:
    """The ways against a lack of memory that the plan has not taken."""
    plan, flags = answer.plan, answer.flags
    kept = [change for step in plan.steps if step.rule != rule for change in step.changes]
    for step in plan.alternatives:
        if not any(flags.canonical(change.name) in MEMORY_FLAGS for change in step.changes):
            continue
        changes = merged(kept, step.changes, flags)
        try:
            launch = answer.document.edited(changes, flags).launch
        except UserError:
            continue
        yield Proposed(identity_of(launch.typed, flags, plan.files), changes, (step,))


def for_original(answer: Answer, document: Document, changes: Sequence[Change]) -> Answer:
    """The answer for the original launch: what was changed before, as far as it is kept, and what is new.

    Args:
        answer: for the launch with ``changes``.
        document: the original launch.
        changes: by which the two differ.
    """
    if not changes:
        return answer
    plan = answer.plan
    new = set(plan.changes)
    kept = tuple(change for change in merged(changes, plan.changes, answer.flags) if change not in new)
    before = (Step("tried-before", kept, Basis.FOUND, texts.TRIED_BEFORE),) if kept else ()
    whole: Plan = replace(plan, steps=(*before, *plan.steps), before=document.launch)
    return replace(answer, document=document, plan=whole)


def _cures(step: Step, rule: str) -> bool:
    """Whether a step is about the root cause; what argparse refuses is put right where it is written."""
    return step.rule == rule or (step.basis is Basis.WRITTEN and rule.startswith(_ARGUMENTS))
