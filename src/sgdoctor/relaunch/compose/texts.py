"""What a user is told about a relaunch by Compose."""

import shlex
from collections.abc import Sequence
from typing import Final

from sgdoctor.texts import Text, listed

STILL_AT_WORK: Final = Text(
    "A Compose that an earlier relaunch started is still at work.", "上一次重启所启动的 Compose 仍在运行。"
)
ONE_OFF: Final = Text(
    "It was made by `docker compose run` for one time; run that again with the corrected flags.",
    "该容器由 `docker compose run` 一次性创建；请用修正后的参数重新运行。",
)
NOTHING_CHANGES: Final = Text(
    "Compose sees no difference between the edited file and the old one.", "Compose 认为修改后的文件与原文件没有区别。"
)
NO_SUCH_CHANGE: Final = Text("The file says all that already.", "文件中已经是这样。")
NOT_BACK: Final = Text(
    "The container is not as it was before: the file, or a variable of the shell, gives another one now.",
    "容器与之前不同：文件或 shell 变量现在对应的是另一个容器。",
)
BY_OTHERS: Final = Text(
    "The container was made anew by somebody else meanwhile; it was left alone.",
    "期间该容器被其他人重新创建；未作改动。",
)


def compose_says(said: str) -> Text:
    """Its own words."""
    return Text(f"Compose says: {said}", f"Compose 返回：{said}")


def too_long(seconds: float) -> str:
    """In the place of its own words."""
    return f"no end after {seconds:.0f} s"


def not_installed(version: str, file: str, service: str, *, first: bool) -> Text:
    """The container was made by a Compose, perhaps of the first generation, that is not there."""
    name = f"docker-compose {version}" if first else f"Compose {version or '2'}"
    way = "apt-get install docker-compose" if first else "https://docs.docker.com/compose/install/"
    command = "docker-compose" if first else "docker compose"
    target = shlex.quote(f"{file}:{service}")
    return Text(
        f"{name} made this container and is not installed here ({way}). Without it: `sgdoctor fix {target} "
        f"--write` edits the file; then, where Compose is: {command} up -d --no-deps {service}",
        f"该容器由 {name} 创建，但这里没有安装（{way}）。没有它时：`sgdoctor fix {target} --write` 可修改文件；"
        f"然后在装有 Compose 的机器上运行：{command} up -d --no-deps {service}",
    )


def shared(service: str, others: Sequence[str]) -> Text:
    """Other containers would lose what they live in."""
    names = listed(others)
    return Text(
        f"{names.en} lives in the network, the memory or the processes of {service}, and would have to be made anew "
        f"with it; edit the file (sgdoctor fix --write) and run up for all of them.",
        f"{names.zh} 共用 {service} 的网络、内存或进程空间，必须一起重建；请修改文件（sgdoctor fix --write），"
        "再对它们一起运行 up。",
    )


def not_replaced(file: str, why: str) -> Text:
    """A file that is mounted by itself, a full disk."""
    return Text(f"{file} cannot be replaced: {why}", f"无法替换 {file}：{why}")


def no_files() -> Text:
    """The labels name none, or the standard input."""
    return Text(
        "Its labels do not say which compose file it was made from.", "容器的标签没有说明它来自哪个 compose 文件。"
    )


def files_elsewhere(missing: Sequence[str]) -> Text:
    """The labels name files of another machine, or of a container."""
    names = ", ".join(missing)
    return Text(
        f"It was made from {names}, which is not here: Compose ran on another machine or in a container (Portainer, "
        "Dockge), or the file was moved. Change it there.",
        f"它来自 {names}，而这里没有该文件：Compose 在另一台机器或容器（Portainer、Dockge）中运行，或文件已被移走。"
        "请在那里修改。",
    )


def replicas(count: int) -> Text:
    """More than one container of the service."""
    return Text(
        f"The service has {count} containers, and would get as many with the corrected flags at once; "
        "only a service with one container is relaunched.",
        f"该服务有 {count} 个容器，会同时全部重建；这里只重启只有一个容器的服务。",
    )


