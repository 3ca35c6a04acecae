"""The image of a container whose name was moved to another one: a change of flags is no upgrade, so it is kept."""

from collections.abc import Sequence
from typing import Any, Final

from sgdoctor.containers.client import Client
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.texts import Text

_BY_ID: Final = "sha256:"
_SHORT_ID: Final = len(_BY_ID) + 12


def kept_image(client: Client, document: Inspection, changes: Sequence[Change]) -> Text | None:
    """What is to be known of the image where its name does not lead to it any more; None where it does.

    Args:
        client: of the engine.
        document: the container.
        changes: that are planned; an image among them is the one to be taken.

    Raises:
        UserError: the engine does not answer.
    """
    name = str(mapping(document.data.get("Config")).get("Image") or "")
    old = str(document.data.get("Image") or "")
    # Compose goes by the name, and is refused where that has moved.
    chosen = any(change.kind == "image.tag" for change in changes)
    if not name or not old or chosen or document.compose is not None or name.startswith(_BY_ID):
        return None
    now: dict[str, Any] | None = client.image_data(name)
    if now is None:
        return Text(
            f"{name} is no image any more. The one of this container, {_short(old)}, is kept, by its id.",
            f"{name} 已不再指向任何镜像；该容器所用的镜像 {_short(old)} 按 ID 保留。",
        )
    new = str(now.get("Id") or "")
    if new == old:
        return None
    take = f"sgdoctor relaunch {document.name} --image {name}"
    return Text(
        f"{name} names another image by now, {_short(new)}. The one of this container, {_short(old)}, is kept, by its "
        f"id; to take the new one: {take}",
        f"{name} 现在指向另一个镜像 {_short(new)}；该容器所用的镜像 {_short(old)} 按 ID 保留。要改用新镜像：{take}",
    )


def _short(identifier: str) -> str:
    return identifier[:_SHORT_ID]
