"""Where the server in a container can be asked from here."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.launch.inspection.reading import mapping

_ANYWHERE: Final = ("", "0.0.0.0", "::")  # noqa: S104 - read, not bound


def server_address(data: Mapping[str, Any], endpoint: Endpoint, port: int) -> str:
    """Base of the server's URLs; empty if there is no way to it from this machine.

    Args:
        data: inspection of the container, which runs.
        endpoint: its engine.
        port: on which the server listens inside.
    """
    machine = _machine(endpoint)
    if mapping(data.get("HostConfig")).get("NetworkMode") == "host":
        return f"http://{machine}:{port}"
    settings = mapping(data.get("NetworkSettings"))
    for binding in mapping(settings.get("Ports")).get(f"{port}/tcp") or ():
        address = str(binding.get("HostIp") or "")
        host = machine if address in _ANYWHERE else address
        return f"http://{f'[{host}]' if ':' in host else host}:{binding['HostPort']}"
    if endpoint.scheme == "unix":
        for network in mapping(settings.get("Networks")).values():
            if address := network.get("IPAddress"):
                return f"http://{address}:{port}"
    return ""


def _machine(endpoint: Endpoint) -> str:
    if endpoint.scheme == "unix":
        return "127.0.0.1"
    return urlsplit(endpoint.url).hostname or "127.0.0.1"
