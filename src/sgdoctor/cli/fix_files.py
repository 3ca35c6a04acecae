"""The files that a plan needs beside the launch."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Plan
from sgdoctor.writing import write_new


def write_files(plan: Plan, folder: Path) -> list[Path]:
    """Writes the files of a plan; those that are there as they should be stay.

    Args:
        plan: which.
        folder: that their paths start from.

    Returns:
        What was written.

    Raises:
        UserError: one cannot be written, or its name is taken; nothing was written.
    """
    written: list[Path] = []
    try:
        for file in plan.files:
            path = folder / file.path
            if not path.is_file() or path.read_bytes() != file.content:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_new(path, file.content)
                written.append(path)
    except UserError:
        remove_files(written)
        raise
    return written


def remove_files(paths: Iterable[Path]) -> None:
    """Takes back what was written."""
    for path in paths:
        with suppress(OSError):
            path.unlink()
