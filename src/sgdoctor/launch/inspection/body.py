"""The request that makes a container like an inspected one: what to send of every field.

`docker inspect` shows a container's settings merged with its image's, and values that the daemon made up beside those
that somebody chose. Fields without a rule here go back as they are: of those, none was seen to change (Docker 20.10).
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sgdoctor.launch.docker_values import read_volume
from sgdoctor.launch.inspection.reading import image_defaults, mapping, words
from sgdoctor.texts import Text

_SHORT_ID: Final = 12
# What a user can say of a container in a network; the rest of an endpoint is the daemon's state (addresses, ids).
_OF_AN_ENDPOINT: Final = ("IPAMConfig", "Links", "DriverOpts", "GwPriority")
_DEFAULT_NETWORKS: Final = ("default", "bridge")
# moby API history: from 1.44 on one request may name several networks, and MAC addresses belong to endpoints.
_ENDPOINTS_SINCE: Final = (1, 44)


class _Absent:
    """What a rule gives for a field that is not sent."""


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class CreateBody:
    """What to send to ``POST /containers/create``, and after it.

    Attributes:
        body: the request.
        connects: networks to connect the new container to before its start, each with its ``EndpointConfig``; empty
            where one request can name them all.
        platform: query parameter ``platform``; None where the image does not say.
        notes: what is not as it was, for the user.
    """

    body: Mapping[str, Any]
    connects: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    platform: str | None = None
    notes: tuple[Text, ...] = ()


@dataclass(slots=True)
class _Making:
    """One body being made.

    Attributes:
        data: inspection of the container, changes made.
        image: inspection of the image that it was made from; empty where that is not known.
        api: version of the engine's API.
        pinned: anonymous volumes by where they are mounted.
        notes: see ``CreateBody``.
    """

    data: Mapping[str, Any]
    image: Mapping[str, Any]
    api: tuple[int, int]
    pinned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: list[Text] = field(default_factory=list)

    @property
    def config(self) -> Mapping[str, Any]:
        return mapping(self.data.get("Config"))

    @property
    def host(self) -> Mapping[str, Any]:
        return mapping(self.data.get("HostConfig"))

    @property
    def defaults(self) -> Mapping[str, Any]:
        return image_defaults(self.image)

    @property
    def short_id(self) -> str:
        return str(self.data.get("Id") or "")[:_SHORT_ID]

    @property
    def network(self) -> str:
        return str(self.host.get("NetworkMode") or "default")


_Rule = Callable[[_Making, str, Any], Any]


def create_body(data: Mapping[str, Any], image: Mapping[str, Any] | None, api: tuple[int, int] = (1, 41)) -> CreateBody:
    """The request for a container that is like this one.

    Args:
        data: inspection of the container, with whatever is to be changed already changed in it.
        image: inspection of the image that it was made from, by id. Without it the image's own settings are sent as if
            they were the container's; with another image of the same name they would then stay behind.
        api: version of the engine's API that the request is for.
    """
    making = _Making(data, image or {}, api)
    making.pinned = _anonymous_volumes(making)
    body = _ruled(making, making.config, _CONFIG_RULES)
    host = _ruled(making, making.host, _HOST_RULES)
    # Fields that may be missing from an inspection although a rule has something to put there.
    if making.pinned and "Binds" not in host:
        host["Binds"] = _binds(making, "Binds", None)
    endpoints = _endpoints(making)
    body |= {"HostConfig": host, "NetworkingConfig": {"EndpointsConfig": endpoints}}
    connects: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    if api < _ENDPOINTS_SINCE and endpoints:
        first = "bridge" if making.network == "default" else making.network
        body["NetworkingConfig"]["EndpointsConfig"] = {name: one for name, one in endpoints.items() if name == first}
        connects = tuple((name, one) for name, one in endpoints.items() if name != first)
    return CreateBody(body, connects, _platform(making), tuple(making.notes))


def as_inspection(body: Mapping[str, Any], image: Mapping[str, Any] | None) -> dict[str, Any]:
    """What an engine would say of a container made by ``body``, as far as a launch is read from it."""
    defaults = image_defaults(image)
    config = {name: value for name, value in body.items() if name not in ("HostConfig", "NetworkingConfig")}
    set_here = {entry.partition("=")[0] for entry in words(config.get("Env"))}
    inherited = [entry for entry in words(defaults.get("Env")) if entry.partition("=")[0] not in set_here]
    config["Env"] = [*words(config.get("Env")), *inherited]
    for name in ("Labels", "ExposedPorts", "Volumes"):
        config[name] = {**mapping(defaults.get(name)), **mapping(config.get(name))}
    # moby runconfig Merge: the image's command goes with the image's entrypoint only.
    entrypoint = config.get("Entrypoint")
    if not entrypoint:
        config["Entrypoint"] = defaults.get("Entrypoint")
        config["Cmd"] = config.get("Cmd") or defaults.get("Cmd")
    elif entrypoint == [""]:
        config["Entrypoint"] = None
    return {"Config": config, "HostConfig": mapping(body.get("HostConfig"))}


def _ruled(making: _Making, fields: Mapping[str, Any], rules: Mapping[str, _Rule]) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for name, value in fields.items():
        rule = rules.get(name)
        result = copy.deepcopy(value) if rule is None else rule(making, name, value)
        if result is not ABSENT:
            sent[name] = result
    return sent


# --- Config ---


def _unless_inherited(making: _Making, name: str, value: Any) -> Any:
    """Sent only if it is not what the image says: another image may say something else."""
    return ABSENT if value == making.defaults.get(name) else value


def _entries_of_its_own(making: _Making, name: str, value: Any) -> Any:
    inherited = words(making.defaults.get(name))
    return [entry for entry in words(value) if entry not in inherited]


def _keys_of_its_own(making: _Making, name: str, value: Any) -> Any:
    inherited = mapping(making.defaults.get(name))
    return {key: one for key, one in mapping(value).items() if key not in inherited or inherited[key] != one}


def _volumes(making: _Making, name: str, value: Any) -> Any:
    own = _keys_of_its_own(making, name, value)
    return {target: one for target, one in own.items() if target not in making.pinned}


def _entrypoint(making: _Making, name: str, value: Any) -> Any:
    inherited = making.defaults.get(name)
    if value == inherited:
        return ABSENT
    # moby daemon/create: an entrypoint that was taken away is one empty word; none at all means the image's.
    return value or [""]


def _command(making: _Making, name: str, value: Any) -> Any:
    # An entrypoint of its own keeps the image's command away, so that its own has to be sent even if it is the same.
    same = _entrypoint(making, "Entrypoint", making.config.get("Entrypoint")) is ABSENT
    return ABSENT if same and value == making.defaults.get(name) else value


def _hostname(making: _Making, name: str, value: Any) -> Any:
    """Made up from the id unless somebody chose one; refused in somebody else's network or UTS namespace."""
    del name
    shared = making.network.startswith("container:") or making.host.get("UTSMode") == "host"
    return ABSENT if shared or not value or value == making.short_id else value


