"""Containers that are bound to another one by its id: they stay with the old one when a new one takes its name."""

from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.texts import Text

_SLASHES_OF_A_LINK: Final = 2


def dependents(client: Client, container: str) -> tuple[Text, ...]:
    """What other containers lose when another one takes the place of this one; one line for each kind.

    Args:
        client: of the engine.
        container: id.

    Raises:
        UserError: the engine does not answer.
    """
    inside: list[str] = []
    linked: set[str] = set()
    for entry in client.containers_data():
        names = [str(name) for name in entry.get("Names") or ()]
        if entry.get("Id") == container:
            # The link of another container stands among the names, as "/other/alias".
            linked = {name.split("/")[1] for name in names if name.count("/") == _SLASHES_OF_A_LINK}
        elif mapping(entry.get("HostConfig")).get("NetworkMode") == f"container:{container}":
            inside += [name.lstrip("/") for name in names if name.count("/") < _SLASHES_OF_A_LINK]
    told = []
    if inside:
        told.append(_inside(", ".join(sorted(inside))))
    if linked:
        told.append(_linked(", ".join(sorted(linked))))
    return tuple(told)


def _inside(names: str) -> Text:
    return Text(
        f"The network of the old one, in which {names} lives: make that anew afterwards.",
        f"旧容器的网络：{names} 在其中运行，之后需要重新创建。",
    )


def _linked(names: str) -> Text:
    return Text(
        f"The link (--link) of {names}, which stays with the old one: make that anew afterwards.",
        f"{names} 的链接（--link）：仍指向旧容器，之后需要重新创建。",
    )
