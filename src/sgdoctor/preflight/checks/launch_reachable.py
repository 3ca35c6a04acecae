"""The published port leads to the address and port that the engine listens on."""

from collections.abc import Iterator
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_values import port_text
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.launches.flags import port_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - inside a container, behind a published port
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class LaunchReachable:
    """Clients outside of the container reach the engine."""

    id: ClassVar = "launch-reachable"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Way to the engine", "访问路径")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """``--host`` and ``--port`` against the published ports; nothing where none is published."""
        launch = situation.launch
        if launch is None or launch.image is None or not launch.argv or launch.engine != "sglang":
            return
        ports = [port for port in launch.ports if port.protocol == "tcp"]
        if launch.network == "host" or not ports:
            return
        asked = asked_by(launch, situation.flags)
        # Without the flag it listens on the loopback address in every version (srt/server_args.py).
        host, inner = asked.value("--host") or _LOOPBACK[0], port_of(asked)
        shown = ", ".join(port_text(port) for port in ports)
        if host in _LOOPBACK:
            yield Finding(
                Status.FAIL,
                Text(
                    f"the engine listens on {host} inside the container: the published port leads nowhere",
                    f"引擎只监听容器内的 {host}：映射的端口无法连通",
                ),
                evidence=shown,
                where=asked.where("--host"),
                changes=(Change("flag.set", "--host", _EVERYWHERE),),
            )
        if inner is not None and inner not in [port.container for port in ports]:
            changes: tuple[Change, ...] = ()
            if len(ports) == 1:
                changes = (Change("flag.set", "--port", str(ports[0].container)),)
            yield Finding(
                Status.FAIL,
                Text(
                    f"the engine listens on port {inner}, and no published port leads there",
                    f"引擎监听端口 {inner}，但没有映射到它的端口",
                ),
                evidence=shown,
                where=asked.where("--port"),
                changes=changes,
                detail=Text(
                    "The right side of HOST:CONTAINER is the engine's port.", "主机:容器 中右边的数字才是引擎的端口。"
                ),
            )
        elif inner is not None and host not in _LOOPBACK:
            yield Finding(Status.PASS, Text(f"{shown} leads to the engine", f"{shown} 可到达引擎"))