def _image(making: _Making, name: str, value: Any) -> Any:
    """The name while it still stands for the image that ran, else the image's id: a fix is no upgrade."""
    del name
    identifier = str(making.data.get("Image") or "")
    known = [*words(making.image.get("RepoTags")), *words(making.image.get("RepoDigests"))]
    if not identifier or value in known or f"{value}:latest" in known:
        return value
    if value == identifier or (not known and not making.image):
        return identifier
    making.notes.append(
        Text(
            f"{value} is another image by now; the one that ran, {identifier[:19]}, is kept",
            f"{value} 现在指向另一个镜像；保留当时运行的镜像 {identifier[:19]}",
        )
    )
    return identifier


def _mac_address(making: _Making, name: str, value: Any) -> Any:
    """Chosen by somebody if it stands here (the one that the daemon made up stands with the network)."""
    del name
    hosts = making.network == "host" or making.network.startswith("container:")
    return ABSENT if not value or hosts or making.api >= _ENDPOINTS_SINCE else value


_CONFIG_RULES: Final[Mapping[str, _Rule]] = {
    "Hostname": _hostname,
    "Image": _image,
    "MacAddress": _mac_address,
    "Entrypoint": _entrypoint,
    "Cmd": _command,
    "Env": _entries_of_its_own,
    "Labels": _keys_of_its_own,
    "ExposedPorts": _keys_of_its_own,
    "Volumes": _volumes,
    "WorkingDir": _unless_inherited,
    "User": _unless_inherited,
    "StopSignal": _unless_inherited,
    "Healthcheck": _unless_inherited,
    "Shell": _unless_inherited,
    "OnBuild": _unless_inherited,
}


# --- HostConfig ---


