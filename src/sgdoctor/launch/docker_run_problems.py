"""What people get wrong in a ``docker run`` command."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_command import DockerCommand, csv_fields, gpu_fields, read_docker_volume
from sgdoctor.launch.docker_options import OF_DOCKER_ONLY
from sgdoctor.launch.docker_values import read_gpus, read_port, read_restart, read_size, read_volume
from sgdoctor.launch.engine_words import SCRIPTS, engine_at, is_shell
from sgdoctor.launch.found import MISTAKES, Refused
from sgdoctor.launch.model import Problem
from sgdoctor.texts import Text

Where = Callable[[int], Text]
"""The place of the word with this index, as a person finds it."""

# distribution/reference: lower-case path components, then a tag and a digest.
_IMAGE: Final = re.compile(
    r"(?:[\w.-]+(?::\d+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?", re.ASCII
)
# Programs that run the words behind them.
_WRAPPERS: Final = ("tini", "dumb-init", "numactl", "env", "catatonit", "nice", "time", "exec", "taskset")
_CHANGES: Final = {
    "--gpus": "docker.gpus",
    "--shm-size": "docker.shm_size",
    "--ipc": "docker.ipc",
    "--runtime": "docker.runtime",
    "--restart": "docker.restart",
    "-p": "docker.port",
    "--publish": "docker.port",
    "-v": "docker.volume",
    "--volume": "docker.volume",
}
_READERS: Final[dict[str, tuple[Callable[[str], object], str | None]]] = {
    "--publish": (read_port, None),
    "--shm-size": (read_size, None),
    "--memory": (read_size, None),
    "--restart": (read_restart, None),
    "--volume": (lambda value: read_docker_volume(value) or read_volume(value), "SGL062"),
    "--gpus": (lambda value: read_gpus(gpu_fields(value)[0]), "SGL056"),
}


def docker_run_problems(command: DockerCommand, where: Where) -> tuple[Problem, ...]:
    """The problems of one ``docker run``, in the order in which Docker would meet them."""
    finders = (_unknown, _malformed, _cut_gpus, _removed_and_restarted, _image, _behind_image, _entrypoint, _ports)
    return tuple(problem for finder in finders for problem in finder(command, where))


def _unknown(command: DockerCommand, where: Where) -> Iterator[Problem]:
    for option, at in command.options.unknown:
        yield Problem(
            "docker-option-unknown",
            "fatal",
            Text(f"docker run has no option {option}", f"docker run 没有 {option} 这个选项"),
            where(at),
            rule="SGL061",
            detail=Text(
                "Flags of the engine stand behind the image and the program that takes them.",
                "引擎的参数要写在镜像名和启动程序之后。",
            ),
        )


def _malformed(command: DockerCommand, where: Where) -> Iterator[Problem]:
    for option in command.options.given:
        reader, rule = _READERS.get(option.name, (None, None))
        if reader is None or option.value is None or "$" in option.value or re.search(r"\d-\d", option.value):
            continue
        try:
            reader(option.value)
        except UserError as error:
            title = Text(f"{option.name}: {error.en}", f"{option.name}：{error.zh}")
            yield Problem("docker-option-value", "fatal", title, where(option.start), rule=rule)


def _cut_gpus(command: DockerCommand, where: Where) -> Iterator[Problem]:
    option = command.options.last("--gpus")
    fields = csv_fields(option.value) if option and option.value else []
    if option is None or len(fields) < 2 or not any(field.startswith("device=") for field in fields):
        return
    if all("=" in field for field in fields):
        return
    asked, _ = gpu_fields(option.value or "")
    yield Problem(
        "gpus-cut",
        "fatal",
        Text(
            f"--gpus {option.value}: docker cuts the list at its comma and takes the rest for a count",
            f"--gpus {option.value}：docker 会在逗号处截断列表，把后面的当作数量",
        ),
        where(option.start),
        (Change("docker.gpus", value=asked),),
        "SGL056",
        Text(f"Write it as --gpus '\"{asked}\"'.", f"请写成 --gpus '\"{asked}\"'。"),
    )


def _removed_and_restarted(command: DockerCommand, where: Where) -> Iterator[Problem]:
    option = command.options.last("--restart")
    if option is None or option.value in (None, "no") or not command.options.has("--rm"):
        return
    yield Problem(
        "rm-with-restart",
        "fatal",
        Text("--rm and --restart exclude each other", "--rm 与 --restart 不能同时使用"),
        where(option.start),
        (Change("docker.restart", value="no"),),
        "SGL057",
    )


def _image(command: DockerCommand, where: Where) -> Iterator[Problem]:
    at, image = command.options.image, command.image
    if at is None or image is None:
        yield Problem(
            "image-missing",
            "fatal",
            Text("docker run is given no image", "docker run 没有指定镜像"),
            where(len(command.words) - 1),
            detail=Text("The last option may have taken it for its value.", "镜像名可能被前面的选项当作了值。"),
        )
    elif "$" not in image and not _IMAGE.fullmatch(image):
        yield Problem(
            "image-malformed",
            "fatal",
            Text(f"docker takes {image} for the image", f"docker 会把 {image} 当作镜像名"),
            where(at),
            rule="SGL060",
            detail=Text(
                "The first word that is no option is the image; look at what stands before it.",
                "第一个不是选项的词就是镜像名；请检查它前面的内容。",
            ),
        )


def _behind_image(command: DockerCommand, where: Where) -> Iterator[Problem]:
    if command.options.image is None:
        return
    first = command.options.image + 1
    texts = [word.text for word in command.arguments]
    place = engine_at(texts)
    for index, text in enumerate(texts):
        name, equals, value = text.partition("=")
        if name not in OF_DOCKER_ONLY or (place and place.program <= index < place.flags_at):
            continue
        if place is None and index > 0 and not texts[0].startswith("-"):
            return
        following = texts[index + 1] if index + 1 < len(texts) and not texts[index + 1].startswith("-") else None
        value = value if equals else following or ""
        changes = [Change(_CHANGES[name], value=value)] if name in _CHANGES and value else []
        if place is not None and index >= place.flags_at and changes:
            changes.append(Change("flag.unset", name))
        elif place is None or index < place.flags_at:
            changes = []
        yield Problem(
            "docker-option-behind-image",
            "fatal",
            Text(
                f"{name} stands behind the image: the container gets it as an argument, Docker does not",
                f"{name} 写在镜像名之后：它会作为参数传给容器，Docker 看不到它",
            ),
            where(first + index),
            tuple(changes),
            "SGL031" if index == 0 else "SGL109",
        )


def _entrypoint(command: DockerCommand, where: Where) -> Iterator[Problem]:
    engine = command.engine
    if isinstance(engine, Refused) and engine.id in MISTAKES:
        yield Problem(engine.id, "fatal", engine.why, where((command.options.image or 0) + 1))
    option = command.options.last("--entrypoint")
    if option is None or not option.value:
        return
    entry, texts = option.value, [word.text for word in command.arguments]
    name = entry.rpartition("/")[2]
    if " " in entry.strip():
        yield Problem(
            "entrypoint-with-arguments",
            "fatal",
            Text(
                f"--entrypoint takes one word: docker looks for a program that is called {entry!r}",
                f"--entrypoint 只接受一个词：docker 会去找名为 {entry!r} 的程序",
            ),
            where(option.start),
            rule="SGL030",
            detail=Text("Its arguments go behind the image.", "参数要写在镜像名之后。"),
        )
        return
    program = texts[0].rpartition("/")[2] if texts else ""
    place = engine_at(texts)
    if not program or program.startswith("-") or name in _WRAPPERS or name.endswith(SCRIPTS):
        return
    swallowed = place is not None and place.program == 0
    if program == name or swallowed or (is_shell(entry) and not program.endswith(SCRIPTS)):
        yield Problem(
            "entrypoint-swallows-command",
            "fatal",
            Text(
                f"--entrypoint {entry} takes the words behind the image for its own arguments: {entry} {texts[0]} ...",
                f"--entrypoint {entry} 会把镜像名后面的词当作自己的参数：{entry} {texts[0]} ...",
            ),
            where(option.start),
            detail=Text(
                "Leave --entrypoint out, or take the program out of the command.",
                "请去掉 --entrypoint，或从命令中去掉程序名。",
            ),
        )


def _ports(command: DockerCommand, where: Where) -> Iterator[Problem]:
    network, port = command.options.last("--network"), command.options.last("--publish")
    if network is not None and port is not None and network.value == "host":
        yield Problem(
            "ports-on-host-network",
            "notice",
            Text("-p has no effect beside --network host", "使用 --network host 时 -p 不起作用"),
            where(port.start),
            rule="SGL064",
        )
