"""The script that starts the engine is in the container, at the path that the command has."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.document import ComposeDocument
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.launches.places import LaunchScript as Script
from sgdoctor.preflight.launches.places import State, launch_script
from sgdoctor.preflight.launches.scripts import cannot_work
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_OFFICIAL: Final = re.compile(r"(?:^|/)lmsysorg/sglang(?:[:@]|$)")
# Where official images keep programs of their own.
_OF_IMAGE: Final = ("/sgl-workspace/", "/usr/", "/opt/", "/bin/")
_UNSEEN: Final = Text("it is not to be seen from here", "从这里看不到它")
_STOCK: Final = Change("docker.command", value="python3 -m sglang.launch_server")

_PUT_IT_THERE: Final = Text(
    "Put it beside the launch and mount it; if all it does is start the server, python3 -m sglang.launch_server does "
    "the same without it.",
    "请把它放在启动配置旁边并挂载；如果它只是启动服务器，直接用 python3 -m sglang.launch_server 即可，不需要它。",
)


class LaunchScript:
    """The launch script gets into the container."""

    id: ClassVar = "launch-script"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Launch script", "启动脚本")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Nothing where the engine is started without a script."""
        script = launch_script(situation)
        if script is None or situation.launch is None:
            return
        match script.state:
            case State.FILE | State.WRITTEN:
                yield Finding(Status.PASS, Text("it is there", "存在"), evidence=f"{script.inside} = {script.here}")
            case State.FOLDER:
                yield _folder(script)
            case State.MISSING:
                yield _missing(script, in_container=situation.launch.image is not None)
            case _ if script.mount is None and script.inside.startswith("/") and situation.launch.image is not None:
                yield from _unmounted(situation, script)
            case _:
                why = unseen(situation.host, situation.launch) or Text(
                    "it is not to be seen from here", "从这里看不到它"
                )
                yield Finding(Status.SKIPPED, why, evidence=script.inside, remote=situation.host.remote)


def _folder(script: Script) -> Finding:
    return Finding(
        Status.FAIL,
        Text(f"{script.here} is a folder, not a script", f"{script.here} 是文件夹，不是脚本"),
        evidence=script.inside,
        prevents="SGL145",
        detail=Text(
            "Docker made it when the script was missing. Remove it and put the script there.",
            "脚本不存在时 Docker 创建了它。请删除该文件夹并放入脚本。",
        ),
        phase="args",
        # It takes away nothing but a folder that is empty.
        changes=(Change("host.command", value=f"rmdir {shlex.quote(str(script.here))}"),),
    )


def _missing(script: Script, *, in_container: bool) -> Finding:
    detail = Text(
        "Put it there first: -v and the short form of Compose make an empty folder of it, and Python finds no program "
        "there.",
        "请先把它放到那里：-v 和 Compose 的短写法会把它变成空文件夹，Python 在其中找不到程序。",
    )
    return Finding(
        Status.FAIL,
        Text(f"{script.here} is not there", f"{script.here} 不存在"),
        evidence=script.inside,
        prevents="SGL145" if in_container else "SGL144",
        detail=detail if in_container else None,
        phase="args",
    )


def _unmounted(situation: Situation, script: Script) -> Iterator[Finding]:
    image = (situation.launch.image if situation.launch else None) or ""
    official = _OFFICIAL.search(image) is not None
    if script.inside.startswith(_OF_IMAGE) or situation.host.remote:
        why = Text("it is part of the image, or of another machine", "它属于镜像，或在另一台机器上")
        yield Finding(Status.SKIPPED, why, evidence=script.inside, remote=situation.host.remote)
        return
    changes = (_by_hand(situation, script),)
    detail = _PUT_IT_THERE
    if official:
        detail = Text(f"The image does not have it either. {detail.en}", f"镜像里也没有它。{detail.zh}")
    if script.elsewhere is not None:
        source = _source(situation, script.elsewhere)
        # A script that cannot work is better left out than mounted.
        broken = script.text is not None and cannot_work(situation, script.text)
        changes = (_STOCK if broken else Change("docker.volume", value=f"{source}:{script.inside}:ro"),)
        detail = Text(
            f"{script.elsewhere} has that name; the container does not get it under this path.",
            f"{script.elsewhere} 与它同名，但容器在这个路径下看不到它。",
        )
    yield Finding(
        Status.FAIL if official else Status.WARN,
        Text(f"nothing mounts {script.inside}", f"没有任何挂载提供 {script.inside}"),
        evidence=image,
        prevents="SGL144",
        changes=changes,
        detail=detail,
        phase="args" if official else None,
    )


def _by_hand(situation: Situation, script: Script) -> Change:
    """The line that mounts a script whose place on the host is not known: beside the launch is where it belongs."""
    name = PurePosixPath(script.inside).name
    if isinstance(situation.document, ComposeDocument):
        return Change("file.edit", f"services.{situation.document.service}.volumes", f"- ./{name}:{script.inside}:ro")
    return Change("file.edit", "docker run", f'-v "$PWD/{name}:{script.inside}:ro"')


def _source(situation: Situation, path: Path) -> str:
    """As it is written in a mount: Compose takes relative paths from its file."""
    if isinstance(situation.document, ComposeDocument) and path.is_relative_to(situation.beside):
        return f"./{path.relative_to(situation.beside)}"
    return str(path.absolute())
