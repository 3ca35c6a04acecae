"""A container that runs for a moment, says what it was asked, and is gone."""

import json
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.containers.client import ANSWER_SECONDS, Client, RefusedError, reason_of
from sgdoctor.containers.kept import kept_lines
from sgdoctor.containers.requests import TEMPORARY, Requests
from sgdoctor.containers.transport import Stream, UnreachableError, target_of
from sgdoctor.errors import UserError
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
    requests = Requests(client)
    name = f"sgdoctor-probe-{uuid.uuid4().hex[:12]}"
    try:
        try:
            created = requests.answer("/containers/create", {"name": name}, body=_body(launch, command))
            container = str(json.loads(created)["Id"])
            _post(requests, client, f"/containers/{container}/start", ANSWER_SECONDS)
        except RefusedError as refused:
            return Ran(error=refused.reason)
        return _ended(requests, client, container, seconds)
    finally:
        if not requests.remove(name):
            raise UserError(
                f"{name}: this container was only made to be asked and could not be removed: docker rm -f {name}",
                f"{name}：这个容器只用于检查，但无法删除：docker rm -f {name}",
            )


def _ended(requests: Requests, client: Client, container: str, seconds: float) -> Ran:
    answer = None
    with suppress(UnreachableError):  # whether it was only slow is found out next
        answer = _post(requests, client, f"/containers/{container}/wait", seconds)
    look = client.inspect(container)
    if look is None:
        return Ran(error="the container vanished")
    lines = kept_lines(client, look.container, since=None)
    output = b"".join(line.data for line in lines).decode("utf-8", "replace")
    return Ran(output, look.facts.exit_code if answer is not None else None, look.facts.error)


def _post(requests: Requests, client: Client, path: str, seconds: float) -> bytes | None:
    """The answer to a request without a body; None if it did not come in time."""
    stream = Stream(client.connections, target_of(f"{requests.prefix}{path}"), seconds, method="POST", body=b"")
    try:
        data = bytearray()
        while part := stream.receive(seconds):
            data += part
    finally:
        stream.close()
    if stream.status >= 300:
        raise RefusedError(stream.status, reason_of(bytes(data), stream.status))
    return None if part is None else bytes(data)


def _body(launch: Launch, command: Sequence[str]) -> Mapping[str, Any]:
    gpus = launch.gpus or Gpus()
    host: dict[str, Any] = {"NetworkMode": "none"}
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
        "Labels": {TEMPORARY: "1"},
        "NetworkDisabled": True,
        "HostConfig": host,
    }


def _request(gpus: Gpus, count: int, devices: list[str] | None) -> dict[str, Any]:
    return {"Driver": gpus.driver, "Count": count, "DeviceIDs": devices, "Capabilities": [["gpu"]], "Options": {}}
