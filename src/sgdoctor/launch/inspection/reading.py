"""What `docker inspect` says of a container, as a launch."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sgdoctor.errors import UserError
from sgdoctor.launch.docker_values import CDI_PREFIX, is_anonymous, read_volume
from sgdoctor.launch.model import Gpus, Mount, Port

# 64 MiB of Docker (daemon/config DefaultShmSize) and 64000 KiB of podman (containers/common DefaultShmSize).
DEFAULT_SHM: Final = (0, 67_108_864, 65_536_000)
"""Bytes that engines give where nobody asks for more."""
_DEFAULT_NETWORKS: Final = ("", "default", "bridge")
# podman sets these itself (libpod/container_internal_common.go).
_ENV_OF_PODMAN: Final = ("container", "HOSTNAME", "HOME", "TERM")
_LABEL: Final = "com.docker.compose."


@dataclass(frozen=True, slots=True)
class ComposeOrigin:
    """What Compose wrote on a container that it made.

    Attributes:
        project: name of the project.
        service: name of the service.
        config_files: absolute paths, in the order in which they were merged; on the host where Compose ran.
        working_dir: folder of the project there.
        version: of Compose, such as ``5.6.1``.
        environment_file: of ``--env-file``; None if there was none.
        config_hash: of the service's resolved configuration.
        number: of the container among those of the service, from 1.
    """

    project: str
    service: str
    config_files: tuple[str, ...]
    working_dir: str
    version: str
    environment_file: str | None = None
    config_hash: str = ""
    number: int = 1


def container_of(text: str) -> dict[str, Any]:
    """The one container that an output of ``docker inspect`` or ``podman inspect`` describes.

    Raises:
        UserError: it is no such output, or one of several containers.
    """
    found = _inspected(text)
    # An image has no HostConfig.
    if not all(isinstance(found.get(part), dict) for part in ("Config", "HostConfig")):
        raise UserError(
            "no inspection of a container: it has no Config and HostConfig",
            "不是容器的 inspect 输出：缺少 Config 和 HostConfig",
        )
    return found


def image_of(text: str) -> dict[str, Any]:
    """The one image that an output of ``docker image inspect`` describes.

    Raises:
        UserError: it is no such output, or one of several images.
    """
    found = _inspected(text)
    if not isinstance(found.get("Config"), dict) or "HostConfig" in found:
        raise UserError("no inspection of an image", "不是镜像的 inspect 输出")
    return found


def _inspected(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"no output of docker inspect: {error}", f"不是 docker inspect 的输出：{error}") from None
    found = data if isinstance(data, list) else [data]
    if len(found) != 1:
        raise UserError(
            f"this inspection describes {len(found)} objects; give one: docker inspect NAME",
            f"该 inspect 输出包含 {len(found)} 个对象；请只给一个：docker inspect 名称",
        )
    return mapping(found[0])


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one: engines write null for both."""
    return value if isinstance(value, dict) else {}


def words(value: Any) -> list[str]:
    """A list of words; podman before 5.0 writes the entrypoint as one text."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            return value.split()
    return [str(word) for word in value] if isinstance(value, list) else []


def is_podman(data: Mapping[str, Any]) -> bool:
    """Whether podman made this, through its own command or as Docker's API."""
    # Always so there (libpod/define InspectContainerHostConfig.Runtime), never in Docker.
    return mapping(data.get("HostConfig")).get("Runtime") == "oci"


def image_name(data: Mapping[str, Any]) -> str:
    """The image as it was asked for."""
    return str(mapping(data.get("Config")).get("Image") or data.get("Image") or "")


def image_defaults(image: Mapping[str, Any] | None) -> dict[str, Any]:
    """``Config`` of an image's inspection; empty where it is not known."""
    return mapping((image or {}).get("Config"))


