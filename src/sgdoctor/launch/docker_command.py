"""One ``docker run`` command of a shell text, read."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from sgdoctor.errors import UserError
from sgdoctor.launch.commands import engine_in, nothing_in
from sgdoctor.launch.docker_options import Option, Options, program_of, read_options, run_at
from sgdoctor.launch.docker_values import CDI_PREFIX, read_gpus, read_ports, read_size, read_volume
from sgdoctor.launch.engine_words import EngineAt
from sgdoctor.launch.flag_edits import is_flag
from sgdoctor.launch.found import Found, Refused
from sgdoctor.launch.model import Gpus, Launch, Mount, Origin
from sgdoctor.launch.script import Command, gap_before, resolved, resolved_words
from sgdoctor.launch.shell import Word

_T = TypeVar("_T")
_WINDOWS_VOLUME: Final = re.compile(r"(?P<source>[A-Za-z]:[\\/][^:]*):(?P<target>/[^:]*)(?::(?P<options>.*))?")
_OF_GPUS: Final = frozenset({"device", "count"})


@dataclass(frozen=True, slots=True)
class DockerCommand:
    """One ``docker run``.

    Attributes:
        source: the text that it stands in.
        command: its words.
        options: up to the image; values as written, with variables filled in that are known.
        variables: literal ones of the text.
        engine: the launch of the engine in it.
    """

    source: str
    command: Command
    options: Options
    variables: Mapping[str, str]
    engine: Found | Refused = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        inner = self.inner
        found = engine_in(inner, self.source, self.variables) if self.arguments else None
        object.__setattr__(self, "engine", found or nothing_in(inner.texts))

    @property
    def words(self) -> tuple[Word, ...]:
        """``docker`` first."""
        return self.command.words

    @property
    def image(self) -> str | None:
        """As written."""
        at = self.options.image
        return None if at is None else resolved(self.words[at], self.variables)

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words behind the image."""
        at = self.options.image
        return () if at is None else self.words[at + 1 :]

    @property
    def entrypoint(self) -> tuple[Word, ...]:
        """The word of ``--entrypoint``; none where it is not given, or empty."""
        option = self.options.last("--entrypoint")
        if option is None or not option.value:
            return ()
        return (replace(self.words[option.end - 1], text=option.value, pieces=()),)

    @property
    def inner(self) -> Command:
        """What the container runs, where no entrypoint of the image stands before it."""
        return Command((*self.entrypoint, *self.arguments))

    @property
    def bare_flags(self) -> Found | None:
        """The arguments where they begin with a flag: they go to an entrypoint that is not known from here."""
        if isinstance(self.engine, Found) or not self.arguments or not is_flag(self.arguments[0].text):
            return None
        start = len(self.entrypoint)
        return Found(self.inner, EngineAt(start, start, ""), self.source, self.variables)

    def gap_before_image(self) -> str:
        """What stands between the options and the image, so that a new option is laid out like the others."""
        assert self.options.image is not None
        return gap_before(self.source, self.words[self.options.image]) or " "

    def launch(self, origin: Origin) -> Launch:
        """What it says; values that cannot be read are left out."""
        found = self.engine
        started = found if isinstance(found, Found) else None
        whole = tuple(resolved_words(self.inner.words, self.variables))
        restart = _last(self.options, "--restart")
        shm = self.options.last("--shm-size")
        return Launch(
            origin,
            argv=started.argv if started else (),
            flags_at=started.flags_at if started else 0,
            command=whole,
            env={**dict(self.env()), **(started.env if started else {})},
            image=self.image,
            name=_last(self.options, "--name"),
            gpus=self.gpus(),
            ports=tuple(port for ports in self._read("--publish", lambda text: [*read_ports(text)]) for port in ports),
            mounts=tuple(self.mounts()),
            shm_bytes=_readable(read_size, shm.value) if shm and shm.value else None,
            ipc=_last(self.options, "--ipc"),
            network=_last(self.options, "--network"),
            restart=None if restart == "no" else restart,
            engine=(started.place.engine if started else "") or "sglang",
            entrypoint=len(self.entrypoint),
            init=self.options.has("--init"),
        )

    def env(self) -> Iterator[tuple[str, str | None]]:
        """Names and values of ``-e``; None for a value of the caller's."""
        for value in self.options.values("--env"):
            name, equals, text = value.partition("=")
            yield name, text if equals else None

    def gpus(self) -> Gpus:
        """As meant: a list of devices that the docker CLI would cut is read whole."""
        runtime = _last(self.options, "--runtime") or ("nvidia" if self._program() == "nvidia-docker" else None)
        runtime = runtime if runtime and "nvidia" in runtime else None
        request = self.options.last("--gpus")
        if request is not None and request.value:
            asked, _ = gpu_fields(request.value)
            return replace(_readable(read_gpus, asked) or Gpus(), runtime=runtime)
        devices = [
            one.removeprefix(CDI_PREFIX) for one in self.options.values("--device") if one.startswith(CDI_PREFIX)
        ]
        if devices:
            return _named(devices, Gpus(runtime=runtime, driver="cdi"))
        seen = dict(self.env()).get("NVIDIA_VISIBLE_DEVICES")
        if runtime and seen:
            return _named(seen.split(","), Gpus(runtime=runtime, from_env=True))
        return Gpus(runtime=runtime)

    def mounts(self) -> Iterator[Mount]:
        """In the order of the options."""
        for option in self.options.given:
            if (mount := mount_of(option)) is not None:
                yield mount

    def _program(self) -> str:
        return program_of(self.command.texts)

    def _read(self, name: str, reader: Callable[[str], _T]) -> Iterator[_T]:
        for value in self.options.values(name):
            if (read := _readable(reader, value)) is not None:
                yield read


