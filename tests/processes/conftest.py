"""What the tests of processes share: small programs in the place of engines, and who is left of them."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

LIMIT_S = 20
Script = Callable[[str], list[str]]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Makes a command of Python source; ``here`` in it is a folder to leave files in."""

    def make(source: str) -> list[str]:
        path = tmp_path / "engine.py"
        path.write_text(f"import os, signal, subprocess, sys, time\nhere = {str(tmp_path)!r}\n{source}")
        return [sys.executable, "-u", str(path)]

    return make


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    return False


def until(condition: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.01)


def pid_in(path: Path) -> int:
    """The id that a program has left in a file."""
    until(lambda: path.exists() and path.read_text().strip() != "", f"{path} is not written")
    return int(path.read_text())


def no_child_left() -> bool:
    """Whether this process has no child that nobody waited for."""
    with suppress(ChildProcessError):
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    return True