def _anonymous_volumes(making: _Making) -> dict[str, Mapping[str, Any]]:
    """Volumes that only the list of mounts knows by name, by where they are mounted.

    Asked for again by the same words, they would be new and empty.
    """
    binds = [read_volume(bind) for bind in words(making.host.get("Binds"))]
    named = {mount.target for mount in binds if mount.source}
    named |= {str(mount.get("Target")) for mount in making.host.get("Mounts") or () if mount.get("Source")}
    return {
        str(mount["Destination"]): mount
        for mount in making.data.get("Mounts") or ()
        if mount.get("Type") == "volume" and mount.get("Name") and mount.get("Destination") not in named
    }


def _binds(making: _Making, name: str, value: Any) -> Any:
    del name
    mounted = {str(mount.get("Target")) for mount in making.host.get("Mounts") or ()}
    pins = [
        f"{mount['Name']}:{target}{'' if mount.get('RW', True) else ':ro'}"
        for target, mount in making.pinned.items()
        if target not in mounted
    ]
    # docker-py writes an anonymous volume here as well, by its place alone.
    kept = [bind for bind in words(value) if read_volume(bind).source or read_volume(bind).target not in making.pinned]
    return [*kept, *pins] or value


def _mounts(making: _Making, name: str, value: Any) -> Any:
    del name
    mounts = copy.deepcopy(value)
    for mount in mounts or ():
        if mount.get("Type") == "volume" and not mount.get("Source") and mount.get("Target") in making.pinned:
            mount["Source"] = making.pinned[mount["Target"]]["Name"]
    return mounts


def _security(making: _Making, name: str, value: Any) -> Any:
    """Less the option that the daemon adds for the host's processes or memory, and for privileged containers."""
    del name
    added = making.host.get("Privileged") or "host" in (making.host.get("PidMode"), making.host.get("IpcMode"))
    if not added:
        return value
    return [option for option in words(value) if option != "label=disable"] or None


def _auto_remove(making: _Making, name: str, value: Any) -> Any:
    """Refused together with a restart policy."""
    del name
    policy = mapping(making.host.get("RestartPolicy")).get("Name") or "no"
    if value and policy != "no":
        making.notes.append(
            Text(
                f"--rm is taken away: Docker does not allow it with restart {policy}",
                f"去掉 --rm：Docker 不允许它与重启策略 {policy} 同时使用",
            )
        )
        return False
    return value


def _if_any(making: _Making, name: str, value: Any) -> Any:
    """Where the daemon is that of podman or of another version, an empty one may not be known."""
    del making, name
    return value or ABSENT


_HOST_RULES: Final[Mapping[str, _Rule]] = {
    "Binds": _binds,
    "Mounts": _mounts,
    "SecurityOpt": _security,
    "AutoRemove": _auto_remove,
    # A file of the client that made the container.
    "ContainerIDFile": _if_any,
    # Gone from the API (1.42); the daemon says 0 where nobody asked for it.
    "KernelMemory": _if_any,
    "KernelMemoryTCP": _if_any,
}


# --- NetworkingConfig ---


def _endpoints(making: _Making) -> dict[str, dict[str, Any]]:
    """The networks, each with what somebody chose there."""
    network = making.network
    if network in ("host", "none") or network.startswith("container:"):
        return {}
    networks = mapping(mapping(making.data.get("NetworkSettings")).get("Networks"))
    result = {name: _endpoint(making, name, mapping(settings)) for name, settings in networks.items()}
    chosen = making.config.get("MacAddress")
    first = "bridge" if network == "default" else network
    if chosen and making.api >= _ENDPOINTS_SINCE and first in result:
        result[first]["MacAddress"] = chosen
    return result


def _endpoint(making: _Making, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    endpoint = {key: copy.deepcopy(settings[key]) for key in _OF_AN_ENDPOINT if settings.get(key)}
    # The daemon adds the id (API below 1.45) and the host name, and refuses aliases on the default bridge.
    made_up = (making.short_id, making.config.get("Hostname"))
    aliases = [alias for alias in words(settings.get("Aliases")) if alias not in made_up]
    if aliases and name not in _DEFAULT_NETWORKS:
        endpoint["Aliases"] = aliases
    return endpoint


def _platform(making: _Making) -> str | None:
    """Not part of a container's settings; the image knows it."""
    system, processor = making.image.get("Os"), making.image.get("Architecture")
    if not system or not processor:
        return None
    variant = making.image.get("Variant")
    return f"{system}/{processor}{f'/{variant}' if variant else ''}"
