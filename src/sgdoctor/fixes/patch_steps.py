"""Patches as steps of a plan: instead of a launch script that patches libraries, and against what the log shows."""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from sgdoctor.diagnosis.model import Diagnosis, Verdict
from sgdoctor.fixes.model import Basis, Step, WrittenFile
from sgdoctor.launch.change import Change
from sgdoctor.patches.model import PatchKind, PatchPlan, PatchSite
from sgdoctor.patches.plan import patch_plans
from sgdoctor.texts import Text

_KINDS: Final = {
    "SGL204": PatchKind.LAYER_TYPES,
    "SGL205": PatchKind.LAYER_TYPES,
    "SGL206": PatchKind.LAYER_TYPES,
    "SGL207": PatchKind.MODEL_TYPE,
}
"""By the rule that says what is to be put right."""
_RULES: Final = {PatchKind.LAYER_TYPES: "SGL204", PatchKind.MODEL_TYPE: "SGL207"}
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
        files: by the id of the step that needs them.
    """

    steps: tuple[Step, ...] = ()
    others: tuple[Step, ...] = ()
    files: Mapping[str, tuple[WrittenFile, ...]] = MappingProxyType({})


NO_PATCHES: Final = Patches()


def patches_for(
    verdict: Verdict | None, site: PatchSite, intended: Collection[PatchKind], *, script_is_broken: bool
) -> Patches:
    """What takes the place of patches in code.

    Args:
        verdict: on the newest start; None without a log.
        site: where they have to work.
        intended: what a launch script was meant to put right.
        script_is_broken: whether that script cannot do so.
    """
    diagnoses = verdict.diagnoses if verdict else ()
    seen = {_KINDS[one.rule.id]: one for one in diagnoses if one.rule.id in _KINDS}
    kinds = dict.fromkeys([*seen, *(intended if script_is_broken else ())])
    steps: list[Step] = [_STOCK] if script_is_broken else []
    others: list[Step] = []
    files: dict[str, tuple[WrittenFile, ...]] = {}
    for kind in kinds:
        for place, plan in enumerate(_doable(kind, site)):
            step = _step(plan, seen.get(kind))
            (others if place else steps).append(step)
            files[step.id] = tuple(_files(plan, site))
    return Patches(tuple(steps), tuple(others), files)


def _doable(kind: PatchKind, site: PatchSite) -> list[PatchPlan]:
    return [plan for plan in patch_plans(kind, site) if plan.safety != "manual"]


def _step(plan: PatchPlan, seen: Diagnosis | None) -> Step:
    return Step(
        id=f"{plan.kind.value}-{plan.means.value}",
        changes=plan.changes,
        basis=Basis.FOUND if seen else Basis.WRITTEN,
        title=plan.why,
        why=seen.title if seen else plan.why,
        safety=plan.safety,
        effect=plan.effect,
        rule=seen.rule.id if seen else _RULES[plan.kind],
    )


def _files(plan: PatchPlan, site: PatchSite) -> Iterator[WrittenFile]:
    for file in plan.files:
        yield WrittenFile(f"{site.folder}/{file.name}", file.content, plan.verify)
