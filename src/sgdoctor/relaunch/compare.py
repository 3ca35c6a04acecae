"""Whether a container is what was asked for: engines drop what they do not know without a word."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.launch.docker_values import is_anonymous, read_volume
from sgdoctor.launch.inspection.body import as_inspection
from sgdoctor.launch.inspection.reading import image_defaults, mapping, words
from sgdoctor.relaunch.engine import LABEL

_SHOWN: Final = 200
# Inherited from the image where the request says nothing of them (moby runconfig Merge).
_INHERITED: Final = ("WorkingDir", "User", "StopSignal", "Healthcheck", "Shell", "OnBuild")
# The order of their words means something.
_ORDERED: Final = frozenset({"Config.Cmd", "Config.Entrypoint", "Config.Shell", "Config.Healthcheck.Test"})
# What cannot be the same in two containers, or is compared by what is really mounted.
_IDENTITY: Final = frozenset({"Config.Hostname", "Config.Volumes"})
# The engine adds it to containers that share the host's processes or memory.
_ADDED_SECURITY: Final = ("HostConfig.SecurityOpt", ["label=disable"])
# A container gives up its policy for the time of a relaunch.
_OURS: Final = frozenset({"HostConfig.RestartPolicy"})


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that is not as it should be.

    Attributes:
        field: such as ``HostConfig.ShmSize``.
        wanted: its value as it was asked for; None for a value that nobody asked for.
        found: its value.
    """

    field: str
    wanted: Any
    found: Any

    @property
    def is_loss(self) -> bool:
        """Whether something that was asked for is not there; else the engine added it by itself."""
        return bool(self.wanted)

    def __str__(self) -> str:
        return f"{self.field}: {self.shown(self.wanted)} -> {self.shown(self.found)}"

    def shown(self, value: Any) -> str:
        """A value of this field for the user: short, and without what may be a secret."""
        if self.field == "Config.Env" and isinstance(value, list):
            value = [f"{str(entry).partition('=')[0]}=..." for entry in value]
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def differences(
    body: Mapping[str, Any],
    connects: Sequence[tuple[str, Mapping[str, Any]]],
    image: Mapping[str, Any] | None,
    found: Mapping[str, Any],
) -> list[Difference]:
    """What a container has otherwise than the request for it said.

    Args:
        body: the request.
        connects: the networks that it was connected to afterwards.
        image: inspection of the image that it was made from.
        found: inspection of the container.
    """
    wanted = _as_made(body, image)
    result = [
        *_fields("Config", wanted["Config"], mapping(found.get("Config"))),
        *_fields("HostConfig", wanted["HostConfig"], mapping(found.get("HostConfig"))),
    ]
    mounted = {str(mount.get("Destination")): mount.get("Name") for mount in found.get("Mounts") or ()}
    result += [
        Difference(f"Mounts.{target}", name, mounted.get(target))
        for target, name in _volumes(wanted["HostConfig"]).items()
        if mounted.get(target) != name
    ]
    endpoints = {**mapping(mapping(body.get("NetworkingConfig")).get("EndpointsConfig")), **dict(connects)}
    networks = mapping(mapping(found.get("NetworkSettings")).get("Networks"))
    for name, endpoint in endpoints.items():
        if name not in networks:
            result.append(Difference(f"Networks.{name}", endpoint or name, None))
        else:
            there = {key: networks[name].get(key) for key in endpoint}
            result += [one for one in _fields(f"Networks.{name}", endpoint, there) if one.is_loss]
    return [one for one in result if one.field not in _IDENTITY and (one.field, one.found) != _ADDED_SECURITY]


