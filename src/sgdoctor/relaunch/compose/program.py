"""Which Compose made a container, and its commands."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.errors import UserError
from sgdoctor.relaunch.compose import texts

_ASK_SECONDS: Final = 60.0
# Stopping the old server takes its own time, and a new tag of an image has to be pulled.
_UP_SECONDS: Final = 3600.0
_END_SECONDS: Final = 20.0
_ALONE_SECONDS: Final = 120.0
_POLL: Final = 0.1
_SAID: Final = 2000
# `up --pull` came before it (docker/compose issue 10125 shows it in 2.13).
_KNOWS_PULL: Final = (2, 13)
# A variable or a line of .env must not let `up` remove other services.
_OWN_VARIABLES: Final[Mapping[str, str]] = {"COMPOSE_REMOVE_ORPHANS": "false", "COMPOSE_MENU": "false"}


class ComposeError(UserError):
    """Compose said no.

    Attributes:
        said: its last lines.
    """

    def __init__(self, said: str) -> None:
        reason = texts.compose_says(said)
        super().__init__(reason.en, reason.zh)
        self.said = said


@dataclass(frozen=True, slots=True)
class Compose:
    """A Compose that is installed.

    Attributes:
        words: that start it: ``/usr/bin/docker compose`` or ``/usr/bin/docker-compose``.
        version: such as ``(5, 6, 1)``.
    """

    words: tuple[str, ...]
    version: tuple[int, ...]

    @property
    def is_first(self) -> bool:
        """Whether it is of the first generation, written in Python."""
        return self.version < (2,)


def find_compose(made_by: str) -> Compose | None:
    """The Compose of the generation that made a container, which gives a configuration the same hash; None if none is.

    Args:
        made_by: version of the one that made it.
    """
    first, path = is_first(made_by), os.environ.get("PATH", os.defpath)
    found = (_asked(words) for words in _candidates(path, plugin=not first))
    return next((one for one in found if one is not None and one.is_first == first), None)


def is_first(version: str) -> bool:
    """Whether a version is one of the first generation."""
    return version.startswith("1.")


def _candidates(path: str, *, plugin: bool) -> Iterator[tuple[str, ...]]:
    if plugin and (docker := shutil.which("docker", path=path)):
        yield docker, "compose"
    # Both generations may be installed under the same name.
    for folder in path.split(os.pathsep):
        if folder and (program := shutil.which("docker-compose", path=folder)):
            yield (program,)


@cache
def _asked(words: tuple[str, ...]) -> Compose | None:
    try:
        done = subprocess.run(  # noqa: S603 - a program of the user's PATH
            [*words, "version", "--short"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _version(done.stdout.strip())
    return Compose(words, version) if not done.returncode and version else None


def _version(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in text.removeprefix("v").partition("-")[0].split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class ProjectWords:
    """How a project was given to Compose.

    Attributes:
        name: of the project.
        folder: that relative paths begin in.
        files: in order, as they stand in the labels: relative ones begin in ``folder``.
        env_files: of ``--env-file``.
        variables: of the shell, those that the files mention; None for one that is not set.
    """

    name: str
    folder: str
    files: tuple[str, ...]
    env_files: tuple[str, ...] = ()
    variables: Mapping[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Of the files."""
        return tuple(Path(self.folder, one) for one in self.files)

    def with_file(self, file: Path, other: Path) -> Self:
        """The same with another file in the place of one."""
        named = zip(self.files, self.paths, strict=True)
        return replace(self, files=tuple(str(other) if path.resolve() == file else name for name, path in named))


