"""Changes of a launch as splices of its ``docker run`` command."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_command import DockerCommand, gpu_fields, mount_of, read_docker_volume
from sgdoctor.launch.docker_options import Option
from sgdoctor.launch.docker_values import gpus_text, read_gpus, read_port, read_restart, read_size, read_ulimit
from sgdoctor.launch.found import Found, Refused
from sgdoctor.launch.model import FlagTable, Gpus
from sgdoctor.launch.script import gap_before
from sgdoctor.launch.shell import Splice, quoted, splices_inside
from sgdoctor.texts import Text

_SINGLE: Final = {
    "docker.shm_size": "--shm-size",
    "docker.ipc": "--ipc",
    "docker.runtime": "--runtime",
    "docker.restart": "--restart",
    "docker.user": "--user",
    "docker.name": "--name",
    "docker.memory": "--memory",
}
_SHORT: Final = {"--env": "-e", "--volume": "-v", "--publish": "-p"}
_ENGINE: Final = frozenset({"flag.set", "flag.unset"})
_ENV: Final = frozenset({"env.set", "env.unset"})
# The one thing in a value that the shell may still put in: where the user is.
_HERE: Final = re.compile(r"(\$\(pwd\)|\$PWD|\$HOME|~)(/[\w@%+=:,./-]*)", re.ASCII)
_TAG: Final = re.compile(r"[\w][\w.-]*")

_NO_PLACE: Final = Text("docker run has no place for it", "docker run 命令里没有地方写它")
_HOW_FAR: Final = Text("how far is not known from here", "此处无法得知应改到多少")
_HOST_SHM: Final = Text(
    "with --ipc host the container uses the host's /dev/shm; a size has no effect",
    "使用 --ipc host 时容器用的是主机的 /dev/shm，设置大小不起作用",
)
_HOST_NETWORK: Final = Text(
    "the container uses the host's network; the engine's --port is the port",
    "容器使用主机网络；引擎的 --port 就是端口",
)
_REMOVED: Final = Text(
    "--rm removes the container at its end; Docker refuses a restart policy beside it",
    "--rm 会在退出时删除容器，Docker 不允许同时设置重启策略",
)
_CDI: Final = Text("the GPUs are given by --device; change them there", "GPU 由 --device 指定，请在那里修改")
_OUT_OF_SIGHT: Final = Text(
    "the command stands behind a shell or a script; it has to be edited there",
    "命令在 shell 或脚本之中，需要在那里修改",
)
_NO_TARGET: Final = Text("a mounted file needs an absolute path in the container", "挂载文件需要容器内的绝对路径")


class _NoPlaceError(Exception):
    """The command has no place for a change; ``why`` goes to the user."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.en)
        self.why = why


def docker_run_splices(
    command: DockerCommand, changes: Sequence[Change], flags: FlagTable
) -> tuple[list[Splice], list[tuple[Change, Text]]]:
    """The splices that make changes, and the changes that have no place, each with the reason.

    Raises:
        UserError: a value is not one of its kind.
    """
    engine = command.engine
    found = engine if isinstance(engine, Found) else command.bare_flags
    inner = found.env if found else {}
    splices: list[Splice] = []
    left: list[tuple[Change, Text]] = []
    last_of_kind = {_key(change): change for change in changes}
    for change in last_of_kind.values():
        if change.kind in _ENGINE or (change.kind in _ENV and change.name in inner):
            if found is None:
                left.append((change, engine.why if isinstance(engine, Refused) else _OUT_OF_SIGHT))
            continue
        try:
            splices += _EDITS.get(change.kind, _refuse)(command, change)
        except _NoPlaceError as error:
            left.append((change, error.why))
    if found is not None:
        own = found.splices(changes, flags)
        splices += own if found.script is None else splices_inside(found.script, own)
    return splices, left


