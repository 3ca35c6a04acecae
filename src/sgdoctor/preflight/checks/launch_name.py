"""The name of the container is free."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.preflight.launches.containers import is_this, names_of
from sgdoctor.preflight.launches.settings import settings_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text


class LaunchName:
    """No other container has the name that is asked for."""

    id: ClassVar = "launch-name"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Name of the container", "容器名")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Nothing without a fixed name; what the launch replaces itself is not in its way."""
        settings = settings_of(situation)
        if not settings.name or "$" in settings.name or situation.host.docker is None:
            return
        holder = next((entry for entry in situation.host.containers if settings.name in names_of(entry)), None)
        if holder is None or settings.replaces or is_this(situation, holder):
            yield Finding(Status.PASS, Text("free", "未被占用"), evidence=settings.name, remote=situation.host.remote)
            return
        state = str(holder.get("State") or "there")
        yield Finding(
            Status.FAIL,
            Text(
                f"a container called {settings.name} exists already ({state})",
                f"名为 {settings.name} 的容器已存在（{state}）",
            ),
            evidence=str(holder.get("Id") or "")[:12],
            prevents="SGL024",
            changes=(Change("host.command", value=f"docker rm -f {settings.name}"),),
            detail=Text(
                "Its log is gone with it; save that first if you still need it.",
                "删除后它的日志也会丢失；需要的话请先保存。",
            ),
            phase="docker",
            remote=situation.host.remote,
        )
