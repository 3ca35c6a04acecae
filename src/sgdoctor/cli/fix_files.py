"""The files that a plan needs beside the launch."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Plan, WrittenFile
from sgdoctor.patches.sitecustomize import FILE_NAME, FileState, verify
from sgdoctor.writing import write_like, write_new


def write_files(plan: Plan, folder: Path) -> list[Path]:
    """Writes the files of a plan; those that are there as they should be stay.

    Args:
        plan: which.
        folder: that their paths start from.

    Returns:
        What was made: folders, files and links, each behind what it is in.

    Raises:
        UserError: one cannot be written, or its name is taken; nothing was written.
    """
    written: list[Path] = []
    try:
        for file in plan.files:
            path = folder / file.path
            written += _made_folders(path.parent)
            if not path.is_file() or path.read_bytes() != file.content:
                if _is_ours(file, path):
                    write_like(path, file.content, path.stat())
                else:
                    write_new(path, file.content)
                    written.append(path)
            if file.among:
                _link(Path(file.among), path, written)
    except OSError as error:
        remove_files(written)
        name, reason = error.filename or folder, error.strerror or str(error)
        raise UserError(f"{name}: {reason}", f"{name}：{reason}") from None
    except UserError:
        remove_files(written)
        raise
    return written


def remove_files(paths: Sequence[Path]) -> None:
    """Takes back what was written; folders only where nothing else is in them."""
    for path in reversed(paths):
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            else:
                path.unlink()


def _made_folders(folder: Path) -> list[Path]:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _is_ours(file: WrittenFile, path: Path) -> bool:
    """Whether a start-up file of before, which nobody edited, gives way to one that does more.

    A container may have it mounted; of a process no second one runs.
    """
    known = path.name == FILE_NAME and Path(file.path).is_absolute() and path.is_file()
    return known and verify(path.read_bytes()).state is FileState.OURS


def _link(model: Path, beside: Path, made: list[Path]) -> None:
    """Links the files of a folder beside one of them that is there already; links that are right stay.

    Args:
        model: the folder.
        beside: the file.
        made: takes each link that is new.
    """
    names = {path.name for path in model.iterdir()} - {beside.name}
    for old in beside.parent.iterdir():
        # What the model does not have any more.
        if old.is_symlink() and (old.name not in names or old.readlink() != model / old.name):
            old.unlink()
    for name in sorted(names):
        link = beside.with_name(name)
        if not os.path.lexists(link):
            link.symlink_to(model / name)
            made.append(link)
