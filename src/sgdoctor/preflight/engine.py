"""What the container engine says of its host, its containers and an image."""

import json
import os
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint, find_endpoint
from sgdoctor.containers.image_files import open_image
from sgdoctor.containers.transport import CancelledError, UnreachableError
from sgdoctor.engines.sglang.flags.documents import document, from_document
from sgdoctor.engines.sglang.flags.extract import extract
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.patterns import lazy_pattern
from sgdoctor.preflight.model import DockerState, ImageFacts
from sgdoctor.texts import Text

_LOOPBACK: Final = ("localhost", "127.", "[::1]", "::1")
_DESKTOP: Final = "Docker Desktop"
_PACKAGES: Final = ("torch", "transformers")
_IMAGE_TAG: Final = lazy_pattern(r"(?:^|/)sglang[^:]*:v?(?P<version>\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)")
_CUDA_TAG: Final = lazy_pattern(r"[-_]cu(\d{2})(\d)(?:\d)?(?![\d.])")
_CUDA: Final = lazy_pattern(r"(\d{1,2}\.\d{1,2})")
_CUDA_VARIABLES: Final = ("CUDA_VERSION", "NV_CUDA_CUDART_VERSION")
_DRIVER: Final = lazy_pattern(r"driver>=(\d+)")


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What a container engine says.

    Attributes:
        endpoint: its address; empty if none could be found.
        remote: whether it runs on another machine.
        info: of its machine; None if it does not answer.
        reason: why it does not.
        containers: all of them.
        state: whether it can be asked.
    """

    endpoint: str = ""
    remote: bool = False
    info: dict[str, Any] | None = None
    reason: Text | None = None
    containers: tuple[dict[str, Any], ...] = ()
    state: DockerState = DockerState.SILENT


@dataclass(frozen=True, slots=True)
class ImageRead:
    """An image, and the flags of the engine in it where no shipped table has them."""

    facts: ImageFacts
    flags: Schema | None = field(default=None, repr=False)


def endpoint_or_reason() -> tuple[Endpoint | None, Text | None]:
    """The engine that is to be asked, or why there is none."""
    try:
        return find_endpoint(), None
    except UserError as error:
        return None, error.message


def engine_facts(client: Client) -> EngineFacts:
    """What an engine says of its host; never raises."""
    endpoint = client.connections.endpoint
    try:
        info = client.info()
        containers = client.containers_data()
    except UserError as error:
        return EngineFacts(
            endpoint.url, _elsewhere(endpoint, {}), reason=error.message, state=_state_of(endpoint, error)
        )
    except CancelledError:
        return EngineFacts(endpoint.url, _elsewhere(endpoint, {}), reason=late(endpoint.url))
    return EngineFacts(
        endpoint.url,
        _elsewhere(endpoint, info),
        info,
        containers=tuple(containers),
        state=DockerState.ANSWERS,
    )


def _state_of(endpoint: Endpoint, error: UserError) -> DockerState:
    """Why an engine gave no answer. A machine with the docker command is meant to have one."""
    if isinstance(error, UnreachableError) and error.nobody_there and shutil.which("docker") is None:
        return DockerState.ABSENT
    socket_file = Path(endpoint.address)
    if endpoint.scheme == "unix" and socket_file.exists() and not os.access(socket_file, os.R_OK | os.W_OK):
        return DockerState.DENIED
    return DockerState.SILENT


def late(address: str) -> Text:
    """That an engine did not answer in time."""
    return Text(f"{address} did not answer in time", f"{address} 未及时响应")


def may_be_elsewhere(endpoint: Endpoint) -> bool:
    """Whether an engine may run on another machine, by its address alone."""
    return endpoint.scheme != "unix"


def _elsewhere(endpoint: Endpoint, info: Mapping[str, Any]) -> bool:
    """Whether an engine runs on another machine than this program."""
    if endpoint.scheme == "unix":
        # The engine of Docker Desktop lives in a virtual machine with memory and disks of its own.
        return str(info.get("OperatingSystem", "")).startswith(_DESKTOP)
    host = endpoint.address.rpartition("@")[2]
    # An address of this machine may be one end of a tunnel.
    return not info.get("Name") or info["Name"] != socket.gethostname() or not host.startswith(_LOOPBACK)


def image_of(client: Client | None, name: str, *, read: bool = True, cache: Path | None = None) -> ImageRead:
    """An image as the engine has it; never raises.

    Args:
        client: of the engine; None where nobody can be asked.
        name: as the launch names it.
        read: whether files may be read out of it, by a container that is made and never started.
        cache: folder that remembers what was read; the usual one if None.
    """
    facts = _by_name(name)
    if client is None:
        return ImageRead(facts)
    try:
        data = client.image_data(name)
    except (UserError, CancelledError) as error:
        reason = error.message if isinstance(error, UserError) else late(client.connections.endpoint.url)
        return ImageRead(replace(facts, reason=reason))
    if data is None:
        return ImageRead(replace(facts, present=False))
    facts = _by_inspection(facts, data)
    return _read_files(client, facts, str(data.get("Id") or ""), cache) if read else ImageRead(facts)


def _by_name(name: str) -> ImageFacts:
    version, cuda = _IMAGE_TAG.search(name), _CUDA_TAG.search(name)
    return ImageFacts(
        name, sglang=version["version"] if version else None, cuda=f"{cuda[1]}.{cuda[2]}" if cuda else None
    )


def _by_inspection(facts: ImageFacts, data: dict[str, Any]) -> ImageFacts:
    config = data.get("Config") or {}
    variables = dict(str(entry).partition("=")[::2] for entry in config.get("Env") or ())
    cuda = next((found[1] for name in _CUDA_VARIABLES if (found := _CUDA.match(variables.get(name, "")))), None)
    drivers = [int(number) for number in _DRIVER.findall(variables.get("NVIDIA_REQUIRE_CUDA", ""))]
    return replace(
        facts,
        present=True,
        config=data,
        cuda=cuda or facts.cuda,
        required_driver=str(min(drivers)) if drivers else None,
    )


def _read_files(client: Client, facts: ImageFacts, image_id: str, cache: Path | None) -> ImageRead:
    file = _cache_file(image_id, cache)
    known = _remembered(file)
    if known is not None:
        return _with(facts, known)
    try:
        with open_image(client, facts.name) as sources:
            version = sources.version()
            flags = None
            if version is not None and not schema(version).exact:
                flags = document(version, extract(sources).options)
            packages = {name: found for name in _PACKAGES if (found := sources.package_version(name))}
    except CancelledError:
        return ImageRead(replace(facts, reason=Text("reading it took too long", "读取镜像耗时过长")))
    except UserError as error:
        return ImageRead(replace(facts, reason=error.message))
    read = {"sglang": version, "packages": packages, "flags": flags}
    _remember(file, read)
    return _with(facts, read)


def _with(facts: ImageFacts, read: Mapping[str, Any]) -> ImageRead:
    flags = None
    with suppress(ValueError):
        if read.get("flags"):
            version, options = from_document(read["flags"])
            flags = Schema(version, exact=True, options=options)
    return ImageRead(
        replace(facts, sglang=read.get("sglang") or facts.sglang, packages=dict(read.get("packages") or {})), flags
    )


def _cache_file(image_id: str, folder: Path | None) -> Path | None:
    digest = image_id.removeprefix("sha256:")
    if not digest.isalnum():
        return None
    if folder is None:
        import platformdirs  # noqa: PLC0415 - only where it is needed

        folder = platformdirs.user_cache_path("sgdoctor", appauthor=False) / "images"
    return folder / f"{digest}.json"


def _remembered(file: Path | None) -> dict[str, Any] | None:
    with suppress(OSError, ValueError, AttributeError):
        data = json.loads(file.read_bytes()) if file is not None else None
        return data if isinstance(data, dict) else None
    return None


def _remember(file: Path | None, read: Mapping[str, Any]) -> None:
    if file is None:
        return
    # What cannot be kept is read again the next time.
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{os.getpid()}.new")
        beside.write_text(json.dumps(read), encoding="utf-8")
        beside.replace(file)
