"""Which container a name means, and which ones run SGLang."""

import re
from typing import Final

from sgdoctor.containers.client import Client, Listed, Look
from sgdoctor.containers.records import Container
from sgdoctor.errors import UserError
from sgdoctor.texts import listed

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$")
_SGLANG: Final = re.compile(r"\bsglang\b|\bsgl[-_]|launch_server|sglang\.", re.IGNORECASE)
_MODEL: Final = re.compile(r"--model(?:-path)?[= ](\S+)")
_FILES: Final = (".log", ".txt", ".out", ".gz", ".zst", ".json")
_SHOWN: Final = 5


def may_be_container(name: str) -> bool:
    """Whether somebody who gives this name may mean a container: no path, and not the usual name of a log file."""
    return _NAME.match(name) is not None and not name.endswith(_FILES)


def look_for(client: Client, target: str, known: Container | None) -> Look | None:
    """The container that ``target`` means at this moment.

    Args:
        client: of the engine.
        target: name, id, or service of compose.
        known: the one that it meant before: found even if it was renamed, and by its name once its id is gone.

    Returns:
        Its state; None if there is none. Raises as ``Client.inspect`` does.
    """
    # The engine would list all that there are, or take it for a path of another kind of thing.
    if target in ("", ".", "..") or "/" in target:
        return None
    found = client.inspect(target)
    if found is None and known is not None:
        found = client.inspect(known.id) or client.inspect(known.name)
    if found is None and (members := client.containers(target)):
        found = client.inspect(members[0].id)
    return found


def find(client: Client, target: str) -> Look:
    """As ``look_for``, for a container that has to exist.

    Raises:
        UserError: it does not, and the message names those that run SGLang; or it is a service of several projects.
    """
    found = look_for(client, target, None)
    if found is not None:
        check_one(client, target, found)
        return found
    there = candidates(client) or client.containers()
    names = ", ".join(entry.name for entry in there[:_SHOWN])
    if names:
        raise UserError(
            f"{target}: there is neither a file nor a container of this name. Containers: {names}",
            f"{target}：既没有这个文件，也没有这个名称的容器。现有容器：{names}",
        )
    raise UserError(
        f"{target}: there is no such file, and the engine at {client.connections.endpoint.url} has no containers.",
        f"{target}：没有这个文件，且 {client.connections.endpoint.url} 的引擎中没有任何容器。",
    )


def check_one(client: Client, target: str, found: Look) -> None:
    """Whether it is certain which container was meant: projects of compose often call their services alike.

    Args:
        client: of the engine.
        target: name, id or service.
        found: what ``look_for`` took it for.

    Raises:
        UserError: it is a service of several projects.
    """
    if target.lstrip("/") == found.container.name or found.container.id.startswith(target):
        return
    members = client.containers(target)
    if len({entry.project for entry in members}) > 1:
        names = listed(entry.name for entry in members[:_SHOWN])
        raise UserError(
            f"{target}: several Compose projects have a service of this name; say which container: {names.en}",
            f"{target}：有多个 Compose 项目包含同名服务；请指明容器：{names.zh}",
        )


def candidates(client: Client) -> list[Listed]:
    """Containers that run SGLang by their image or command, running ones first, the newest first."""
    return [entry for entry in client.containers() if runs_sglang(entry)]


def runs_sglang(entry: Listed) -> bool:
    """Whether image or command say so; a name may say anything."""
    return _SGLANG.search(f"{entry.image} {entry.command}") is not None


def model_of(entry: Listed) -> str:
    """The model that the command of a container names, without its folders; empty if it names none."""
    found = _MODEL.search(entry.command)
    return found[1].rstrip("/").rpartition("/")[2] if found else ""
