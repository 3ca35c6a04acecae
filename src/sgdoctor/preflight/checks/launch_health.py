"""A health check waits as long as a start takes, and asks where the engine answers."""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.launches.flags import port_of
from sgdoctor.preflight.launches.settings import HealthCheck, settings_of
from sgdoctor.preflight.launches.start_time import start_time
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_LOCAL: Final = re.compile(r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::(?P<port>\d+))?")
# `/health_generate` runs a request through the model, which waits behind a long prompt
# (srt/entrypoints/http_server.py).
_GENERATES: Final = "/health_generate"
_DEFAULT_WEB: Final = 80


class LaunchHealth:
    """The health check lets the engine start."""

    id: ClassVar = "launch-health"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Health check", "健康检查")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Its port and its patience; nothing without a health check."""
        launch, health = situation.launch, settings_of(situation).health
        if launch is None or health is None or not launch.argv:
            return
        found = [*_port(situation, health), *_patience(situation, health)]
        yield from found or [
            Finding(Status.PASS, Text(f"it waits {health.patience:.0f} s", f"会等待 {health.patience:.0f} 秒"))
        ]


def _port(situation: Situation, health: HealthCheck) -> Iterator[Finding]:
    match = _LOCAL.search(health.command)
    port = port_of(asked_by(situation.launch, situation.flags))
    if match is None or port is None:
        return
    asked = int(match["port"] or _DEFAULT_WEB)
    if asked != port:
        yield Finding(
            Status.WARN,
            Text(
                f"it asks port {asked}, but the engine listens on {port}",
                f"它访问端口 {asked}，而引擎监听 {port}",
            ),
            evidence=match[0],
            detail=Text("The container will never be healthy.", "容器永远不会变为 healthy。"),
        )
    if _GENERATES in health.command:
        yield Finding(
            Status.WARN,
            Text(
                f"{_GENERATES} waits behind long prompts: a busy engine looks dead",
                f"{_GENERATES} 会排在长输入之后：繁忙的引擎会被当作已死",
            ),
            prevents="SGL703",
            detail=Text("/health only asks whether the server answers.", "/health 只检查服务是否应答。"),
        )


def _patience(situation: Situation, health: HealthCheck) -> Iterator[Finding]:
    expected = start_time(situation)
    if expected is None or health.patience >= expected.least:
        return
    yield Finding(
        Status.WARN,
        Text(
            f"it gives up after {health.patience:.0f} s, and the start takes {expected.least:.0f} to "
            f"{expected.most:.0f} s",
            f"它在 {health.patience:.0f} 秒后放弃，而启动约需 {expected.least:.0f} 到 {expected.most:.0f} 秒",
        ),
        evidence=f"start_period {health.start_period:g}s + {health.retries} x {health.interval:g}s",
        detail=Text(
            f"Give it a start_period of {expected.most:.0f}s. What waits for a healthy container fails before that; "
            "Docker itself restarts nothing for it.",
            f"请把 start_period 设为 {expected.most:.0f}s。在那之前，等待容器 healthy 的服务会失败；"
            "Docker 自己不会因此重启容器。",
        ),
    )
