"""Options of ``docker run`` that a container was made with, beyond those that a launch knows of."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sgdoctor.launch.docker_values import size_text
from sgdoctor.launch.inspection.reading import gpu_requests, image_defaults, is_podman, mapping, words

Option = tuple[str, ...]
_NANOSECONDS: Final = 1_000_000_000


def docker_options(data: Mapping[str, Any], image: Mapping[str, Any]) -> list[Option]:
    """The options, each with its value, less what the image says anyway.

    Args:
        data: inspection of the container.
        image: inspection of its image; empty where it is not known.
    """
    host, config, defaults = mapping(data.get("HostConfig")), mapping(data.get("Config")), image_defaults(image)
    found: list[Option] = [(option,) for field, option in _SWITCHES.items() if host.get(field)]
    if config.get("OpenStdin"):
        found.append(("-i",))
    if config.get("Tty"):
        found.append(("-t",))
    made_up = _PODMAN_SAYS if is_podman(data) else {}
    for field, option in _OF_HOST.items():
        if host.get(field) not in (None, "", 0) and str(host[field]) != made_up.get(field):
            found.append((option, str(host[field])))
    for field, option in _SIZES.items():
        if (host.get(field) or 0) > 0:
            found.append((option, size_text(host[field])))
    for field, option in _LISTS.items():
        found += [(option, value) for value in words(host.get(field)) if not _added(host, value)]
    if host.get("NanoCpus"):
        found.append(("--cpus", f"{host['NanoCpus'] / _NANOSECONDS:g}"))
    found += [("--sysctl", f"{name}={value}") for name, value in mapping(host.get("Sysctls")).items()]
    for part in (
        _ulimits(host),
        _devices(data),
        _log(host),
        _mounts(host),
        _networks(data),
        _of_config(data, defaults),
    ):
        found += part
    return found


_SWITCHES: Final = {
    "AutoRemove": "--rm",
    "Privileged": "--privileged",
    "ReadonlyRootfs": "--read-only",
    "PublishAllPorts": "-P",
    "OomKillDisable": "--oom-kill-disable",
}
_OF_HOST: Final = {
    "PidMode": "--pid",
    "UTSMode": "--uts",
    "UsernsMode": "--userns",
    "CgroupParent": "--cgroup-parent",
    "CpusetCpus": "--cpuset-cpus",
    "CpusetMems": "--cpuset-mems",
    "CpuShares": "--cpu-shares",
    "CpuPeriod": "--cpu-period",
    "CpuQuota": "--cpu-quota",
    "PidsLimit": "--pids-limit",
    "OomScoreAdj": "--oom-score-adj",
    "MemorySwappiness": "--memory-swappiness",
    "BlkioWeight": "--blkio-weight",
    "VolumeDriver": "--volume-driver",
}
# What podman shows where nobody asked for anything (4.3.1).
_PODMAN_SAYS: Final[Mapping[str, str]] = {
    "PidMode": "private",
    "UTSMode": "private",
    "PidsLimit": "2048",
    "StopSignal": "15",
    "StopTimeout": "10",
}
_SIZES: Final = {"Memory": "--memory", "MemorySwap": "--memory-swap", "MemoryReservation": "--memory-reservation"}
_LISTS: Final = {
    "CapAdd": "--cap-add",
    "CapDrop": "--cap-drop",
    "SecurityOpt": "--security-opt",
    "GroupAdd": "--group-add",
    "ExtraHosts": "--add-host",
    "Dns": "--dns",
    "DnsSearch": "--dns-search",
    "DnsOptions": "--dns-option",
    "VolumesFrom": "--volumes-from",
    "DeviceCgroupRules": "--device-cgroup-rule",
    "Links": "--link",
}


def _added(host: Mapping[str, Any], value: str) -> bool:
    """The daemon adds this one for the host's processes or memory."""
    return value == "label=disable" and "host" in (host.get("PidMode"), host.get("IpcMode"))


def _ulimits(host: Mapping[str, Any]) -> Iterator[Option]:
    for limit in host.get("Ulimits") or ():
        soft, hard = limit.get("Soft"), limit.get("Hard")
        # podman writes RLIMIT_NOFILE.
        name = str(limit.get("Name")).removeprefix("RLIMIT_").lower()
        yield ("--ulimit", f"{name}={soft}" if soft == hard else f"{name}={soft}:{hard}")


def _devices(data: Mapping[str, Any]) -> Iterator[Option]:
    host = mapping(data.get("HostConfig"))
    for device in host.get("Devices") or ():
        path, inside = str(device.get("PathOnHost")), str(device.get("PathInContainer"))
        rights = device.get("CgroupPermissions") or "rwm"
        short = path if inside == path and rights == "rwm" else f"{path}:{inside}"
        yield ("--device", short if rights == "rwm" else f"{short}:{rights}")
    for request in host.get("DeviceRequests") or ():
        if request not in gpu_requests(data):
            for name in words(request.get("DeviceIDs")):
                yield ("--device", name)