def drifted(why: Sequence[Text]) -> Text:
    """Compose would change more than what was asked for."""
    en, zh = " ".join(one.en for one in why), "".join(one.zh for one in why)
    return Text(
        f"Compose would change more than these flags. {en} The way back, too, leads to what the file says now.",
        f"Compose 的改动会超出这些参数。{zh}恢复时也只能恢复到文件目前的内容。",
    )


def other_hash(by: str, here: str) -> Text:
    """The configuration is not the one that the container was made from."""
    if by != here:
        return Text(
            f"The files, or variables of the shell, are not as when the container was made, or only Compose is "
            f"({by} then, {here} now).",
            f"与创建容器时相比，文件或 shell 变量已不同，也可能只是 Compose 版本不同（当时 {by}，现在 {here}）。",
        )
    return Text(
        "The files, or variables of the shell, are not as when the container was made.",
        "与创建容器时相比，文件或 shell 变量已不同。",
    )


def differing(names: Sequence[str]) -> Text:
    """What is seen of it."""
    parts = listed(names)
    return Text(f"Different are: {parts.en}.", f"不同之处：{parts.zh}。")


def not_set(names: Sequence[str]) -> Text:
    """Variables that the files leave to the shell, as `- HF_TOKEN`; sudo takes them away."""
    variables = listed(names)
    return Text(f"Not set in this shell: {variables.en}.", f"当前 shell 中未设置：{variables.zh}。")


def image_moved(image: str) -> Text:
    """The tag names another image than the one that runs."""
    return Text(
        f"{image} is another image now than the one in the container.", f"{image} 现在指向的镜像与容器所用的不同。"
    )


def image_gone(image: str) -> Text:
    """There is no such tag any more."""
    return Text(f"The image {image} is not there any more.", f"镜像 {image} 已不存在。")


def left_out(what: Sequence[Text]) -> Text:
    """The file has no place for a change."""
    en, zh = "; ".join(one.en for one in what), "；".join(one.zh for one in what)
    return Text(f"Not all of it can be written into the file: {en}", f"部分修改无法写入文件：{zh}")


def edited_meanwhile(file: str) -> Text:
    """Before it was replaced."""
    return Text(f"{file} was edited meanwhile; it was left alone.", f"{file} 期间已被修改，未作改动。")


def edited_there(file: str, backup: str) -> Text:
    """After it was replaced, at the very place."""
    return Text(
        f"{file} was edited meanwhile at the place that was changed; put back there what {backup} says.",
        f"{file} 中被修改的位置期间又被编辑；请参照 {backup} 手动恢复。",
    )


def edited_since(file: str) -> Text:
    """There is no clear way back."""
    return Text(
        f"{file} was edited since then at the same place; use sgdoctor relaunch --set or edit it.",
        f"{file} 的同一位置此后被编辑过；请使用 sgdoctor relaunch --set 或直接编辑。",
    )


def touches_others(names: Sequence[str]) -> Text:
    """The edit would be one of other services, too."""
    others = listed(names)
    return Text(f"It would change other services as well: {others.en}.", f"会同时改变其他服务：{others.zh}。")


def reads_otherwise(wanted: str, found: str) -> Text:
    """Compose does not read in the file what was written."""
    return Text(
        f"Compose reads another command than the one intended: {found} instead of {wanted}.",
        f"Compose 读到的命令与预期不同：{found}，而不是 {wanted}。",
    )


def not_made(service: str) -> Text:
    """Compose is content, and there is none."""
    return Text(f"Compose made no container of {service}.", f"Compose 没有为 {service} 创建容器。")


def not_started(error: str) -> Text:
    """There is one, which did not get to run."""
    return Text(f"The container was not started: {error}", f"容器未能启动：{error}")


def kept_copy(backup: str) -> Text:
    """After it went well."""
    return Text(f"The file as it was: {backup}", f"原文件的副本：{backup}")
