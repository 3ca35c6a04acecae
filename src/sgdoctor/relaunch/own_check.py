"""The health check of the container itself (``HEALTHCHECK``): what it says of a server that is ready.

It decides on nothing: a check may ask the wrong port, or with a program that the image does not have, while the server
answers. But whoever restarts unhealthy containers goes by it, so it is mentioned.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from sgdoctor.containers.client import Client
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.texts import Text

_NANO: Final = 1e-9
_INTERVAL: Final = 30.0
"""Seconds between two checks where nobody says otherwise (moby daemon/health.go)."""
_LONGEST_WAIT: Final = 40.0
_POLL: Final = 0.2
_SHOWN: Final = 160


def own_complaint(client: Client, container: str, pause: Callable[[float], object]) -> Text | None:
    """What the container's own check says against a server that is ready; None if nothing.

    A check that failed while the server was starting says nothing of it now: the next one is waited for, not for long.

    Args:
        client: of the engine.
        container: name or id.
        pause: waits for so many seconds; true once nobody waits any more.

    Raises:
        UserError: the engine does not answer.
    """
    data = client.container_data(container) or {}
    if _status(data) != "unhealthy":
        return None
    settings = mapping(mapping(data.get("Config")).get("Healthcheck"))
    each = sum(float(settings.get(name) or 0) * _NANO or _INTERVAL for name in ("Interval", "Timeout"))
    limit = time.monotonic() + min(each + 1, _LONGEST_WAIT)
    before = _newest(data).get("Start")
    while _newest(data).get("Start") == before and _status(data) == "unhealthy":
        if time.monotonic() > limit or pause(_POLL):
            break
        data = client.container_data(container) or {}
    if _status(data) != "unhealthy":
        return None
    lines = [line.strip() for line in str(_newest(data).get("Output") or "").splitlines() if line.strip()]
    said = lines[-1] if lines else ""
    said = said if len(said) <= _SHOWN else f"{said[: _SHOWN - 1]}…"
    return Text(
        f"The server answers, and the container's own health check calls it unhealthy{f': {said}' if said else '.'}",
        f"服务可以应答，但容器自身的健康检查判定为不健康{f'：{said}' if said else '。'}",
    )


def _status(data: Mapping[str, Any]) -> str:
    return str(_health(data).get("Status") or "")


def _newest(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The last check that has ended."""
    return mapping(next(iter(reversed(_health(data).get("Log") or ())), None))


def _health(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(data.get("State")).get("Health"))