def _key(change: Change) -> tuple[str, ...]:
    """What a change is about: of several about the same the last one is made."""
    if change.kind == "docker.port":
        return change.kind, str(read_port(change.value or "").container)
    if change.kind in ("docker.volume", "file.mount"):
        mount = read_docker_volume(_bind(change) or "")
        return "mount", mount.target if mount else change.name
    family = "env" if change.kind in _ENV else change.kind
    return family, change.name


def _set_single(command: DockerCommand, change: Change) -> Iterator[Splice]:
    name, value = _SINGLE[change.kind], change.value
    option = command.options.last(name)
    if change.kind == "docker.shm_size" and (ipc := command.options.last("--ipc")) and ipc.value == "host":
        raise _NoPlaceError(_HOST_SHM)
    if change.kind == "docker.restart" and value not in (None, "no") and command.options.has("--rm"):
        raise _NoPlaceError(_REMOVED)
    if value is None or (change.kind == "docker.restart" and value == "no"):
        for given in command.options.given:
            if given.name == name:
                yield from _without(command, given)
        return
    if change.kind == "docker.restart":
        read_restart(value)
    elif change.kind in ("docker.shm_size", "docker.memory"):
        read_size(value)
    yield _with_value(command, option, name, value)


def _set_env(command: DockerCommand, change: Change) -> Iterator[Splice]:
    given = [one for one in command.options.given if one.name == "--env" and _name(one) == change.name]
    yield _with_value(command, given[-1] if given else None, "--env", f"{change.name}={change.value or ''}")


def _unset_env(command: DockerCommand, change: Change) -> Iterator[Splice]:
    for option in command.options.given:
        if option.name == "--env" and _name(option) == change.name:
            yield from _without(command, option)


def _set_gpus(command: DockerCommand, change: Change) -> Iterator[Splice]:
    wanted = read_gpus(change.value or "")
    option = command.options.last("--gpus")
    gpus = command.gpus()
    if option is None and gpus.driver == "cdi":
        raise _NoPlaceError(_CDI)
    if option is None and gpus.runtime is not None:
        # Asked for through the runtime: a device request beside it would be a second voice.
        yield from _set_env(command, Change("env.set", "NVIDIA_VISIBLE_DEVICES", _visible(wanted)))
        return
    rest = gpu_fields(option.value)[1] if option and option.value else []
    kept = [f'"{field}"' if "," in field else field for field in rest]
    value = ",".join([gpus_text(wanted) or "all", *kept])
    yield _with_value(command, option, "--gpus", value)


def _set_port(command: DockerCommand, change: Change) -> Iterator[Splice]:
    network = command.options.last("--network")
    if network and network.value == "host":
        raise _NoPlaceError(_HOST_NETWORK)
    port = read_port(change.value or "")
    ends = (str(port.container), f"{port.container}/{port.protocol}")
    given = [one for one in command.options.given if one.name == "--publish" and one.value]
    same = [one for one in given if (one.value or "").rpartition(":")[2] in ends]
    yield _with_value(command, same[-1] if same else None, "--publish", change.value or "")


def _set_mount(command: DockerCommand, change: Change) -> Iterator[Splice]:
    bind = _bind(change)
    mount = read_docker_volume(bind) if bind else None
    if bind is None or mount is None:
        raise _NoPlaceError(_NO_TARGET)
    same = [one for one in command.options.given if (old := mount_of(one)) and old.target == mount.target]
    if not same:
        yield _with_value(command, None, "--volume", bind)
    elif same[-1].name == "--volume":
        yield _with_value(command, same[-1], "--volume", bind)
    else:
        first, last = command.words[same[-1].start], command.words[same[-1].end - 1]
        yield Splice(first.start, last.end, f"-v {_typed(bind)}")


def _set_ulimit(command: DockerCommand, change: Change) -> Iterator[Splice]:
    read_ulimit(change.value or "")
    given = [one for one in command.options.given if one.name == "--ulimit" and _name(one) == change.name]
    yield _with_value(command, given[-1] if given else None, "--ulimit", f"{change.name}={change.value}")


