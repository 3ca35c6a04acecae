"""Where logs come from: files, compressed files, standard input. All end as bytes that can be searched in place."""

import codecs
import errno
import mmap
import os
import select
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple, Self

from sgdoctor.errors import UserError
from sgdoctor.logs import unpacking
from sgdoctor.texts import Text

_STEP: Final = 1 << 20
_PROBE: Final = 1 << 16
# Reading a map of a file that was cut meanwhile (logrotate's copytruncate) ends the process with SIGBUS. Up to this
# size a copy costs no more than the map.
_COPIED: Final = 16 << 20
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

PATIENCE: Final = 5.0
"""Seconds that a named pipe is given to find a writer."""


class LogSource(NamedTuple):
    """One log, open for reading.

    Attributes:
        name: as the user gave it; ``stdin`` for ``-``.
        data: its bytes, decompressed, UTF-8 as far as it is text.
        size: number of bytes of ``data``.
        mtime: when the file was last written, in seconds since the epoch; None for a stream.
        note: what the user should know about it (a truncated archive); None when all is well.
        container: name of the container whose log it is; empty for a file or a stream.
    """

    name: str
    data: mmap.mmap | bytes
    size: int
    mtime: float | None
    note: Text | None = None
    container: str = ""


@contextmanager
def open_log(target: str) -> Iterator[LogSource]:
    """Open a log for the length of a ``with`` block.

    Small files are read, large ones mapped. Compressed ones (told by their first bytes, not by their name), UTF-16 ones
    and streams go through a temporary file without a name, so that memory stays small.

    Args:
        target: a path, or ``-`` for standard input.

    Raises:
        UserError: it is missing, not readable, empty, a directory, not text, or there is no room to unpack it.
    """
    with ExitStack() as stack:
        if target == "-":
            name, file = "stdin", stack.enter_context(_open_stdin())
        else:
            name, file = target, stack.enter_context(_open_path(target))
        status = os.fstat(file.fileno())
        regular = stat.S_ISREG(status.st_mode)
        mtime = status.st_mtime if regular else None
        try:
            # Files of /proc have no size and still something in them.
            if not regular or file.tell() or not status.st_size:
                file = stack.enter_context(_spool(name, iter(lambda: file.read(_STEP), b"")))
            source = _source(stack, name, file, mtime)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(f"{name}: cannot be read: {reason}", f"{name}：无法读取：{reason}") from None
        yield source


