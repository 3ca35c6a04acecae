"""The service that a container was made from: its files, its Compose, and whether they still say the same."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.client import Client
from sgdoctor.errors import UserError
from sgdoctor.launch.compose.document import ComposeDocument, open_compose
from sgdoctor.launch.compose.project import Project
from sgdoctor.launch.compose.reading import named_files
from sgdoctor.launch.compose.values import Fields
from sgdoctor.launch.compose.values import Text as Scalar
from sgdoctor.launch.inspection import Inspection
from sgdoctor.launch.inspection.reading import DEFAULT_SHM, ComposeOrigin, compose_origin, mapping
from sgdoctor.launch.model import Launch
from sgdoctor.relaunch import texts as common
from sgdoctor.relaunch.compose import texts
from sgdoctor.relaunch.compose.program import Compose, ComposeProject, ProjectWords, find_compose, is_first
from sgdoctor.texts import Text

LABEL: Final = "com.docker.compose."

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_STDIN: Final = "-"
# Files whose content becomes part of a service, and so of its hash (compose-spec, 05-services.md).
_READ_BY_SERVICES: Final = ("env_file", "label_file")


@dataclass(frozen=True, slots=True)
class ComposeService:
    """A service, with all that is needed to make its container anew.

    Attributes:
        origin: what the labels of the container say.
        document: of the file that is to be edited.
        path: of that file itself, where the one that was named is a link.
        words: the project as it is given to Compose.
        compose: which one.
        project: its commands.
        hashes: of the configurations of all services, by their names.
        sources: all that the hashes were made from: what stood in each file then, None for one that was not there.
    """

    origin: ComposeOrigin
    document: ComposeDocument
    path: Path
    words: ProjectWords
    compose: Compose
    project: ComposeProject
    hashes: Mapping[str, str]
    sources: Mapping[Path, bytes | None] = field(repr=False)

    def is_current(self) -> bool:
        """Whether files and variables are what they were when Compose was asked, so that its answer is the same."""
        same = all(os.environ.get(name) == value for name, value in self.words.variables.items())
        return same and _contents(self.sources) == self.sources


def open_service(client: Client, inspection: Inspection) -> ComposeService:
    """The service of a container of Compose, if it can be relaunched.

    Args:
        client: of the engine.
        inspection: of the container.

    Raises:
        UserError: why it cannot.
    """
    origin = inspection.compose
    if origin is None:
        raise ValueError(inspection.name)
    if client.is_podman():
        raise refused(common.PODMAN)
    if mapping(mapping(inspection.data.get("Config")).get("Labels")).get(f"{LABEL}oneoff") == "True":
        raise refused(texts.ONE_OFF)
    words = _words(origin)
    document = open_compose(words.paths, origin.service, os.environ, _env_files(words))
    if document.path is None:
        raise ValueError(document.name)
    if others := _inside(document):
        raise refused(texts.shared(origin.service, others))
    if why := too_many(client, origin, document):
        raise refused(why)
    compose = find_compose(origin.version)
    if compose is None:
        first = is_first(origin.version)
        raise refused(texts.not_installed(origin.version, str(document.path), origin.service, first=first))
    words = replace(words, variables=_mentioned(document.project, words))
    project = ComposeProject(compose, words, client.connections.endpoint)
    # Read first: an edit that comes between the two makes the service look older than it is, never newer.
    sources = _contents(_source_files(document.project, words))
    hashes = project.hashes(tuple(document.project.services))
    return ComposeService(origin, document, document.path.resolve(), words, compose, project, hashes, sources)


def too_many(client: Client, origin: ComposeOrigin, document: ComposeDocument) -> Text | None:
    """That a service has several containers, or is to have them; None if it has one.

    Args:
        client: of the engine.
        origin: of one of its containers.
        document: of its file.

    Raises:
        UserError: the engine does not answer.
    """
    count = max(len(service_containers(client, origin)), _scale(document))
    return texts.replicas(count) if count > 1 else None


def drift(client: Client, inspection: Inspection, service: ComposeService) -> Text | None:
    """What Compose would change of a container without any edit; None for nothing.

    Args:
        client: of the engine.
        inspection: of the container.
        service: its service.

    Raises:
        UserError: the engine does not answer.
    """
    why: list[Text] = []
    if service.hashes.get(service.origin.service) != service.origin.config_hash:
        here = ".".join(map(str, service.compose.version))
        why.append(texts.other_hash(service.origin.version, here))
        if names := list(_differing(inspection, service.document.launch)):
            why.append(texts.differing(names))
        if names := _not_set(inspection, service.document.launch):
            why.append(texts.not_set(names))
    image = str(mapping(inspection.data.get("Config")).get("Image") or "")
    now = client.image_data(image)
    if now is None:
        why.append(texts.image_gone(image))
    elif now.get("Id") != inspection.data.get("Image"):
        why.append(texts.image_moved(image))
    return texts.drifted(why) if why else None


def service_containers(client: Client, origin: ComposeOrigin) -> list[dict[str, Any]]:
    """What the engine says of the containers of a service, running or not, the oldest first."""
    found = [client.container_data(entry.id) for entry in client.containers(origin.service)]
    there = [data for data in found if data is not None and _is_of(data, origin)]
    return sorted(there, key=lambda data: str(data.get("Created")))


def config_hash(data: Mapping[str, Any]) -> str:
    """Of the configuration that a container was made from."""
    origin = compose_origin(data)
    return origin.config_hash if origin is not None else ""


def refused(why: Text) -> UserError:
    """The error that says why."""
    return UserError(why.en, why.zh)


def _is_of(data: Mapping[str, Any], origin: ComposeOrigin) -> bool:
    labels = mapping(mapping(data.get("Config")).get("Labels"))
    return labels.get(f"{LABEL}project") == origin.project and labels.get(f"{LABEL}oneoff") != "True"


def _words(origin: ComposeOrigin) -> ProjectWords:
    """The project as the labels tell it.

    Raises:
        UserError: its files are not here.
    """
    if not origin.config_files or _STDIN in origin.config_files:
        raise refused(texts.no_files())
    folder = origin.working_dir or str(Path(origin.config_files[0]).parent)
    env_files = tuple(str(Path(folder, one)) for one in (origin.environment_file or "").split(",") if one)
    words = ProjectWords(origin.project, folder, origin.config_files, env_files)
    if missing := [str(one) for one in (*words.paths, *map(Path, env_files)) if not one.is_file()]:
        raise refused(texts.files_elsewhere(missing))
    return words


def _env_files(words: ProjectWords) -> list[Path]:
    """Those that Compose reads: by itself the one in the folder of the project."""
    default = Path(words.folder, ".env")
    return [Path(file) for file in words.env_files] or ([default] if default.is_file() else [])


def _source_files(project: Project, words: ProjectWords) -> Iterator[Path]:
    yield from words.paths
    yield from [Path(file) for file in words.env_files] or [Path(words.folder, ".env")]
    for service in project.services.values():
        # Those of services that are extended as well.
        yield from (part.file.path for part in service.written if part.file.path is not None)
        for key in _READ_BY_SERVICES:
            for path, _ in named_files(service, key):
                yield from (path.file.folder / path.text, Path(words.folder, path.text))


def _contents(files: Iterable[Path]) -> dict[Path, bytes | None]:
    found: dict[Path, bytes | None] = {}
    for path in files:
        try:
            found[path] = path.read_bytes()
        except OSError:
            found[path] = None
    return found


def _mentioned(project: Project, words: ProjectWords) -> dict[str, str | None]:
    """Variables of the shell that the files may use, set or not: the way back needs them as they are."""
    sources = {file.text for file in project.files}
    for service in project.services.values():
        sources |= {part.file.text for part in service.written}
    sources |= {file.read_text(errors="replace") for file in _env_files(words)}
    used = {name for text in sources for name in _REFERENCE.findall(text)}
    # A variable may also be passed on by its bare name.
    named = {name for text in sources for name in _NAME.findall(text) if name in os.environ}
    return {name: os.environ.get(name) for name in sorted(used | named - {"PATH"})}


def _inside(document: ComposeDocument) -> list[str]:
    """Other services that live in the network, the memory or the processes of this one's container."""
    place = f"service:{document.service}"
    services = document.project.services.values()
    return [one.name for one in services if place in map(one.text, ("network_mode", "ipc", "pid"))]


