"""Changes of everything but the command, each tried and proven by reading the result."""

from dataclasses import replace
from typing import Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.edits import fields_of, volume_of, ways_of
from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.compose.reading import environment_of, on_host, ulimit_of
from sgdoctor.launch.compose.state import NoPlaceError, State, others_kept, tried, variable_reason
from sgdoctor.launch.compose.texts import VariableError
from sgdoctor.launch.docker_values import read_gpus, read_port, read_restart, read_size, read_ulimit, read_volume
from sgdoctor.launch.model import Launch
from sgdoctor.texts import Text

_RELATIVE: Final = frozenset({"flag.raise", "flag.lower"})


def with_field_change(state: State, change: Change) -> State:
    """The project with one change made.

    Raises:
        UserError: a value is not one of its kind.
        NoPlaceError: it has no place here.
    """
    if change.kind in _RELATIVE:
        raise NoPlaceError(Text("how far is not known from here", "此处无法得知应改到多少"))
    _check_value(change)
    ways = ways_of(state.place, change)
    if ways is None:
        raise NoPlaceError(Text("this is no part of a compose file", "这不属于 compose 文件"))
    if why := _without_effect(state, change):
        raise NoPlaceError(why)
    if change.kind != "env.unset" and _is_intended(state, state, change):
        return state
    try:
        for way in ways:
            after = tried(state, way)
            if after is not None and _is_intended(state, after, change):
                return after
    except CannotSpliceError:
        pass
    except VariableError as error:
        raise NoPlaceError(variable_reason(state.project, error, change)) from None
    raise NoPlaceError(_why_not(state, change))


def _is_intended(before: State, after: State, change: Change) -> bool:
    """Whether the new launch differs by ``change`` alone."""
    if not others_kept(before, after, fields_of(change.kind)):
        return False
    old, new = before.launch, after.launch
    value = change.value or ""
    match change.kind:
        case "env.set" | "env.unset":
            want = dict(old.env)
            if change.kind == "env.set":
                want[change.name] = value
            else:
                want.pop(change.name, None)
            return dict(new.env) == want
        case "docker.shm_size":
            return new.shm_bytes == read_size(value) and new == replace(old, shm_bytes=new.shm_bytes)
        case "docker.ipc":
            return new == replace(old, ipc=value)
        case "docker.restart":
            return new == replace(old, restart=None if value == "no" else value)
        case "docker.name":
            return new == replace(old, name=value)
        case "image.tag":
            return new == replace(old, image=value)
        case "docker.runtime" | "docker.user" | "docker.memory":
            (key,) = fields_of(change.kind)
            return after.service.text(key) == value and replace(new, gpus=None) == replace(old, gpus=None)
        case "docker.gpus":
            return _has_gpus(old, new, value)
        case "docker.port":
            port = read_port(value)
            kept = tuple(one for one in old.ports if one.container != port.container)
            return port in new.ports and all(one in new.ports for one in kept) and len(new.ports) == len(kept) + 1
        case "docker.volume" | "file.mount":
            return _has_volume(after, old, new, change)
        case "docker.ulimit":
            return ulimit_of(after.service, change.name) == read_ulimit(value) and new == old
    return False


def _has_volume(after: State, old: Launch, new: Launch, change: Change) -> bool:
    volume = volume_of(change)
    if volume is None:
        return False
    wanted = on_host(after.project, read_volume(volume))
    kept = [mount for mount in old.mounts if mount.target != wanted.target]
    others = [mount for mount in new.mounts if mount.target != wanted.target]
    return wanted in new.mounts and kept == others and replace(new, mounts=()) == replace(old, mounts=())


def _has_gpus(old: Launch, new: Launch, value: str) -> bool:
    wanted = read_gpus(value)
    if new.gpus is None or (new.gpus.device_ids, new.gpus.count) != (wanted.device_ids, wanted.count):
        return False
    env = {name: one for name, one in new.env.items() if name != "NVIDIA_VISIBLE_DEVICES"}
    before = {name: one for name, one in old.env.items() if name != "NVIDIA_VISIBLE_DEVICES"}
    return env == before and replace(new, gpus=None, env={}) == replace(old, gpus=None, env={})


def _check_value(change: Change) -> None:
    """That a value is one of its kind; raises ``UserError``."""
    value = change.value or ""
    match change.kind:
        case "docker.shm_size" | "docker.memory":
            read_size(value)
        case "docker.restart":
            read_restart(value)
        case "docker.ulimit":
            read_ulimit(value)
        case "docker.port":
            read_port(value)
        case "docker.gpus":
            read_gpus(value)


def _without_effect(state: State, change: Change) -> Text | None:
    launch = state.launch
    if change.kind == "docker.shm_size" and launch.ipc == "host":
        return Text(
            "with ipc: host the container uses the host's /dev/shm; a size has no effect",
            "使用 ipc: host 时容器用的是主机的 /dev/shm，设置大小不起作用",
        )
    if change.kind == "docker.port" and launch.network == "host":
        return Text(
            "the container uses the host's network; the engine's --port is the port",
            "容器使用主机网络；引擎的 --port 就是端口",
        )
    return None


def _why_not(state: State, change: Change) -> Text:
    """Where the value that counts stands, if it is elsewhere."""
    if change.kind in ("env.set", "env.unset"):
        entry = environment_of(state.project, state.service).get(change.name)
        if entry is not None and (entry.at is None or entry.at.file is not state.file):
            line = f":{entry.at.node.line}" if entry.at is not None else ""
            return Text(
                f"{change.name} is set in {entry.origin}{line}; change it there",
                f"{change.name} 在 {entry.origin}{line} 中设置；请在那里修改",
            )
        if entry is None and change.kind == "env.unset":
            return Text(f"{change.name} is not set here", f"这里没有设置 {change.name}")
    for key in fields_of(change.kind):
        for part in reversed(state.service.fields.get(key, ())):
            if part.file is not state.file:
                name, line_number = part.file.name, part.node.line
                return Text(
                    f"`{key}` is written in {name}:{line_number}; change it there",
                    f"`{key}` 写在 {name} 第 {line_number} 行；请在那里修改",
                )
    return Text("it cannot be written here without changing something else", "无法在不改动其他内容的情况下写入")
