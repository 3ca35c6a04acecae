"""What a command is about: a launch in a command, a compose file, a script or a container; and its log."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.foreign import refuse_other_form, refuse_windows
from sgdoctor.launch.inspection import Inspection, open_inspection
from sgdoctor.launch.inspection.reading import compose_origin
from sgdoctor.launch.model import Document, Editable, Edited, EditState, FlagTable, Launch, Problem
from sgdoctor.texts import Text
from sgdoctor.writing import LARGEST, Found, read_text

if TYPE_CHECKING:
    from sgdoctor.launch.compose.document import ComposeDocument
    from sgdoctor.logs.sources import LogSource

_COMPOSE: Final = (".yaml", ".yml")
_SCRIPTS: Final = (".sh", ".bash", ".zsh", ".ksh", ".command", ".service", ".txt", "")
_LOG: Final = re.compile(
    rb"server_args=|Traceback \(most recent call last\)|^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|error: |Error: ",
    re.MULTILINE,
)
_COMMAND: Final = re.compile(r"\b(?:docker|podman)\s+run\b|sglang\.launch_server|\bsglang\s+serve\b")
_SERVICES: Final = re.compile(rb"^services:", re.MULTILINE)
_HEAD: Final = 64 << 10
_STDIN: Final = "stdin"


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be planned for.

    Attributes:
        name: as the user named it.
        document: the launch as it is written; None where only a log is there.
        log: of the newest starts, open; None if there is none.
        file: the file that can be changed in place.
    """

    name: str
    document: Document | None
    log: "LogSource | None" = None
    file: Found | None = None


@contextmanager
def open_target(words: Sequence[str], log: str | None, *, with_log: bool = True) -> Iterator[Target]:
    """The target that these words name.

    Args:
        words: one name, or the words of a command.
        log: a log file or a container, where the target has none of its own.
        with_log: whether the log of a container is wanted.

    Raises:
        UserError: there is nothing of this name, or it cannot be read.
    """
    with ExitStack() as stack:
        target, own_log = _find(words, stack)
        if log is not None and target.document is None:
            raise UserError(
                f"{target.name}: this is a log already; --from gives the log of a command or a compose file",
                f"{target.name}：它本身就是日志；--from 用于给命令或 compose 文件指定日志",
            )
        if log is not None:
            target = replace(target, log=stack.enter_context(_open_log(log)))
        elif own_log and with_log:
            with suppress(UserError):  # a launch can be looked at without its log
                target = replace(target, log=stack.enter_context(_container_log(own_log)))
        yield target


def compose_here(folder: Path) -> list[str]:
    """The word that names the compose file of a folder; none where it has none, or one that is not about SGLang."""
    from sgdoctor.launch.compose.project import open_project, project_files
    from sgdoctor.launch.compose.reading import is_about_sglang

    try:
        files = project_files(folder, os.environ)
        about = any(is_about_sglang(one) for one in open_project(files, os.environ).services.values())
    except UserError:
        return []
    path = files[0]
    return [str(path.relative_to(folder) if path.is_relative_to(folder) else path)] if about else []


def _find(words: Sequence[str], stack: ExitStack) -> tuple[Target, str]:
    """The target, and the container whose log belongs to it; empty if it brings its own or none is known."""
    if len(words) > 1:
        return _command(shlex.join(words), "docker run" if words[0] == "docker" else words[0]), ""
    (name,) = words
    if name == "-":
        return _stream(name, _STDIN, stack), ""
    path, service = _file_and_service(name)
    if path is not None:
        return _file(path, service, name, stack)
    if name.strip() != name or " " in name.strip():
        return _command(name, "command"), ""
    return _container(name, stack)


# ---------------------------------------------------------------- commands and files


def _command(text: str, name: str) -> Target:
    return Target(name, _launch(text, name))


def _launch(text: str, name: str) -> Document:
    refuse_windows(text, name)
    try:
        return read_shell(text, name)
    except UserError:
        if "```" in text:
            raise UserError(
                f"{name}: this is a text with code between ```; give one command of it alone",
                f"{name}：这是用 ``` 标出代码的文档；请只给出其中一条命令",
            ) from None
        raise


def _file_and_service(name: str) -> tuple[Path | None, str | None]:
    """The file that is meant, and the service behind a colon."""
    if os.path.lexists(name):
        return Path(name), None
    file, colon, service = name.rpartition(":")
    if colon and file.endswith(_COMPOSE):
        return Path(file), service
    looks_like_file = "/" in name or name.endswith((*_COMPOSE, ".sh", ".log", ".gz", ".zst"))
    return (Path(name), None) if looks_like_file and " " not in name else (None, None)


def _stream(path: str, name: str, stack: ExitStack) -> Target:
    """What comes in once: a log, a compose file, a command or a script."""
    from sgdoctor.logs.sources import open_log

    source = stack.enter_context(open_log(path))
    head = bytes(source.data[:_HEAD])
    is_log = (head[:2] != b"#!" and _LOG.search(head) is not None) or source.size > LARGEST
    if not is_log and _SERVICES.search(head):
        from sgdoctor.launch.compose.document import open_compose

        return Target(name, open_compose([(name, source.data[:].decode("utf-8", "replace"))], None, os.environ))
    if not is_log and (document := _maybe_launch(source.data[:].decode("utf-8", "replace"), name)):
        return Target(name, document)
    return Target(name, None, source)


