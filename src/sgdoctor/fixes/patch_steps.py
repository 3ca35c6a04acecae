"""Patches as steps of a plan: instead of a launch script that patches libraries, and against what the log shows."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from sgdoctor.diagnosis.model import Diagnosis, Verdict
from sgdoctor.fixes.model import Basis, Step, WrittenFile
from sgdoctor.launch.change import Change
from sgdoctor.patches.model import PatchKind, PatchPlan, PatchSite
from sgdoctor.patches.plan import combined, patch_plans
from sgdoctor.patterns import lazy_pattern
from sgdoctor.texts import Text

_KINDS: Final = {
    "SGL204": PatchKind.LAYER_TYPES,
    "SGL205": PatchKind.LAYER_TYPES,
    "SGL206": PatchKind.LAYER_TYPES,
    "SGL207": PatchKind.MODEL_TYPE,
}
"""By the rule that says what is to be put right."""
_RULES: Final = {PatchKind.LAYER_TYPES: "SGL204", PatchKind.MODEL_TYPE: "SGL207"}
_REGISTERED: Final = lazy_pattern(
    r"[\'\"]([a-z][a-z0-9_]{1,60})[\'\"] is already (?:used by a Transformers|registered)"
)
_STOCK: Final = Step(
    id="stock-command",
    changes=(Change("docker.command", "", "python3 -m sglang.launch_server"),),
    basis=Basis.WRITTEN,
    title=Text(
        "Start the engine by its own command instead of the launch script.", "用官方命令启动引擎，不再使用启动脚本。"
    ),
)


class Patches(NamedTuple):
    """What takes the place of patches in code.

    Attributes:
        steps: the best way for each thing.
        others: the other ways.
        plans: by the id of the step.
        folder: of the files that they need, from that of the document.
    """

    steps: tuple[Step, ...] = ()
    others: tuple[Step, ...] = ()
    plans: Mapping[str, PatchPlan] = MappingProxyType({})
    folder: str = ""

    def files(self, steps: Iterable[Step]) -> tuple[WrittenFile, ...]:
        """The files that ``steps`` need; what is to run at start-up becomes one file."""
        plans = [self.plans[step.id] for step in steps if step.id in self.plans]
        why = {file.name: plan.verify for plan in plans for file in plan.files}
        files, _ = combined(plans)
        return tuple(
            WrittenFile(f"{self.folder}/{file.name}", file.content, why[file.name], file.among) for file in files
        )


NO_PATCHES: Final = Patches()


def patches_for(
    verdict: Verdict | None,
    site: PatchSite,
    intended: Collection[PatchKind],
    *,
    script_is_broken: bool,
    chosen: Collection[str] = (),
    foreseen: Collection[PatchKind] = (),
) -> Patches:
    """What takes the place of patches in code.

    Args:
        verdict: on the newest start; None without a log.
        site: where they have to work.
        intended: what a launch script was meant to put right.
        script_is_broken: whether that script cannot do so.
        chosen: ids of steps that the user prefers.
        foreseen: what would be seen after the next start.

    Raises:
        UserError: ``site.config`` is no config.json.
    """
    diagnoses = verdict.diagnoses if verdict else ()
    seen = {_KINDS[one.rule.id]: one for one in diagnoses if one.rule.id in _KINDS}
    steps: list[Step] = [_STOCK] if script_is_broken else []
    others: list[Step] = []
    plans: dict[str, PatchPlan] = {}
    for kind in dict.fromkeys([*seen, *(intended if script_is_broken else ()), *foreseen]):
        found = seen.get(kind)
        here = replace(site, model_type=_model_type(found)) if kind is PatchKind.MODEL_TYPE else site
        doable = {_id(plan): plan for plan in patch_plans(kind, here) if plan.safety != "manual"}
        ways = [_step(plan, found) for plan in doable.values()]
        ways.sort(key=lambda way: way.id not in chosen)
        steps += ways[:1]
        others += ways[1:]
        plans |= doable
    return Patches(tuple(steps), tuple(others), plans, site.folder)


def kinds_of(rules: Iterable[str]) -> tuple[PatchKind, ...]:
    """What is to be put right where these rules hit."""
    return tuple(dict.fromkeys(_KINDS[rule] for rule in rules if rule in _KINDS))


def _id(plan: PatchPlan) -> str:
    return f"{plan.kind.value}-{plan.means.value}"


def _model_type(seen: Diagnosis | None) -> str | None:
    """The name that is registered twice, as the log quotes it."""
    texts = (evidence.text for evidence in (seen.evidence if seen else ()))
    return next((found[1] for text in texts if (found := _REGISTERED.search(text))), None)


def _step(plan: PatchPlan, seen: Diagnosis | None) -> Step:
    return Step(
        id=_id(plan),
        changes=plan.changes,
        basis=Basis.FOUND if seen else Basis.WRITTEN,
        title=plan.why,
        why=seen.title if seen else plan.why,
        safety=plan.safety,
        effect=plan.effect,
        rule=seen.rule.id if seen else _RULES[plan.kind],
    )
