"""What is mounted exists on the host, and is a file where a file is expected."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar, Final

from sgdoctor.launch.host_paths import source_of
from sgdoctor.launch.model import Mount
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.launches.places import State, launch_script, source_state
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_FILES: Final = frozenset(
    {".json", ".jinja", ".jinja2", ".yaml", ".yml", ".txt", ".toml", ".gguf", ".safetensors", ".py", ".sh", ".pem"}
)
_UNSEEN: Final = Text("not to be seen from here", "从这里看不到")
_DOCKER_MAKES: Final = Text(
    "-v and the short form of Compose make an empty folder in its place; --mount refuses to start.",
    "-v 和 Compose 的短写法会在该处创建空文件夹；--mount 则拒绝启动。",
)


class LaunchMounts:
    """Everything that is mounted is there."""

    id: ClassVar = "launch-mounts"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Mounts", "挂载")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Every bind mount but that of the launch script, which has a check of its own."""
        launch = situation.launch
        if launch is None or launch.image is None:
            return
        script = launch_script(situation)
        mounts = [
            mount
            for mount in launch.mounts
            if mount.kind == "bind" and mount.source and (script is None or mount.target != script.inside)
        ]
        if not mounts:
            return
        if situation.host.remote:
            why = Text("they lie on another machine", "它们在另一台机器上")
            yield Finding(Status.SKIPPED, why, remote=True)
            return
        found = [finding for mount in mounts for finding in _of(situation, mount)]
        yield from found
        unknown = [mount.target for mount in mounts if source_state(situation, mount) is State.UNKNOWN]
        if unknown:
            yield Finding(
                Status.SKIPPED, unseen(situation.host, situation.launch) or _UNSEEN, evidence=", ".join(unknown)
            )
        there = [mount.target for mount in mounts if source_state(situation, mount) in (State.FILE, State.FOLDER)]
        if there and not found:
            yield Finding(Status.PASS, Text("there", "存在"), evidence=", ".join(there))


def _of(situation: Situation, mount: Mount) -> Iterator[Finding]:
    state = source_state(situation, mount)
    source = source_of(mount, situation.beside)
    where = Text(f"the mount of {mount.target}", f"{mount.target} 的挂载")
    is_file = PurePosixPath(mount.target).suffix in _FILES
    if state is State.MISSING and is_file:
        yield Finding(
            Status.FAIL,
            Text(f"{source} is not there", f"{source} 不存在"),
            where=where,
            prevents="SGL029",
            detail=_DOCKER_MAKES,
            phase="docker",
        )
    elif state is State.MISSING and mount.read_only and not _holds_model(situation, mount):
        yield Finding(
            Status.WARN,
            Text(f"{source} is not there: the engine gets an empty folder", f"{source} 不存在：引擎只会得到空文件夹"),
            where=where,
            prevents="SGL027",
            detail=_DOCKER_MAKES,
        )
    elif state is State.FOLDER and is_file:
        yield Finding(
            Status.FAIL,
            Text(
                f"{source} is a folder, and the container takes it for the file {mount.target}",
                f"{source} 是文件夹，但容器把它当作文件 {mount.target}",
            ),
            where=where,
            prevents="SGL029",
            detail=Text(
                "Docker makes an empty folder of a missing source of -v. Remove it and put the file there.",
                "-v 的源文件不存在时 Docker 会创建一个空文件夹。请删除它并放入文件。",
            ),
            phase="docker",
        )
    elif state is State.FILE and _goes_below(situation, mount):
        yield Finding(
            Status.FAIL,
            Text(
                f"{source} is a file, and the command looks for something below {mount.target}",
                f"{source} 是文件，而命令要在 {mount.target} 之下找东西",
            ),
            where=where,
            prevents="SGL029",
            phase="docker",
        )


def _holds_model(situation: Situation, mount: Mount) -> bool:
    """Whether the model is below it: the check of the model's path tells that."""
    path = asked_by(situation.launch, situation.flags).value("--model-path")
    return path is not None and PurePosixPath(path).is_relative_to(mount.target)


def _goes_below(situation: Situation, mount: Mount) -> bool:
    words = situation.launch.command if situation.launch is not None else ()
    return any(
        word.partition("=")[2].startswith(f"{mount.target}/") or word.startswith(f"{mount.target}/") for word in words
    )
