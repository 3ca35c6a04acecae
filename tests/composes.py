"""The Composes that tests find: one of today from the development group, Debian's of version 1 where it is installed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = Path(sys.executable).parent


def modern() -> list[str] | None:
    """The words of a Compose of version 2 or later; None if none is installed."""
    return _installed(lambda version: not version.startswith("1."))


def first() -> list[str] | None:
    """The words of a Compose of version 1; None if none is installed."""
    return _installed(lambda version: version.startswith("1."))


def _installed(wanted: Callable[[str], bool]) -> list[str] | None:
    for folder in (str(TOOLS), *os.environ["PATH"].split(os.pathsep)):
        program = shutil.which("docker-compose", path=folder)
        if program is None:
            continue
        asked = subprocess.run([program, "version", "--short"], capture_output=True, text=True, check=False)
        if not asked.returncode and wanted(asked.stdout.strip()):
            return [program]
    return None


def path_with_tools() -> str:
    """Value for PATH under which both generations are found."""
    return f"{TOOLS}{os.pathsep}{os.environ['PATH']}"


def needed(words: list[str] | None) -> list[str]:
    """The words of a Compose; skips where it is not installed, and fails there when `CI=true`."""
    if words is None:
        message = "this Compose is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return words