def docker_command(source: str, command: Command, variables: Mapping[str, str]) -> DockerCommand | None:
    """A command of a shell text as a ``docker run``; None if it is something else."""
    start = run_at(command.texts)
    if start is None:
        return None
    read = read_options(command.texts, start)
    given = tuple(replace(one, value=_filled(one, command, variables)) for one in read.given)
    return DockerCommand(source, command, replace(read, given=given), variables)


def mount_of(option: Option) -> Mount | None:
    """The mount that an option asks for; None where it asks for none, or for none that can be read."""
    value = option.value or ""
    if option.name == "--volume":
        return read_docker_volume(value)
    if option.name == "--tmpfs":
        return Mount(value.partition(":")[0], None, "tmpfs")
    if option.name != "--mount":
        return None
    fields = dict(map(_pair, csv_fields(value)))
    target = fields.get("target") or fields.get("destination") or fields.get("dst")
    if not target:
        return None
    read_only = any(fields.get(name, "false") in ("", "true", "1") for name in ("readonly", "ro"))
    return Mount(target, fields.get("source") or fields.get("src"), fields.get("type", "volume"), read_only)


def read_docker_volume(value: str) -> Mount | None:
    """The mount of ``-v``; None where it cannot be read."""
    if match := _WINDOWS_VOLUME.fullmatch(value):
        return Mount(match["target"], match["source"], "bind", "ro" in (match["options"] or "").split(","))
    return _readable(read_volume, value)


def csv_fields(value: str) -> list[str]:
    """The fields of a value that Docker reads as one line of CSV; all of it where it is none."""
    try:
        return next(csv.reader([value]), [])
    except csv.Error:
        return [value]


def gpu_fields(value: str) -> tuple[str, list[str]]:
    """What ``--gpus`` asks for, and its other fields, as the CSV of docker/cli opts/gpus.go has them.

    Fields without a name behind ``device=0`` are further devices, which the CLI takes for a count.
    """
    asked, rest = "", list[str]()
    for part in csv_fields(value):
        name, equals, text = part.partition("=")
        if equals and name not in _OF_GPUS:
            rest.append(part)
        elif asked.startswith("device=") and not equals:
            asked += f",{part}"
        else:
            asked = text if name == "count" else part
    return asked, rest


def _named(devices: list[str], gpus: Gpus) -> Gpus:
    if "all" in devices:
        return replace(gpus, count=-1)
    return replace(gpus, device_ids=tuple(one.strip() for one in devices if one.strip() not in ("", "none", "void")))


def _filled(option: Option, command: Command, variables: Mapping[str, str]) -> str | None:
    if option.value is None:
        return None
    whole = resolved(command.words[option.end - 1], variables)
    return whole.removeprefix(option.before)


def _last(options: Options, name: str) -> str | None:
    option = options.last(name)
    return (option.value or None) if option else None


def _pair(written: str) -> tuple[str, str]:
    name, _, value = written.partition("=")
    return name.strip(), value


def _readable(reader: Callable[[str], _T], value: str) -> _T | None:
    try:
        return reader(value)
    except UserError:
        return None
