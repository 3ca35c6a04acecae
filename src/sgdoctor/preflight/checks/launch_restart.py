"""What the restart policy does with a start that fails."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.preflight.launches.problems import as_findings, written
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_ENDLESS = ("always", "unless-stopped")


class LaunchRestart:
    """The restart policy does what it is there for."""

    id: ClassVar = "launch-restart"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Restarts", "重启策略")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Whether it ever acts; what it does to a failing start is said once."""
        launch = situation.launch
        if launch is None or launch.image is None or not launch.restart:
            return
        never = tuple(written(situation, lambda name: name == "restart-after-exit-0"))
        yield from as_findings(never)
        if not never:
            # moby restartmanager: the pause starts at 100 ms, doubles up to a minute, and is reset after a run of 10 s.
            endless = launch.restart in _ENDLESS
            yield Finding(
                Status.PASS,
                Text(
                    f"{launch.restart} restarts the engine after a crash",
                    f"{launch.restart} 会在崩溃后重启引擎",
                ),
                detail=Text(
                    "It repeats a start that cannot succeed without end, and hardly pauses: Docker only waits longer "
                    "after runs under 10 seconds.",
                    "它也会无休止地重复必然失败的启动，而且几乎不停顿：只有运行不足 10 秒时 Docker 才会延长等待。",
                )
                if endless
                else None,
            )
