"""A container as a document: what it was started with, what is wrong with it, and the request for a corrected one."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.commands import find_engine
from sgdoctor.launch.container_problems import container_problems
from sgdoctor.launch.found import Found, refusal
from sgdoctor.launch.inspection import reading
from sgdoctor.launch.inspection.body import CreateBody, as_inspection, create_body
from sgdoctor.launch.inspection.editing import with_changes
from sgdoctor.launch.inspection.options import detailed_targets, docker_options
from sgdoctor.launch.inspection.problems import request_problems
from sgdoctor.launch.model import Editable, Edited, EditState, FlagTable, Launch, Origin, Problem
from sgdoctor.launch.render import docker_run
from sgdoctor.texts import Text

_OF_FLAGS: Final = frozenset({"flag.set", "flag.unset"})
_PODMAN: Final = Text(
    "podman refuses parts of what it shows when they are sent back; start it anew with `podman run`",
    "podman 会拒绝接收它自己显示的部分配置；请用 `podman run` 重新启动",
)
_PROGRAM: Final = "docker.command"


@dataclass(frozen=True, slots=True)
class Inspection:
    """The launch of a container.

    ``text`` is not the inspection, most of which is state, but the request that would make such a container: what
    ``edited`` gives differs from it by the changes alone.

    Attributes:
        data: the inspection of the container.
        image: the inspection of the image that it was made from; empty where that is not known.
        name: of the container.
        text: see above, as JSON.
        launch: what it says.
        problems: what is wrong with it.
        editable: whether ``edited`` can work.
        compose: where Compose made the container from; it has to be changed there, or the next ``up`` undoes it.
        api: version of the engine's API.
    """

    data: Mapping[str, Any] = field(repr=False)
    image: Mapping[str, Any] = field(repr=False)
    name: str
    text: str = field(repr=False)
    launch: Launch
    problems: tuple[Problem, ...]
    editable: Editable
    compose: reading.ComposeOrigin | None
    api: tuple[int, int]

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The request for a container with ``changes``.

        Raises:
            UserError: the engine's flags cannot be edited safely, or a value is not one of its kind.
        """
        body, left = self.body(changes, flags)
        text = _as_text(body)
        new = as_inspection(json.loads(text), self.image)
        return Edited(text, replace(_launch(new, self.image), name=self.name), left)

    def body(self, changes: Sequence[Change], flags: FlagTable) -> tuple[CreateBody, tuple[tuple[Change, Text], ...]]:
        """As ``edited``, with what else the engine has to be told; and the changes that have no place there."""
        new, left = self._changed(changes, flags)
        return create_body(new, self.image, self.api), left

    def _changed(
        self, changes: Sequence[Change], flags: FlagTable
    ) -> tuple[dict[str, Any], tuple[tuple[Change, Text], ...]]:
        kinds = {change.kind for change in changes}
        if self.editable.why and self.editable.state is EditState.NO and kinds & _OF_FLAGS and _PROGRAM not in kinds:
            raise refusal(self.editable.why, changes)
        return with_changes(self.data, reading.image_defaults(self.image), changes, flags)

    def docker_run(self, changes: Sequence[Change], flags: FlagTable) -> str:
        """The ``docker run`` (or ``podman run``) command of such a container with ``changes``; raises as ``edited``.

        Networks beyond the first are not in it: they are connected afterwards.
        """
        new, _ = self._changed(changes, flags)
        launch, detailed = _launch(new, self.image), detailed_targets(new)
        mounts = tuple(mount for mount in launch.mounts if mount.target not in detailed)
        return docker_run(
            replace(launch, mounts=mounts),
            options=docker_options(new, self.image),
            inherited=_inherited(new, self.image),
            program="podman" if reading.is_podman(new) else "docker",
        )


