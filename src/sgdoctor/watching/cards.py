"""GPU readings for a watched container: whose processes are whose, on which machine, and what it sees inside."""

import ipaddress
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.inside import run_inside
from sgdoctor.errors import UserError
from sgdoctor.gpu.model import GpuReading, GpuSource
from sgdoctor.gpu.source import best_source

_ASKED_AGAIN_SECONDS: Final = 10.0


def cards_of(endpoint: Endpoint | None, watched: Callable[[], str]) -> GpuSource:
    """The source for the container that is watched; for a file or a stream that of this machine.

    Args:
        endpoint: the container engine; None where no container is watched.
        watched: gives the id of the container of now; empty while there is none.
    """
    if endpoint is None:
        return best_source()

    def inside(argv: Sequence[str]) -> str:
        container = watched()
        if not container:
            raise FileNotFoundError("no container yet")
        return run_inside(endpoint, container, argv)

    names: dict[str, str] = {}
    return _Named(best_source(names=names, inside=inside, remote=other_machine(endpoint)), endpoint, names)


def other_machine(endpoint: Endpoint) -> str:
    """The name of the machine that an engine runs on; empty for this one."""
    if endpoint.scheme == "unix":
        return ""
    host = endpoint.address.rpartition("@")[2]
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0].partition("/")[0]
    if host == "localhost":
        return ""
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return ""
    return host


class _Named:
    """Learns the names of containers whose processes turn up on a card."""

    def __init__(self, source: GpuSource, endpoint: Endpoint, names: dict[str, str]) -> None:
        self._source = source
        self._endpoint = endpoint
        self._names = names
        self._asked = float("-inf")

    def read(self) -> GpuReading:
        """As the source; where names are missing, the next reading has them."""
        reading = self._source.read()
        processes = [process for gpu in reading.gpus for process in gpu.processes]
        if any(process.container and not process.container_name for process in processes):
            self._ask()
        return reading

    def _ask(self) -> None:
        now = time.monotonic()
        if now - self._asked < _ASKED_AGAIN_SECONDS:
            return
        self._asked = now
        # Without an answer the ids go on standing for the names.
        with suppress(UserError, OSError), Client(self._endpoint) as client:
            self._names.update({entry.id: entry.name for entry in client.containers()})

    def close(self) -> None:
        """As the source."""
        self._source.close()
