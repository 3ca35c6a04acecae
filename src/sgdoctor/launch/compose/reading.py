"""A service as a launch."""

import os.path
import re
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from sgdoctor.errors import UserError
from sgdoctor.launch.commands import find_engine
from sgdoctor.launch.compose.command_words import CommandPart, command_part, not_a_text
from sgdoctor.launch.compose.dotenv import read_dotenv
from sgdoctor.launch.compose.project import Parts, Project, Service, read_text
from sgdoctor.launch.compose.values import Fields, Items, Text, Value
from sgdoctor.launch.docker_values import read_ports, read_size, read_ulimit, read_volume
from sgdoctor.launch.engine_words import routes_only
from sgdoctor.launch.found import Found, Refused
from sgdoctor.launch.model import Gpus, Launch, Mount, Origin, Port

_TRUE: Final = frozenset({"true", "yes", "on", "y", "True", "TRUE", "1"})
# What Compose takes as a text alone (compose-spec, schema/compose-spec.json); a number without quotes is none.
_TEXTS: Final = ("image", "container_name")
_CDI: Final = "nvidia.com/gpu="
# gopkg.in/yaml.v3 resolve.go: a leading zero makes an octal number, `_` is allowed between digits.
_INTEGER: Final = re.compile(r"[-+]?(?:0(?P<octal>[0-7]+)|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|0|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
# strconv.FormatFloat(x, 'g', -1, 64).
_GO_EXPONENT: Final = 6


class EnvEntry(NamedTuple):
    """A variable of a container.

    Attributes:
        value: None where it is taken from the caller's environment, which does not have it.
        at: the scalar that it stands in; None for one of an environment file.
        origin: name of the file that it stands in.
    """

    value: str | None
    at: Text | None
    origin: str


def launch_of(project: Project, service: Service) -> Launch:
    """What a service says.

    Raises:
        UserError: a field holds what Compose refuses.
    """
    for key in _TEXTS:
        value = service.last(key)
        if isinstance(value, Text) and value.is_typed:
            raise not_a_text(key, value)
    entrypoint, command = command_parts(service)
    words = (*entrypoint.texts, *command.texts)
    found = engine_of(service)
    env = {name: entry.value for name, entry in environment_of(project, service).items()}
    argv: tuple[str, ...] = ()
    flags_at = 0
    if isinstance(found, Found):
        argv, flags_at = found.argv, found.flags_at
        env |= found.env
    return Launch(
        origin=Origin.COMPOSE,
        argv=argv,
        flags_at=flags_at,
        command=words,
        env=env,
        image=service.text("image"),
        name=service.text("container_name") or service.name,
        gpus=gpus_of(service, env),
        ports=tuple(_ports(service)),
        mounts=tuple(_mounts(project, service)),
        shm_bytes=_shm(service),
        ipc=service.text("ipc"),
        network=service.text("network_mode"),
        restart=_restart(service),
        engine=found.place.engine if isinstance(found, Found) else "sglang",
        entrypoint=len(entrypoint.words),
        init=(service.text("init") or "") in _TRUE,
    )


def command_parts(service: Service) -> tuple[CommandPart, CommandPart]:
    """Entrypoint and command."""
    return command_part("entrypoint", service.last("entrypoint")), command_part("command", service.last("command"))


@lru_cache(maxsize=16)
def engine_of(service: Service) -> Found | Refused:
    """The launch of the engine in entrypoint and command together."""
    entrypoint, command = command_parts(service)
    return find_engine((*entrypoint.texts, *command.texts))


def is_about_sglang(service: Service) -> bool:
    """Whether image or command of a service name SGLang."""
    words = [service.text("image") or "", *(word for part in command_parts(service) for word in part.texts)]
    return any("sglang" in word.lower() for word in words)


def is_router(service: Service) -> bool:
    """Whether a service starts a router alone."""
    return routes_only([word for part in command_parts(service) for word in part.texts])


def environment_of(project: Project, service: Service) -> dict[str, EnvEntry]:
    """The variables of the container, by name."""
    found: dict[str, EnvEntry] = {}
    outer = project.environment.values
    for value in _env_files(service):
        path = value.file.folder / value.text
        if not path.is_file():
            where = f"{value.file.name}:{value.node.line}"
            raise UserError(
                f"{where}: env_file {path} is not there",
                f"{value.file.name} 第 {value.node.line} 行：env_file {path} 不存在",
            )
        for name, one in read_dotenv(read_text(path), str(path), outer).items():
            if (known := outer.get(name) if one is None else one) is not None:
                found[name] = EnvEntry(known, None, str(path))
    for name, text, at in env_entries(service.fields.get("environment", ())):
        found[name] = EnvEntry(outer.get(name) if text is None else text, at, at.file.name)
    return found


def env_entries(parts: Parts) -> Iterator[tuple[str, str | None, Text]]:
    """Name, value and scalar of every entry of ``environment``, in the order in which later ones count."""
    for part in parts:
        if isinstance(part, Fields):
            for name, value in part.fields.items():
                if isinstance(value, Text) and value.node.tag != "!reset":
                    yield name, None if value.is_null else _as_compose_writes(value), value
        elif isinstance(part, Items):
            for item in part.items:
                if isinstance(item, Text):
                    name, equals, text = item.text.partition("=")
                    yield name, text if equals else None, item


def _as_compose_writes(value: Text) -> str:
    """A number without quotes loses its form: of ``0.90`` the container gets ``0.9``, of ``010`` it gets ``8``."""
    text = value.text
    if value.node.style or value.node.value != text:
        return text
    if integer := _INTEGER.fullmatch(text):
        digits = integer["octal"]
        return str(int(digits, 8) if digits else int(text.replace("_", ""), 0))
    if not _FLOAT.fullmatch(text):
        return text
    return _as_go_writes(Decimal(repr(float(text.replace("_", "")))).normalize())


def _as_go_writes(number: Decimal) -> str:
    """As ``fmt.Sprint`` writes a float64: with an exponent below 1e-4 and from 1e6 on."""
    exponent = number.adjusted()
    if -4 <= exponent < _GO_EXPONENT:
        return format(number, "f")
    mantissa = format(number.scaleb(-exponent).normalize(), "f")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _env_files(service: Service) -> Iterator[Text]:
    for path, optional in named_files(service, "env_file"):
        if not optional or (path.file.folder / path.text).is_file():
            yield path


def named_files(service: Service, key: str) -> Iterator[tuple[Text, bool]]:
    """The files that a field names, as ``env_file`` does: a path, and whether the file may be missing."""
    for part in service.fields.get(key, ()):
        for item in part.items if isinstance(part, Items) else (part,):
            if isinstance(item, Text) and not item.is_null:
                yield item, False
            elif isinstance(item, Fields) and isinstance(path := item.fields.get("path"), Text):
                required = item.fields.get("required")
                yield path, isinstance(required, Text) and required.text == "false"


def gpus_of(service: Service, env: MappingABC[str, str | None]) -> Gpus:
    """Which GPUs the service asks for: ``deploy``, ``gpus``, ``devices`` of CDI, or the runtime."""
    runtime = service.text("runtime")
    runtime = runtime if runtime and "nvidia" in runtime else None
    ids: list[str] = []
    count: int | None = None
    driver = ""
    for request in device_requests(service):
        if isinstance(request, Text):
            count = -1 if request.text == "all" else None
            continue
        named = _texts(request.fields.get("device_ids"))
        ids += [one.removeprefix(_CDI) for one in named]
        driver = _text(request, "driver") or driver
        asked = _text(request, "count")
        if not named:
            # Without a count Compose asks for all (compose-spec, deploy.md, "devices").
            count = int(asked) if asked and asked.lstrip("-").isdecimal() else -1
    cdi = [one for part in service.fields.get("devices", ()) for one in _texts(part) if one.startswith(_CDI)]
    if cdi and not ids:
        ids, driver = [one.removeprefix(_CDI) for one in cdi], "cdi"
    if "all" in ids:
        ids, count = [], -1
    if ids:
        return Gpus(tuple(ids), None, runtime, driver)
    if count is not None:
        return Gpus((), count, runtime, driver)
    visible = env.get("NVIDIA_VISIBLE_DEVICES")
    if runtime and visible:
        named = [one.strip() for one in visible.split(",") if one.strip() not in ("", "none", "void")]
        return (
            Gpus((), -1, runtime, "", from_env=True)
            if "all" in named
            else Gpus(tuple(named), None, runtime, "", from_env=True)
        )
    return Gpus(runtime=runtime)


def device_requests(service: Service) -> Iterator[Fields | Text]:
    """The requests for GPUs; a text is ``gpus: all``."""
    for part in service.fields.get("gpus", ()):
        if isinstance(part, Text) and not part.is_null:
            yield part
        elif isinstance(part, Items):
            yield from (item for item in part.items if isinstance(item, Fields))
    for part in service.fields.get("deploy", ()):
        devices = _within(part, "resources", "reservations", "devices")
        for item in devices.items if isinstance(devices, Items) else ():
            if isinstance(item, Fields) and ("gpu" in _texts(item.fields.get("capabilities"))):
                yield item


def _within(value: Value, *keys: str) -> Value | None:
    found: Value | None = value
    for key in keys:
        found = found.fields.get(key) if isinstance(found, Fields) else None
    return found


def _ports(service: Service) -> Iterator[Port]:
    seen: set[Port] = set()
    for part in service.fields.get("ports", ()):
        for item in part.items if isinstance(part, Items) else ():
            for port in _port(item):
                if port not in seen:
                    seen.add(port)
                    yield port


def _port(item: Value) -> Iterator[Port]:
    if isinstance(item, Text):
        try:
            yield from read_ports(item.text)
        except UserError as error:
            raise _at(item, error) from None
    elif isinstance(item, Fields):
        target, published = _text(item, "target"), _text(item, "published")
        if target and target.isdecimal():
            host = int(published) if published and published.isdecimal() else None
            yield Port(int(target), host, _text(item, "host_ip") or "", _text(item, "protocol") or "tcp")


def _mounts(project: Project, service: Service) -> Iterator[Mount]:
    found: dict[str, Mount] = {}
    for part in service.fields.get("volumes", ()):
        for item in part.items if isinstance(part, Items) else ():
            if (mount := _mount(item)) is not None:
                found[mount.target] = on_host(project, mount)
    for part in service.fields.get("tmpfs", ()):
        for entry in _texts(part):
            target = entry.partition(":")[0]
            found.setdefault(target, Mount(target, None, "tmpfs"))
    yield from found.values()


def _mount(item: Value) -> Mount | None:
    if isinstance(item, Text):
        try:
            return read_volume(item.text)
        except UserError as error:
            raise _at(item, error) from None
    if isinstance(item, Fields) and (target := _text(item, "target")):
        kind, source = _text(item, "type") or "volume", _text(item, "source")
        return Mount(target, source if kind != "tmpfs" else None, kind, (_text(item, "read_only") or "") in _TRUE)
    return None


def on_host(project: Project, mount: Mount) -> Mount:
    """With an absolute source: Compose takes relative ones from the folder of its first file."""
    if mount.kind != "bind" or mount.source is None:
        return mount
    home = project.environment.values.get("HOME", "~")
    source = home + mount.source[1:] if mount.source == "~" or mount.source.startswith("~/") else mount.source
    # Of texts, not of files: the path may be one of another host.
    path = os.path.abspath(os.path.join(project.files[0].folder, source))  # noqa: PTH100, PTH118
    return replace(mount, source=path)


def ulimit_of(service: Service, name: str) -> tuple[int, int] | None:
    """Soft and hard limit of ``name``; None if it is not limited here."""
    for part in reversed(service.fields.get("ulimits", ())):
        limit = part.fields.get(name) if isinstance(part, Fields) else None
        if isinstance(limit, Text):
            return read_ulimit(limit.text)
        if isinstance(limit, Fields):
            return int(_text(limit, "soft") or 0), int(_text(limit, "hard") or 0)
    return None


def _shm(service: Service) -> int | None:
    value = service.last("shm_size")
    if not isinstance(value, Text):
        return None
    try:
        return read_size(value.text)
    except UserError as error:
        raise _at(value, error) from None


def _restart(service: Service) -> str | None:
    policy = service.text("restart")
    return None if policy in (None, "no", "false") else policy


def _at(value: Text, error: UserError) -> UserError:
    name, line = value.file.name, value.node.line
    unset = ", ".join(dict.fromkeys(value.interpolated.unset))
    why_en, why_zh = (f"; not set: {unset}", f"；未设置：{unset}") if unset else ("", "")
    return UserError(f"{name}:{line}: {error.en}{why_en}", f"{name} 第 {line} 行：{error.zh}{why_zh}")


def _text(fields: Fields, key: str) -> str | None:
    value = fields.fields.get(key)
    return value.text if isinstance(value, Text) and not value.is_null else None


def _texts(value: Value | None) -> list[str]:
    if isinstance(value, Text):
        return [] if value.is_null else [value.text]
    return [item.text for item in value.items if isinstance(item, Text)] if isinstance(value, Items) else []
