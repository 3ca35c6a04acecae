"""The file of ``--config``: arguments of the server in YAML, which stand before those of the command line.

SGLang has it since 0.5.3 (srt/server_args_config_parser.py): ``key: value`` becomes ``--key value``, a list several
values, and ``true`` a switch. argparse takes the last of equal flags, so that the command line wins.
"""

import errno
import json
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os.path import lexists
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.found import CONFIG_NOTE
from sgdoctor.launch.host_paths import host_path, provided
from sgdoctor.launch.model import Arity, Document, Editable, Edited, FlagTable, Launch, Problem
from sgdoctor.texts import Text

_FLAG: Final = "--config"
_LARGEST: Final = 1 << 20
_MOST: Final = 100_000
"""Values inside others in the file, those that aliases repeat included."""
_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What is known of the file.

    Attributes:
        name: as the engine sees it.
        read: whether its content is known.
        words: the arguments in it.
        problems: why the engine would refuse it.
        note: how it counts, or why it could not be read.
    """

    name: str
    read: bool = False
    words: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    note: Text | None = None

    def before(self, launch: Launch) -> Launch:
        """The launch with the arguments of the file before its own."""
        if not self.read or not launch.argv:
            return launch
        start = launch.flags_at
        argv = (*launch.argv[:start], *self.words, *launch.argv[start:])
        return replace(launch, argv=argv, config=self.name, config_words=len(self.words))


@dataclass(frozen=True, slots=True)
class WithConfig:
    """A document whose launch has the arguments of its file of ``--config`` in it; changes go into the document."""

    document: Document
    config: ConfigFile
    flags: FlagTable

    @property
    def name(self) -> str:
        """Of the document."""
        return self.document.name

    @property
    def text(self) -> str:
        """Of the document."""
        return self.document.text

    @property
    def launch(self) -> Launch:
        """That of the document, with the arguments of the file."""
        return self.config.before(self.document.launch)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Those of the document and of the file."""
        return (*self.document.problems, *self.config.problems)

    @property
    def editable(self) -> Editable:
        """As the document, with what is known of the file by now."""
        editable, note = self.document.editable, self.config.note
        if editable.why is None or note is None:
            return editable
        why = Text(editable.why.en.replace(CONFIG_NOTE.en, note.en), editable.why.zh.replace(CONFIG_NOTE.zh, note.zh))
        return replace(editable, why=why)

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The document with the changes; a flag that only the file gives is left to be taken out there.

        Raises:
            UserError: as that of the document.
        """
        inside = {flags.canonical(one.flag) for one in given_flags(self.config.words, 0, flags)}
        left = [one for one in changes if one.kind == "flag.unset" and flags.canonical(one.name) in inside]
        why = Text(f"it stands in {self.config.name}: take it out there", f"它写在 {self.config.name} 里：请在那里去掉")
        edited = self.document.edited([one for one in changes if one not in left], flags)
        launch = self.config.before(edited.launch)
        return Edited(edited.text, launch, (*edited.left, *((change, why) for change in left)))


def with_config(document: Document, flags: FlagTable, beside: Path) -> Document:
    """A document with what its file of ``--config`` says; itself where it names none.

    Args:
        document: which.
        flags: of the engine's version.
        beside: folder that relative paths on the host start from.

    Raises:
        UserError: as ``config_of``.
    """
    config = config_of(document.launch, flags, beside)
    return document if config is None else WithConfig(document, config, flags)


def config_of(launch: Launch, flags: FlagTable, beside: Path) -> ConfigFile | None:
    """The file of ``--config`` of a launch; None where it names none, or its version knows none.

    Args:
        launch: which.
        flags: of the engine's version.
        beside: folder that relative paths on the host start from.

    Raises:
        UserError: the file is larger than any file of flags.
    """
    if launch.engine != "sglang" or flags.arity(_FLAG) is None:
        return None
    words = launch.argv[launch.flags_at :]
    places = [index for index, word in enumerate(words) if word == _FLAG]
    glued = next((word for word in words if word.startswith(f"{_FLAG}=")), None)
    if not places and glued is not None:
        why = Text("the engine does not read it, either", "引擎也不会读它")
        name = glued.partition("=")[2]
        return ConfigFile(name, problems=(_glued(glued),), note=_unread(name, why))
    if not places or places[0] + 1 == len(words):
        return None
    name = words[places[0] + 1]
    if len(places) > 1:
        return _refused(name, Text("`--config` is given twice", "`--config` 写了两次"))
    if PurePosixPath(name).suffix.lower() not in _SUFFIXES and "$" not in name:
        return _refused(name, Text(f"{name} is no .yaml or .yml file", f"{name} 不是 .yaml 或 .yml 文件"))
    path = None if {"$", "`"} & set(name) else host_path(launch, name, beside)
    if path is None or not lexists(path):
        return _absent(launch, name, beside)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return _no_file(name, mode)
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _refused(name, Text(f"{name} is a link that leads back to itself", f"{name} 是指向自身的链接"))
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return _broken_link(launch, name, path)
        reason = error.strerror or type(error).__name__
        return ConfigFile(name, note=_unread(name, Text(f"it cannot be read: {reason}", f"无法读取：{reason}")))
    if len(data) > _LARGEST:
        raise UserError(
            f"{path} (--config) is larger than 1 MiB and was not read; name a file of `key: value` lines",
            f"{path}（--config）大于 1 MiB，没有读取；请指定内容为 `键: 值` 的文件",
        )
    try:
        return _parsed(name, data, flags)
    except UserError as error:
        return _refused(name, error.message)


def _parsed(name: str, data: bytes, flags: FlagTable) -> ConfigFile:
    """Raises UserError for what the engine would refuse."""
    import yaml  # noqa: PLC0415 - slow to load

    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        raise UserError(f"{name} is broken YAML (line {line})", f"{name} 的 YAML 有误（第 {line} 行）") from None
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise UserError(f"{name} has to hold `key: value` lines", f"{name} 的内容应为 `键: 值`")
    if _is_endless(content):
        raise UserError(
            f"the anchors of {name} stand for too much, or for themselves; write the values out",
            f"{name} 中的锚点展开后过大，或引用了自身；请直接写出这些值",
        )
    words = tuple(word for key, value in content.items() for word in _words(str(key), value, flags))
    note = Text(
        f"what {name} says counts where the command line says nothing; changes are written into the command line",
        f"命令行没有写的以 {name} 为准；改动会写到命令行里",
    )
    return ConfigFile(name, read=True, words=words, note=note)


def _is_endless(content: dict[Any, Any]) -> bool:
    """Whether aliases of aliases, or one inside of what it stands for, make values that no memory holds."""
    inside: deque[Any] = deque([content])
    seen = 0
    while inside:
        value = inside.popleft()
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        seen += len(parts)
        if seen > _MOST:
            return True
        inside.extend(parts)
    return False


def _words(key: str, value: Any, flags: FlagTable) -> Iterator[str]:
    flag = f"--{key}"
    if isinstance(value, bool):
        if flags.arity(flag) in (Arity.NONE, None):
            yield from (flag,) if value else ()
        else:
            yield from (flag, str(value).lower())
    elif isinstance(value, list):
        # A flag with one value takes a list as JSON.
        texts = [json.dumps(value)] if flags.arity(flag) is Arity.ONE else [str(one) for one in value]
        yield from (flag, *texts) if value else ()
    else:
        yield from (flag, json.dumps(value) if isinstance(value, dict) else str(value))


def _absent(launch: Launch, name: str, beside: Path) -> ConfigFile:
    found = provided(launch, name, beside) if launch.image is not None and name.startswith("/") else None
    # Where even the folder is not here, the launch may be for another machine.
    if found is not None and found.root.exists():
        return _refused(name, Text(f"{found.here} is not there", f"{found.here} 不存在"))
    return ConfigFile(name, note=_unread(name, Text("it is not to be found on this machine", "在本机上找不到")))


def _no_file(name: str, mode: int) -> ConfigFile:
    """What is not a file; a pipe is not read, since what it gives once would be taken from the engine."""
    if stat.S_ISDIR(mode):
        return _refused(name, Text(f"{name} is a folder, not a file", f"{name} 是文件夹，不是文件"))
    if stat.S_ISFIFO(mode):
        return ConfigFile(name, note=_unread(name, Text("it is a named pipe", "它是命名管道")))
    return _refused(name, Text(f"{name} is a device or a socket, not a file", f"{name} 是设备或套接字，不是文件"))


def _broken_link(launch: Launch, name: str, path: Path) -> ConfigFile:
    if launch.image is None:
        why = Text(f"{name} is a link to what is not there", f"{name} 是链接，但它指向的文件不存在")
        return _refused(name, why)
    # The engine follows it inside of the container, where other files lie.
    why = Text(f"{path} is a link to what is not there on this machine", f"{path} 是链接，它指向的文件在本机上不存在")
    return ConfigFile(name, note=_unread(name, why))


def _unread(name: str, why: Text) -> Text:
    return Text(
        f"what {name} (--config) says is not known: {why.en}; the command line wins over it",
        f"不知道 {name}（--config）的内容：{why.zh}；命令行的参数优先",
    )


def _refused(name: str, why: Text) -> ConfigFile:
    title = Text(f"The engine refuses the file of `--config`: {why.en}", f"引擎会拒绝 `--config` 的文件：{why.zh}")
    return ConfigFile(name, problems=(Problem("config-refused", "fatal", title),), note=_unread(name, why))


def _glued(word: str) -> Problem:
    return Problem(
        "config-glued",
        "error",
        Text(
            f"`{word}` is never read: the engine only looks for `--config` as a word of its own",
            f"`{word}` 不会被读取：引擎只认单独成词的 `--config`",
        ),
        changes=(Change("flag.unset", _FLAG),),
        detail=Text(f"Write `{word.replace('=', ' ', 1)}`.", f"请写成 `{word.replace('=', ' ', 1)}`。"),
    )
