"""A project while changes are made to one of its files, and what has to stay the same."""

from collections.abc import Collection
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, replace

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.edits import Place
from sgdoctor.launch.compose.project import Project, Service
from sgdoctor.launch.compose.reading import command_parts, engine_of, launch_of
from sgdoctor.launch.compose.syntax import Mapping
from sgdoctor.launch.compose.texts import VariableError
from sgdoctor.launch.compose.values import SourceFile, plain
from sgdoctor.launch.found import Found
from sgdoctor.launch.model import Launch
from sgdoctor.launch.shell import Splice, spliced
from sgdoctor.texts import Text


class NoPlaceError(Exception):
    """A compose file, or this one, has no place for a change."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.en)
        self.why = why


@dataclass(frozen=True, slots=True)
class State:
    """A project while changes are made to one of its files.

    Attributes:
        project: as it is now.
        name: of the service.
        file_name: of the file.
    """

    project: Project
    name: str
    file_name: str

    @property
    def service(self) -> Service:
        """The service as it is now."""
        return self.project.services[self.name]

    @property
    def place(self) -> Place:
        """Where the service is written in the file."""
        home = next(mapping for mapping in reversed(self.service.written) if mapping.file.name == self.file_name)
        return Place(home.file, self.service, home.node)

    @property
    def file(self) -> SourceFile:
        """The file as it is now."""
        return self.place.file

    @property
    def launch(self) -> Launch:
        """What the service says now."""
        return launch_of(self.project, self.service)


def file_to_edit(service: Service) -> SourceFile:
    """The file that the command stands in, else the last one that has the service."""
    entrypoint, command = command_parts(service)
    is_in_entrypoint = isinstance(engine_of(service), Found) and not command.words
    value = (entrypoint.value if is_in_entrypoint else command.value) or command.value or entrypoint.value
    return value.file if value is not None else service.written[-1].file


def tried(state: State, way: SequenceABC[Splice]) -> State | None:
    """The project with the splices made; None if the result is no compose file."""
    file = state.file
    try:
        return replace(state, project=state.project.with_text(file, spliced(file.text, way)))
    except UserError:
        return None


def others_changed(before: State, after: State) -> list[str]:
    """The other services that two projects say something else about."""
    now = after.project.services
    return [
        name
        for name, service in before.project.services.items()
        if name != before.name and (name not in now or _plain(service, ()) != _plain(now[name], ()))
    ]


def others_kept(before: State, after: State, keys: Collection[str]) -> bool:
    """Whether two projects say the same but for some keys of the one service."""
    if list(before.project.services) != list(after.project.services):
        return False
    for name, service in before.project.services.items():
        skipped = keys if name == before.name else ()
        if _plain(service, skipped) != _plain(after.project.services[name], skipped):
            return False
    return all(
        _top_keys(one) == _top_keys(other) for one, other in zip(before.project.files, after.project.files, strict=True)
    )


def _plain(service: Service, skipped: Collection[str]) -> dict[str, object]:
    return {key: [plain(part) for part in parts] for key, parts in service.fields.items() if key not in skipped}


def _top_keys(file: SourceFile) -> list[str]:
    assert isinstance(file.root, Mapping)
    return [key.value for key, _ in file.root.pairs]


def variable_reason(project: Project, error: VariableError, change: Change) -> Text:
    """Which variable a value comes from, and where to change it."""
    name, value = error.reference.name, change.value or ""
    origin = project.environment.origins.get(name)
    wanted_en, wanted_zh = (f" so that it gives {value}", f"，使其结果为 {value}") if value else ("", "")
    if error.reference.value is None:
        return Text(
            f"it comes from the variable {name}, which is not set; set it in .env{wanted_en}",
            f"该值来自未设置的变量 {name}；请在 .env 中设置{wanted_zh}",
        )
    where_en, where_zh = (origin, origin) if origin else ("the shell", "shell 环境")
    return Text(
        f"it comes from the variable {name}; change it in {where_en}{wanted_en}",
        f"该值来自变量 {name}；请在 {where_zh} 中修改{wanted_zh}",
    )
