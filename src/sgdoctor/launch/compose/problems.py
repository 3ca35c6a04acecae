"""What people get wrong in compose files, with the line it stands in."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.commands import find_engine
from sgdoctor.launch.compose.command_words import CommandPart, line_in, stray_line_breaks
from sgdoctor.launch.compose.project import Project, Service
from sgdoctor.launch.compose.reading import env_entries, environment_of, launch_of
from sgdoctor.launch.compose.repair import bare_items, character_problems, comments_in, glued_items
from sgdoctor.launch.compose.syntax import Mapping, Node, Sequence, is_merge_key
from sgdoctor.launch.compose.unset import unset_problems
from sgdoctor.launch.compose.values import Items, SourceFile
from sgdoctor.launch.compose.values import Text as Scalar
from sgdoctor.launch.container_problems import container_problems
from sgdoctor.launch.flag_edits import is_flag
from sgdoctor.launch.found import MISTAKES, Refused
from sgdoctor.launch.model import Launch, Problem
from sgdoctor.launch.typography import REPAIR, at_lines
from sgdoctor.texts import Text

_QUOTES: Final = ("'", '"')
# Where the problems of all containers stand in a compose file: a variable, or a key of the service.
_VARIABLES: Final = {
    "gpu-numbered-twice": "CUDA_VISIBLE_DEVICES",
    "gpus-asked-for-twice": "NVIDIA_VISIBLE_DEVICES",
}
_KEYS: Final = {
    "shm-size-without-effect": "shm_size",
    "restart-after-exit-0": "restart",
    "flags-without-engine": "command",
    "gpu-count-zero": "deploy",
    "folder-mounted-as-script": "volumes",
}


def problems_of(project: Project, service: Service, parts: tuple[CommandPart, CommandPart]) -> tuple[Problem, ...]:
    """Everything that is wrong with a service, the worst kinds of mistakes first."""
    launch = launch_of(project, service)
    found = [
        *(_duplicate(key, first, again) for file in project.files for key, first, again in duplicate_keys(file)),
        *(problem for part in parts for problem in _command_problems(part)),
        *_shell_problem(parts),
        *_environment_problems(service),
        *unset_problems(service),
        *_gpu_problems(project, service, launch),
    ]
    on_disk = project.files[0].path is not None
    common = container_problems(launch, (lambda path: Path(path).is_dir()) if on_disk else None)
    known = {problem.id for problem in found}
    found += [_placed(project, service, problem) for problem in common if problem.id not in known]
    return tuple(found)


def duplicate_keys(file: SourceFile) -> Iterator[tuple[str, int, int]]:
    """Keys that are written twice in one mapping: name, and numbers of the two lines."""
    if file.root is not None:
        yield from _duplicates(file.root)


def _duplicates(node: Node) -> Iterator[tuple[str, int, int]]:
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _duplicates(item)
    elif isinstance(node, Mapping):
        seen: dict[str, int] = {}
        for key, value in node.pairs:
            if key.value in seen and not is_merge_key(key):
                yield key.value, seen[key.value], key.line
            seen[key.value] = key.line
            yield from _duplicates(value)


def _duplicate(key: str, first: int, again: int) -> Problem:
    return Problem(
        "duplicate-key",
        "fatal",
        Text(
            f"`{key}` is written twice, in lines {first} and {again}; Compose refuses the file",
            f"`{key}` 出现了两次（第 {first} 行和第 {again} 行）；Compose 会拒绝该文件",
        ),
        at_lines([again]),
    )


def _command_problems(part: CommandPart) -> Iterator[Problem]:
    yield from _newline_arguments(part)
    yield from _dropped(part)
    yield from _comments(part)
    yield from _items(part)
    yield from _characters(part)


def _newline_arguments(part: CommandPart) -> Iterator[Problem]:
    stray = stray_line_breaks(part)
    if not stray:
        return
    yield Problem(
        "newline-argument",
        "fatal",
        Text(
            f"backslashes at the ends of lines turn line breaks into arguments of the command ({len(stray)})",
            f"行尾的反斜杠使 {len(stray)} 个换行符成为命令的参数",
        ),
        # The word begins with the backslash itself.
        at_lines(sorted({word.line for word in stray})),
        (REPAIR,),
        detail=Text(
            "A block that begins with | keeps its line breaks and Compose is no shell: take the backslashes away, or "
            "begin the block with >.",
            "以 | 开头的块会保留换行，而 Compose 并不是 shell：请去掉反斜杠，或改用 >。",
        ),
    )


def _dropped(part: CommandPart) -> Iterator[Problem]:
    value = part.value
    if part.cut_at is None or not isinstance(value, Scalar):
        return
    dropped = " ".join(value.text[part.cut_at :].split())
    shown = dropped if len(dropped) <= 40 else dropped[:39] + "…"
    has_flags = any(is_flag(word) and word.startswith("--") for word in dropped.split())
    starts_engine = "launch_server" in dropped or "sglang serve" in dropped
    yield Problem(
        "dropped-behind-operator",
        "fatal" if has_flags or starts_engine else "degraded",
        Text(
            f"Compose drops everything from `{shown}` on: no shell reads `{part.key}`",
            f"Compose 会丢弃从 `{shown}` 开始的全部内容：`{part.key}` 不经过 shell",
        ),
        at_lines([line_in(value, part.cut_at)]),
        detail=Text(
            'For pipes, `&&` and `>` write a list: ["bash", "-c", "..."]. A literal one belongs in quotes.',
            '需要管道、`&&` 或 `>` 时请写成列表：["bash", "-c", "..."]；字面字符请放在引号里。',
        ),
    )


def _comments(part: CommandPart) -> Iterator[Problem]:
    lines = comments_in(part)
    if lines:
        yield Problem(
            "comment-in-command",
            "fatal",
            Text(
                "A comment inside the text of the command is no comment: its words become arguments",
                "命令文本中的注释不是注释，其中的词会成为参数",
            ),
            at_lines([line.number for line in lines]),
            (REPAIR,),
            "SGL108",
        )


def _items(part: CommandPart) -> Iterator[Problem]:
    glued = glued_items(part)
    if glued:
        yield Problem(
            "glued-item",
            "fatal",
            Text(
                f"an item of the list is one argument: {glued[0].text!r} is taken for a flag with a blank in its name",
                f"列表的一项就是一个参数：{glued[0].text!r} 会被当作名字里带空格的参数",
            ),
            at_lines([word.value.node.line for word in glued]),
            (REPAIR,),
        )
    bare = bare_items(part)
    if bare:
        yield Problem(
            "item-not-a-text",
            "fatal",
            Text(
                f"{bare[0].text} is no text without quotes; Compose refuses it in a list of arguments",
                f"{bare[0].text} 不加引号就不是文本；Compose 拒绝它出现在参数列表里",
            ),
            at_lines([word.value.node.line for word in bare]),
            (REPAIR,),
        )


def _characters(part: CommandPart) -> Iterator[Problem]:
    lines: dict[str, list[int]] = {}
    first: dict[str, Problem] = {}
    for problem, number in character_problems(part):
        first.setdefault(problem.id, problem)
        lines.setdefault(problem.id, []).append(number)
    for kind, problem in first.items():
        yield replace(problem, where=at_lines(sorted(set(lines[kind]))), changes=(REPAIR,))


def _shell_problem(parts: tuple[CommandPart, CommandPart]) -> Iterator[Problem]:
    found = find_engine((*parts[0].texts, *parts[1].texts))
    if not isinstance(found, Refused) or found.id not in MISTAKES:
        return
    words = parts[1].words or parts[0].words
    yield Problem(found.id, "fatal", found.why, at_lines([words[0].line]) if words else None)


def _environment_problems(service: Service) -> Iterator[Problem]:
    for part in service.fields.get("environment", ()):
        if not isinstance(part, Items):
            continue
        for name, value, at in env_entries((part,)):
            where = at_lines([at.node.line])
            if value and len(value) > 1 and value[0] == value[-1] and value[0] in _QUOTES:
                inner = value[1:-1]
                yield Problem(
                    "quotes-in-value",
                    "error",
                    Text(
                        f"the quotes are part of the value of {name}: the container gets {value}",
                        f"引号成了 {name} 的值的一部分：容器得到的是 {value}",
                    ),
                    where,
                    (Change("env.set", name, inner),),
                )
            elif name != name.strip():
                yield Problem(
                    "blank-in-name",
                    "fatal",
                    Text(
                        f"there is a blank before = in the variable {name.strip()}; Compose refuses it",
                        f"变量 {name.strip()} 的 = 前有空格；Compose 会拒绝",
                    ),
                    where,
                )


def _gpu_problems(project: Project, service: Service, launch: Launch) -> Iterator[Problem]:
    gpus = launch.gpus
    visible = launch.env.get("CUDA_VISIBLE_DEVICES")
    if gpus is None or not launch.argv:
        return
    asked = gpus.device_ids or gpus.count is not None
    if gpus.runtime and visible and not asked and launch.env.get("NVIDIA_VISIBLE_DEVICES") is None:
        yield Problem(
            "gpu-chosen-by-cuda-alone",
            "notice",
            Text(
                f"only CUDA_VISIBLE_DEVICES={visible} chooses the GPU; the container gets those the image asks for",
                f"只有 CUDA_VISIBLE_DEVICES={visible} 在选择 GPU；容器得到的是镜像要求的 GPU",
            ),
            _env_line(project, service, "CUDA_VISIBLE_DEVICES"),
            detail=Text(
                "This works with runtime: nvidia and an image that sets NVIDIA_VISIBLE_DEVICES=all; the number counts "
                "all GPUs of the host. With a device request (--gpus, deploy) those of the container are numbered from "
                "0, and the same number would be wrong.",
                "在 runtime: nvidia 且镜像设置了 NVIDIA_VISIBLE_DEVICES=all 时有效，编号按主机的全部 GPU 计算。"
                "改用设备请求（--gpus 或 deploy）后容器内的 GPU 从 0 开始编号，同样的编号就错了。",
            ),
        )
    if not gpus.runtime and not asked and not _has_device(service):
        yield Problem(
            "no-gpu-asked-for",
            "degraded",
            Text(
                "the service asks for no GPU, which only works where nvidia is Docker's default runtime",
                "该服务没有申请 GPU；只有当 Docker 的默认 runtime 是 nvidia 时才可用",
            ),
            changes=(Change("docker.gpus", value="all"),),
        )


def _has_device(service: Service) -> bool:
    """Whether any device is handed in by other means."""
    return "devices" in service.fields or service.text("privileged") == "true"


def _env_line(project: Project, service: Service, name: str) -> Text | None:
    entry = environment_of(project, service).get(name)
    return at_lines([entry.at.node.line]) if entry is not None and entry.at is not None else None


def _placed(project: Project, service: Service, problem: Problem) -> Problem:
    """A problem of any container with its line in the file."""
    if variable := _VARIABLES.get(problem.id):
        return replace(problem, where=_env_line(project, service, variable) or problem.where)
    if key := _KEYS.get(problem.id):
        value = service.last(key)
        return replace(problem, where=at_lines([value.node.line]) if value is not None else problem.where)
    return problem
