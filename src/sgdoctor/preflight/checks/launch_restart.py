"""What the restart policy does with a start that fails."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.preflight.launches.problems import as_findings, written
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text


class LaunchRestart:
    """The restart policy does what it is there for."""

    id: ClassVar = "launch-restart"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Restarts", "重启策略")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Whether it ever acts; that it repeats a failing start without end is told by ``predicted``."""
        launch = situation.launch
        if launch is None or launch.image is None or not launch.restart:
            return
        never = tuple(written(situation, lambda name: name == "restart-after-exit-0"))
        yield from as_findings(never)
        if not never:
            yield Finding(
                Status.PASS,
                Text(f"{launch.restart} restarts the engine after a crash", f"{launch.restart} 会在崩溃后重启引擎"),
            )
