"""One relaunch at a time for each container."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from sgdoctor.errors import UserError
from sgdoctor.relaunch.journal import journal_dir

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]")


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
def locked(container: str, root: Path | None = None) -> Iterator[None]:
    """No other process of this user touches the container for the length of a ``with`` block.

    The lock goes with the process that holds it, however that ends.

    Args:
        container: name.
        root: stands for the state folder of sgdoctor.

    Raises:
        UserError: somebody else is at work on it, or the lock cannot be made.
    """
    path = _path(container, root)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"The lock {path} cannot be made: {error.strerror}. Nothing was touched.",
            f"无法创建锁文件 {path}：{error.strerror}。未做任何改动。",
        ) from None
    with file:
        if not _try(file):
            raise _busy(container, _read(file))
        try:
            with suppress(OSError):
                file.truncate(0)
                file.write(json.dumps(asdict(_myself())))
                file.flush()
            yield
        finally:
            with suppress(OSError):
                file.truncate(0)


def holder(container: str, root: Path | None = None) -> Holder | None:
    """Who is at work on a container at this moment; None for nobody."""
    try:
        file = _path(container, root).open("r+", encoding="utf-8")
    except OSError:
        return None
    with file:
        return None if _try(file) else _read(file)


def _path(container: str, root: Path | None) -> Path:
    return journal_dir(root) / f"{_UNSAFE.sub('_', container)}.lock"


def _try(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(file: IO[str]) -> Holder:
    file.seek(0)
    with suppress(ValueError, TypeError):
        return Holder(**json.loads(file.read()))
    return Holder(0, "", "")


def _myself() -> Holder:
    words = Path("/proc/self/cmdline").read_bytes().split(b"\0") if Path("/proc/self/cmdline").exists() else []
    command = " ".join(word.decode("utf-8", "replace") for word in words if word)
    return Holder(os.getpid(), command[:200], datetime.now(UTC).isoformat(timespec="seconds"))


def _busy(container: str, who: Holder) -> UserError:
    en = f"process {who.pid} ({who.command}), since {who.since}" if who.pid else "another process"
    zh = f"进程 {who.pid}（{who.command}），开始于 {who.since}" if who.pid else "另一个进程"
    return UserError(
        f"{container} is being relaunched already, by {en}. Nothing was touched.",
        f"{container} 已在重启中：{zh}。未做任何改动。",
    )