def _file(path: Path, service: str | None, name: str, stack: ExitStack) -> tuple[Target, str]:
    refuse_other_form(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        return _stream(name, name, stack), ""
    if path.suffix in _COMPOSE:
        return _compose([path], service, name)
    head = _head(path)
    if path.suffix == ".json" and b'"HostConfig"' in head:
        return Target(name, AsDockerRun(open_inspection(read_text(path).text), knows_image=False)), ""
    if head[:2] == b"#!" or path.suffix in (".sh", ".bash", ".zsh"):
        found = read_text(path)
        return Target(name, _launch(found.text, str(path)), file=found), ""
    if path.suffix in _SCRIPTS and not _LOG.search(head) and b"\0" not in head:
        found = read_text(path)
        if document := _maybe_launch(found.text, str(path)):
            return Target(name, document, file=found), ""
    from sgdoctor.logs.sources import open_log

    return Target(name, None, stack.enter_context(open_log(str(path)))), ""


def _compose(
    paths: Sequence[Path], service: str | None, name: str, env_files: Sequence[Path] = ()
) -> tuple[Target, str]:
    from sgdoctor.launch.compose.document import open_compose
    from sgdoctor.launch.compose.project import project_files
    from sgdoctor.launch.compose.unset import refuse_unset

    files = project_files(paths[0], os.environ) if len(paths) == 1 else paths
    document = open_compose(files, service, os.environ, env_files)
    refuse_unset(document.name, document.project.services[document.service])
    # Another file than the named one may be the one in which the command stands.
    file = read_text(document.path) if document.path is not None else None
    return Target(name, document, file=file), _container_of_service(document, paths)


def _head(path: Path) -> bytes:
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""  # whoever opens it says why


def _maybe_launch(text: str, name: str) -> Document | None:
    """The launch in a text without a telling name; None where it is more likely a log."""
    try:
        return _launch(text, name)
    except UserError:
        if _COMMAND.search(text) or "\n" not in text.strip():
            raise
        return None


# ---------------------------------------------------------------- containers


@dataclass(frozen=True, slots=True)
class AsDockerRun:
    """A container as the command that would start it: the request of the API is nothing that people read.

    Attributes:
        inspection: of the container.
        knows_image: whether that of its image is known, so that the image's own variables are told from those given.
    """

    inspection: Inspection
    knows_image: bool = True

    @property
    def name(self) -> str:
        """Of the container."""
        return self.inspection.name

    @property
    def text(self) -> str:
        """The command."""
        return self.inspection.docker_run((), _NO_FLAGS)

    @property
    def launch(self) -> Launch:
        """What the container was started with."""
        return self.inspection.launch

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with it."""
        found = self.inspection.problems
        if self.knows_image:
            return found
        # NVIDIA's images set these; without the image nobody can say who did.
        return tuple(one for one in found if all(not change.name.startswith("NVIDIA_") for change in one.changes))

    @property
    def editable(self) -> Editable:
        """Whether its engine's flags can be edited; a file of Compose is the place to do that."""
        origin = self.inspection.compose
        if origin is None or self.inspection.editable.state is EditState.NO:
            return self.inspection.editable
        files = ", ".join(origin.config_files)
        return Editable(
            EditState.NOTE,
            Text(
                f"Compose made this container from {files}, service {origin.service}: change it there",
                f"该容器由 Compose 根据 {files} 的服务 {origin.service} 创建：请在那里修改",
            ),
        )

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The command with the changes; raises as ``Inspection.edited``."""
        edited = self.inspection.edited(changes, flags)
        return replace(edited, text=self.inspection.docker_run(changes, flags))


class _NoFlags:
    """No changes, no need to know any flag."""

    def arity(self, flag: str) -> None:  # noqa: ARG002
        return None

    def canonical(self, flag: str) -> str:
        return flag


_NO_FLAGS: Final = _NoFlags()


def _container(name: str, stack: ExitStack) -> tuple[Target, str]:
    """The target that a container is: the compose file that it was made from, where that is here, else its command."""
    from sgdoctor.containers.client import Client, RefusedError
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.containers.find import may_be_container
    from sgdoctor.containers.launches import container_document
    from sgdoctor.containers.once import open_file_or_container
    from sgdoctor.containers.transport import UnreachableError

    if not may_be_container(name):
        return Target(name, None, stack.enter_context(open_file_or_container(name))), ""
    try:
        with Client(find_endpoint()) as client:
            inspection = container_document(client, name)
    except (UnreachableError, RefusedError):
        # Says that there is neither a file nor an engine.
        return Target(name, None, stack.enter_context(open_file_or_container(name))), ""
    origin = inspection.compose
    # The first generation of Compose writes them as they were given.
    files = [Path(origin.working_dir, file) for file in origin.config_files] if origin is not None else []
    if origin is not None and files and all(map(os.path.isfile, files)):
        env_files = [Path(origin.working_dir, origin.environment_file)] if origin.environment_file else []
        with suppress(UserError):
            target, _ = _compose(files, origin.service, name, env_files)
            return target, inspection.name
    return Target(name, AsDockerRun(inspection)), inspection.name


def _container_of_service(document: "ComposeDocument", paths: Sequence[Path]) -> str:
    """The container that was made from this file and service; empty where none is, or no engine answers."""
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint

    wanted = {os.path.realpath(path) for path in paths}
    with suppress(UserError, OSError), Client(find_endpoint()) as client:
        for entry in client.containers(document.service):
            data = client.container_data(entry.id)
            origin = compose_origin(data) if data is not None else None
            if origin is not None and wanted & set(map(os.path.realpath, origin.config_files)):
                return entry.name
    return ""


# ---------------------------------------------------------------- logs


@contextmanager
def _open_log(name: str) -> "Iterator[LogSource]":
    from sgdoctor.containers.once import open_file_or_container
    from sgdoctor.logs.sources import open_log

    with (open_log if name == "-" or os.path.lexists(name) else open_file_or_container)(name) as source:
        yield source


@contextmanager
def _container_log(container: str) -> "Iterator[LogSource]":
    from sgdoctor.containers.once import open_container

    with open_container(container) as source:
        yield source
