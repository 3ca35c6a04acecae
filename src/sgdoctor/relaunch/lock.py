"""One relaunch at a time for each container."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Final

from sgdoctor.containers.spool import file_name_of
from sgdoctor.errors import UserError
from sgdoctor.relaunch.journal import journal_dir

_SHORT: Final = 12
_LONGEST: Final = 128


@dataclass(frozen=True, slots=True)
class Holder:
    """Who is at work on a container.

    Attributes:
        pid: of the process.
        command: what it was started as.
        since: time in ISO 8601.
    """

    pid: int
    command: str
    since: str


@contextmanager
def locked(container: str, root: Path | None = None, engine: str = "") -> Iterator[None]:
    """No other process of this user touches the container for the length of a ``with`` block; see ``claim`` for others.

    The lock goes with the process that holds it, however that ends.

    Args:
        container: name.
        root: stands for the state folder of sgdoctor.
        engine: id of the one that it is on, as another may have one of the same name; empty for a process.

    Raises:
        UserError: somebody else is at work on it, or the lock cannot be made.
    """
    path = _path(container, root, engine)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(
            f"The lock {path} cannot be made: {error.strerror}. Nothing was touched.",
            f"无法创建锁文件 {path}：{error.strerror}。未做任何改动。",
        ) from None
    try:
        if not _try(descriptor):
            raise _busy(container, _read(descriptor))
        # Who it is matters less than that it is: the disk may be full.
        with suppress(OSError):
            os.truncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(asdict(myself())).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(container: str, root: Path | None = None, engine: str = "") -> Holder | None:
    """Who is at work on a container at this moment; None for nobody. Arguments as of ``locked``."""
    try:
        descriptor = os.open(_path(container, root, engine), os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _try(descriptor) else _read(descriptor)
    finally:
        os.close(descriptor)


def _path(container: str, root: Path | None, engine: str) -> Path:
    # Of a limited length, as names of files have a limit, and those of containers have none.
    of_engine = f"@{_digest(engine)}" if engine else ""
    return journal_dir(root) / f"{file_name_of(container, _LONGEST)}{of_engine}.lock"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_SHORT]


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(descriptor: int) -> Holder:
    with suppress(ValueError, TypeError):
        return Holder(**json.loads(os.pread(descriptor, 4096, 0)))
    return Holder(0, "", "")


def myself() -> Holder:
    """This process."""
    words = Path("/proc/self/cmdline").read_bytes().split(b"\0") if Path("/proc/self/cmdline").exists() else []
    # Others are shown it, and values of options may be secrets.
    told = takewhile(lambda word: not word.startswith(b"--"), words)
    command = " ".join(word.decode("utf-8", "replace") for word in told if word)
    return Holder(os.getpid(), command[:200], datetime.now(UTC).isoformat(timespec="seconds"))


def _busy(container: str, who: Holder) -> UserError:
    en = f"process {who.pid} ({who.command}), since {who.since}" if who.pid else "another process"
    zh = f"进程 {who.pid}（{who.command}），开始于 {who.since}" if who.pid else "另一个进程"
    return UserError(
        f"{container} is being relaunched already, by {en}. Nothing was touched.",
        f"{container} 已在重启中：{zh}。未做任何改动。",
    )
