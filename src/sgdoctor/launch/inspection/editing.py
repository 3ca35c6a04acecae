"""Changes made to what an engine says of a container."""

import copy
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.commands import edit, find_engine
from sgdoctor.launch.docker_values import read_gpus, read_port, read_restart, read_size, read_ulimit, read_volume
from sgdoctor.launch.found import Found
from sgdoctor.launch.inspection import reading
from sgdoctor.launch.model import FlagTable, Gpus
from sgdoctor.texts import Text


class _NoPlaceError(Exception):
    """A container's configuration has no place for a change; ``why`` goes to the user."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.why = Text(en, zh)


def with_changes(
    data: Mapping[str, Any], defaults: Mapping[str, Any], changes: Sequence[Change], flags: FlagTable
) -> tuple[dict[str, Any], tuple[tuple[Change, Text], ...]]:
    """The inspection of a container as it would be with ``changes``.

    Args:
        data: of the container; not touched.
        defaults: ``Config`` of its image.
        changes: of any kind.
        flags: of the engine's version.

    Returns:
        The new inspection, and the changes that have no place in it, each with the reason.

    Raises:
        UserError: the engine's flags cannot be edited safely, or a value is not one of its kind.
    """
    draft = _Draft(copy.deepcopy(dict(data)), defaults)
    left: list[tuple[Change, Text]] = []
    # A program comes before its flags: without one they have no place.
    for change in sorted(changes, key=lambda change: change.kind != "docker.command"):
        if draft.stands_in_command(change):
            draft.put_command(edit(draft.command, [change], flags))
            continue
        try:
            _EDITS.get(change.kind, _Draft.refuse)(draft, change)
        except _NoPlaceError as error:
            left.append((change, error.why))
    return draft.data, tuple(left)


@dataclass(slots=True)
class _Draft:
    """An inspection that is being changed.

    Attributes:
        data: of the container; changed in place.
        defaults: ``Config`` of its image.
    """

    data: dict[str, Any]
    defaults: Mapping[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        return reading.mapping(self.data["Config"])

    @property
    def host(self) -> dict[str, Any]:
        return reading.mapping(self.data["HostConfig"])

    @property
    def entrypoint(self) -> list[str]:
        return reading.words(self.config.get("Entrypoint"))

    @property
    def command(self) -> list[str]:
        """Entrypoint and command, as one line of words."""
        return [*self.entrypoint, *reading.words(self.config.get("Cmd"))]

    def stands_in_command(self, change: Change) -> bool:
        """Flags do, and variables that the command sets itself: those win over the container's."""
        if change.kind in ("env.set", "env.unset"):
            found = find_engine(self.command)
            return isinstance(found, Found) and change.name in found.env
        return change.kind in ("flag.set", "flag.unset")

    def set_program(self, change: Change) -> None:
        words, border, program = self.command, len(self.entrypoint), shlex.split(change.value or "")
        found = find_engine(words)
        if isinstance(found, Found) and found.shell is None:
            self.put_command([*words[: found.place.program], *program, *words[found.place.flags_at :]])
        elif "".join(words[border : border + 1]).startswith("--"):
            self.put_command([*words[:border], *program, *words[border:]])
        else:
            raise _NoPlaceError(
                "the command stands behind a shell or a script; it has to be edited there",
                "命令在 shell 或脚本之中，需要在那里修改",
            )

    def put_command(self, new: Sequence[str]) -> None:
        """Each word goes back to the side that it came from."""
        entrypoint = self.entrypoint
        if list(new[: len(entrypoint)]) == entrypoint:
            self.config["Cmd"] = list(new[len(entrypoint) :])
        else:
            # The flags stand in the entrypoint itself.
            self.config["Entrypoint"], self.config["Cmd"] = list(new), None

    def set_env(self, change: Change) -> None:
        self._put_env(change.name, change.value or "")

    def _put_env(self, name: str, value: str) -> None:
        entries = reading.words(self.config.get("Env"))
        places = [index for index, entry in enumerate(entries) if entry.partition("=")[0] == name]
        if places:
            entries[places[-1]] = f"{name}={value}"
        else:
            entries.append(f"{name}={value}")
        self.config["Env"] = entries

    def unset_env(self, change: Change) -> None:
        def names_it(entry: str) -> bool:
            return entry.partition("=")[0] == change.name

        entries = reading.words(self.config.get("Env"))
        inherited = list(filter(names_it, reading.words(self.defaults.get("Env"))))
        if inherited and all(entry in inherited for entry in filter(names_it, entries)):
            raise _NoPlaceError(
                f"{change.name} comes from the image; it can be given another value, but not be taken away",
                f"{change.name} 来自镜像；只能改成别的值，不能去掉",
            )
        self.config["Env"] = [*(entry for entry in entries if not names_it(entry)), *inherited]

    def set_shm(self, change: Change) -> None:
        if self.host.get("IpcMode") == "host":
            raise _NoPlaceError(
                "with --ipc host the container uses the host's /dev/shm; a size has no effect",
                "使用 --ipc host 时容器用的是主机的 /dev/shm，设置大小不起作用",
            )
        self.host["ShmSize"] = read_size(change.value or "")

    def set_memory(self, change: Change) -> None:
        size, before, swap = (
            read_size(change.value or ""),
            self.host.get("Memory") or 0,
            self.host.get("MemorySwap") or 0,
        )
        if swap > 0:
            # Memory and swap together: twice the memory if nothing was said, and never below it.
            self.host["MemorySwap"] = 2 * size if swap == 2 * before else max(swap, size)
        self.host["Memory"] = size

    def set_gpus(self, change: Change) -> None:
        wanted = read_gpus(change.value or "")
        ours = reading.gpu_requests(self.data)
        if not ours and "nvidia" in str(self.host.get("Runtime")):
            # Asked for through the runtime: a device request beside it would be a second voice.
            self._put_env("NVIDIA_VISIBLE_DEVICES", _visible(wanted))
            return
        request = {
            "Driver": "",
            "Count": wanted.count or 0,
            "DeviceIDs": list(wanted.device_ids) or None,
            "Capabilities": [["gpu"]],
            "Options": {},
        }
        others = [one for one in self.host.get("DeviceRequests") or () if one not in ours]
        self.host["DeviceRequests"] = [*others, request]

    def set_ulimit(self, change: Change) -> None:
        soft, hard = read_ulimit(change.value or "")
        kept = [one for one in self.host.get("Ulimits") or () if one.get("Name") != change.name]
        self.host["Ulimits"] = [*kept, {"Name": change.name, "Hard": hard, "Soft": soft}]

    def set_port(self, change: Change) -> None:
        if self.host.get("NetworkMode") == "host":
            raise _NoPlaceError(
                "the container uses the host's network; the engine's --port is the port",
                "容器使用主机网络；引擎的 --port 就是端口",
            )
        port = read_port(change.value or "")
        inner = f"{port.container}/{port.protocol}"
        binding = {"HostIp": port.host_ip, "HostPort": "" if port.host is None else str(port.host)}
        self.host["PortBindings"] = {**reading.mapping(self.host.get("PortBindings")), inner: [binding]}
        self.config["ExposedPorts"] = {**reading.mapping(self.config.get("ExposedPorts")), inner: {}}

    def set_volume(self, change: Change) -> None:
        self._put_bind(change.value or "")

    def mount_file(self, change: Change) -> None:
        if not change.name.startswith("/"):
            raise _NoPlaceError(
                "a mounted file needs an absolute path in the container", "挂载文件需要容器内的绝对路径"
            )
        self._put_bind(f"{change.value}:{change.name}:ro")

    def _put_bind(self, bind: str) -> None:
        mount = read_volume(bind)
        if mount.kind == "bind" and (mount.source or "").startswith((".", "~", "$")):
            raise _NoPlaceError(
                f"{mount.source} is no absolute path on the host", f"{mount.source} 不是主机上的绝对路径"
            )
        kept = [one for one in reading.words(self.host.get("Binds")) if read_volume(one).target != mount.target]
        if any(one.get("Target") == mount.target for one in self.host.get("Mounts") or ()):
            self.host["Mounts"] = [one for one in self.host["Mounts"] if one.get("Target") != mount.target]
        self.host["Binds"] = [*kept, bind]

    def set_restart(self, change: Change) -> None:
        name, attempts = read_restart(change.value or "")
        self.host["RestartPolicy"] = {"Name": name, "MaximumRetryCount": attempts}

    def set_ipc(self, change: Change) -> None:
        self.host["IpcMode"] = change.value or ""

    def set_runtime(self, change: Change) -> None:
        self.host["Runtime"] = change.value or ""

    def set_user(self, change: Change) -> None:
        self.config["User"] = change.value or ""

    def set_image(self, change: Change) -> None:
        self.config["Image"] = change.value
        # The id is that of the image before; from now on the name decides.
        self.data["Image"] = ""

    def refuse(self, change: Change) -> None:
        if change.kind in ("flag.raise", "flag.lower"):
            raise _NoPlaceError("how far is not known from here", "此处无法得知应改到多少")
        raise _NoPlaceError("this is no part of a container's configuration", "这不属于容器的配置")


def _visible(wanted: Gpus) -> str:
    """As ``NVIDIA_VISIBLE_DEVICES`` takes it."""
    if wanted.count == -1:
        return "all"
    return ",".join(wanted.device_ids or map(str, range(wanted.count or 0))) or "none"


_EDITS: Final[Mapping[str, Callable[[_Draft, Change], None]]] = {
    "env.set": _Draft.set_env,
    "env.unset": _Draft.unset_env,
    "docker.shm_size": _Draft.set_shm,
    "docker.memory": _Draft.set_memory,
    "docker.ipc": _Draft.set_ipc,
    "docker.runtime": _Draft.set_runtime,
    "docker.gpus": _Draft.set_gpus,
    "docker.ulimit": _Draft.set_ulimit,
    "docker.port": _Draft.set_port,
    "docker.volume": _Draft.set_volume,
    "docker.restart": _Draft.set_restart,
    "docker.user": _Draft.set_user,
    "docker.command": _Draft.set_program,
    "image.tag": _Draft.set_image,
    "file.mount": _Draft.mount_file,
}
