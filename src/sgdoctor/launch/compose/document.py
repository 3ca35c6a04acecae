"""A service of compose files as a document: what it starts, what is wrong with it, and the file with changes made."""

from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.command_changes import is_in_command, repaired, with_command_change
from sgdoctor.launch.compose.command_words import CommandPart
from sgdoctor.launch.compose.field_changes import with_field_change
from sgdoctor.launch.compose.problems import duplicate_keys, problems_of
from sgdoctor.launch.compose.project import File, Project, Service, open_project
from sgdoctor.launch.compose.reading import command_parts, engine_of, is_about_sglang, is_router, launch_of
from sgdoctor.launch.compose.state import NoPlaceError, State, file_to_edit
from sgdoctor.launch.found import Found, Refused, refusal
from sgdoctor.launch.model import Editable, Edited, EditState, FlagTable, Launch, Problem
from sgdoctor.launch.typography import REPAIR
from sgdoctor.texts import Text

_OF_FLAGS: Final = frozenset({"flag.set", "flag.unset"})
_PROGRAM: Final = "docker.command"


@dataclass(frozen=True, slots=True)
class ComposeDocument:
    """A service of compose files.

    Attributes:
        name: ``compose.yaml:sgl``.
        text: of the file that has to be edited; with its own line ends, which have to be kept in writing.
        launch: what the service says.
        problems: what is wrong with it.
        editable: whether ``edited`` can work.
        path: of the file that has to be edited; None if its text was given.
        service: its name.
        project: all files together.
        file_name: of the file that has to be edited.
        blocked: whether nothing at all can be edited, and not only the flags.
    """

    name: str
    text: str = field(repr=False)
    launch: Launch
    problems: tuple[Problem, ...]
    editable: Editable
    path: Path | None
    service: str
    project: Project = field(repr=False)
    file_name: str = field(repr=False)
    blocked: bool = False

    def edited(self, changes: SequenceABC[Change], flags: FlagTable) -> Edited:
        """The file with ``changes`` made and nothing else changed.

        The new text is read anew and has to say exactly what was intended, for every service. Mistakes of writing
        that have one meaning (``typography.REPAIR``) are put right with any change.

        Raises:
            UserError: the command cannot be edited safely, or a value is not one of its kind.
        """
        kinds = {change.kind for change in changes}
        asks_for_flags = bool(kinds & _OF_FLAGS) and _PROGRAM not in kinds
        if self.editable.why and self.editable.state is EditState.NO and (self.blocked or asks_for_flags):
            raise refusal(self.editable.why, changes)
        state = State(self.project, self.service, self.file_name)
        left: list[tuple[Change, Text]] = []
        if changes:
            state = repaired(state)
        # The program first: flags have their place behind it.
        for change in sorted(changes, key=lambda one: one.kind != _PROGRAM):
            if change == REPAIR:
                continue
            try:
                if is_in_command(state, change):
                    state = with_command_change(state, change, flags)
                else:
                    state = with_field_change(state, change)
            except NoPlaceError as error:
                left.append((change, error.why))
        return Edited(state.file.text, state.launch, tuple(left))


def open_compose(
    files: SequenceABC[File],
    service: str | None,
    environment: MappingABC[str, str],
    env_files: SequenceABC[Path] = (),
) -> ComposeDocument:
    """Reads one service of compose files.

    Args:
        files: as given to ``docker compose -f``, later ones override earlier ones: paths, or names with texts. What
            Compose reads without ``-f`` is told by ``project_files``.
        service: its name; None for the only one that is about SGLang.
        environment: of the shell that Compose would run in.
        env_files: as given to ``--env-file``; without any, ``.env`` beside the first file counts.

    Raises:
        UserError: a file cannot be read or is no compose file, a variable has to be set and is not, or there is no
            such service; it lists those that there are.
    """
    project = open_project(files, environment, env_files)
    chosen = _chosen(project, service)
    parts = command_parts(chosen)
    file = file_to_edit(chosen)
    return ComposeDocument(
        name=f"{file.name}:{chosen.name}",
        text=file.text,
        launch=launch_of(project, chosen),
        problems=problems_of(project, chosen, parts),
        editable=_editable(project, chosen, parts),
        path=file.path,
        service=chosen.name,
        project=project,
        file_name=file.name,
        blocked=_blocking(project) is not None,
    )


