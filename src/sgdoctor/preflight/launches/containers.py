"""Containers that are there already, as the API of the engine lists them (``GET /containers/json?all=1``)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sgdoctor.launch.compose.document import ComposeDocument
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.model import Port
from sgdoctor.preflight.model import Situation

_LABEL: Final = "com.docker.compose."
_ANY: Final = ("", "0.0.0.0", "::")  # noqa: S104 - compared


def names_of(entry: Mapping[str, Any]) -> list[str]:
    """Its names without the leading stroke; those of links are left out."""
    return [name for one in entry.get("Names") or () if "/" not in (name := str(one).lstrip("/"))]


def is_this(situation: Situation, entry: Mapping[str, Any]) -> bool:
    """Whether a container is the one of this launch, which makes way for a new one."""
    document = situation.document
    if isinstance(document, Inspection):
        return document.name in names_of(entry)
    if not isinstance(document, ComposeDocument):
        return False
    labels = entry.get("Labels") or {}
    if labels.get(f"{_LABEL}service") != document.service:
        return False
    files = str(labels.get(f"{_LABEL}project.config_files") or "")
    path = document.path
    # A copy of the file elsewhere is another project.
    return path is None or not files or str(path.resolve()) in files.split(",")


def holders_of(situation: Situation, port: Port) -> Iterator[str]:
    """Names of running containers of others that publish the same port of the host."""
    for entry in situation.host.containers:
        if is_this(situation, entry):
            continue
        for taken in entry.get("Ports") or ():
            same = taken.get("PublicPort") == port.host and (taken.get("Type") or "tcp") == port.protocol
            if same and overlap(str(taken.get("IP") or ""), port.host_ip):
                yield next(iter(names_of(entry)), str(entry.get("Id"))[:12])
                break


def overlap(one: str, other: str) -> bool:
    """Whether two addresses of the host have one in common."""
    return one == other or one in _ANY or other in _ANY
