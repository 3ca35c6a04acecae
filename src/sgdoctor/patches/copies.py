"""What a corrected copy of a config.json says about itself, and how a process gets one without a mount."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from sgdoctor import __version__
from sgdoctor.launch.change import Change
from sgdoctor.patches.config_repair import Repair, RepairedList
from sgdoctor.patches.model import Means, PatchFile, PatchKind, PatchPlan, PatchSite
from sgdoctor.texts import Text

CONFIG_NAME: Final = "config.json"
ABOUT_NAME: Final = "config.about.json"
_PLACES: Final = ("mounted_over", "stands_for")
_SHORT: Final = 12
_MODEL_PATH: Final = "--model-path"
_SERVED_NAME: Final = "--served-model-name"


def about_copy(original: bytes, repair: Repair, content: bytes, place: str, path: str) -> bytes:
    """Content of the file that says what a copy was made from.

    Args:
        original: content of the model's own config.json.
        repair: what was wrong with it.
        content: of the copy.
        place: how the copy stands to the original: ``mounted_over`` or ``stands_for``.
        path: of the original, as the engine sees it.
    """
    about = {
        "written_by": f"sgdoctor {__version__}",
        place: path,
        "sha256": sha256(content).hexdigest(),
        "original_sha256": sha256(original).hexdigest(),
        "changed": {one.name: {"had": one.had, "has": one.needs, "why": one.why.en} for one in repair.lists},
    }
    return (json.dumps(about, indent=2) + "\n").encode()


def why_kept(about: bytes, copy: bytes, wanted: bytes) -> Text | None:
    """Why a corrected copy that is there already must not be replaced by a new one.

    Args:
        about: content of the file that says what it was made from; empty without one.
        copy: content of the copy.
        wanted: what the new copy would be made from, as of ``about_copy``.

    Returns:
        None where the copy is as it was written, and of the model that is meant.
    """
    known, meant = _read(about), _read(wanted)
    if known is None:
        return Text(f"there is no {ABOUT_NAME} of sgdoctor beside it", f"旁边没有 sgdoctor 的 {ABOUT_NAME}")
    if sha256(copy).hexdigest() != known.get("sha256"):
        return Text("somebody edited this corrected copy", "这份修正后的副本被人改动过")
    of = next((known[place] for place in _PLACES if place in known), None)
    if meant is None or of != next((meant[place] for place in _PLACES if place in meant), None):
        return Text(f"this is the corrected copy of another model, {of}", f"这是另一个模型 {of} 的修正副本")
    return None


def _read(about: bytes) -> dict[str, object] | None:
    try:
        known = json.loads(about)
    except ValueError:
        return None
    return known if isinstance(known, dict) and str(known.get("written_by")).startswith("sgdoctor") else None


def linked_copy(site: PatchSite, repair: Repair, content: bytes, path: str) -> PatchPlan:
    """A folder of links to the files of a model, with the corrected config.json beside them.

    Args:
        site: where the engine is a process of this machine.
        repair: what is wrong with the model's config.json.
        content: of the corrected copy.
        path: absolute one of the model's own config.json.
    """
    assert site.config is not None
    model = path.rpartition("/")[0]
    # Another copy is in another folder, so that a launch of before keeps what it was started with.
    edition = sha256(model.encode() + content).hexdigest()[:_SHORT]
    # Its last part is what a model is called by, in the history of start times, too.
    name = f"model-{edition}/{model.rpartition('/')[2]}"
    folder = f"{site.folder}/{name}"
    digest = sha256(content).hexdigest()
    changes = [Change("flag.set", _MODEL_PATH, folder)]
    if site.serves_as is not None:
        changes.append(Change("flag.set", _SERVED_NAME, site.serves_as))
    doubts = doubts_about(repair)
    return PatchPlan(
        kind=PatchKind.LAYER_TYPES,
        means=Means.DATA,
        files=(
            PatchFile(f"{name}/{ABOUT_NAME}", about_copy(site.config, repair, content, "stands_for", path)),
            PatchFile(f"{name}/{CONFIG_NAME}", content, among=model),
        ),
        changes=tuple(changes),
        safety="safe" if repair.certain else "unsafe",
        why=Text(
            f"The engine is given {folder}: links to the files of {model}, and a corrected copy of config.json beside "
            f"them: {listed(repair.lists, 'en')}. Nothing else in it differs, the model folder and the engine stay as "
            "they are.",
            f"引擎改用目录 {folder}：其中是指向 {model} 各文件的链接，以及修正后的 config.json 副本："
            f"{listed(repair.lists, 'zh')}。其余内容逐字节相同，模型目录和引擎都不改动。",
        ),
        effect=Text(
            " ".join([_FOLLOWS_NOT.en, *(one.en for one in doubts)]),
            "".join([_FOLLOWS_NOT.zh, *(one.zh for one in doubts)]),
        ),
        verify=Text(
            f"`sha256sum {folder}/{CONFIG_NAME}` prints {digest[:_SHORT]}..., and the log has no line "
            "`num_hidden_layers ... must be equal to the number of ...`.",
            f"执行 `sha256sum {folder}/{CONFIG_NAME}` 应输出 {digest[:_SHORT]}...，日志中不再出现 "
            "`num_hidden_layers ... must be equal to the number of ...`。",
        ),
        undo=Text(
            f"Give `{_MODEL_PATH} {model}` again, then remove the folder {folder}; it holds links and the copy only.",
            f"改回 `{_MODEL_PATH} {model}`，再删除目录 {folder}；其中只有链接和副本。",
        ),
    )


def listed(lists: Sequence[RepairedList], lang: str) -> str:
    """What was changed, in words."""
    if lang == "zh":
        return "；".join(f"{one.name} 由 {one.had} 项改为 {one.needs} 项（{one.why.zh}）" for one in lists)
    return "; ".join(f"{one.name} gets {one.needs} entries instead of {one.had} ({one.why.en})" for one in lists)


def doubts_about(repair: Repair) -> list[Text]:
    """What is taken for right in a corrected copy."""
    doubts = []
    if any(one.had > one.needs for one in repair.lists):
        doubts.append(_TOO_LONG)
    if not repair.certain:
        doubts.append(_CONTINUED)
    return doubts


_FOLLOWS_NOT: Final = Text(
    "The links follow the model; the copy of config.json does not: after a new download it has to be made anew.",
    "链接会随模型更新，config.json 副本不会：重新下载模型后需要再生成一次。",
)
_TOO_LONG: Final = Text(
    "The number of layers is taken as right and the list as too long. If the weights have more layers than "
    "`num_hidden_layers` says, correct that number instead.",
    "这里认为层数正确、列表过长。如果权重的层数多于 `num_hidden_layers`，应改正的是这个数字。",
)
_CONTINUED: Final = Text(
    "The list is continued as it begins; compare it with the original model if it is published.",
    "列表按已有规律续写；如有公开的原始模型，请与其核对。",
)
