"""What the log of a container holds at one moment."""

from collections.abc import Iterator
from typing import Final

from sgdoctor.containers.client import Client, RefusedError
from sgdoctor.containers.demux import Demux, Entry
from sgdoctor.containers.records import Container

_SILENCE: Final = 5.0


def demux_for(client: Client, container: Container, started: int | None = None) -> Demux:
    """Takes the log of this container apart; ``started`` as of ``Demux``."""
    return Demux(tty=container.tty, driver=container.driver, podman=client.is_podman(), started=started)


def kept_lines(
    client: Client, container: Container, *, since: int | None, until: int | None = None, tail: int | None = None
) -> Iterator[Entry]:
    """The lines that are there now; none where the engine refuses to give them.

    Args:
        client: of the engine.
        container: whose.
        since: as of ``Client.log``.
        until: likewise.
        tail: likewise.
    """
    demux = demux_for(client, container)
    try:
        stream = client.log(container.id, since=since, follow=False, until=until, tail=tail)
    except RefusedError:
        return
    try:
        while data := stream.receive(_SILENCE):
            yield from demux.feed(data)
    finally:
        stream.close()
    yield from demux.rest()
