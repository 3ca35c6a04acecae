"""The whole log of a container at one moment, running, dead or never started, for a diagnosis."""

import errno
import mmap
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Final

from sgdoctor.containers.client import Client, RefusedError
from sgdoctor.containers.endpoint import Endpoint, find_endpoint
from sgdoctor.containers.exits import exit_lines
from sgdoctor.containers.find import find, may_be_container
from sgdoctor.containers.kept import demux_for
from sgdoctor.containers.records import Container
from sgdoctor.containers.transport import UnreachableError, unreachable
from sgdoctor.containers.waits import unreadable
from sgdoctor.errors import UserError
from sgdoctor.logs.sources import LogSource, open_log
from sgdoctor.texts import Text

_SILENCE: Final = 60.0


@contextmanager
def open_file_or_container(target: str) -> Iterator[LogSource]:
    """A log file, or where no such file exists the log of the container of that name.

    Raises:
        UserError: neither can be read; the message is about both where the name may be that of a container.
    """
    with ExitStack() as stack:
        try:
            source = stack.enter_context(open_log(target))
        except UserError as missing:
            if not may_be_container(target):
                raise
            try:
                endpoint = find_endpoint()
            except UserError as error:
                raise _both(missing, error) from None
            try:
                source = stack.enter_context(open_container(target, endpoint))
            except (UnreachableError, RefusedError) as error:
                raise _both(missing, error) from None
        yield source


@contextmanager
def open_container(target: str, endpoint: Endpoint | None = None) -> Iterator[LogSource]:
    """The log of a container and the way it ended, as a source like any file, for the length of a ``with`` block.

    Args:
        target: name, id or compose service.
        endpoint: the engine; the one that ``docker`` would use where None.

    Raises:
        UserError: there is no engine or no such container, or it has said nothing and there is nothing to tell.
    """
    with (
        Client(endpoint or find_endpoint()) as client,
        tempfile.TemporaryFile(prefix="sgdoctor-") as file,
        ExitStack() as stack,
    ):
        look = find(client, target)
        container = look.container
        note: Text | None = None
        try:
            if look.started is not None:
                note = _copy_log(client, container, file)
            if not look.running:
                file.write(exit_lines(container.name, look.facts))
            file.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise UserError(
                f"{container.name}: no room left in {tempfile.gettempdir()} for its log. Set TMPDIR to a larger disk.",
                f"{container.name}：{tempfile.gettempdir()} 空间不足，放不下它的日志。请将 TMPDIR 指向更大的磁盘。",
            ) from None
        size = file.tell()
        if not size:
            raise _nothing(container, note, started=look.started is not None)
        data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        yield LogSource(container.name, data, size, None, note, container.name)


def _copy_log(client: Client, container: Container, file: IO[bytes]) -> Text | None:
    """Write all lines of a log; says why where there are none to be had."""
    demux = demux_for(client, container)
    try:
        stream = client.log(container.id, since=None, follow=False)
    except RefusedError:
        return unreadable(container)
    try:
        while data := stream.receive(_SILENCE):
            file.writelines(entry.data for entry in demux.feed(data))
        if data is None:
            raise unreachable(client.connections.endpoint, TimeoutError(errno.ETIMEDOUT, "it fell silent"))
    finally:
        stream.close()
    file.writelines(entry.data for entry in demux.rest())
    if demux.failure:
        return Text(
            f"The log of {container.name} is not whole; the engine says: {demux.failure}",
            f"{container.name} 的日志不完整；容器引擎返回：{demux.failure}",
        )
    return None


def _nothing(container: Container, note: Text | None, *, started: bool) -> UserError:
    name = container.name
    if note is not None:
        return UserError(note.en, note.zh)
    if not started:
        return UserError(
            f"{name}: this container was created and never started: docker start {name}",
            f"{name}：该容器已创建但从未启动：docker start {name}",
        )
    return UserError(
        f"{name}: this container runs and has not said anything yet.", f"{name}：该容器正在运行，但还没有任何输出。"
    )


def _both(file: UserError, container: UserError) -> UserError:
    return UserError(f"{file.en} {container.en}", f"{file.zh}{container.zh}")