def _set_image(command: DockerCommand, change: Change) -> Iterator[Splice]:
    value = change.value or ""
    at = command.options.image
    assert at is not None
    if _TAG.fullmatch(value):
        bare = (command.image or "").partition("@")[0]
        folder, slash, name = bare.rpartition("/")
        value = f"{folder}{slash}{name.partition(':')[0]}:{value}"
    word = command.words[at]
    yield Splice(word.start, word.end, quoted(value, word.raw))


def _set_program(command: DockerCommand, change: Change) -> Iterator[Splice]:
    program = " ".join(map(quoted, shlex.split(change.value or "")))
    engine, words = command.engine, command.inner.words
    border = len(command.entrypoint)
    if isinstance(engine, Found) and engine.script is None and engine.place.program >= border:
        yield Splice(words[engine.place.program].start, words[engine.place.flags_at - 1].end, program)
    elif command.bare_flags is not None:
        yield Splice(words[border].start, words[border].start, f"{program} ")
    elif not command.arguments:
        yield Splice(command.command.end, command.command.end, f" {program}")
    else:
        raise _NoPlaceError(_OUT_OF_SIGHT)


def _refuse(_: DockerCommand, change: Change) -> Iterator[Splice]:
    if change.kind == "text.repair":
        return iter(())
    raise _NoPlaceError(_HOW_FAR if change.kind in ("flag.raise", "flag.lower") else _NO_PLACE)


def _with_value(command: DockerCommand, option: Option | None, name: str, value: str) -> Splice:
    """An option with another value, or a new option in front of the image."""
    if option is None:
        assert command.options.image is not None
        place = command.words[command.options.image].start
        return Splice(place, place, f"{_SHORT.get(name, name)} {_typed(value)}{command.gap_before_image()}")
    word = command.words[option.end - 1]
    if option.value is None:
        return Splice(word.start, word.end, f"{name} {_typed(value)}")
    new = _typed(value) if not option.before and _HERE.fullmatch(value) else quoted(option.before + value, word.raw)
    return Splice(word.start, word.end, new)


def _without(command: DockerCommand, option: Option) -> Iterator[Splice]:
    first, last = command.words[option.start], command.words[option.end - 1]
    written = option.before.rstrip("=") or first.text
    if first.text.startswith("--") or len(written) == 2:
        yield Splice(first.start - len(gap_before(command.source, first)), last.end, "")
    else:
        # Switches stand in the same word: -dp 80:80.
        yield Splice(first.start, last.end, written[:-1])


def _typed(value: str) -> str:
    """A value as it is typed in a shell."""
    match = _HERE.fullmatch(value)
    if match is None:
        return quoted(value)
    return f'"$(pwd)"{match[2]}' if match[1] == "$(pwd)" else value


def _bind(change: Change) -> str | None:
    """The value of ``-v`` for a mounted file or folder."""
    value = change.value or ""
    if change.kind == "docker.volume" or ":" in value:
        return value
    return f"{value}:{change.name}:ro" if change.name.startswith("/") else None


def _name(option: Option) -> str:
    return (option.value or "").partition("=")[0]


def _visible(wanted: Gpus) -> str:
    """As ``NVIDIA_VISIBLE_DEVICES`` takes it."""
    if wanted.count == -1:
        return "all"
    return ",".join(wanted.device_ids or map(str, range(wanted.count or 0))) or "none"


_EDITS: Final[Mapping[str, Callable[[DockerCommand, Change], Iterator[Splice]]]] = {
    **dict.fromkeys(_SINGLE, _set_single),
    "env.set": _set_env,
    "env.unset": _unset_env,
    "docker.gpus": _set_gpus,
    "docker.port": _set_port,
    "docker.volume": _set_mount,
    "file.mount": _set_mount,
    "docker.ulimit": _set_ulimit,
    "docker.command": _set_program,
    "image.tag": _set_image,
}
