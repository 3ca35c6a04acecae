"""Real releases of transformers, each installed into a folder of its own, without torch."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

NEWEST = "newest"
"""The newest release of the major version that the patches are for."""

# Read before the tests move XDG_CACHE_HOME: the folders are worth keeping for the next run.
CACHE = platformdirs.user_cache_path("sgdoctor-tests") / "transformers"
_A_DAY = 24 * 60 * 60


def installed(release: str) -> Path:
    """A folder for PYTHONPATH with this release of transformers and what it needs.

    Raises:
        RuntimeError: pip could not install it.
    """
    folder = CACHE / f"{release}-{sys.implementation.cache_tag}"
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists() or (release == NEWEST and time.time() - folder.stat().st_mtime > _A_DAY):
            shutil.rmtree(folder, ignore_errors=True)
            _install("transformers>=5.24,<6" if release == NEWEST else f"transformers=={release}", folder)
    return folder


def environment(*folders: Path) -> dict[str, str]:
    """Variables for a Python that has ``folders`` in front, and never asks a hub."""
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**keep, "PYTHONPATH": os.pathsep.join(map(str, folders)), "HF_HUB_OFFLINE": "1", "PYTHONNOUSERSITE": "1"}


def _install(requirement: str, folder: Path) -> None:
    fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    done = subprocess.run(
        [*pip, "--target", str(fresh), requirement], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        raise RuntimeError(f"pip cannot install {requirement}:\n{done.stderr}")
    fresh.rename(folder)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Workers of one test run, and runs beside it, install one after the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