class ComposeProject:
    """Commands of Compose about one project on one engine.

    Args:
        compose: which Compose.
        words: the project.
        endpoint: the engine.
        turn: a file by which a Compose that outlives the process that started it is known to run; None if nothing is
            changed.
    """

    def __init__(
        self,
        compose: Compose,
        words: ProjectWords,
        endpoint: Endpoint,
        turn: Path | None = None,
    ) -> None:
        self.compose = compose
        self.words = words
        variables = {**os.environ, **words.variables, **_OWN_VARIABLES}
        self._environment = {name: value for name, value in variables.items() if value is not None}
        if endpoint.tls is None:
            self._environment |= {"DOCKER_HOST": endpoint.url}
            self._environment.pop("DOCKER_CONTEXT", None)
        elif endpoint.origin.startswith("context "):
            self._environment |= {"DOCKER_CONTEXT": endpoint.origin.removeprefix("context ")}
            self._environment.pop("DOCKER_HOST", None)
        self._turn = turn

    def hashes(self, services: Sequence[str], words: ProjectWords | None = None) -> dict[str, str]:
        """The hashes of the configurations of services, as they stand in the labels of their containers.

        Args:
            services: all of the project.
            words: other files; None for the project's own.

        Raises:
            ComposeError: the files are not right.
        """
        # The first generation knows services of any profile by their names, the later ones all by a star.
        profiles = () if self.compose.is_first else ("--profile", "*")
        asked = ",".join(services) if self.compose.is_first else "*"
        lines = self._run(profiles, ("config", "--hash", asked), words=words).splitlines()
        return dict(line.split(maxsplit=1) for line in lines if len(line.split()) == 2)

    def command(self, service: str, words: ProjectWords | None = None) -> tuple[str, ...] | None:
        """Entrypoint and command of a service as Compose reads them; None where it does not tell.

        Args:
            service: its name.
            words: other files; None for the project's own.

        Raises:
            ComposeError: the files are not right.
        """
        if self.compose.is_first:
            return None
        answer = self._run(("--profile", "*"), ("config", "--format", "json"), words=words)
        model: Mapping[str, Any] = json.loads(answer)["services"][service]
        texts_ = (*(model.get("entrypoint") or ()), *(model.get("command") or ()))
        return tuple(text.replace("$$", "$") for text in texts_)

    def up(self, service: str, *, start: bool = True, pull: bool = False) -> None:
        """Let Compose make the container of a service what its files say, and nothing else.

        Args:
            service: its name.
            start: whether it is to run.
            pull: whether an image that is not there is pulled.

        Raises:
            ComposeError: it did not work out.
        """
        options = ["-d"] if start else ["--no-start"]
        options += ["--no-deps", "--no-build"]
        # By itself it may look for a newer image of a tag that is there: a change of a flag is no upgrade.
        if self.compose.version >= _KNOWS_PULL:
            options += ["--pull", "missing" if pull else "never"]
        with self._my_turn() as descriptors:
            self._run((), ("up", *options, service), seconds=_UP_SECONDS, kept_open=descriptors)

    def wait_until_alone(self) -> None:
        """Wait for a Compose that was started by a process that is gone.

        Raises:
            UserError: it does not end.
        """
        if self._turn is not None and self._turn.exists():
            with self._my_turn():
                pass

    @contextmanager
    def _my_turn(self) -> Iterator[tuple[int, ...]]:
        """Holds a lock that Compose inherits, so that it ends with the last of both."""
        if self._turn is None:
            yield ()
            return
        try:
            file = self._turn.open("a")
        except OSError as error:
            raise _lock_failed(self._turn, error) from None
        with file:
            limit = time.monotonic() + _ALONE_SECONDS
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > limit:
                        raise UserError(texts.STILL_AT_WORK.en, texts.STILL_AT_WORK.zh) from None
                    time.sleep(_POLL)
            yield (file.fileno(),)

    def _run(
        self,
        options: Sequence[str],
        command: Sequence[str],
        *,
        words: ProjectWords | None = None,
        seconds: float = _ASK_SECONDS,
        kept_open: tuple[int, ...] = (),
    ) -> str:
        project = words or self.words
        arguments = [word for file in project.files for word in ("-f", file)]
        arguments += ["--project-directory", project.folder, "-p", project.name]
        arguments += [word for file in project.env_files for word in ("--env-file", file)]
        # Files, not pipes: it goes on to its end if this process is killed, and is not killed by its next word.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(  # noqa: S603 - the program that was asked for its version
                    [*self.compose.words, *arguments, *options, *command],
                    cwd=project.folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=said,
                    # Ctrl-C is for this process, which then ends the other one in order.
                    start_new_session=True,
                    pass_fds=kept_open,
                )
            except OSError as error:
                raise ComposeError(error.strerror or str(error)) from None
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                _end(process)
                raise ComposeError(texts.too_long(seconds)) from None
            except BaseException:
                _end(process)
                raise
            if code:
                said.seek(0)
                raise ComposeError(_last(said.read()) or f"exit code {code}")
            output.seek(0)
            return output.read().decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
            return


def _last(said: bytes) -> str:
    """What matters of the output: the errors, without the lines about what went well."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line] or lines[-3:]
    return " ".join(dict.fromkeys(errors))[-_SAID:]


def _lock_failed(path: Path, error: OSError) -> UserError:
    return UserError(f"The lock {path} cannot be made: {error.strerror}.", f"无法创建锁文件 {path}：{error.strerror}。")
