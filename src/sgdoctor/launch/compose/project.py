"""Compose files as Compose puts them together: several files, ``extends``, environment files."""

import os
import re
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.dotenv import read_dotenv
from sgdoctor.launch.compose.syntax import Mapping, parse
from sgdoctor.launch.compose.values import Fields, Items, Reader, SourceFile, Text, Value, plain

_API_VERSION: Final = re.compile(r"^apiVersion:[ \t]*\S", re.MULTILINE)
_KIND: Final = re.compile(r"^kind:[ \t]*['\"]?(?P<kind>\w+)", re.MULTILINE)
_SERVICES: Final = re.compile(r"^services:", re.MULTILINE)
_NAMES: Final = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
# compose-go override/merge.go: these are replaced as a whole, other lists and mappings are put together.
_REPLACED: Final = frozenset({"command", "entrypoint"})
_APPENDED_TEXTS: Final = frozenset({"env_file", "dns", "dns_search", "tmpfs"})
# What `extends` never brings along (compose-spec, "extends").
_NOT_EXTENDED: Final = frozenset({"extends"})

File: TypeAlias = Path | tuple[str, str]
"""A file to read, or its name and text."""

Parts: TypeAlias = tuple[Value, ...]
"""The values of one key of a service, from the first file to the last; more than one where Compose merges them."""


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """A service with everything that was merged into it.

    Attributes:
        name: of the service.
        fields: by key.
        written: its mappings, the one of the last file last; those of services that it extends come first.
    """

    name: str
    fields: MappingABC[str, Parts]
    written: tuple[Fields, ...]

    def last(self, key: str) -> Value | None:
        """What the last file says about ``key``; None if nothing does, or if it says null."""
        parts = self.fields.get(key, ())
        return None if not parts or (isinstance(parts[-1], Text) and parts[-1].is_null) else parts[-1]

    def text(self, key: str) -> str | None:
        """The text of ``key``; None if it has none."""
        value = self.last(key)
        return value.text if isinstance(value, Text) else None


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """Variables for ``${NAME}``.

    Attributes:
        values: what counts: the shell's before those of files.
        origins: names of the files that the values of files come from.
    """

    values: MappingABC[str, str]
    origins: MappingABC[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """Compose files put together."""

    files: tuple[SourceFile, ...]
    services: MappingABC[str, Service]
    environment: Environment

    def with_text(self, file: SourceFile, text: str) -> "Project":
        """The same project with another text of one file.

        Raises:
            UserError: the new text is no compose file.
        """
        changed = _parsed(replace(file, text=text, root=None))
        return _Loader(self.environment, {_key(file): changed}).project(self.files)


def project_files(target: Path, environment: MappingABC[str, str]) -> tuple[Path, ...]:
    """The files that ``docker compose`` reads without ``-f`` where ``target`` is the folder, or the main file.

    Args:
        target: a folder, or a file. One with a name of its own stands alone, as with ``-f``.
        environment: for ``COMPOSE_FILE`` and ``COMPOSE_PATH_SEPARATOR``, which count for folders.

    Raises:
        UserError: there is no compose file.
    """
    if not target.is_dir():
        return (target, *_override(target)) if target.name in _NAMES else (target,)
    if listed := environment.get("COMPOSE_FILE"):
        separator = environment.get("COMPOSE_PATH_SEPARATOR") or os.pathsep
        return tuple(target / one for one in listed.split(separator) if one)
    # Compose looks in the folders above as well.
    for folder in (target, *target.absolute().parents):
        for name in _NAMES:
            if (folder / name).is_file():
                return (folder / name, *_override(folder / name))
    raise UserError(
        f"{target}: no compose file here ({', '.join(_NAMES)}); name one",
        f"{target}：这里没有 compose 文件（{', '.join(_NAMES)}）；请指明文件",
    )


def open_project(
    files: SequenceABC[File], environment: MappingABC[str, str], env_files: SequenceABC[Path] = ()
) -> Project:
    """Reads compose files.

    Args:
        files: as given to ``docker compose -f``; later ones override earlier ones.
        environment: of the shell.
        env_files: as given to ``--env-file``; without any, the ``.env`` beside the first file counts.

    Raises:
        UserError: a file cannot be read, is no YAML or no compose file, or uses what cannot be read here.
    """
    if not files:
        raise UserError("no compose file was given", "没有给出 compose 文件")
    sources = tuple(_source(file) for file in files)
    if not env_files and (default := sources[0].folder / ".env").is_file():
        env_files = (default,)
    known = _environment(environment, env_files)
    return _Loader(known, {}).project(sources)


def _override(main: Path) -> tuple[Path, ...]:
    stems = (f"{main.stem}.override{suffix}" for suffix in (main.suffix, ".yml", ".yaml"))
    return next(((main.with_name(name),) for name in stems if main.with_name(name).is_file()), ())


def _environment(shell: MappingABC[str, str], files: SequenceABC[Path]) -> Environment:
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    for path in files:
        for name, value in read_dotenv(read_text(path), str(path), {**values, **shell}).items():
            if value is not None:
                values[name], origins[name] = value, str(path)
    origins = {name: origin for name, origin in origins.items() if name not in shell}
    return Environment({**values, **shell}, origins)


def read_text(path: Path) -> str:
    """The text of a file with its own line ends.

    Raises:
        UserError: it cannot be read, or is no text.
    """
    try:
        return path.read_bytes().decode()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UserError(f"{path}: cannot be read: {why}", f"{path}：无法读取：{why}") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: is no UTF-8 text (byte {error.start})", f"{path}：不是 UTF-8 文本（第 {error.start} 字节）"
        ) from None