def _log(host: Mapping[str, Any]) -> Iterator[Option]:
    log = mapping(host.get("LogConfig"))
    settings = mapping(log.get("Config"))
    # The daemon's own driver is not to be told from one that was asked for.
    if log.get("Type") not in (None, "", "json-file", "journald", "k8s-file") or settings:
        yield ("--log-driver", str(log.get("Type")))
    for name, value in settings.items():
        yield ("--log-opt", f"{name}={value}")


def detailed_targets(data: Mapping[str, Any]) -> frozenset[str]:
    """Where things are mounted that ``-v`` has no words for; their options are among ``docker_options``."""
    host = mapping(data.get("HostConfig"))
    return frozenset([*mapping(host.get("Tmpfs")), *(str(one.get("Target")) for one in host.get("Mounts") or ())])


def _mounts(host: Mapping[str, Any]) -> Iterator[Option]:
    for target, settings in mapping(host.get("Tmpfs")).items():
        yield ("--tmpfs", f"{target}:{settings}" if settings else target)
    for mount in host.get("Mounts") or ():
        bind, volume, tmpfs = (mapping(mount.get(f"{kind}Options")) for kind in ("Bind", "Volume", "Tmpfs"))
        parts = {
            "type": mount.get("Type"),
            "src": mount.get("Source"),
            "dst": mount.get("Target"),
            "bind-propagation": bind.get("Propagation"),
            "tmpfs-size": tmpfs.get("SizeBytes"),
            "tmpfs-mode": f"{tmpfs['Mode']:o}" if tmpfs.get("Mode") else None,
        }
        text = ",".join(f"{name}={value}" for name, value in parts.items() if value)
        yield (
            "--mount",
            f"{text}{',readonly' if mount.get('ReadOnly') else ''}{',volume-nocopy' if volume.get('NoCopy') else ''}",
        )


def _networks(data: Mapping[str, Any]) -> Iterator[Option]:
    """What was asked for in the container's first network; ``docker run`` takes no second one."""
    mode = str(mapping(data.get("HostConfig")).get("NetworkMode") or "")
    settings = mapping(mapping(mapping(data.get("NetworkSettings")).get("Networks")).get(mode))
    address = mapping(settings.get("IPAMConfig"))
    if address.get("IPv4Address"):
        yield ("--ip", str(address["IPv4Address"]))
    if address.get("IPv6Address"):
        yield ("--ip6", str(address["IPv6Address"]))
    made_up = (str(data.get("Id"))[:12], mapping(data.get("Config")).get("Hostname"))
    for alias in words(settings.get("Aliases")):
        if alias not in made_up:
            yield ("--network-alias", alias)


def _of_config(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[Option]:
    config, host = mapping(data.get("Config")), mapping(data.get("HostConfig"))
    generated = config.get("Hostname") == str(data.get("Id"))[:12] or host.get("NetworkMode") == "host"
    if config.get("Hostname") and not generated:
        yield ("--hostname", str(config["Hostname"]))
    made_up = _PODMAN_SAYS if is_podman(data) else {}
    for field, option in _OF_CONFIG.items():
        if config.get(field) not in (None, "", defaults.get(field)) and str(config[field]) != made_up.get(field):
            yield (option, str(config[field]))
    if not config.get("Entrypoint") and defaults.get("Entrypoint"):
        yield ("--entrypoint", "")
    published = mapping(host.get("PortBindings"))
    for port in mapping(config.get("ExposedPorts")):
        if port not in published and port not in mapping(defaults.get("ExposedPorts")):
            yield ("--expose", port.removesuffix("/tcp"))
    inherited = mapping(defaults.get("Labels"))
    for name, value in mapping(config.get("Labels")).items():
        if inherited.get(name) != value and not name.startswith("com.docker.compose."):
            yield ("--label", f"{name}={value}")
    health = mapping(config.get("Healthcheck"))
    if health and health != defaults.get("Healthcheck"):
        yield from _health(health)


_OF_CONFIG: Final = {
    "Domainname": "--domainname",
    "MacAddress": "--mac-address",
    "User": "--user",
    "WorkingDir": "--workdir",
    "StopSignal": "--stop-signal",
    "StopTimeout": "--stop-timeout",
}


def _health(health: Mapping[str, Any]) -> Iterator[Option]:
    test = words(health.get("Test"))
    if test == ["NONE"]:
        yield ("--no-healthcheck",)
        return
    if test:
        yield ("--health-cmd", test[-1] if test[0] == "CMD-SHELL" else " ".join(test[1:]))
    for field, option in _TIMES.items():
        if health.get(field):
            yield (option, f"{health[field] / _NANOSECONDS:g}s")
    if health.get("Retries"):
        yield ("--health-retries", str(health["Retries"]))


_TIMES: Final[Mapping[str, str]] = {
    "Interval": "--health-interval",
    "Timeout": "--health-timeout",
    "StartPeriod": "--health-start-period",
}