def _source(stack: ExitStack, name: str, file: IO[bytes], mtime: float | None) -> LogSource:
    """A regular file as a source: unpacked and as UTF-8."""
    file.seek(0)
    head = file.read(_PROBE)
    file.seek(0)
    note = None
    if (packed := unpacking.method(head)) is not None:
        unpacked = unpacking.Unpacked(name, file, packed)
        file = stack.enter_context(_spool(name, unpacked.chunks()))
        note = unpacked.note
        head = file.read(_PROBE)
        file.seek(0)
    if head.startswith(_UTF16):
        file = stack.enter_context(_spool(name, _utf16(file)))
        head = file.read(_PROBE)
    refuse_unreadable(name, head)
    size = os.fstat(file.fileno()).st_size
    data: mmap.mmap | bytes
    if size > _COPIED:
        data = stack.enter_context(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    else:
        file.seek(0)
        data = file.read(_COPIED)
    return LogSource(name, data, len(data), mtime, note)


class LiveInput:
    """A stream that somebody may still be writing: ``docker logs -f sglang | sgdoctor diagnose -``.

    Attributes:
        eof: whether the writer has closed it.
        size: number of bytes that have arrived.
    """

    def __init__(self, fd: int, name: str = "stdin") -> None:
        self.name = name
        self.eof = False
        self.size = 0
        self._fd = fd
        self._spool = _nameless_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what has arrived. Maps that were handed out stay valid."""
        self._spool.close()

    def read_available(self, timeout: float | None) -> bool:
        """Wait until something arrives, and keep all that is there.

        Args:
            timeout: seconds; None to wait for as long as it takes.

        Returns:
            Whether anything arrived; False as well at the end of the stream.

        Raises:
            UserError: the temporary directory is full.
        """
        before = self.size
        wait = timeout
        while not self.eof and select.select([self._fd], [], [], wait)[0]:
            chunk = os.read(self._fd, _STEP)
            if not chunk:
                self.eof = True
                break
            _write(self._spool, chunk, self.name)
            self.size += len(chunk)
            wait = 0
        return self.size > before

    @property
    def packed(self) -> bool:
        """Whether what arrives is an archive, which can be read only when all of it is there."""
        self._spool.seek(0)
        head = self._spool.read(4)
        self._spool.seek(0, os.SEEK_END)
        return unpacking.method(head) is not None

    @contextmanager
    def finished(self) -> Iterator[LogSource]:
        """All that has arrived as a log like any other, when no more is to be read.

        Raises:
            UserError: nothing arrived, or it is not text, or there is no room to unpack it.
        """
        with ExitStack() as stack:
            yield _source(stack, self.name, self._spool, None)

    def map(self) -> mmap.mmap | bytes:
        """All that has arrived so far; close it when done, it does not grow.

        Raises:
            UserError: what arrived is not text.
        """
        if not self.size:
            return b""
        data = mmap.mmap(self._spool.fileno(), self.size, access=mmap.ACCESS_READ)
        try:
            refuse_unreadable(self.name, data[:_PROBE])
        except UserError:
            data.close()
            raise
        return data


def refuse_unreadable(name: str, head: bytes) -> None:
    """Judge an input by its first 64 KiB.

    Raises:
        UserError: it is empty, or it is not text.
    """
    if not head:
        if name == "stdin":
            raise UserError(
                "stdin: nothing arrived. `docker logs` writes to both streams: "
                "docker logs NAME 2>&1 | sgdoctor diagnose -",
                "stdin：没有收到任何内容。`docker logs` 会写到两个流：docker logs 容器名 2>&1 | sgdoctor diagnose -",
            )
        raise UserError(
            f"{name}: the file is empty. Save the log with both streams: docker logs NAME > FILE 2>&1",
            f"{name}：文件为空。保存日志时请包含两个流：docker logs 容器名 > 文件 2>&1",
        )
    # A power cut, or a writer that goes on where a truncated file had ended, leaves runs of zeros in a log.
    runs = [part for part in head.split(b"\0") if part]
    text = b"".join(runs).decode("utf-8", "replace")
    # The probe may end inside of a character.
    broken = text[:-3].count("\ufffd")
    zeros = len(runs) if b"\0" in head else 0
    if not text or zeros + broken > (0.05 if zeros else 0.3) * len(text):
        raise UserError(
            f"{name}: this is not a text log (binary data). Give the output of `docker logs`, plain or as .gz or .zst.",
            f"{name}：这不是文本日志（二进制数据）。请提供 `docker logs` 的输出，纯文本、.gz 或 .zst 均可。",
        )


def _open_stdin() -> IO[bytes]:
    try:
        return os.fdopen(os.dup(0), "rb")
    except OSError:
        raise UserError("stdin: it is closed. Name a file instead of -", "stdin：已关闭。请用文件名代替 -") from None


def _open_path(target: str) -> IO[bytes]:
    path = Path(target)
    if not target:  # Path("") is the working directory
        raise _missing(path)
    try:
        file = _open_pipe(path) if path.is_fifo() else path.open("rb")
    except FileNotFoundError:
        raise _missing(path) from None
    except IsADirectoryError:
        raise UserError(
            f"{target}: this is a directory. Name one log file, or several: "
            f"sgdoctor diagnose {target.rstrip('/')}/*.log",
            f"{target}：这是一个目录。请指定一个或多个日志文件：sgdoctor diagnose {target.rstrip('/')}/*.log",
        ) from None
    except PermissionError:
        raise UserError(
            f"{target}: no permission to read it. Logs under /var/lib/docker belong to root: "
            "use docker logs NAME 2>&1 | sgdoctor diagnose -",
            f"{target}：没有读取权限。/var/lib/docker 下的日志属于 root："
            "请用 docker logs 容器名 2>&1 | sgdoctor diagnose -",
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"{target!r}: cannot be opened: {reason}", f"{target!r}：无法打开：{reason}") from None
    return file


def _open_pipe(path: Path) -> IO[bytes]:
    """A named pipe, which opens when it has a writer; ``sgdoctor diagnose <(docker logs x 2>&1)`` has one at once.

    Raises:
        UserError: nobody wrote to it for a while.
    """
    from threading import Thread  # noqa: PLC0415

    opened: list[IO[bytes]] = []
    failed: list[OSError] = []

    def wait() -> None:
        try:
            opened.append(path.open("rb"))
        except OSError as error:
            failed.append(error)

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(PATIENCE)
    if failed:
        raise failed[0]
    if not waiting.is_alive():
        return opened[0]
    # The one who waits is let go by a writer who has nothing to say.
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    waiting.join()
    opened[0].close()
    raise UserError(
        f"{path}: a pipe that nobody writes to (waited {PATIENCE:.0f} s). Start what writes to it first.",
        f"{path}：这是没有写入方的管道（已等待 {PATIENCE:.0f} 秒）。请先启动写入它的程序。",
    )


def _missing(path: Path) -> UserError:
    import difflib  # noqa: PLC0415

    folder = path.parent
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())[:5000]
    except OSError:
        return UserError(
            f"{path}: no such file; the directory {folder} does not exist or cannot be read.",
            f"{path}：文件不存在；目录 {folder} 不存在或无法读取。",
        )
    close = [name for name in names if name.startswith(path.name + ".")]
    close += [name for name in difflib.get_close_matches(path.name, names, n=3, cutoff=0.6) if name not in close]
    if close:
        there = ", ".join(str(folder / name) for name in close[:3])
        return UserError(
            f"{path}: no such file. Did you mean: {there}?", f"{path}：文件不存在。你是不是要找：{there}？"
        )
    return UserError(f"{path}: no such file.", f"{path}：文件不存在。")


def _spool(name: str, chunks: Iterator[bytes]) -> IO[bytes]:
    """Write a stream to a temporary file that has no name, and rewind it.

    The first bytes are judged before all is written: an endless device must not fill the disk.
    """
    file = _nameless_file()
    judged = False
    try:
        for chunk in chunks:
            if not judged and not chunk.startswith(_UTF16) and unpacking.method(chunk) is None:
                refuse_unreadable(name, chunk[:_PROBE])
            judged = True
            _write(file, chunk, name)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _write(file: IO[bytes], chunk: bytes, name: str) -> None:
    view = memoryview(chunk)
    try:
        while view:
            view = view[file.write(view) :]
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        folder = _temporary_folder()
        raise UserError(
            f"{name}: no room left in {folder} to unpack it. Set TMPDIR to a larger disk and try again.",
            f"{name}：{folder} 空间不足，无法解压。请将 TMPDIR 指向更大的磁盘后重试。",
        ) from None


def _nameless_file() -> IO[bytes]:
    """A temporary file that is gone when it is closed."""
    import tempfile  # noqa: PLC0415 - 3 ms that a plain file does not need

    return tempfile.TemporaryFile(prefix="sgdoctor-", buffering=0)


def _temporary_folder() -> str:
    import tempfile  # noqa: PLC0415

    return tempfile.gettempdir()


def _utf16(file: IO[bytes]) -> Iterator[bytes]:
    """A log that Windows PowerShell's ``>`` wrote, as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    while chunk := file.read(_STEP):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