def _source(file: File) -> SourceFile:
    if isinstance(file, Path):
        return _parsed(SourceFile(str(file), read_text(file), file.parent, None, file))
    name, text = file
    return _parsed(SourceFile(name, text, Path(name).parent, None))


def _parsed(file: SourceFile) -> SourceFile:
    if kind := kubernetes_kind(file.text):
        hint = "sgdoctor fix 'python3 -m sglang.launch_server ...'"
        raise UserError(
            f"{file.name}: this is a manifest of Kubernetes ({kind}), no compose file; give the container's command "
            f"and args as one text: {hint}",
            f"{file.name}：这是 Kubernetes 清单（{kind}），不是 compose 文件；"
            f"请把容器的 command 和 args 作为一段文本给出：{hint}",
        )
    root = parse(file.text, file.name)
    if not isinstance(root, Mapping):
        raise UserError(f"{file.name}: is no compose file", f"{file.name}：不是 compose 文件")
    return replace(file, root=root)


def kubernetes_kind(text: str) -> str:
    """What a manifest of Kubernetes makes, such as ``Deployment``; empty for other texts."""
    kind = _KIND.search(text) if _API_VERSION.search(text) and not _SERVICES.search(text) else None
    return kind["kind"] if kind else ""


def _key(file: SourceFile) -> str:
    return str(file.path.absolute()) if file.path else file.name


