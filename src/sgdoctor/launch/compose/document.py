"""A service of compose files as a document: what it starts, what is wrong with it, and the file with changes made."""

from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.commands import Found, Refused, refusal
from sgdoctor.launch.compose.command_words import (
    CommandPart,
    script_splices,
    word_splices,
)
from sgdoctor.launch.compose.edits import Place, Way, fields_of, ways_of
from sgdoctor.launch.compose.lines import CannotSpliceError
from sgdoctor.launch.compose.nodes import field_added
from sgdoctor.launch.compose.problems import duplicate_keys, problems_of
from sgdoctor.launch.compose.project import File, Project, Service, open_project
from sgdoctor.launch.compose.reading import (
    command_parts,
    engine_of,
    environment_of,
    is_about_sglang,
    launch_of,
    ulimit_of,
)
from sgdoctor.launch.compose.repair import Repair, repairs
from sgdoctor.launch.compose.scalars import written
from sgdoctor.launch.compose.syntax import Mapping
from sgdoctor.launch.compose.texts import VariableError
from sgdoctor.launch.compose.values import SourceFile, plain
from sgdoctor.launch.docker_values import read_gpus, read_port, read_restart, read_size, read_ulimit
from sgdoctor.launch.flag_edits import WordEdit, with_edits
from sgdoctor.launch.model import Editable, Edited, EditState, FlagTable, Launch, Problem
from sgdoctor.launch.shell import Splice, spliced, words
from sgdoctor.launch.typography import REPAIR
from sgdoctor.texts import Text

_FLAGS: Final = frozenset({"flag.set", "flag.unset", "docker.command"})
_MAX_REPAIRS: Final = 20
_FORWARD: Final = frozenset({"flag.raise", "flag.lower"})


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
    """

    name: str
    text: str = field(repr=False)
    launch: Launch
    problems: tuple[Problem, ...]
    editable: Editable
    path: Path | None
    service: str
    project: Project = field(repr=False)
    _place: Place = field(repr=False)

    def edited(self, changes: SequenceABC[Change], flags: FlagTable) -> Edited:
        """The file with ``changes`` made and nothing else changed.

        The new text is read anew and has to say exactly what was intended, for every service. Mistakes of writing
        that have one meaning (``typography.REPAIR``) are put right with any change.

        Raises:
            UserError: the command cannot be edited safely, or a value is not one of its kind.
        """
        if self.editable.state is EditState.NO and self.editable.why is not None:
            raise refusal(self.editable.why, changes)
        state = _State(self.project, self.service, self._place.file)
        left: list[tuple[Change, Text]] = []
        if changes:
            state = _repaired(state)
        # The program first: flags have their place behind it.
        for change in sorted(changes, key=lambda one: one.kind != "docker.command"):
            if change == REPAIR:
                continue
            try:
                state = _changed(state, change, flags)
            except _NoPlaceError as error:
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
    place = _place(project, chosen, parts)
    problems = problems_of(project, chosen, parts)
    return ComposeDocument(
        name=f"{place.file.name}:{chosen.name}",
        text=place.file.text,
        launch=launch_of(project, chosen),
        problems=problems,
        editable=_editable(project, chosen, parts, place),
        path=place.file.path,
        service=chosen.name,
        project=project,
        _place=place,
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


class _NoPlaceError(Exception):
    """A compose file, or this one, has no place for a change."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.en)
        self.why = why


@dataclass(frozen=True, slots=True)
class _State:
    """A project while changes are made to one of its files."""

    project: Project
    name: str
    origin: SourceFile

    @property
    def service(self) -> Service:
        return self.project.services[self.name]

    @property
    def place(self) -> Place:
        return _place(self.project, self.service, command_parts(self.service), self.origin)

    @property
    def file(self) -> SourceFile:
        return self.place.file

    @property
    def launch(self) -> Launch:
        return launch_of(self.project, self.service)

    def with_way(self, way: SequenceABC[Splice]) -> "_State":
        file = self.file
        text = spliced(file.text, way)
        return replace(self, project=self.project.with_text(file, text))


