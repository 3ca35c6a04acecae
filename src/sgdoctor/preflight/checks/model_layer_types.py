"""Whether the lists of layer kinds are as long as the model has layers."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.errors import UserError
from sgdoctor.launch.host_paths import host_path
from sgdoctor.launch.model import Launch
from sgdoctor.patches.config_repair import Repair, repaired_config
from sgdoctor.patches.launch_scripts import intended_patches, recognise_script
from sgdoctor.patches.model import PatchKind
from sgdoctor.patches.plan import STARTUP_FOLDER, patch_plans
from sgdoctor.patches.versions import Range
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import CONFIG
from sgdoctor.preflight.patch_site import patch_site
from sgdoctor.preflight.versions import transformers_version
from sgdoctor.texts import Text
from sgdoctor.writing import read_text

_TOO_FEW: Final = "SGL204"
_TOO_MANY: Final = "SGL205"
_COUNTS: Final = Range("transformers", (4, 57))
"""``layer_type_validation`` counts the entries since 4.57 (configuration_utils.py)."""
_BAD: Final = frozenset({"fatal", "error"})


class ModelLayerTypes:
    """Counts ``layer_types`` against ``num_hidden_layers``, as transformers does."""

    id: ClassVar[str] = "model-layer-types"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("layer_types", "layer_types")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Lists of the wrong length, with the corrected config.json as their cure."""
        model = situation.model
        document = model.documents.get(CONFIG) if model is not None else None
        if model is None or document is None or document.value is None:
            return
        try:
            repair = repaired_config(document.content)
        except UserError:
            return
        if repair is None:
            if "layer_types" in model.settings:
                yield Finding(Status.PASS, Text("layer_types has an entry per layer", "layer_types 每层一项"))
            return
        yield _finding(situation, repair)


def _finding(situation: Situation, repair: Repair) -> Finding:
    wrong = repair.lists[0]
    evidence = f"config.json: {wrong.name} has {wrong.had} entries, num_hidden_layers is {wrong.needs}"
    few = wrong.had < wrong.needs
    launch, transformers = situation.launch, transformers_version(situation)
    if launch is not None and _patched(launch, situation, transformers):
        title = Text(
            f"{wrong.name} has the wrong length; the launch patches that", f"{wrong.name} 长度不符，但启动配置已打补丁"
        )
        return Finding(Status.PASS, title, evidence)
    ways = patch_plans(PatchKind.LAYER_TYPES, patch_site(situation, launch)) if launch is not None else ()
    plan = next((way for way in ways if way.safety != "manual"), None)
    counted = _COUNTS.holds(transformers) is not False
    return Finding(
        Status.FAIL if counted else Status.WARN,
        Text(
            f"{wrong.name} has {wrong.had} entries for {wrong.needs} layers",
            f"{wrong.name} 有 {wrong.had} 项，而模型有 {wrong.needs} 层",
        ),
        evidence,
        prevents=_TOO_FEW if few else _TOO_MANY,
        changes=plan.changes if plan is not None else (),
        detail=plan.why if plan is not None else wrong.why,
        phase="config" if counted else None,
    )


def _patched(launch: Launch, situation: Situation, transformers: str | None) -> bool:
    """Whether a start-up file of sgdoctor or a launch script that works puts the list right in memory."""
    if any(mount.target.startswith(STARTUP_FOLDER) for mount in launch.mounts):
        return True
    script = next((word for word in launch.argv[: launch.flags_at] if word.endswith(".py")), None)
    here = host_path(launch, script, situation.beside) if script is not None else None
    if here is None or not here.is_file():
        return False
    try:
        text = read_text(here).text
    except UserError:
        return False
    problems = recognise_script(text, sglang=situation.version, transformers=transformers)
    works = not any(problem.severity in _BAD for problem in problems)
    return works and PatchKind.LAYER_TYPES in intended_patches(text)