def losses(original: Mapping[str, Any], image: Mapping[str, Any] | None, old: Mapping[str, Any]) -> list[Difference]:
    """What the request for a container like ``old`` does not say of it.

    Args:
        original: the request.
        image: inspection of the image of ``old``.
        old: inspection of the container.
    """
    wanted = _as_made(original, image)
    result = [
        *_fields("Config", mapping(old.get("Config")), wanted["Config"]),
        *_fields("HostConfig", mapping(old.get("HostConfig")), wanted["HostConfig"]),
    ]
    pinned = _volumes(wanted["HostConfig"])
    result += [
        Difference(f"Mounts.{mount['Destination']}", mount["Name"], None)
        for mount in old.get("Mounts") or ()
        if mount.get("Type") == "volume" and mount.get("Name") != pinned.get(str(mount.get("Destination")))
    ]
    allowed = _IDENTITY | {"Config.Image", "Config.MacAddress"}
    return [
        one for one in result if one.is_loss and one.field not in allowed and (one.field, one.wanted) != _ADDED_SECURITY
    ]


def same_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """What somebody changed of a container between two looks at it."""
    result: list[Difference] = []
    for part in ("Config", "HostConfig"):
        result += _fields(part, mapping(before.get(part)), mapping(now.get(part)))
    policies = [mapping(data.get("HostConfig")).get("RestartPolicy") for data in (before, now)]
    if policies[0] != policies[1]:
        result.append(Difference("HostConfig.RestartPolicy", *policies))
    for name in ("Name", "Image"):
        if before.get(name) != now.get(name):
            result.append(Difference(name, before.get(name), now.get(name)))
    networks = [sorted(mapping(mapping(data.get("NetworkSettings")).get("Networks"))) for data in (before, now)]
    if networks[0] != networks[1]:
        result.append(Difference("Networks", networks[0], networks[1]))
    return result


def _as_made(body: Mapping[str, Any], image: Mapping[str, Any] | None) -> dict[str, Any]:
    """What an engine would say of a container made by ``body``."""
    made = as_inspection(copy.deepcopy(dict(body)), image)
    defaults = image_defaults(image)
    for name in _INHERITED:
        if not made["Config"].get(name):
            made["Config"][name] = defaults.get(name)
    return made


def _volumes(host: Mapping[str, Any]) -> dict[str, str]:
    """Names of the volumes of a request by where they are mounted."""
    found: dict[str, str] = {}
    for bind in words(host.get("Binds")):
        mount = read_volume(bind)
        if mount.kind == "volume" and mount.source:
            found[mount.target] = mount.source
    for entry in host.get("Mounts") or ():
        if entry.get("Type") == "volume" and entry.get("Source"):
            found[str(entry.get("Target"))] = str(entry["Source"])
    return found


def _fields(path: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[Difference]:
    for name in sorted({*wanted, *found}):
        field, before, after = f"{path}.{name}", wanted.get(name), found.get(name)
        if field in _OURS or name == LABEL or not (before or after):
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _fields(field, before, after)
        elif isinstance(before, list) and isinstance(after, list) and field not in _ORDERED:
            yield from _entries(field, before, after)
        elif before != after:
            yield Difference(field, before, after)


def _entries(field: str, wanted: Sequence[Any], found: Sequence[Any]) -> Iterator[Difference]:
    """Of lists whose order means nothing."""
    if field == "HostConfig.Binds":
        # An anonymous volume, which has a name by now: compared by what is really mounted.
        wanted, found = ([one for one in binds if read_volume(str(one)).source] for binds in (wanted, found))
    before, after = [_key(field, one) for one in wanted], [_key(field, one) for one in found]
    missing = [one for one, key in zip(wanted, before, strict=True) if key not in after]
    extra = [one for one, key in zip(found, after, strict=True) if key not in before]
    if missing:
        yield Difference(field, missing, extra)
    elif extra:
        yield Difference(field, None, extra)


def _key(field: str, entry: Any) -> str:
    if field == "HostConfig.Links":
        # "/other:/name/alias", with the name that the container has at the moment.
        other, _, alias = str(entry).partition(":")
        entry = f"{other.strip('/')}:{alias.rpartition('/')[2]}"
    if field == "HostConfig.Mounts" and isinstance(entry, dict) and is_anonymous(str(entry.get("Source") or "")):
        # Compared by what is really mounted.
        entry = {**entry, "Source": None}
    if isinstance(entry, dict):
        entry = {name: value for name, value in entry.items() if value}
    return json.dumps(entry, sort_keys=True)