def env_entries(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """``NAME=value`` as set for this container, less what its image sets to the same value."""
    inherited = set(words(defaults.get("Env")))
    own = [entry for entry in words(mapping(data.get("Config")).get("Env")) if entry not in inherited]
    return [entry for entry in own if entry.partition("=")[0] not in _ENV_OF_PODMAN] if is_podman(data) else own


def variables(entries: Iterable[str]) -> dict[str, str]:
    """``NAME=value`` entries by name; the last one of a name counts."""
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


def gpu_requests(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The device requests that ask for GPUs."""
    requests = mapping(data.get("HostConfig")).get("DeviceRequests")
    return [
        request
        for request in (requests if isinstance(requests, list) else [])
        if isinstance(request, dict) and (request.get("Driver") in ("nvidia", "cdi") or _asks_for_gpu(request))
    ]


def _asks_for_gpu(request: Mapping[str, Any]) -> bool:
    # A list of alternatives, each a list of what is needed together.
    return any("gpu" in alternative for alternative in request.get("Capabilities") or () if alternative)


def gpus(data: Mapping[str, Any]) -> Gpus:
    """From the device requests; without one, from the runtime and the variable that it reads (image's value, too)."""
    host = mapping(data.get("HostConfig"))
    name = str(host.get("Runtime") or "")
    runtime = name if "nvidia" in name else None
    requests = gpu_requests(data)
    if not requests:
        cdi = _cdi_devices(data)
        if cdi:
            return _from_ids(cdi, runtime, "cdi")
        seen = variables(words(mapping(data.get("Config")).get("Env"))).get("NVIDIA_VISIBLE_DEVICES", "")
        return replace(_from_ids(_split(seen), runtime, ""), from_env=True) if runtime else Gpus()
    driver = str(requests[0].get("Driver") or "")
    ids = [one for request in requests for entry in words(request.get("DeviceIDs")) for one in _split(entry)]
    if ids:
        return _from_ids(ids, runtime, driver)
    count = requests[0].get("Count")
    return Gpus(count=count if isinstance(count, int) else None, runtime=runtime, driver=driver)


def _split(text: str) -> list[str]:
    """docker-py users and Compose files write ``["0,1"]`` for two devices; the engine joins them by commas anyway."""
    return [one.strip() for one in text.split(",") if one.strip()]


def _from_ids(ids: Sequence[str], runtime: str | None, driver: str) -> Gpus:
    # nvidia-container-toolkit, "GPU enumeration": all, or none, void and empty for no GPU.
    bare = tuple(one.removeprefix(CDI_PREFIX) for one in ids)
    if "all" in bare:
        return Gpus(count=-1, runtime=runtime, driver=driver)
    return Gpus(tuple(one for one in bare if one not in ("none", "void")), runtime=runtime, driver=driver)


def _cdi_devices(data: Mapping[str, Any]) -> list[str]:
    """Podman shows no device request: its CDI devices stand among the devices, or only in the words that made it."""
    devices = mapping(data.get("HostConfig")).get("Devices")
    paths = [str(mapping(one).get("PathOnHost")) for one in (devices if isinstance(devices, list) else [])]
    typed = words(mapping(data.get("Config")).get("CreateCommand"))
    given = [word.removeprefix("--device=") for word in typed]
    return list(dict.fromkeys(one for one in (*paths, *given) if one.startswith(CDI_PREFIX)))


def ports(data: Mapping[str, Any]) -> tuple[Port, ...]:
    """As asked for: an ephemeral port has no number here, whatever the container got."""
    host = mapping(data.get("HostConfig"))
    found: list[Port] = []
    for inner, bindings in mapping(host.get("PortBindings")).items():
        for binding in bindings or ():
            found.append(_port(inner, str(binding.get("HostPort") or ""), str(binding.get("HostIp") or "")))
    if host.get("PublishAllPorts"):
        exposed = mapping(mapping(data.get("Config")).get("ExposedPorts"))
        found += [_port(inner, "", "") for inner in exposed if inner not in mapping(host.get("PortBindings"))]
    return tuple(found)


def _port(inner: str, outer: str, address: str) -> Port:
    number, _, protocol = inner.partition("/")
    # "0" and a range both leave the choice to Docker.
    host = int(outer) if outer.isdecimal() and outer != "0" else None
    return Port(int(number), host, "" if address == "0.0.0.0" else address, protocol or "tcp")  # noqa: S104 - read


def mounts(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> tuple[Mount, ...]:
    """What was asked for, anonymous volumes last; those that the image asks for are left out."""
    host = mapping(data.get("HostConfig"))
    found: dict[str, Mount] = {}
    for bind in words(host.get("Binds")):
        mount = read_volume(bind)
        found[mount.target] = _named(mount)
    for entry in host.get("Mounts") or ():
        kind = str(entry.get("Type") or "")
        source = None if kind == "tmpfs" else entry.get("Source") or None
        target = str(entry.get("Target"))
        found[target] = _named(Mount(target, source, kind, bool(entry.get("ReadOnly"))))
    for target in mapping(host.get("Tmpfs")):
        found.setdefault(target, Mount(target, None, "tmpfs"))
    for entry in data.get("Mounts") or ():
        target, kind = str(entry.get("Destination")), str(entry.get("Type") or "")
        source = entry.get("Name") if kind == "volume" else entry.get("Source")
        found.setdefault(target, _named(Mount(target, source or None, kind, entry.get("RW") is False)))
    inherited = mapping(defaults.get("Volumes"))
    unnamed = [one for one in found.values() if one.kind == "volume" and not one.source]
    unnamed = sorted((one for one in unnamed if one.target not in inherited), key=lambda one: one.target)
    return (*(one for one in found.values() if one.kind != "volume" or one.source), *unnamed)


def _named(mount: Mount) -> Mount:
    """A volume whose name Docker made up is an anonymous one."""
    if mount.kind == "volume" and is_anonymous(mount.source or ""):
        return Mount(mount.target, None, "volume", mount.read_only)
    return mount


def shm_bytes(data: Mapping[str, Any]) -> int | None:
    """None for the default."""
    size = mapping(data.get("HostConfig")).get("ShmSize")
    return size if isinstance(size, int) and size not in DEFAULT_SHM else None


def ipc(data: Mapping[str, Any]) -> str | None:
    """None for the default: private in Docker (API 1.40 and later), shareable in podman."""
    mode = str(mapping(data.get("HostConfig")).get("IpcMode") or "")
    return None if mode in ("", "private", *(("shareable",) if is_podman(data) else ())) else mode


def network(data: Mapping[str, Any]) -> str | None:
    """None for the default bridge."""
    mode = str(mapping(data.get("HostConfig")).get("NetworkMode") or "")
    return None if mode in _DEFAULT_NETWORKS or (is_podman(data) and mode in ("slirp4netns", "pasta")) else mode


def restart(data: Mapping[str, Any]) -> str | None:
    """The policy as ``docker run --restart`` takes it."""
    policy = mapping(mapping(data.get("HostConfig")).get("RestartPolicy"))
    name, attempts = str(policy.get("Name") or "no"), policy.get("MaximumRetryCount") or 0
    if name == "no":
        return None
    return f"{name}:{attempts}" if name == "on-failure" and attempts else name


def compose_origin(data: Mapping[str, Any]) -> ComposeOrigin | None:
    """From the labels; None for a container that Compose did not make."""
    labels = mapping(mapping(data.get("Config")).get("Labels"))
    project, service = labels.get(f"{_LABEL}project"), labels.get(f"{_LABEL}service")
    if not project or not service:
        return None
    files = str(labels.get(f"{_LABEL}project.config_files") or "")
    number = str(labels.get(f"{_LABEL}container-number") or "")
    return ComposeOrigin(
        project=str(project),
        service=str(service),
        # A path with a comma in it cannot be told from two.
        config_files=tuple(one for one in files.split(",") if one),
        working_dir=str(labels.get(f"{_LABEL}project.working_dir") or ""),
        version=str(labels.get(f"{_LABEL}version") or ""),
        environment_file=labels.get(f"{_LABEL}project.environment_file") or None,
        config_hash=str(labels.get(f"{_LABEL}config-hash") or ""),
        number=int(number) if number.isdecimal() else 1,
    )