def _chosen(project: Project, name: str | None) -> Service:
    services = project.services
    if name is not None:
        if name in services:
            return services[name]
        # People name the container, too.
        named = [one for one in services.values() if one.text("container_name") == name]
        if len(named) == 1:
            return named[0]
        listed = ", ".join(services)
        files = ", ".join(file.name for file in project.files)
        raise UserError(
            f"{files}: no service {name!r}; there are: {listed}", f"{files}：没有服务 {name!r}；现有服务：{listed}"
        )
    found = [one for one in services.values() if is_about_sglang(one)] or [
        one for one in services.values() if isinstance(engine_of(one), Found)
    ]
    # A router is nobody's first question; its launch can be asked for by name.
    found = [one for one in found if not is_router(one)] or found
    if len(found) == 1:
        return found[0]
    files, listed = (
        ", ".join(file.name for file in project.files),
        ", ".join(one.name for one in found) or ", ".join(services),
    )
    if found:
        raise UserError(
            f"{files}: several services are SGLang's, name one: {listed}",
            f"{files}：有多个 SGLang 服务，请指定一个：{listed}",
        )
    raise UserError(
        f"{files}: no service that is SGLang's was found, name one: {listed}",
        f"{files}：没有找到 SGLang 的服务，请指定一个：{listed}",
    )


def _blocking(project: Project) -> Text | None:
    """Why nothing can be edited."""
    for file in project.files:
        for key, first, again in duplicate_keys(file):
            return Text(
                f"{file.name} has `{key}` twice (lines {first} and {again}), which Compose refuses",
                f"{file.name} 中 `{key}` 出现了两次（第 {first} 行和第 {again} 行），Compose 会拒绝",
            )
    return None


def _editable(project: Project, service: Service, parts: tuple[CommandPart, CommandPart]) -> Editable:
    if why := _blocking(project):
        return Editable(EditState.NO, why)
    found = engine_of(service)
    if isinstance(found, Refused):
        return found.editable
    notes = [found.editable.why] if found.editable.why else []
    notes += _variable_notes(project, parts)
    if others := ", ".join(_sharing(project, service, parts)):
        notes.append(
            Text(
                f"the command is shared with {others}; a change is written into {service.name} alone",
                f"该命令与 {others} 共用；修改只会写入 {service.name}",
            )
        )
    if not notes:
        return Editable(EditState.YES)
    return Editable(EditState.NOTE, Text("; ".join(one.en for one in notes), "；".join(one.zh for one in notes)))


def _variable_notes(project: Project, parts: tuple[CommandPart, CommandPart]) -> Iterator[Text]:
    seen: set[str] = set()
    for word in (*parts[0].words, *parts[1].words):
        for one in word.references:
            if one.name in seen:
                continue
            seen.add(one.name)
            origin = project.environment.origins.get(one.name)
            if one.value is not None and origin:
                yield Text(
                    f"{one.name} is set in {origin}; its value has to be changed there",
                    f"{one.name} 在 {origin} 中设置；需要在那里修改",
                )
            elif one.value is not None:
                yield Text(
                    f"{one.name} is set in the shell; its value has to be changed there",
                    f"{one.name} 由 shell 环境设置；需要在那里修改",
                )
            elif one.default is not None:
                yield Text(
                    f"of {one.name} only the default is changed; a value in .env or the shell wins over it",
                    f"{one.name} 只修改默认值；.env 或 shell 中的值优先",
                )


def _sharing(project: Project, service: Service, parts: tuple[CommandPart, CommandPart]) -> list[str]:
    """Other services that get their command from the same place."""
    nodes = {id(part.value.node) for part in parts if part.value is not None}
    return [
        other.name
        for other in project.services.values()
        if other.name != service.name
        and any(id(one.node) in nodes for key in ("command", "entrypoint") for one in other.fields.get(key, ()))
    ]
