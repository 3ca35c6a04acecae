"""A launch that is written as ``docker run ...``: one command, or a script with one in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.container_problems import container_problems
from sgdoctor.launch.docker_command import DockerCommand, docker_command
from sgdoctor.launch.docker_options import run_at
from sgdoctor.launch.docker_run_edits import docker_run_splices
from sgdoctor.launch.docker_run_problems import docker_run_problems
from sgdoctor.launch.engine_command import EngineCommand, engine_command, is_script
from sgdoctor.launch.found import Found, refusal
from sgdoctor.launch.model import Editable, Edited, EditState, FlagTable, Launch, Origin, Problem
from sgdoctor.launch.script import commands, literal_variables
from sgdoctor.launch.shell import Word, line_of, spliced, words
from sgdoctor.launch.typography import REPAIR, Repaired, at_lines, repaired
from sgdoctor.texts import Text

_FLAGS: Final = frozenset({"flag.set", "flag.unset"})


@dataclass(frozen=True, slots=True)
class DockerRun:
    """A ``docker run`` command, or a script that has one in it.

    Attributes:
        name: what the user calls it.
        text: as written.
        plain: as it was meant.
        command: the ``docker run`` in ``plain``.
        launch: what it says.
        problems: what people get wrong in this form, found here.
        blocked: why it cannot be edited although it can be read; None if it can.
    """

    name: str
    text: str
    plain: Repaired
    command: DockerCommand
    launch: Launch
    problems: tuple[Problem, ...]
    blocked: Text | None = None

    @property
    def editable(self) -> Editable:
        """Whether ``edited`` can work. Where the engine is out of sight, changes of Docker's options still do."""
        if self.blocked is not None:
            return Editable(EditState.NO, self.blocked)
        if self.command.bare_flags is not None:
            return self.command.bare_flags.editable
        return self.command.engine.editable

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:
        """The text with ``changes`` made and nothing else changed; see ``typography`` for what was broken before.

        Raises:
            UserError: the text cannot be edited safely; it says why and which flags to type.
        """
        if not changes:
            return Edited(self.text, self.launch)
        flags_asked = any(change.kind in _FLAGS for change in changes)
        why = self.editable.why
        if why is not None and (self.blocked or (flags_asked and self.editable.state is EditState.NO)):
            raise refusal(why, changes)
        splices, left = docker_run_splices(self.command, changes, flags)
        if not splices and REPAIR not in changes:
            return Edited(self.text, self.launch, tuple(left))
        new = read_docker_run(spliced(self.plain.text, splices), self.name)
        return Edited(new.text, new.launch, tuple(left))


def read_docker_run(text: str, name: str = "command") -> DockerRun:
    """The one ``docker run`` of a command line or a shell script that starts an engine.

    Raises:
        UserError: there is none, or more than one, or quotes in it do not close.
    """
    plain, tokens = _read(text, name)
    return _docker_run(text, name, plain, tokens)


def _read(text: str, name: str) -> tuple[Repaired, list[Word]]:
    """A text as it was meant, and its words."""
    plain = repaired(text)
    try:
        return plain, words(plain.text)
    except UserError as error:
        raise UserError(f"{name}: {error.en}", f"{name}：{error.zh}") from None


def _docker_run(text: str, name: str, plain: Repaired, tokens: Sequence[Word]) -> DockerRun:
    every = commands(tokens)
    variables = literal_variables(every)
    runs = [run for command in every if (run := docker_command(plain.text, command, variables))]
    chosen = [run for run in runs if _starts_engine(run)] or runs
    if len(chosen) != 1:
        raise _not_one(plain, chosen, tokens, name)
    [command] = chosen
    launch = command.launch(Origin.SCRIPT if is_script(plain.text, tokens) else Origin.DOCKER_RUN)
    return DockerRun(name, text, plain, command, launch, _problems(plain, command, launch), _blocked(plain, command))


def _problems(plain: Repaired, command: DockerCommand, launch: Launch) -> tuple[Problem, ...]:
    inside = container_problems(launch)
    of_docker = docker_run_problems(command, lambda index: at_lines([plain.line(command.words[index].start)]))
    return (*plain.problems, *of_docker, *inside)


def read_shell(text: str, name: str = "command") -> DockerRun | EngineCommand:
    """The launch in a pasted command or a script, in a container or without one.

    Raises:
        UserError: it starts no engine, or more than one, or quotes in it do not close.
    """
    plain, tokens = _read(text, name)
    if any(run_at(command.texts) is not None for command in commands(tokens)):
        return _docker_run(text, name, plain, tokens)
    return engine_command(text, name, plain, tokens)


def _starts_engine(run: DockerCommand) -> bool:
    return isinstance(run.engine, Found) or "sglang" in (run.image or "") or bool(run.engine.id)


def _blocked(plain: Repaired, run: DockerCommand) -> Text | None:
    at = run.words[0].start
    line = plain.line(at)
    if run.command.in_loop:
        return Text(f"docker run stands in a loop (line {line})", f"docker run 写在循环里（第 {line} 行）")
    if run.options.image is None:
        return Text("docker run is given no image", "docker run 没有指定镜像")
    if run.options.unknown:
        option, _ = run.options.unknown[0]
        return Text(f"docker run has no option {option}", f"docker run 没有 {option} 这个选项")
    return None


def _not_one(plain: Repaired, runs: Sequence[DockerCommand], tokens: Sequence[Word], name: str) -> UserError:
    if runs:
        lines = ", ".join(str(plain.line(run.words[0].start)) for run in runs)
        return UserError(
            f"{name}: more than one docker run (lines {lines}); give one of them alone",
            f"{name}：有多个 docker run（第 {lines} 行）；请只给出其中一个",
        )
    for token in tokens:
        hidden = "docker run" in token.raw if token.operator else token.expands and "docker run" in token.text
        if hidden:
            line = line_of(plain.text, token.start)
            return UserError(
                f"{name}: docker run stands inside $(...) or a here-document (line {line}); give it alone",
                f"{name}：docker run 写在 $(...) 或 here-document 里（第 {line} 行）；请单独给出",
            )
    return UserError(f"{name}: there is no docker run in it", f"{name}：其中没有 docker run")
