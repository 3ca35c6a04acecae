"""The model of a launch, read where it lies on this machine."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sgdoctor.launch.host_paths import source_of
from sgdoctor.launch.model import FlagTable, Launch
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import model_unseen
from sgdoctor.preflight.model import HostFacts
from sgdoctor.preflight.models.folder import ModelFolder, read_folder
from sgdoctor.preflight.models.locate import Located, Place, locate
from sgdoctor.texts import Text

_READABLE = (Place.HERE, Place.CACHED)


def model_of(
    launch: Launch,
    flags: FlagTable | None,
    beside: Path,
    image_env: Mapping[str, Any] | None = None,
    *,
    host: HostFacts | None = None,
) -> tuple[ModelFolder | None, Text | None]:
    """The model that a launch names, or why it cannot be looked at.

    Args:
        launch: which.
        flags: of the engine's version; None if that is unknown.
        beside: folder of this machine that relative paths of the launch start from.
        image_env: variables that the image sets.
        host: the machine that the paths of the launch belong to; None for this one.
    """
    if host is not None and host.remote:
        return None, Text("the model lies on another machine", "模型在另一台机器上")
    located = locate(launch, asked_by(launch, flags), beside, image_env)
    if located.place in _READABLE and located.here is not None and located.inside is not None:
        covered = covered_files(launch, located.inside, beside)
        return read_folder(located.inside, located.here, located.root, covered), None
    why = model_unseen(host, launch, located) if host is not None else None
    return None, why or reason(located)


def covered_files(launch: Launch, folder: str, beside: Path) -> dict[str, Path]:
    """Files that are mounted over files of a folder of the container, by their names there."""
    binds = [mount for mount in launch.mounts if mount.kind == "bind" and mount.source]
    targets = [(PurePosixPath(mount.target), source_of(mount, beside)) for mount in binds]
    return {target.name: source for target, source in targets if str(target.parent) == folder.rstrip("/")}


def reason(located: Located) -> Text:
    """Why there is no folder to look at."""
    path = located.asked
    match located.place:
        case Place.UNNAMED:
            return Text("the launch names no model", "启动命令没有指定模型")
        case Place.VARIABLE:
            return Text(f"what {path} stands for is not known here", f"这里不知道 {path} 的值")
        case Place.HUB:
            return Text(f"{path} is not on this machine yet", f"{path} 尚未下载到本机")
        case Place.VOLUME:
            return Text(f"{path} lies in a volume of Docker", f"{path} 位于 Docker 卷中")
        case Place.UNMOUNTED:
            return Text(f"no mount provides {path}", f"没有任何挂载提供 {path}")
        case _:
            return Text(f"{path} is not there", f"{path} 不存在")
