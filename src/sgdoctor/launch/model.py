"""How a server is started: the launch, where it was written, what is wrong with it, and how it may be edited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from sgdoctor.launch.change import Change
from sgdoctor.texts import Text


class Origin(StrEnum):
    """Where a launch was read from."""

    COMPOSE = "compose"
    CONTAINER = "container"
    DOCKER_RUN = "docker-run"
    SCRIPT = "script"
    COMMAND = "command"
    LOG = "log"


class Arity(StrEnum):
    """How many values a flag takes."""

    NONE = "none"
    ONE = "one"
    MANY = "many"


class FlagTable(Protocol):
    """What a launch has to know of the engine's flags. The engine's own schema of a version is one."""

    def arity(self, flag: str) -> Arity | None:
        """How many values ``flag`` (with its dashes) takes; None for a flag that is not known."""

    def canonical(self, flag: str) -> str:
        """The first name of ``flag``: of an alias or an unambiguous abbreviation, else itself."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """Which GPUs a container gets.

    Attributes:
        device_ids: indices or UUIDs as they were written; empty if they are not named.
        count: how many, -1 for all; None if they are named, or if none was asked for.
        runtime: ``nvidia`` where the runtime brings them in, None for the default one.
        driver: of the device request: empty, ``nvidia``, ``cdi``.
        from_env: whether ``NVIDIA_VISIBLE_DEVICES`` names them to the runtime, and no device request does.
    """

    device_ids: tuple[str, ...] = ()
    count: int | None = None
    runtime: str | None = None
    driver: str = ""
    from_env: bool = False


@dataclass(frozen=True, slots=True)
class Port:
    """A published port; ``host`` is None where Docker picks one."""

    container: int
    host: int | None = None
    host_ip: str = ""
    protocol: str = "tcp"


@dataclass(frozen=True, slots=True)
class Mount:
    """Something mounted into the container.

    Attributes:
        target: absolute path inside.
        source: path on the host or name of a volume; None for an anonymous volume and for a tmpfs.
        kind: ``bind``, ``volume`` or ``tmpfs``.
        read_only: whether the container may only read it.
    """

    target: str
    source: str | None = None
    kind: str = "bind"
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of an engine as data.

    Attributes:
        origin: where it was read from.
        argv: the words that start the engine, program first (``python3 -m sglang.launch_server --model-path ...``);
            of a shell script only the command that starts it. Empty if none was found.
        flags_at: index in ``argv`` of the first word behind program, module and sub-command.
        command: entrypoint and command as the container runs them; the same as ``argv`` where no shell stands between.
        env: variables that were set for this launch; None where a value is taken from the caller's environment.
        image: as written; None outside containers.
        name: of the container or the service; None if it has none.
        gpus: None outside containers.
        shm_bytes: size of /dev/shm in bytes; None for the default (64 MiB).
        ipc: mode, such as ``host``; None for the default.
        restart: policy, such as ``unless-stopped`` or ``on-failure:3``; None for none.
        entrypoint: how many words of ``command`` are the entrypoint; the rest is what stands behind the image.
        init: whether Docker's small init process is PID 1 instead of the command.
        config: file of flags that was read, whose own stand in ``argv`` without being typed; empty without one.
        config_words: how many words behind ``flags_at`` these are.
    """

    origin: Origin
    argv: tuple[str, ...]
    flags_at: int = 0
    command: tuple[str, ...] = ()
    env: Mapping[str, str | None] = field(default_factory=dict)
    image: str | None = None
    name: str | None = None
    gpus: Gpus | None = None
    ports: tuple[Port, ...] = ()
    mounts: tuple[Mount, ...] = ()
    shm_bytes: int | None = None
    ipc: str | None = None
    network: str | None = None
    restart: str | None = None
    engine: str = "sglang"
    entrypoint: int = 0
    init: bool = False
    config: str = ""
    config_words: int = 0

    @property
    def typed(self) -> "Launch":
        """The launch without the flags of its file."""
        argv = (*self.argv[: self.flags_at], *self.argv[self.flags_at + self.config_words :])
        return replace(self, argv=argv, config="", config_words=0)

    def place_of(self, index: int) -> Text:
        """Where a word of ``argv`` stands: which one it is of those that are typed, from 1, or a flag of the file."""
        inside = index - self.flags_at
        if not 0 <= inside < self.config_words:
            number = index + 1 - (self.config_words if inside >= 0 else 0)
            return Text(f"word {number}", f"第 {number} 个词")
        words = self.argv[self.flags_at : index + 1]
        flag = next((word for word in reversed(words) if word.startswith("--")), "")
        return Text(f"{self.config}: `{flag.removeprefix('--')}`", f"{self.config}：`{flag.removeprefix('--')}`")


class EditState(StrEnum):
    """Whether the text that a launch was read from can be edited safely."""

    YES = "yes"
    NOTE = "note"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Editable:
    """Whether, and why not or with which reservation."""

    state: EditState
    why: Text | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a launch as it is written.

    Attributes:
        id: stable name in kebab case, such as ``typographic-dash``.
        severity: ``fatal``, ``error``, ``degraded`` or ``notice``, as of rules.
        title: what is wrong, with the words that it is about.
        where: its place as a person finds it: ``line 14``, ``word 6 of the command``; None for the launch as a whole.
        changes: what puts it right.
        rule: the rule of the rule base that the same mistake would hit in a log; None if there is none.
        detail: one or two sentences more; None if the title says it all.
    """

    id: str
    severity: str
    title: Text
    where: Text | None = None
    changes: tuple[Change, ...] = ()
    rule: str | None = None
    detail: Text | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """A document with changes made.

    Attributes:
        text: the whole new text.
        launch: what the new text says, read from it anew.
        left: changes that this form has no place for, and why; the caller shows them to be made by hand.
    """

    text: str
    launch: Launch
    left: tuple[tuple[Change, Text], ...] = ()


class Document(Protocol):
    """A launch in the form in which its owner wrote it: a compose file, a command, a script, an inspection."""

    @property
    def name(self) -> str:
        """What the user calls it: ``compose.yaml:sgl``, ``run.sh``."""

    @property
    def text(self) -> str:
        """As written."""

    @property
    def launch(self) -> Launch:
        """What it says."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What people get wrong in this form, found here."""

    @property
    def editable(self) -> Editable:
        """Whether ``edited`` can work."""

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The document with ``changes`` made and nothing else changed.

        Raises:
            UserError: the text cannot be edited safely; it says why and which flags to type.
        """
