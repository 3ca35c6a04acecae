"""What containers said, kept on disk: a log that was removed with its container can still be read."""

import fcntl
import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from sgdoctor.containers.clock import iso, nanoseconds
from sgdoctor.containers.exits import exit_lines
from sgdoctor.containers.records import (
    AttemptEnded,
    AttemptStarted,
    Container,
    ExitFacts,
    LinesLost,
    LogChunk,
    Record,
)
from sgdoctor.texts import Text

_COPY: Final = 1 << 20
_MEMORY: Final = 32 << 20
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]")
_PART_OF_NAME: Final = 128


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept.

    Attributes:
        attempt: bytes of one start; beyond them its middle is dropped.
        attempts: starts of one container.
        total: bytes of all containers.
    """

    attempt: int = 64 << 20
    attempts: int = 20
    total: int = 1 << 30


@dataclass(frozen=True, slots=True)
class SpooledAttempt:
    """One start that was kept.

    Attributes:
        path: its output, plain bytes as the container wrote them.
        container: whose.
        started: in nanoseconds since the epoch; None for the output of earlier starts.
        facts: how it ended; None while it runs, or when nobody saw its end.
    """

    path: Path
    container: Container
    started: int | None
    facts: ExitFacts | None


def state_dir() -> Path:
    """The folder of the XDG specification for what should outlive a reboot; platformdirs only on other systems."""
    if sys.platform != "linux":
        from platformdirs import user_state_path  # noqa: PLC0415

        return user_state_path("sgdoctor")
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "sgdoctor"


class Spool:
    """Writes the records of one follower to disk, one file for each start.

    Attributes:
        path: the output of the current start, growing; None before the first one. When the disk is full it is a file
            in memory.
        generation: changes whenever bytes of ``path`` may stand at other offsets than before: a new start, a
            dropped middle, the move to memory.
        problem: why the current start cannot be kept on disk; empty if it can.
    """

    def __init__(self, root: Path | None = None, limits: Limits | None = None) -> None:
        self.path: Path | None = None
        self.generation = 0
        self.problem = ""
        self._root = (state_dir() if root is None else root) / "spool"
        self._limits = limits or Limits()
        self._file: IO[bytes] | None = None
        self._size = 0
        self._meta: dict[str, Any] = {}
        self._older: Path | None = None
        self._in_memory = False

    def close(self) -> None:
        """Finish the current file; it stays on disk."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def take(self, record: Record) -> Text | None:
        """Keep what a record tells.

        Returns:
            What the user should know: nothing more can be kept on disk, which is told once for each start.
        """
        try:
            self._take(record)
        except OSError as error:
            if self._in_memory:
                raise
            self.problem = f"{self._root}: {error.strerror or error}"
            self._to_memory(record.data if isinstance(record, LogChunk) else b"")
            return Text(
                f"The log cannot be kept in {self._root}: {error.strerror}. It is followed all the same, in memory.",
                f"无法在 {self._root} 保存日志：{error.strerror}。仍会继续跟踪，内容只保存在内存中。",
            )
        return None

    def _take(self, record: Record) -> None:
        match record:
            case AttemptStarted():
                self._begin(record)
            case LogChunk():
                self._write(record.data)
            case LinesLost():
                self._meta["lost"] = record.message.en
                self._write_meta()
            case AttemptEnded():
                self._meta["exit"] = _facts_as_data(record.facts)
                self._write_meta()
            case _:
                pass

    def _begin(self, record: AttemptStarted) -> None:
        self.close()
        self.generation += 1
        self._size = 0
        self._in_memory = False
        self.problem = ""
        self._older = None
        self._meta = {
            "container": asdict(record.container),
            "started": iso(record.started),
            "restart_count": record.restart_count,
            "history": record.history,
            "exit": None,
        }
        folder = self._root / file_name_of(record.container.name or record.container.id[:12])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._older = _same_start(folder, self._meta)
        self._prune(folder)
        number = max((int(path.stem) for path in _logs(folder)), default=0)
        while self._file is None:
            number += 1
            path = folder / f"{number:04}.log"
            with suppress(FileExistsError):
                self._file = open(  # noqa: SIM115 - it lives as long as the start
                    path, "x+b", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600)
                )
        with suppress(OSError):
            # Whoever prunes leaves a file alone that is being written. Some network file systems have no locks.
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self.path = path
        self._write_meta()

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        written = 0
        try:
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError:
            if not self._in_memory:
                # Whole lines only, and what is given to memory again must not stand there twice.
                self._file.truncate(self._size)
                self._file.seek(self._size)
            raise
        self._size += len(data)
        if self._size > (min(_MEMORY, self._limits.attempt) if self._in_memory else self._limits.attempt):
            self._drop_middle()
        if self._older is not None and self._size >= _size_of(self._older):
            _remove(self._older)
            self._older = None

    def _drop_middle(self) -> None:
        """Keep the first quarter and the last half."""
        assert self._file is not None
        limit = self._size
        head = _line_end(self._file, limit // 4)
        tail = _line_end(self._file, limit - limit // 2)
        mark = f"sgdoctor  | {tail - head} bytes of the log were dropped here to save space\n".encode()
        write = head
        self._file.seek(tail)
        rest_at = tail
        os.pwrite(self._file.fileno(), mark[: tail - head], write)
        write += len(mark[: tail - head])
        while block := os.pread(self._file.fileno(), _COPY, rest_at):
            rest_at += len(block)
            write += os.pwrite(self._file.fileno(), block, write)
        self._file.truncate(write)
        self._file.seek(write)
        self._size = write
        self.generation += 1

    def _to_memory(self, data: bytes) -> None:
        """Go on in a file that takes no room on disk, with what was written so far as far as it fits."""
        memory = os.fdopen(os.memfd_create("sgdoctor-spool"), "w+b", buffering=0)
        if self._file is not None:
            with suppress(OSError):
                start = max(0, self._size - _MEMORY // 2)
                self._file.seek(_line_end(self._file, start) if start else 0)
                while block := self._file.read(_COPY):
                    memory.write(block)
            self.close()
        self._file = memory
        self._in_memory = True
        self._older = None
        self._size = memory.tell()
        self.path = Path(f"/proc/self/fd/{memory.fileno()}")
        self.generation += 1
        self._write(data)

    def _write_meta(self) -> None:
        if self.path is None or self._in_memory:
            return
        target = self.path.with_suffix(".json")
        new = target.with_suffix(f".{os.getpid()}.new")
        try:
            new.write_text(json.dumps(self._meta, ensure_ascii=False, indent=1), "utf-8")
            new.replace(target)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def _prune(self, folder: Path) -> None:
        """Remove the oldest starts of this container, then the oldest of all."""
        own = _logs(folder)
        for path in own[: max(0, len(own) - self._limits.attempts + 1)]:
            _remove(path)
        everything = sorted(self._root.glob("*/*.log"), key=_age)
        excess = sum(map(_size_of, everything)) - self._limits.total
        for path in everything:
            if excess <= 0:
                break
            size = _size_of(path)
            if _remove(path):
                excess -= size


def file_name_of(name: str, longest: int = 255) -> str:
    """A name as that of a file or folder: no path, no name of another one, and not too long.

    Args:
        name: of a container, which is its own file name, or of a server without one, which may be any.
        longest: that it may be.
    """
    safe = _UNSAFE.sub("_", name)
    if safe == name and name.strip(".") and len(name) <= longest:
        return name
    # Two names of other scripts differ by nothing else, and `..` is no folder of its own.
    return f"{safe[:_PART_OF_NAME]}~{sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def spooled(root: Path | None = None, name: str | None = None) -> list[SpooledAttempt]:
    """The starts that were kept, the oldest first.

    Args:
        root: as given to ``Spool``.
        name: only those of the container of this name.
    """
    folder = (state_dir() if root is None else root) / "spool"
    found = []
    for path in sorted(folder.glob("*/*.log"), key=_age):
        attempt = _attempt(path)
        if attempt is not None and name in (None, attempt.container.name):
            found.append(attempt)
    return found


def remove_spooled(attempt: SpooledAttempt) -> bool:
    """Remove a start that was kept; False if somebody is writing it at this moment."""
    return _remove(attempt.path)


def bytes_of(attempt: SpooledAttempt) -> bytes:
    """A start that was kept, as a log to diagnose: its output, and how it ended."""
    ending = exit_lines(attempt.container.name, attempt.facts) if attempt.facts is not None else b""
    return attempt.path.read_bytes() + ending


def _attempt(path: Path) -> SpooledAttempt | None:
    try:
        meta = json.loads(path.with_suffix(".json").read_bytes())
        data = meta["container"]
        container = Container(**{**data, "command": tuple(data["command"])})
        ending = meta["exit"]
        facts = None
        if ending is not None:
            times = {key: nanoseconds(ending[key]) for key in ("started", "finished")}
            facts = ExitFacts(**{**ending, **times})
        return SpooledAttempt(path, container, nanoseconds(meta["started"]), facts)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _facts_as_data(facts: ExitFacts) -> dict[str, Any]:
    return {**asdict(facts), "started": iso(facts.started), "finished": iso(facts.finished)}


def _same_start(folder: Path, meta: dict[str, Any]) -> Path | None:
    """The same start as somebody kept it before; it is read again from its beginning as long as the engine has it."""
    for path in reversed(_logs(folder)):
        with suppress(OSError, ValueError, LookupError, TypeError):
            other = json.loads(path.with_suffix(".json").read_bytes())
            if other["container"]["id"] == meta["container"]["id"] and other["started"] == meta["started"]:
                return path
    return None


def _logs(folder: Path) -> list[Path]:
    return sorted((path for path in folder.glob("*.log") if path.stem.isdigit()), key=lambda path: int(path.stem))


def _line_end(file: IO[bytes], position: int) -> int:
    """The first beginning of a line at or after a position; the position itself where lines are endless."""
    block = os.pread(file.fileno(), _COPY, position)
    return position + block.find(b"\n") + 1 if b"\n" in block else position


def _age(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _remove(path: Path) -> bool:
    """Remove a start, unless somebody is writing it."""
    with suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        path.with_suffix(".json").unlink(missing_ok=True)
        return True
    return False
