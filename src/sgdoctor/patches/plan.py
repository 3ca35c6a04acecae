"""The ways to put right what a launch script would have been patched for, the best one first."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final

from sgdoctor.launch.change import Change
from sgdoctor.patches import sitecustomize, versions
from sgdoctor.patches.config_repair import Repair, repaired_config
from sgdoctor.patches.copies import ABOUT_NAME, CONFIG_NAME, about_copy, doubts_about, linked_copy, listed
from sgdoctor.patches.layer_lists import layer_lists
from sgdoctor.patches.layer_pattern import INTERVAL_OF_4
from sgdoctor.patches.model import Means, PatchFile, PatchKind, PatchPlan, PatchSite
from sgdoctor.texts import Text

STARTUP_FOLDER: Final = "/opt/sgdoctor/startup"
"""Where a generated sitecustomize.py stands in the container."""
STARTUP_PATH: Final = f"{STARTUP_FOLDER}/{sitecustomize.FILE_NAME}"
_STARTUP_NAME: Final = "startup"
"""Name of the folder that it stands in for a process."""


def patch_plans(kind: PatchKind, site: PatchSite) -> tuple[PatchPlan, ...]:
    """All ways for this site, the best one first: data, then other versions, then a patch at start-up.

    Raises:
        UserError: ``site.config`` is no config.json.
        ValueError: ``site.model_type`` is not the name of a model type.
    """
    return tuple(_layer_types(site) if kind is PatchKind.LAYER_TYPES else _model_type(site))


def combined(plans: Sequence[PatchPlan]) -> tuple[tuple[PatchFile, ...], tuple[Change, ...]]:
    """Files and changes of several plans for one site: their start-up files become one.

    Args:
        plans: one of each kind.
    """
    parts = _each_once(part for plan in plans for part in plan.parts)
    every = [file for plan in plans for file in plan.files]
    files = [file for file in every if not _runs_at_startup(file)]
    if parts:
        place = next(file.name for file in every if _runs_at_startup(file))
        files.append(_startup_file(parts, place))
    changes = dict.fromkeys(change for plan in plans for change in plan.changes)
    return tuple(files), tuple(changes)


def joined_pythonpath(present: str | None, folder: str = STARTUP_FOLDER) -> str:
    """PYTHONPATH with the start-up folder in front: of several sitecustomize.py Python runs the first one only."""
    others = [place for place in (present or "").split(":") if place and place != folder]
    return ":".join([folder, *others])


def _layer_types(site: PatchSite) -> Iterator[PatchPlan]:
    repair = repaired_config(site.config) if site.config is not None else None
    if site.config is not None and repair is None:
        return
    if repair is not None and repair.content is not None and site.config_path is not None:
        made = linked_copy if site.bare else _repaired_copy
        yield made(site, repair, repair.content, site.config_path)
    names = _types_to_fill(site, repair)
    if names and versions.CHECKS_EVERY_CONFIG.holds(_transformers(site)) is not False:
        yield _at_startup(PatchKind.LAYER_TYPES, site, sitecustomize.fill_layer_types(names), _FILLS)


def _types_to_fill(site: PatchSite, repair: Repair | None) -> list[str]:
    """Model types whose short lists are filled in at start-up, if the whole trouble can be cured there."""
    if repair is None or site.config is None:
        named = {site.model_type, f"{site.model_type}_text"} if site.model_type else set[str]()
        return sorted(named & INTERVAL_OF_4)
    if any(one.had > one.needs or not one.determined for one in repair.lists):
        return []
    wrong = {one.name for one in repair.lists}
    types: list[Any] = [one.config.get("model_type") for one in layer_lists(site.config.decode()) if one.name in wrong]
    known = all(isinstance(one, str) and one in INTERVAL_OF_4 for one in types)
    return sorted(set(types)) if known else []


def _repaired_copy(site: PatchSite, repair: Repair, content: bytes, path: str) -> PatchPlan:
    assert site.config is not None
    digest = sha256(content).hexdigest()
    files = (
        PatchFile(CONFIG_NAME, content),
        PatchFile(ABOUT_NAME, about_copy(site.config, repair, content, "mounted_over", path)),
    )
    mount = Change("file.mount", path, f"{site.folder}/{CONFIG_NAME}")
    return PatchPlan(
        kind=PatchKind.LAYER_TYPES,
        means=Means.DATA,
        files=files,
        changes=(mount,),
        safety="safe" if repair.certain else "unsafe",
        why=Text(
            f"A corrected copy of config.json is mounted over the model's own: {listed(repair.lists, 'en')}. Nothing "
            "else in it differs, the model folder and the engine stay as they are.",
            f"用修正后的 config.json 副本挂载覆盖模型自带的那份：{listed(repair.lists, 'zh')}。"
            "其余内容逐字节相同，模型目录和引擎都不改动。",
        ),
        effect=_effect_of_copy(repair, path),
        verify=Text(
            f"`sha256sum {path}` in the container prints {digest[:12]}..., and the log has no line "
            "`num_hidden_layers ... must be equal to the number of ...`.",
            f"在容器中执行 `sha256sum {path}` 应输出 {digest[:12]}...，日志中不再出现 "
            "`num_hidden_layers ... must be equal to the number of ...`。",
        ),
        undo=Text(
            f"Remove the mount of {path} from the launch, then the folder {site.folder}.",
            f"从启动配置中删除 {path} 的挂载，再删除目录 {site.folder}。",
        ),
    )


def _effect_of_copy(repair: Repair, path: str) -> Text:
    en = ["The copy does not follow later changes of the model: after a new download it has to be made anew."]
    zh = ["副本不会随模型更新：重新下载模型后需要再生成一次。"]
    if "/snapshots/" in path:
        en.append(
            "In the Hugging Face cache config.json is a link into `blobs`; the mount goes over the path of the "
            "snapshot and covers what it points to. A new revision gets another snapshot folder: keep this one with "
            "`--revision`."
        )
        zh.append(
            "在 Hugging Face 缓存里 config.json 是指向 `blobs` 的链接；挂载写在 snapshot 路径上，会覆盖它指向的文件。"
            "新的 revision 会换一个 snapshot 目录：请用 `--revision` 固定当前版本。"
        )
    doubts = doubts_about(repair)
    return Text(" ".join([*en, *(one.en for one in doubts)]), "".join([*zh, *(one.zh for one in doubts)]))


def _model_type(site: PatchSite) -> Iterator[PatchPlan]:
    name = site.model_type
    if name is None:
        return
    if name == "qwen3_asr" and versions.REGISTERS_QWEN3_ASR.holds(site.sglang) is not False:
        yield _upgrade()
    pin = versions.pinned_transformers(site.sglang)
    if pin is not None and versions.release(pin) < (versions.release(site.transformers) or (99,)):
        yield _pin(site, pin)
    part = sitecustomize.register_again(name)
    known = {"sglang": site.sglang, "transformers": site.transformers}
    if all(one.holds(known[one.package]) is not False for one in part.ranges):
        yield _at_startup(PatchKind.MODEL_TYPE, site, part, _REGISTERS)


def _upgrade() -> PatchPlan:
    image = versions.FIRST_IMAGE_WITH_EXIST_OK
    return PatchPlan(
        kind=PatchKind.MODEL_TYPE,
        means=Means.UPGRADE,
        files=(),
        changes=(Change("image.tag", "", image),),
        safety="manual",
        why=Text(
            "SGLang 0.5.20 and later register `qwen3_asr` with `exist_ok=True`, so any transformers goes with it.",
            "SGLang 0.5.20 及以后注册 `qwen3_asr` 时带 `exist_ok=True`，与任何版本的 transformers 都不冲突。",
        ),
        effect=Text(
            "Another version of the engine: flags that it renamed or dropped have to be changed as well.",
            "引擎版本变了：改名或删除的参数也要一并修改。",
        ),
        verify=Text(
            "The log has no line `'qwen3_asr' is already used by a Transformers config`.",
            "日志中不再出现 `'qwen3_asr' is already used by a Transformers config`。",
        ),
        undo=Text("Put the old image back.", "换回原来的镜像。"),
    )


def _pin(site: PatchSite, pin: str) -> PatchPlan:
    return PatchPlan(
        kind=PatchKind.MODEL_TYPE,
        means=Means.PIN,
        files=(),
        changes=(Change("package.pin", "transformers", pin),),
        safety="manual",
        why=Text(
            f"SGLang {site.sglang} is made for transformers {pin}, and its official image has it: somewhere a newer "
            "one was installed. Take that installation out (a Dockerfile, a start script), or pin it.",
            f"SGLang {site.sglang} 对应 transformers {pin}，官方镜像里就是这个版本：有人装了更新的版本。"
            "请去掉那一步安装（Dockerfile 或启动脚本），或固定版本。",
        ),
        effect=Text(
            "Models that need the newer transformers do not load with it.",
            "需要更新 transformers 的模型将无法加载。",
        ),
        verify=Text(
            f"`pip show transformers` in the container says {pin}.",
            f"在容器中执行 `pip show transformers` 应显示 {pin}。",
        ),
        undo=Text("Install the newer transformers again.", "重新安装较新的 transformers。"),
    )


def _at_startup(kind: PatchKind, site: PatchSite, part: sitecustomize.Part, does: Text) -> PatchPlan:
    place = startup_file(site)
    before = _parts_before(site)
    parts = _each_once([*before, part])
    return PatchPlan(
        kind=kind,
        means=Means.SITECUSTOMIZE,
        files=(_startup_file(parts, place),),
        changes=_in_process(site) if site.bare else _in_container(site),
        safety="unsafe",
        why=_startup_of_process(site, does) if site.bare else _startup_of_container(does),
        effect=_effect_at_startup(part, [one for one in before if one.label != part.label]),
        verify=Text(
            f"Each process of the engine prints `sgdoctor patch: {part.label} applied`; behind `not applied` stands "
            "the reason.",
            f"引擎的每个进程都会输出 `sgdoctor patch: {part.label} applied`；若为 `not applied`，后面写明原因。",
        ),
        undo=_undo_in_process(site) if site.bare else _undo_in_container(site),
        parts=parts,
    )


def startup_file(site: PatchSite) -> str:
    """Name of the start-up file, relative to the folder of the site."""
    return f"{_STARTUP_NAME}/{sitecustomize.FILE_NAME}" if site.bare else sitecustomize.FILE_NAME


def _parts_before(site: PatchSite) -> tuple[sitecustomize.Part, ...]:
    """What a start-up file of before does: a failure that it cured would come back without."""
    return _each_once(part for content in site.startup for part in sitecustomize.parts_of(content))


def _each_once(parts: Iterable[sitecustomize.Part]) -> tuple[sitecustomize.Part, ...]:
    return tuple({part.label: part for part in parts}.values())


def _in_container(site: PatchSite) -> tuple[Change, ...]:
    return (
        Change("file.mount", STARTUP_PATH, f"{site.folder}/{sitecustomize.FILE_NAME}"),
        Change("env.set", "PYTHONPATH", joined_pythonpath(site.pythonpath)),
    )


def _in_process(site: PatchSite) -> tuple[Change, ...]:
    folder = f"{site.folder}/{_STARTUP_NAME}"
    return (Change("env.set", "PYTHONPATH", joined_pythonpath(site.pythonpath, folder)),)


def _startup_of_container(does: Text) -> Text:
    return Text(
        f"{does.en} Python runs a `sitecustomize.py` on PYTHONPATH in every process, the spawned ones included, so "
        "the command stays the stock one.",
        f"{does.zh}Python 会在每个进程（包括 spawn 的子进程）中执行 PYTHONPATH 上的 `sitecustomize.py`，"
        "启动命令保持官方写法。",
    )


def _startup_of_process(site: PatchSite, does: Text) -> Text:
    folder = f"{site.folder}/{_STARTUP_NAME}"
    return Text(
        f"{does.en} Python runs the `sitecustomize.py` in {folder} in every process of this server, the spawned "
        "ones included; the installed packages and the environment of other programs stay as they are.",
        f"{does.zh}Python 会在此服务的每个进程（包括 spawn 的子进程）中执行 {folder} 里的 `sitecustomize.py`；"
        "已安装的包和其他程序的环境都不改动。",
    )


def _undo_in_container(site: PatchSite) -> Text:
    return Text(
        f"Remove the mount of {STARTUP_PATH} and {STARTUP_FOLDER} from PYTHONPATH, then the folder {site.folder}.",
        f"删除 {STARTUP_PATH} 的挂载和 PYTHONPATH 中的 {STARTUP_FOLDER}，再删除目录 {site.folder}。",
    )


def _undo_in_process(site: PatchSite) -> Text:
    folder = f"{site.folder}/{_STARTUP_NAME}"
    return Text(
        f"Take {folder} out of PYTHONPATH, then remove that folder.",
        f"从 PYTHONPATH 中去掉 {folder}，再删除该目录。",
    )


def _effect_at_startup(part: sitecustomize.Part, before: Sequence[sitecustomize.Part]) -> Text:
    needs = "; ".join(map(str, part.ranges))
    en = (
        f"Code inside the engine's processes. It is for {needs} only; elsewhere it does nothing and says so in the log."
    )
    zh = f"会在引擎进程中运行代码。仅适用于 {needs}；版本不符时不做任何事，并在日志中说明。"
    if before:
        labels = ", ".join(one.label for one in before)
        en += f" What the file did before stays in it: {labels}."
        zh += f"文件原有的补丁会保留：{labels}。"
    return Text(en, zh)


def _startup_file(parts: Sequence[sitecustomize.Part], name: str) -> PatchFile:
    return PatchFile(name, sitecustomize.generated(parts).encode())


def _runs_at_startup(file: PatchFile) -> bool:
    return file.name.rpartition("/")[2] == sitecustomize.FILE_NAME


_FILLS: Final = Text(
    "A generated start-up file completes the list of layers while the config is read.",
    "由生成的启动文件在读取配置时补全层列表。",
)
_REGISTERS: Final = Text(
    "A generated start-up file lets the engine register this one model type a second time.",
    "由生成的启动文件允许引擎再次注册这一个模型类型。",
)


def _transformers(site: PatchSite) -> str | None:
    return site.transformers or versions.pinned_transformers(site.sglang)
