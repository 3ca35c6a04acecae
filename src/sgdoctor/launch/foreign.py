"""Launches about which nothing true can be said: those of other engines, and those that run where their text is not."""

import re
from pathlib import Path
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.commands import find_engine
from sgdoctor.launch.docker_run import DockerRun
from sgdoctor.launch.engine_command import EngineCommand
from sgdoctor.launch.found import SEVERAL, Found, Refused
from sgdoctor.launch.model import Document, Origin
from sgdoctor.texts import Text

_IMAGES: Final = re.compile(
    r"(?:^|[/_-])(?P<engine>vllm|llama\.cpp|ollama|text-generation-inference|tritonserver|lmdeploy|tabbyapi)(?![a-z])"
)
# Files that start things and are no shell text: suffixes or whole names, and what they are.
_FORMS: Final = (
    (frozenset({".bat", ".cmd"}), Text("a batch file of Windows", "Windows 批处理文件")),
    (frozenset({".ps1"}), Text("a script of PowerShell", "PowerShell 脚本")),
    (frozenset({"makefile", "gnumakefile", ".mk", "justfile"}), Text("a makefile", "Makefile")),
    (frozenset({"dockerfile", "containerfile", ".dockerfile"}), Text("a Dockerfile", "Dockerfile")),
    (frozenset({".py"}), Text("a program in Python", "Python 程序")),
    (frozenset({".ipynb"}), Text("a notebook", "Jupyter 笔记本")),
    (frozenset({".fish"}), Text("a script of fish", "fish 脚本")),
    (frozenset({".md", ".rst"}), Text("a text with markup", "带标记的文档")),
    (frozenset({".hcl", ".nomad", ".tf"}), Text("a job of Nomad or Terraform", "Nomad 或 Terraform 配置")),
    (frozenset({".container", ".kube"}), Text("a unit of Quadlet", "Quadlet 单元")),
    (frozenset({".conf", ".ini", ".cfg", ".toml", ".env"}), Text("a file of settings", "配置文件")),
)
_WINDOWS: Final = (
    ("^", re.compile(r"[ \t]\^[ \t]*\r?\n[ \t]*\S")),
    ("`", re.compile(r"[ \t]`[ \t]*\r?\n[ \t]*\S")),
)
_STARTS: Final = re.compile(r"\b(?:docker|podman)\s+run\b|sglang\.launch_server|\bsglang\s+serve\b")
_CARRIERS: Final = frozenset(
    {"docker", "docker-compose", "podman", "podman-compose", "nerdctl", "kubectl", "oc", "ssh"}
)


def refuse_other_engine(document: Document) -> None:
    """Refuses the launch of an engine whose flags and memory are not known.

    Raises:
        UserError: it names the engine.
    """
    launch = document.launch
    engine = launch.engine if launch.argv else ""
    if not engine and "sglang" not in " ".join((launch.image or "", *launch.command)).lower():
        named = _IMAGES.search((launch.image or "").lower())
        engine = named["engine"] if named else ""
    if engine not in ("", "sglang"):
        raise UserError(
            f"{document.name}: this starts {engine}; only launches of SGLang can be checked and changed",
            f"{document.name}：它启动的是 {engine}；只能检查和修改 SGLang 的启动配置",
        )


def refuse_other_form(path: Path) -> None:
    """Refuses a file that is no shell text and no compose file by its name: it would be taken for a log.

    Raises:
        UserError: it says what the file is, and what can be given instead.
    """
    names = {path.name.lower(), path.suffix.lower()}
    what = next((what for forms, what in _FORMS if names & forms), None)
    if what is not None and path.is_file():
        command = "sgdoctor fix 'docker run ... python3 -m sglang.launch_server ...'"
        raise UserError(
            f"{path}: this is {what.en}, which is not read; give the command that it runs, as one text: {command}",
            f"{path}：无法读取这种文件（{what.zh}）；请把其中运行的命令作为一段文本给出：{command}",
        )


def refuse_windows(text: str, name: str) -> None:
    """Refuses a command whose lines go on as those of ``cmd.exe`` or PowerShell do: no shell here joins them.

    Raises:
        UserError: it names the sign and the line.
    """
    for sign, pattern in _WINDOWS:
        if (match := pattern.search(text)) and _STARTS.search(text):
            line = text.count("\n", 0, match.start()) + 1
            raise UserError(
                f"{name}: line {line} ends with {sign}, as on Windows, and is not joined to the next one here; "
                "give the command as one line",
                f"{name}：第 {line} 行以 Windows 的续行符 {sign} 结尾，这里不会接上下一行；请把命令写成一行给出",
            )


def refuse_several(document: Document) -> None:
    """Refuses a container that starts the engine more than once: flags of which one would be meant is not known.

    Raises:
        UserError: it names all of them.
    """
    if isinstance(document, DockerRun):
        found = document.command.engine
    elif document.launch.origin is Origin.COMPOSE and not document.launch.argv:
        found = find_engine(document.launch.command)
    else:
        return
    if isinstance(found, Refused) and found.id == SEVERAL:
        raise UserError(f"{document.name}: {found.why.en}", f"{document.name}：{found.why.zh}")


def refuse_elsewhere(document: Document) -> None:
    """Refuses an engine's command that ``docker exec``, ``docker compose run`` or ``ssh`` carry to another place.

    What its paths, GPUs and ports mean is said there: by the container or the compose file.

    Raises:
        UserError: it names what carries the command away.
    """
    if not isinstance(document, EngineCommand) or not isinstance(document.found, Found):
        return
    found = document.found
    before = found.outer or found.command.words[: found.place.program]
    carrier = next((name for word in before if (name := word.text.rpartition("/")[2]) in _CARRIERS), None)
    if carrier is not None:
        raise UserError(
            f"{document.name}: {carrier} starts the engine in another place, whose mounts, cards and ports are not in "
            "this text; name the container or the compose file",
            f"{document.name}：引擎由 {carrier} 在别处启动，这段文本里没有那里的挂载、显卡和端口；"
            "请指定容器或 compose 文件",
        )
