"""Who else can use the engine: a port of the whole network and no key."""

from collections.abc import Iterator
from typing import ClassVar, Final

from sgdoctor.launch.docker_values import port_text
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.launches.flags import port_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_DETAIL: Final = Text(
    "Whoever reaches the port can use the model and its control pages (load other weights, flush the cache). Give "
    "`--api-key`, or publish on 127.0.0.1 only.",
    "能访问该端口的人都可以使用模型和控制接口（加载其他权重、清空缓存）。请设置 `--api-key`，或只映射到 127.0.0.1。",
)


class LaunchExposed:
    """Only those that are meant to can use the engine."""

    id: ClassVar = "launch-exposed"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Open to the network", "网络暴露")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """An open address without a key; nothing where no client of the network reaches the engine."""
        launch = situation.launch
        if launch is None or not launch.argv or launch.engine != "sglang":
            return
        asked = asked_by(launch, situation.flags)
        host = asked.value("--host") or _LOOPBACK[0]
        if host in _LOOPBACK:
            return
        own = launch.image is None or launch.network == "host"
        inner = port_of(asked)
        published = [port for port in launch.ports if port.container == inner and port.host_ip not in _LOOPBACK]
        if not own and not published:
            return
        shown = f"{host}:{inner}" if own else ", ".join(port_text(port) for port in published)
        if asked.has("--api-key"):
            yield Finding(Status.PASS, Text("a key is asked for", "需要密钥"), evidence=shown)
        else:
            yield Finding(
                Status.WARN,
                Text("open to the whole network, without a key", "对整个网络开放，且没有密钥"),
                evidence=shown,
                where=asked.where("--host"),
                detail=_DETAIL,
            )
