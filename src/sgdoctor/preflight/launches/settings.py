"""What a container is given besides its launch: devices, limits, a health check, a name of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.document import ComposeDocument
from sgdoctor.launch.compose.project import Service
from sgdoctor.launch.compose.values import Fields, Items, Text, Value
from sgdoctor.launch.docker_options import Options
from sgdoctor.launch.docker_run import DockerRun
from sgdoctor.launch.docker_values import read_ulimit
from sgdoctor.launch.engine_words import OPTIONS_VARIABLE
from sgdoctor.launch.inspection import Inspection
from sgdoctor.preflight.model import Situation

# Of Docker (moby daemon/health.go), in seconds.
_INTERVAL: Final = 30.0
_RETRIES: Final = 3
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TRUE: Final = ("true", "True", "yes", "1")


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A health check of a container; times in seconds.

    Attributes:
        command: what it runs, as one text.
        interval: between two tries.
        retries: failures in a row that make the container unhealthy.
        start_period: in which failures do not count.
        of_image: whether the image brings it.
    """

    command: str
    interval: float = _INTERVAL
    retries: int = _RETRIES
    start_period: float = 0.0
    of_image: bool = False

    @property
    def patience(self) -> float:
        """Seconds from the start until the container is called unhealthy if no try succeeds."""
        return self.start_period + self.interval * self.retries


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """What the launch does not tell.

    Attributes:
        has_devices: whether devices come in by other means: ``--device``, ``--privileged``, ``devices:``.
        hidden: whether more may come in out of sight: by options behind a variable, by hooks of podman.
        ulimits: soft and hard limit by name, -1 for none.
        health: None without a health check.
        name: that the container is given; empty where Docker or Compose makes one up.
        read_only: whether its own file system is read-only.
        replaces: whether a container of that name is removed first.
    """

    has_devices: bool = False
    hidden: bool = False
    ulimits: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    health: HealthCheck | None = None
    name: str = ""
    read_only: bool = False
    replaces: bool = False


def settings_of(situation: Situation) -> ContainerSettings:
    """The settings of the situation's document; empty ones where it is of another kind."""
    document = situation.document
    inherited = _of_config(((situation.image.config if situation.image else None) or {}).get("Config"))
    if isinstance(document, ComposeDocument):
        return _of_compose(document.project.services[document.service], inherited)
    if isinstance(document, DockerRun):
        podman = any(word.rpartition("/")[2] == "podman" for word in document.command.command.texts[:3])
        return _of_docker_run(document.command.options, document.text, inherited, podman=podman)
    if isinstance(document, Inspection):
        return _of_inspection(document)
    return ContainerSettings(health=inherited)


def seconds_of(text: str) -> float | None:
    """Seconds that ``1m30s`` means; None where it is no duration."""
    parts = _DURATION.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _of_docker_run(options: Options, text: str, inherited: HealthCheck | None, *, podman: bool) -> ContainerSettings:
    command = options.last("--health-cmd")
    health = inherited
    if options.has("--no-healthcheck"):
        health = None
    elif command is not None and command.value:
        health = HealthCheck(command.value)
    if health is not None:
        asked = {name: one.value for name in ("interval", "start-period") if (one := options.last(f"--health-{name}"))}
        retries = options.last("--health-retries")
        health = _timed(health, asked.get("interval"), asked.get("start-period"), retries.value if retries else None)
    name = options.last("--name")
    own = (name.value or "") if name else ""
    removed = bool(own) and re.search(rf"\b(?:rm|remove)\b[^\n;&|]*[\s'\"]{re.escape(own)}\b", text) is not None
    return ContainerSettings(
        has_devices=bool(options.values("--device")) or options.has("--privileged"),
        hidden=podman or any(OPTIONS_VARIABLE.fullmatch(option.name) for option in options.given),
        ulimits=_limits(options.values("--ulimit")),
        health=health,
        name=own,
        read_only=options.has("--read-only"),
        replaces=removed or options.has("--replace"),
    )


def _of_compose(service: Service, inherited: HealthCheck | None) -> ContainerSettings:
    limits: dict[str, tuple[int, int]] = {}
    for part in service.fields.get("ulimits", ()):
        for name, value in part.fields.items() if isinstance(part, Fields) else ():
            if isinstance(value, Text):
                limits |= _limits([f"{name}={value.text}"])
            elif isinstance(value, Fields):
                limits |= _limits([f"{name}={_text(value, 'soft')}:{_text(value, 'hard')}"])
    return ContainerSettings(
        has_devices="devices" in service.fields or service.text("privileged") in _TRUE,
        ulimits=limits,
        health=_compose_health(service.last("healthcheck"), inherited),
        name=service.text("container_name") or "",
        read_only=service.text("read_only") in _TRUE,
    )


def _compose_health(value: Value | None, inherited: HealthCheck | None) -> HealthCheck | None:
    if not isinstance(value, Fields):
        return inherited
    test = value.fields.get("test")
    words = [item.text for item in test.items if isinstance(item, Text)] if isinstance(test, Items) else []
    if _text(value, "disable") in _TRUE or words[:1] == ["NONE"]:
        return None
    command = test.text if isinstance(test, Text) else " ".join(words[1:])
    health = HealthCheck(command) if command else inherited
    if health is None:
        return None
    return _timed(health, _text(value, "interval"), _text(value, "start_period"), _text(value, "retries"))


def _of_inspection(document: Inspection) -> ContainerSettings:
    host = document.data.get("HostConfig") or {}
    limits = host.get("Ulimits")
    return ContainerSettings(
        has_devices=bool(host.get("Devices")) or bool(host.get("Privileged")),
        # libpod/define InspectContainerHostConfig.Runtime; its hooks read NVIDIA_VISIBLE_DEVICES without any request.
        hidden=host.get("Runtime") == "oci",
        ulimits={
            str(one.get("Name")).lower().removeprefix("rlimit_"): (int(one.get("Soft", 0)), int(one.get("Hard", 0)))
            for one in (limits if isinstance(limits, list) else [])
        },
        health=_of_config(document.data.get("Config"), of_image=False),
        name=document.name,
        read_only=bool(host.get("ReadonlyRootfs")),
        # The container itself is what is started.
        replaces=True,
    )


def _of_config(config: Any, *, of_image: bool = True) -> HealthCheck | None:
    """The health check of an inspection's ``Config``; its times are in nanoseconds, 0 for the default."""
    found = (config or {}).get("Healthcheck") or {}
    test = [str(word) for word in found.get("Test") or ()]
    if not test[1:]:
        return None
    return HealthCheck(
        " ".join(test[1:]),
        (found.get("Interval") or 0) / 1e9 or _INTERVAL,
        found.get("Retries") or _RETRIES,
        (found.get("StartPeriod") or 0) / 1e9,
        of_image,
    )


def _timed(health: HealthCheck, interval: str | None, start_period: str | None, retries: str | None) -> HealthCheck:
    return HealthCheck(
        health.command,
        seconds_of(interval or "") or health.interval,
        int(retries) if retries and retries.isdecimal() and int(retries) else health.retries,
        seconds_of(start_period or "") or health.start_period,
        health.of_image,
    )


def _limits(texts: list[str]) -> dict[str, tuple[int, int]]:
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name] = read_ulimit(value)
        except UserError:
            continue
    return found


def _text(fields: Fields, key: str) -> str:
    value = fields.fields.get(key)
    return value.text if isinstance(value, Text) and not value.is_null else ""
