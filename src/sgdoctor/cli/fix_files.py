"""The files that a plan needs beside the launch."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sgdoctor.errors import UserError
from sgdoctor.fixes.model import Plan, WrittenFile
from sgdoctor.patches.copies import ABOUT_NAME, CONFIG_NAME, why_kept
from sgdoctor.patches.sitecustomize import FILE_NAME, FileState, verify
from sgdoctor.writing import check_new, write_like, write_new


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
    before: dict[Path, bytes] = {}
    try:
        before = _replaced(plan.files, folder)
        for file in plan.files:
            path = folder / file.path
            written += _made_folders(path.parent)
            if path in before:
                write_like(path, file.content, path.stat())
            elif not _is_there(file, path):
                write_new(path, file.content)
                written.append(path)
            if file.among:
                _link(Path(file.among), path, written)
    except OSError as error:
        _undo(written, before)
        name, reason = error.filename or folder, error.strerror or str(error)
        raise UserError(f"{name}: {reason}", f"{name}：{reason}") from None
    except UserError:
        _undo(written, before)
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


def _undo(written: Sequence[Path], before: Mapping[Path, bytes]) -> None:
    remove_files(written)
    for path, content in before.items():
        with suppress(OSError, UserError):
            if path.read_bytes() != content:
                write_like(path, content, path.stat())


def _replaced(files: Sequence[WrittenFile], folder: Path) -> dict[Path, bytes]:
    """What the files that are written anew hold now.

    Raises:
        UserError: one that is there must stay as it is.
    """
    copies = _copies(files, folder)
    found: dict[Path, bytes] = {}
    for file in files:
        path = folder / file.path
        if _is_there(file, path):
            continue
        if path in copies or _does_more(file, path):
            found[path] = path.read_bytes()
        else:
            check_new(path)
    return found


def _is_there(file: WrittenFile, path: Path) -> bool:
    return path.is_file() and path.read_bytes() == file.content


def _made_folders(folder: Path) -> list[Path]:
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _does_more(file: WrittenFile, path: Path) -> bool:
    """Whether a start-up file of before, which nobody edited, gives way to one that does more.

    Another launch may have it mounted: nothing that it does may be missing afterwards.
    """
    if path.name != FILE_NAME or not path.is_file():
        return False
    there, new = verify(path.read_bytes()), verify(file.content)
    labels = [{label for label, _ in one.patches} for one in (there, new)]
    return there.state is FileState.OURS and labels[0] <= labels[1]


def _copies(files: Sequence[WrittenFile], folder: Path) -> set[Path]:
    """The corrected copies that are there and may be made anew, each with the file that tells of it.

    Raises:
        UserError: one that is there must stay as it is.
    """
    contents = {folder / file.path: file.content for file in files}
    found: set[Path] = set()
    for about in (path for path in contents if path.name == ABOUT_NAME):
        copy = about.with_name(CONFIG_NAME)
        if copy not in contents or not copy.is_file():
            continue
        content, tells = copy.read_bytes(), about.read_bytes() if about.is_file() else b""
        if (why := why_kept(tells, content, contents[about])) is None:
            found |= {about, copy}
        elif content != contents[copy]:
            raise UserError(f"{copy}: {why.en}; nothing was written", f"{copy}：{why.zh}，未写入任何内容")
    return found


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