def _scale(document: ComposeDocument) -> int:
    service = document.project.services[document.service]
    deploy = service.last("deploy")
    replicas = deploy.fields.get("replicas") if isinstance(deploy, Fields) else None
    asked = [service.text("scale"), replicas.text if isinstance(replicas, Scalar) else None]
    return max([1, *(int(text) for text in asked if text is not None and text.isdecimal())])


def _not_set(inspection: Inspection, written: Launch) -> list[str]:
    """Variables that the files leave to the shell, that the container has, and that the shell does not have (now)."""
    there = inspection.launch.env
    return sorted(name for name, value in written.env.items() if value is None and there.get(name) is not None)


def _differing(inspection: Inspection, written: Launch) -> Iterator[str]:
    """Parts of a container that are not as the files say; not all that the hash is made of."""
    launch = inspection.launch
    if written.command and written.command != launch.command[-len(written.command) :]:
        yield "command"
    if written.image not in (None, launch.image):
        yield "image"
    unset = _not_set(inspection, written)
    for name in sorted({*written.env, *launch.env} - {*unset}):
        if written.env.get(name) != launch.env.get(name):
            yield name
    if (None if written.shm_bytes in DEFAULT_SHM else written.shm_bytes) != launch.shm_bytes:
        yield "shm_size"
    if written.ipc != launch.ipc:
        yield "ipc"
    if written.restart != launch.restart:
        yield "restart"