def _place(
    project: Project, service: Service, parts: tuple[CommandPart, CommandPart], file: SourceFile | None = None
) -> Place:
    """The file that the command stands in, else the last one that has the service, and the service's mapping there."""
    written_in = {mapping.file.name: mapping for mapping in service.written}
    if file is not None:
        home = written_in[file.name]
        return Place(home.file, service, home.node)
    engine = parts[0] if _is_in_entrypoint(parts, engine_of(service)) else parts[1]
    value = engine.value or parts[1].value or parts[0].value
    home = written_in[value.file.name] if value is not None else service.written[-1]
    return Place(home.file, service, home.node)


def _is_in_entrypoint(parts: tuple[CommandPart, CommandPart], found: Found | Refused) -> bool:
    return isinstance(found, Found) and not parts[1].words


def _editable(project: Project, service: Service, parts: tuple[CommandPart, CommandPart], place: Place) -> Editable:
    for file in project.files:
        for key, first, again in duplicate_keys(file):
            return Editable(
                EditState.NO,
                Text(
                    f"{file.name} has `{key}` twice (lines {first} and {again}), which Compose refuses",
                    f"{file.name} 中 `{key}` 出现了两次（第 {first} 行和第 {again} 行），Compose 会拒绝",
                ),
            )
    found = engine_of(service)
    notes: list[Text] = []
    if isinstance(found, Refused):
        notes.append(found.why)
    elif found.editable.why is not None:
        notes.append(found.editable.why)
    notes += _variable_notes(project, parts)
    shared = _sharing(project, service, parts)
    if shared:
        listed = ", ".join(shared)
        notes.append(
            Text(
                f"the command is shared with {listed}; a change is written into {service.name} alone",
                f"该命令与 {listed} 共用；修改只会写入 {service.name}",
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


def _repaired(state: _State) -> _State:
    """With the mistakes of writing put right that have one meaning."""
    for _ in range(_MAX_REPAIRS):
        after = next(filter(None, (_repair_made(state, one) for one in _repairs(state))), None)
        if after is None:
            break
        state = after
    return state


def _repairs(state: _State) -> Iterator[Repair]:
    for part in command_parts(state.service):
        if part.value is not None and part.value.file is state.file:
            yield from repairs(part, state.place.home)


def _repair_made(state: _State, repair: Repair) -> _State | None:
    after = _tried(state, repair.way)
    if after is None or after.file.text == state.file.text or not _others_kept(state, after, {repair.key}):
        return None
    return after if _part(after, repair.key).texts == repair.want else None


def _part(state: _State, key: str) -> CommandPart:
    return next(part for part in command_parts(state.service) if part.key == key)


def _changed(state: _State, change: Change, flags: FlagTable) -> _State:
    """The project with one change made.

    Raises:
        UserError: the command cannot be edited; a value is not one of its kind.
        _NoPlaceError: anything else that has no place.
    """
    if change.kind in _FORWARD:
        raise _NoPlaceError(Text("how far is not known from here", "此处无法得知应改到多少"))
    if change.kind in _FLAGS or _is_in_command(state, change):
        return _command_changed(state, change, flags)
    _check_value(change)
    ways = ways_of(state.place, change)
    if ways is None:
        raise _NoPlaceError(Text("this is no part of a compose file", "这不属于 compose 文件"))
    if why := _without_effect(state, change):
        raise _NoPlaceError(why)
    reason: VariableError | None = None
    while True:
        try:
            way = next(ways, None)
        except CannotSpliceError:
            way = None
        except VariableError as error:
            reason, way = error, None
        if way is None:
            break
        after = _tried(state, way)
        if after is not None and _is_intended(state, after, change):
            return after
    raise _NoPlaceError(_variable_reason(state.project, reason, change) if reason else _why_not(state, change))


def _tried(state: _State, way: Way) -> _State | None:
    try:
        return state.with_way(way)
    except UserError:
        return None


def _is_in_command(state: _State, change: Change) -> bool:
    found = engine_of(state.service)
    return change.kind in ("env.set", "env.unset") and isinstance(found, Found) and change.name in found.assigned


def _command_changed(state: _State, change: Change, flags: FlagTable) -> _State:
    parts = command_parts(state.service)
    old = [*parts[0].texts, *parts[1].texts]
    found = engine_of(state.service)
    if change.kind == "docker.command":
        edits = _program_edits(parts, found, change)
        want = with_edits(old, edits)
        return _words_changed(state, parts, edits, want, change)
    if isinstance(found, Refused):
        raise refusal(found.why, [change])
    if found.shell is None:
        edits = found.word_edits([change], flags)
        return _words_changed(state, parts, edits, with_edits(old, edits), change)
    want = list(old)
    want[found.shell] = spliced(found.source, found.splices([change], flags))
    if want == old:
        return state
    part, index = (
        (parts[0], found.shell) if found.shell < len(parts[0].words) else (parts[1], found.shell - len(parts[0].words))
    )

    def ways() -> Iterator[tuple[Way, SequenceABC[str]]]:
        way = [one for splices in script_splices(part.words[index], found.splices([change], flags)) for one in splices]
        yield way, want

    return _first_good(state, ways(), part, change, found.source)


def _program_edits(parts: tuple[CommandPart, CommandPart], found: Found | Refused, change: Change) -> list[WordEdit]:
    """The program that starts the engine, put before the flags or in the place of another one."""
    program = tuple(word.text for word in words(change.value or ""))
    if isinstance(found, Found) and found.shell is None:
        return [WordEdit(found.place.program, found.place.flags_at, program)]
    at = len(parts[0].words)
    command = parts[1].texts
    if isinstance(found, Refused) and command and command[0].startswith("--"):
        return [WordEdit(at, at, program)]
    raise _NoPlaceError(
        Text(
            "the command stands behind a shell or a script; it has to be edited there",
            "命令在 shell 或脚本之中，需要在那里修改",
        )
    )


def _words_changed(
    state: _State,
    parts: tuple[CommandPart, CommandPart],
    edits: SequenceABC[WordEdit],
    want: SequenceABC[str],
    change: Change,
) -> _State:
    if not edits:
        return state
    border = len(parts[0].words)
    total = border + len(parts[1].words)
    inside = [edit for edit in edits if edit.end <= border and (edit.start < border or not parts[1].words)]
    beyond = [WordEdit(edit.start - border, edit.end - border, edit.words) for edit in edits if edit not in inside]
    if any(edit.start < 0 for edit in beyond):
        raise refusal(_ACROSS, [change])
    part = parts[0] if inside else parts[1]
    here = [WordEdit(edit.start, edit.end, edit.words) for edit in inside] or beyond
    if inside and beyond:
        raise refusal(_ACROSS, [change])

    def ways() -> Iterator[tuple[Way, SequenceABC[str]]]:
        try:
            yield word_splices(part, here), want
        except VariableError as error:
            # The last of several equal flags counts, so that one behind the variable is right and keeps it.
            if change.kind != "flag.set" or not _holds_flag(part, error, change):
                raise
            words_added = (change.name,) if change.value is None else (change.name, change.value)
            end = WordEdit(len(part.words), len(part.words), words_added)
            yield word_splices(part, [end]), [*_texts(parts)[:total], *words_added]

    return _first_good(state, ways(), part, change, " ".join(want))


def _texts(parts: tuple[CommandPart, CommandPart]) -> list[str]:
    return [*parts[0].texts, *parts[1].texts]


def _holds_flag(part: CommandPart, error: VariableError, change: Change) -> bool:
    """Whether the variable brings the flag itself, and not only its value."""
    return any(
        word.text.partition("=")[0] == change.name and error.reference in word.references and word.shell is not None
        for word in part.words
    )


def _first_good(
    state: _State,
    ways: Iterator[tuple[Way, SequenceABC[str]]],
    part: CommandPart,
    change: Change,
    shown: str,
) -> _State:
    """The first way whose result has the words intended and leaves everything else as it is."""
    file = part.value.file if part.value is not None else None
    try:
        for way, want in ways:
            if file is not state.file:
                break
            after = _tried(state, way)
            if after is None or _texts(command_parts(after.service)) != list(want):
                continue
            if _others_kept(state, after, {"command", "entrypoint"}):
                return after
            copied = _copied(state, part, want)
            if copied is not None:
                return copied
    except CannotSpliceError:
        pass
    except VariableError as error:
        raise _NoPlaceError(_variable_reason(state.project, error, change)) from None
    del shown
    raise refusal(_NO_SAFE_PLACE, [change])


def _copied(state: _State, part: CommandPart, want: SequenceABC[str]) -> _State | None:
    """A command of its own for a service that shares it with others."""
    place = state.place
    if part.key in {key.value for key, _ in place.home.pairs} or any(word.references for word in part.words):
        return None
    border = len(command_parts(state.service)[0].words)
    texts = want[border:] if part.key == "command" else want[: len(want) - len(command_parts(state.service)[1].words)]
    items = [written(text.replace("$", "$$"), like="", in_flow=True) for text in texts]
    try:
        way = [field_added(place.file.text, place.home, part.key, _by_flag(texts), f"[{', '.join(items)}]")]
    except CannotSpliceError:
        return None
    after = _tried(state, way)
    if after is None or _texts(command_parts(after.service)) != list(want):
        return None
    return after if _others_kept(state, after, {"command", "entrypoint"}) else None


def _by_flag(texts: SequenceABC[str]) -> list[str]:
    return [f"- {written(text.replace('$', '$$'), like='', in_flow=False)}" for text in texts]


def _others_kept(before: _State, after: _State, keys: SequenceABC[str] | set[str] | frozenset[str]) -> bool:
    """Whether the two say the same but for some keys of the one service."""
    if list(before.project.services) != list(after.project.services):
        return False
    for name, service in before.project.services.items():
        now = after.project.services[name]
        skipped = set(keys) if name == before.name else set()
        if _plain(service, skipped) != _plain(now, skipped):
            return False
    return all(_rest(one) == _rest(other) for one, other in zip(before.project.files, after.project.files, strict=True))


def _plain(service: Service, skipped: set[str]) -> dict[str, object]:
    return {key: [plain(part) for part in parts] for key, parts in service.fields.items() if key not in skipped}


def _rest(file: SourceFile) -> list[str]:
    """The top-level keys that are neither services nor extensions; anchors may stand in the latter."""
    assert isinstance(file.root, Mapping)
    return [key.value for key, _ in file.root.pairs]


def _is_intended(before: _State, after: _State, change: Change) -> bool:
    """Whether the new launch differs by ``change`` alone."""
    if not _others_kept(before, after, fields_of(change.kind)):
        return False
    old, new = before.launch, after.launch
    value = change.value or ""
    match change.kind:
        case "env.set" | "env.unset":
            want = dict(old.env)
            if change.kind == "env.set":
                want[change.name] = value
            else:
                want.pop(change.name, None)
            return _env(after) == want
        case "docker.shm_size":
            return new.shm_bytes == read_size(value) and new == replace(old, shm_bytes=new.shm_bytes)
        case "docker.ipc":
            return new == replace(old, ipc=value)
        case "docker.restart":
            return new == replace(old, restart=None if value == "no" else value)
        case "docker.name":
            return new == replace(old, name=value)
        case "image.tag":
            return new == replace(old, image=value)
        case "docker.runtime" | "docker.user" | "docker.memory":
            (key,) = fields_of(change.kind)
            return after.service.text(key) == value and replace(new, gpus=None) == replace(old, gpus=None)
        case "docker.gpus":
            return _has_gpus(old, new, value)
        case "docker.port":
            port = read_port(value)
            kept = tuple(one for one in old.ports if one.container != port.container)
            return port in new.ports and all(one in new.ports for one in kept) and len(new.ports) == len(kept) + 1
        case "docker.volume" | "file.mount":
            grown = [one for one in new.mounts if one not in old.mounts]
            targets = {one.target for one in grown}
            kept_mounts = [one for one in old.mounts if one.target not in targets]
            return (
                len(grown) <= 1
                and all(one in new.mounts for one in kept_mounts)
                and replace(new, mounts=()) == replace(old, mounts=())
            )
        case "docker.ulimit":
            return ulimit_of(after.service, change.name) == read_ulimit(value) and new == old
    return False


def _has_gpus(old: Launch, new: Launch, value: str) -> bool:
    wanted = read_gpus(value)
    if new.gpus is None or (new.gpus.device_ids, new.gpus.count) != (wanted.device_ids, wanted.count):
        return False
    env = {name: one for name, one in new.env.items() if name != "NVIDIA_VISIBLE_DEVICES"}
    before = {name: one for name, one in old.env.items() if name != "NVIDIA_VISIBLE_DEVICES"}
    return env == before and replace(new, gpus=None, env={}) == replace(old, gpus=None, env={})


def _env(state: _State) -> dict[str, str | None]:
    return dict(state.launch.env)


def _check_value(change: Change) -> None:
    """That a value is one of its kind; raises ``UserError``."""
    value = change.value or ""
    match change.kind:
        case "docker.shm_size" | "docker.memory":
            read_size(value)
        case "docker.restart":
            read_restart(value)
        case "docker.ulimit":
            read_ulimit(value)
        case "docker.port":
            read_port(value)
        case "docker.gpus":
            read_gpus(value)


def _without_effect(state: _State, change: Change) -> Text | None:
    launch = state.launch
    if change.kind == "docker.shm_size" and launch.ipc == "host":
        return Text(
            "with ipc: host the container uses the host's /dev/shm; a size has no effect",
            "使用 ipc: host 时容器用的是主机的 /dev/shm，设置大小不起作用",
        )
    if change.kind == "docker.port" and launch.network == "host":
        return Text(
            "the container uses the host's network; the engine's --port is the port",
            "容器使用主机网络；引擎的 --port 就是端口",
        )
    return None


def _variable_reason(project: Project, error: VariableError, change: Change) -> Text:
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


def _why_not(state: _State, change: Change) -> Text:
    """Where the value that counts stands, if it is elsewhere."""
    if change.kind in ("env.set", "env.unset"):
        entry = environment_of(state.project, state.service).get(change.name)
        if entry is not None and (entry.at is None or entry.at.file is not state.file):
            line = f":{entry.at.node.line}" if entry.at is not None else ""
            return Text(
                f"{change.name} is set in {entry.origin}{line}; change it there",
                f"{change.name} 在 {entry.origin}{line} 中设置；请在那里修改",
            )
        if entry is None and change.kind == "env.unset":
            return Text(f"{change.name} is not set here", f"这里没有设置 {change.name}")
    for key in fields_of(change.kind):
        for part in reversed(state.service.fields.get(key, ())):
            if part.file is not state.file:
                name, line_number = part.file.name, part.node.line
                return Text(
                    f"`{key}` is written in {name}:{line_number}; change it there",
                    f"`{key}` 写在 {name} 第 {line_number} 行；请在那里修改",
                )
    return Text("it cannot be written here without changing something else", "无法在不改动其他内容的情况下写入")


_NO_SAFE_PLACE: Final = Text("there is no way to write it that changes nothing else", "没有不影响其他内容的写法")
_ACROSS: Final = Text(
    "the change lies on both sides of entrypoint and command", "修改同时涉及 entrypoint 和 command 两部分"
)