def open_inspection(
    data: Mapping[str, Any] | str,
    image: Mapping[str, Any] | str | None = None,
    *,
    api: tuple[int, int] = (1, 41),
    is_folder: Callable[[str], bool] | None = None,
) -> Inspection:
    """The document of a container.

    Args:
        data: the container's inspection, or the text that ``docker inspect`` or ``podman inspect`` prints.
        image: inspection of its image, by id; without it the image's own settings pass for the container's.
        api: version of the engine's API that a corrected container is asked of.
        is_folder: whether a path is a folder on the engine's host; None where that host's files are out of reach.

    Raises:
        UserError: the text is no inspection of one container.
    """
    container = reading.container_of(data) if isinstance(data, str) else data
    of_image = reading.image_of(image) if isinstance(image, str) else image or {}
    launch = _launch(container, of_image)
    compose = reading.compose_origin(container)
    return Inspection(
        data=container,
        image=of_image,
        name=launch.name or "",
        text=_as_text(create_body(container, of_image, api)),
        launch=launch,
        problems=(*container_problems(launch, is_folder), *request_problems(container, launch)),
        editable=_with_notes(_editable(launch), _notes(container, compose)),
        compose=compose,
        api=api,
    )


def _launch(data: Mapping[str, Any], image: Mapping[str, Any]) -> Launch:
    config, defaults = reading.mapping(data.get("Config")), reading.image_defaults(image)
    entrypoint = reading.words(config.get("Entrypoint"))
    command = (*entrypoint, *reading.words(config.get("Cmd")))
    found = find_engine(command)
    env: dict[str, str | None] = {**reading.variables(reading.env_entries(data, defaults))}
    launch = Launch(
        origin=Origin.CONTAINER,
        argv=(),
        command=command,
        env=env,
        image=reading.image_name(data),
        name=str(data.get("Name") or "").lstrip("/") or None,
        gpus=reading.gpus(data),
        ports=reading.ports(data),
        mounts=reading.mounts(data, defaults),
        shm_bytes=reading.shm_bytes(data),
        ipc=reading.ipc(data),
        network=reading.network(data),
        restart=reading.restart(data),
        entrypoint=len(entrypoint),
        init=bool(reading.mapping(data.get("HostConfig")).get("Init")),
    )
    if not isinstance(found, Found):
        return launch
    return replace(
        launch, argv=found.argv, flags_at=found.flags_at, env={**env, **found.env}, engine=found.place.engine
    )


def _editable(launch: Launch) -> Editable:
    written = launch.command[launch.entrypoint :]
    if launch.argv or not written:
        return find_engine(launch.command).editable
    if written[0].startswith("--"):
        return Editable(EditState.NO, Text("no word of the command starts the engine", "命令中没有启动引擎的程序"))
    # Not the image's entrypoint, which hides nothing: it runs what stands behind it.
    return find_engine(written).editable


def _notes(data: Mapping[str, Any], compose: reading.ComposeOrigin | None) -> list[Text]:
    """What is to be known before the request is sent."""
    notes = [_PODMAN] if reading.is_podman(data) else []
    if compose is not None:
        files = ", ".join(compose.config_files)
        notes.append(
            Text(
                f"Compose made this container: change {files} instead, or its next `up` undoes the change",
                f"此容器由 Compose 创建：请改 {files}，否则下次 `up` 会撤销修改",
            )
        )
    return notes


def _with_notes(editable: Editable, notes: Sequence[Text]) -> Editable:
    if editable.state is EditState.NO or not notes:
        return editable
    every = [*([editable.why] if editable.why else []), *notes]
    return Editable(EditState.NOTE, Text("; ".join(one.en for one in every), "；".join(one.zh for one in every)))


def _inherited(data: Mapping[str, Any], image: Mapping[str, Any]) -> int:
    """How many words at the start of entrypoint and command together come from the image."""
    config, defaults = reading.mapping(data.get("Config")), reading.image_defaults(image)
    entrypoint, command = reading.words(config.get("Entrypoint")), reading.words(config.get("Cmd"))
    if entrypoint != reading.words(defaults.get("Entrypoint")):
        return 0
    return len(entrypoint) + (len(command) if command == reading.words(defaults.get("Cmd")) else 0)


def _as_text(made: CreateBody) -> str:
    return json.dumps(made.body, indent=2, ensure_ascii=False) + "\n"
