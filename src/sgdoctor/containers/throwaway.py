"""A container that runs for a moment, says what it was asked, and is gone."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.containers.client import Client, RefusedError
from sgdoctor.containers.transport import UnreachableError
from sgdoctor.launch.model import Gpus, Launch

_OWN: Final = ("NVIDIA_", "CUDA_", "LD_LIBRARY_PATH")
"""Beginnings of the variables that decide which cards are seen."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of it.

    Attributes:
        output: what it printed.
        exit_code: None if it did not start, or did not end in time.
        error: why it did not start, in the engine's words; empty if it did.
    """

    output: str = ""
    exit_code: int | None = None
    error: str = ""


def run_once(client: Client, launch: Launch, command: Sequence[str], seconds: float) -> Ran:
    """Runs a command in the image of a launch, with its cards, and with nothing else of it: no network, no mounts.

    Args:
        client: of the engine.
        launch: in a container.
        command: in place of entrypoint and command.
        seconds: after which it is ended.

    Raises:
        UserError: the engine does not answer, or the container cannot be removed.
    """
    from sgdoctor.containers.temporary import temporary  # noqa: PLC0415 - docker-py is slow to import

    try:
        with temporary(client, "probe", _settings(launch, command)) as container:
            container.start()
            exit_code = None
            with suppress(UnreachableError):  # whether it was only slow is found out next
                exit_code = container.wait(seconds)
            output = b""
            with suppress(RefusedError):  # the log driver keeps nothing that can be read
                output = container.output()
            return Ran(output.decode("utf-8", "replace"), exit_code)
    except RefusedError as refused:
        return Ran(error=refused.reason)


def _settings(launch: Launch, command: Sequence[str]) -> Mapping[str, Any]:
    gpus = launch.gpus or Gpus()
    host: dict[str, Any] = {}
    if gpus.runtime is not None:
        host["Runtime"] = gpus.runtime
    if gpus.device_ids and not gpus.from_env:
        host["DeviceRequests"] = [_request(gpus, 0, list(gpus.device_ids))]
    elif gpus.count and not gpus.from_env:
        host["DeviceRequests"] = [_request(gpus, gpus.count, None)]
    return {
        "Image": launch.image,
        "Entrypoint": list(command[:1]),
        "Cmd": list(command[1:]),
        "Env": [f"{name}={value}" for name, value in launch.env.items() if value is not None and name.startswith(_OWN)],
        "HostConfig": host,
    }


def _request(gpus: Gpus, count: int, devices: list[str] | None) -> dict[str, Any]:
    return {"Driver": gpus.driver, "Count": count, "DeviceIDs": devices, "Capabilities": [["gpu"]], "Options": {}}