class _Loader:
    """Reads what the files say, and the files that they name."""

    def __init__(self, environment: Environment, changed: MappingABC[str, SourceFile]) -> None:
        self._environment = environment
        self._changed = changed
        self._reader = Reader(environment.values)
        self._services: dict[str, dict[str, Value]] = {}

    def project(self, sources: SequenceABC[SourceFile]) -> Project:
        files = tuple(self._changed.get(_key(one), one) for one in sources)
        merged: dict[str, Service] = {}
        for file in files:
            for name in self._of(file):
                service = self._extended(file, name, ())
                merged[name] = _merged(merged[name], service) if name in merged else service
        if not merged:
            names = ", ".join(file.name for file in files)
            raise UserError(
                f"{names}: is no compose file: it has no services", f"{names}：不是 compose 文件：没有 services"
            )
        return Project(files, merged, self._environment)

    def _of(self, file: SourceFile) -> dict[str, Value]:
        """The services that are written in one file."""
        if _key(file) not in self._services:
            assert file.root is not None
            root = self._reader.value(file, file.root)
            assert isinstance(root, Fields)
            if "include" in root.fields:
                line = root.fields["include"].node.line
                raise UserError(
                    f"{file.name}:{line}: `include` is not supported; name the included file as well",
                    f"{file.name} 第 {line} 行：不支持 `include`；请把被包含的文件也一并指明",
                )
            services = root.fields.get("services")
            if services is not None and not isinstance(services, Fields) and plain(services) is not None:
                raise _not_a_mapping(file, "services", services)
            self._services[_key(file)] = dict(services.fields) if isinstance(services, Fields) else {}
        return self._services[_key(file)]

    def _extended(self, file: SourceFile, name: str, seen: tuple[tuple[str, str], ...]) -> Service:
        value = self._of(file)[name]
        if not isinstance(value, Fields):
            raise _not_a_mapping(file, f"services.{name}", value)
        fields = {key: (inner,) for key, inner in value.fields.items() if inner.node.tag != "!reset"}
        own = Service(name, fields, (value,))
        extends = value.fields.get("extends")
        if extends is None or (isinstance(extends, Text) and extends.is_null):
            return own
        base_file, base_name = self._base(file, extends)
        place = (_key(base_file), base_name)
        if place in seen or base_name not in self._of(base_file):
            line = extends.node.line
            raise UserError(
                f"{file.name}:{line}: {name} cannot extend {base_name}: "
                + ("it would extend itself" if place in seen else f"{base_file.name} has no such service"),
                f"{file.name} 第 {line} 行：{name} 无法 extends {base_name}："
                + ("会扩展自身" if place in seen else f"{base_file.name} 中没有该服务"),
            )
        base = self._extended(base_file, base_name, (*seen, place))
        kept = {key: parts for key, parts in base.fields.items() if key not in _NOT_EXTENDED}
        return _merged(Service(name, kept, base.written), own, value)

    def _base(self, file: SourceFile, extends: Value) -> tuple[SourceFile, str]:
        if isinstance(extends, Text):
            return file, extends.text
        fields = extends.fields if isinstance(extends, Fields) else {}
        service, other = fields.get("service"), fields.get("file")
        if not isinstance(service, Text):
            raise _not_a_mapping(file, "extends", extends)
        if not isinstance(other, Text):
            return file, service.text
        path = file.folder / other.text
        return self._changed.get(str(path.absolute())) or _source(path), service.text


def _merged(base: Service, over: Service, tagged: Fields | None = None) -> Service:
    """``over`` put on top of ``base``, by the rules for several files, which ``extends`` follows too."""
    fields = dict(base.fields)
    for key in _reset_keys(tagged or over.written[-1]):
        fields.pop(key, None)
    for key, parts in over.fields.items():
        old = fields.get(key, ())
        last = parts[-1]
        alone = last.node.tag == "!override" or key in _REPLACED
        if isinstance(last, Text) and key not in _APPENDED_TEXTS:
            alone = True
        fields[key] = parts if alone else (*old, *parts)
    return Service(over.name, fields, (*base.written, *over.written))


def _reset_keys(written: Fields) -> Iterator[str]:
    return (key for key, value in written.fields.items() if value.node.tag == "!reset")


def _not_a_mapping(file: SourceFile, what: str, value: Value) -> UserError:
    line = value.node.line
    kind = "a list" if isinstance(value, Items) else "a text"
    return UserError(
        f"{file.name}:{line}: is no compose file: `{what}` has to be a mapping and is {kind}",
        f"{file.name} 第 {line} 行：不是 compose 文件：`{what}` 应为映射",
    )
