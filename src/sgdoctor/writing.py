"""Files of the user: read as they are, replaced whole or not at all."""

import errno
import os
import stat
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.patterns import lazy_pattern

LARGEST: Final = 4 << 20
"""Bytes of a launch as text; anything larger is something else."""
_BACKUP: Final = lazy_pattern(r"\.bak-\d{8}-\d{6}(?:-\d+)?\Z")


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read.

    Attributes:
        path: as it was named.
        data: its bytes.
        text: the same as text; ``data`` again once it is encoded.
    """

    path: Path
    data: bytes
    text: str


def read_text(path: Path) -> Found:
    """A text file of the user.

    Raises:
        UserError: it cannot be read, is no text, or is too large for a launch.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _failed(path, error) from None
    if len(data) > LARGEST:
        raise UserError(f"{path}: too large for a launch", f"{path}：作为启动配置过大")
    try:
        return Found(path, data, data.decode("utf-8"))
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a text in UTF-8", f"{path}：不是 UTF-8 文本") from None


def write_new(path: Path, data: bytes) -> None:
    """Writes a file that does not exist yet.

    Raises:
        UserError: it exists, or cannot be written; nothing is left behind.
    """
    check_new(path)
    temporary = _written(path, data, None)
    try:
        try:
            os.link(temporary, path)  # unlike a rename it never replaces what has appeared there meanwhile
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            temporary.rename(path)
    except OSError as error:
        raise _failed(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def check_new(path: Path) -> None:
    """Whether nothing has a name yet.

    Raises:
        UserError: something has.
    """
    if os.path.lexists(path):
        raise _failed(path, FileExistsError(errno.EEXIST, ""))


def replace_with_backup(found: Found, text: str, now: datetime) -> Path:
    """Replaces a file by a new text, in one step; mode and owner stay.

    Args:
        found: the file as it was read.
        text: the new content.
        now: for the name of the backup.

    Returns:
        The backup: ``FILE.bak-20260710-153000``.

    Raises:
        UserError: the file may not be written, is a link, or was changed since it was read; nothing was written.
    """
    status = check_replaceable(found)
    temporary = _written(found.path, text.encode(), status)
    backup = backup_path(found.path, now)
    try:
        _written(backup, found.data, status).rename(backup)
        temporary.replace(found.path)
    except OSError as error:
        backup.unlink(missing_ok=True)
        raise _failed(found.path, error) from None
    finally:
        temporary.unlink(missing_ok=True)
    return backup


def check_replaceable(found: Found) -> os.stat_result:
    """Whether a file may be replaced by another content; its status.

    Args:
        found: the file as it was read.

    Raises:
        UserError: the file may not be written, is a link, or was changed since it was read.
    """
    path = found.path
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            real = path.resolve()
            raise UserError(
                f"{path}: a link to {real}; name that file instead. Nothing was written",
                f"{path}：这是指向 {real} 的链接；请直接指定该文件。未写入任何内容",
            )
        if not stat.S_ISREG(status.st_mode):
            raise UserError(f"{path}: not a plain file; nothing was written", f"{path}：不是普通文件，未写入任何内容")
        # A rename would get around the mode of the file; the owner has set it for a reason.
        if not status.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
            raise UserError(f"{path}: read-only; nothing was written", f"{path}：文件只读，未写入任何内容")
        if path.read_bytes() != found.data:
            raise UserError(
                f"{path}: was edited meanwhile; run the command again. Nothing was written",
                f"{path}：期间已被修改；请重新运行。未写入任何内容",
            )
    except OSError as error:
        raise _failed(path, error) from None
    return status


def write_like(path: Path, data: bytes, like: os.stat_result) -> None:
    """Writes a file, whole or not at all, with the mode and the owner of another one.

    Until it is whole it is another file beside it whose name begins with ``.NAME.``.

    Raises:
        UserError: it cannot be written.
    """
    temporary = _written(path, data, like)
    try:
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _failed(path, error) from None


def backup_path(path: Path, now: datetime) -> Path:
    """A name beside a file that nobody has, for a copy of it: ``FILE.bak-20260710-153000``."""
    name = f"{path.name}.bak-{now:%Y%m%d-%H%M%S}"
    backup = path.with_name(name)
    number = 2
    while os.path.lexists(backup):
        backup = path.with_name(f"{name}-{number}")
        number += 1
    return backup


def is_backup(name: str) -> bool:
    """Whether a file has a name that ``backup_path`` gives."""
    return _BACKUP.search(name) is not None


def _written(path: Path, data: bytes, like: os.stat_result | None) -> Path:
    """A finished file beside ``path`` under another name."""
    try:
        fd, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _failed(path, error) from None
    temporary = Path(name)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
            if like is None:
                os.fchmod(fd, 0o666 & ~_umask())
            else:
                os.fchown(fd, like.st_uid, like.st_gid)
                os.fchmod(fd, stat.S_IMODE(like.st_mode))
            file.flush()
            os.fsync(fd)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _failed(path, error) from None
    return temporary


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _failed(path: Path, error: OSError) -> UserError:
    reasons = {
        errno.ENOENT: ("no such file or folder", "没有这个文件或目录"),
        errno.EACCES: ("permission denied", "没有权限"),
        errno.EPERM: ("permission denied", "没有权限"),
        errno.EEXIST: ("exists already; nothing was written", "文件已存在，未写入任何内容"),
        errno.EISDIR: ("a folder", "这是目录"),
        errno.ENOTDIR: ("no such folder", "没有这个目录"),
        errno.EROFS: ("the file system is read-only", "文件系统只读"),
        errno.ENOSPC: ("no space left", "空间不足"),
    }
    en, zh = reasons.get(error.errno or 0, (error.strerror or str(error),) * 2)
    return UserError(f"{path}: {en}", f"{path}：{zh}")
