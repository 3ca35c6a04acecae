"""Whether the model is where the launch says."""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.elsewhere import model_unseen
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.model_folder import reason
from sgdoctor.preflight.models.locate import Located, Place, locate, models_below
from sgdoctor.texts import Text

_FLAG: Final = "--model-path"
_NOT_IN_CONTAINER: Final = "SGL307"
_NO_CONFIG: Final = "SGL214"
_GGUF: Final = "SGL333"
_ENGINE_IMAGES: Final = ("lmsysorg/sglang", "docker.io/lmsysorg/sglang")
"""Images that hold no model."""
_CONFIGS: Final = ("config.json", "params.json")


class ModelPath:
    """Follows the path of the model through the mounts of the container to this machine."""

    id: ClassVar[str] = "model-path"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Place of the model", "模型位置")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Where it is; why it would not be found; a path that was probably meant."""
        launch = situation.launch
        if launch is None or not launch.argv:
            return
        if situation.host.remote:
            yield Finding(Status.SKIPPED, Text("the model lies on another machine", "模型在另一台机器上"), remote=True)
            return
        asked = asked_by(launch, situation.flags)
        located = locate(launch, asked, situation.beside, _image_env(situation))
        if located.place is not Place.UNNAMED:
            yield _finding(situation, launch, located, asked)


def _finding(situation: Situation, launch: Launch, located: Located, asked: Asked) -> Finding:
    where = asked.where(_FLAG)
    seen = situation.model
    if seen is not None and seen.here != located.here:
        return Finding(
            Status.PASS, Text(f"{seen.here} is looked at in its place", f"改为检查 {seen.here}"), located.asked, where
        )
    match located.place:
        case Place.HERE if located.here is not None:
            return _content(located, located.here, where)
        case Place.CACHED:
            title = Text(f"{located.asked} is in the cache of this machine", f"{located.asked} 已在本机缓存中")
            return Finding(Status.PASS, title, str(located.here), where)
        case Place.HUB:
            return _on_hub(launch, located, where)
        case Place.VOLUME | Place.VARIABLE:
            return Finding(Status.SKIPPED, reason(located), where=where)
        case _ if (why := model_unseen(situation.host, launch, located)) is not None:
            return Finding(Status.SKIPPED, why, where=where)
        case _:
            return _lost(situation, launch, located, where)


def _content(located: Located, here: Path, where: Text | None) -> Finding:
    """What is found at the path itself: a model, or a folder around one."""
    inside = located.inside or located.asked
    if here.is_file():
        if here.suffix == ".gguf":
            return Finding(Status.PASS, Text(f"{inside} is a file", f"{inside} 是一个文件"), str(here), where)
        return Finding(
            Status.FAIL,
            Text(f"{inside} is a file, not the folder of a model", f"{inside} 是文件，不是模型目录"),
            str(here),
            where,
            _NOT_IN_CONTAINER,
            (Change("flag.set", _FLAG, str(PurePosixPath(inside).parent)),),
            phase="config",
        )
    if any((here / name).exists() for name in _CONFIGS):
        return Finding(Status.PASS, Text(f"{inside} is here", f"{inside} 存在"), str(here), where)
    if files := sorted(here.glob("*.gguf")):
        path = str(PurePosixPath(inside) / files[0].name)
        return Finding(
            Status.FAIL,
            Text(
                "a GGUF model is named by its file, not by its folder",
                "GGUF 模型要写文件路径，而不是目录",
            ),
            str(files[0]),
            where,
            _GGUF,
            (Change("flag.set", _FLAG, path),) if len(files) == 1 or "-00001-of-" in files[0].name else (),
            phase="config",
        )
    return _around(located, here, where)


def _around(located: Located, here: Path, where: Text | None) -> Finding:
    inside = located.inside or located.asked
    below = [
        str(PurePosixPath(inside) / one.relative_to(here)) for one, _ in zip(models_below(here), range(4), strict=False)
    ]
    if below:
        return Finding(
            Status.FAIL,
            Text(
                f"{inside} holds no model itself; one lies below it", f"{inside} 本身不是模型目录，模型在其下级目录中"
            ),
            ", ".join(below[:3]),
            where,
            _NO_CONFIG,
            (Change("flag.set", _FLAG, below[0]),) if len(below) == 1 else (),
            phase="config",
        )
    empty = not any(here.iterdir()) if _readable(here) else False
    title = (
        Text(f"{inside} is an empty folder", f"{inside} 是空目录")
        if empty
        else Text(f"{inside} has no config.json", f"{inside} 中没有 config.json")
    )
    detail = Text(
        "Docker makes an empty folder where the source of a mount does not exist: compare the path on the host.",
        "挂载源路径不存在时，Docker 会自动创建一个空目录：请核对主机上的路径。",
    )
    return Finding(Status.FAIL, title, str(here), where, _NO_CONFIG, detail=detail if empty else None, phase="config")


def _on_hub(launch: Launch, located: Located, where: Text | None) -> Finding:
    if launch.image is None:
        evidence = Text(f"it will be downloaded to {located.cache}", f"将下载到 {located.cache}")
    elif located.mount is not None:
        source, target = located.mount.source, located.mount.target
        evidence = Text(
            f"it will be downloaded to {source or 'a volume'}, which is mounted at {target}",
            f"将下载到 {source or '卷'}（挂载在 {target}）",
        )
    else:
        evidence = Text(
            f"it will be downloaded to {located.cache} in the container", f"将下载到容器内的 {located.cache}"
        )
    return Finding(Status.SKIPPED, reason(located), located.asked, where, detail=evidence)


def _lost(situation: Situation, launch: Launch, located: Located, where: Text | None) -> Finding:
    """A path that leads to nothing."""
    path = located.asked
    own = situation.beside / Path(path).expanduser()
    if located.place is Place.UNMOUNTED and not located.meant and launch.image is not None and own.exists():
        inside = path if path.startswith("/") else f"/models/{own.name}"
        changes: tuple[Change, ...] = (Change("docker.volume", "", f"{own.resolve()}:{inside}:ro"),)
        if inside != path:
            changes = (*changes, Change("flag.set", _FLAG, inside))
        return Finding(
            Status.FAIL,
            Text(f"{path} is a folder of the host that is not mounted", f"{path} 是主机上的目录，没有挂载到容器"),
            str(own),
            where,
            _NOT_IN_CONTAINER,
            changes,
            phase="config",
        )
    in_image = located.place is Place.UNMOUNTED and not (launch.image or "").startswith(_ENGINE_IMAGES)
    if in_image and not located.meant:
        title = Text(f"no mount provides {path}: only the image could hold it", f"没有挂载提供 {path}：只可能在镜像内")
        return Finding(Status.WARN, title, where=where, prevents=_NOT_IN_CONTAINER)
    changes = (Change("flag.set", _FLAG, located.meant[0]),) if len(located.meant) == 1 else ()
    detail = None
    if located.meant:
        names = ", ".join(located.meant)
        detail = Text(f"Probably meant: {names}", f"可能是指：{names}")
    return Finding(
        Status.FAIL, reason(located), str(located.here or ""), where, _NOT_IN_CONTAINER, changes, detail, "config"
    )


def _image_env(situation: Situation) -> dict[str, Any]:
    config = (situation.image.config if situation.image is not None else None) or {}
    entries = (config.get("Config") or {}).get("Env") or ()
    return dict(str(entry).partition("=")[::2] for entry in entries)


def _readable(folder: Path) -> bool:
    try:
        next(folder.iterdir(), None)
    except OSError:
        return False
    return True
