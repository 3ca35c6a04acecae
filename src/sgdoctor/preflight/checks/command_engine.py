"""The command starts an engine that the checks know."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.launch.engine_words import serves_nothing
from sgdoctor.launch.model import EditState
from sgdoctor.preflight.launches.problems import as_findings, written
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text


class CommandEngine:
    """The engine is started in plain sight."""

    id: ClassVar = "command-engine"
    area: ClassVar = Area.COMMAND
    title: ClassVar = Text("Start of the engine", "引擎启动命令")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """What starts it, or why that cannot be seen."""
        launch, document = situation.launch, situation.document
        if launch is None or document is None:
            return
        alone = tuple(written(situation, lambda name: name == "flags-without-engine"))
        yield from as_findings(alone)
        if alone:
            return
        if not launch.argv and serves_nothing(launch.command):
            program = launch.command[0]
            yield Finding(
                Status.WARN,
                Text(f"no engine is started: the container runs {program}", f"没有启动引擎：容器运行的是 {program}"),
                evidence=" ".join(launch.command[:3]),
                detail=Text(
                    "What is typed in it later is not seen from here: put the engine's command behind the image.",
                    "之后在容器里输入的命令在这里看不到：请把引擎的启动命令写在镜像名之后。",
                ),
            )
        elif not launch.argv:
            unseen = Text("the command is not to be seen from here", "从这里看不到启动命令")
            why = document.editable.why if document.editable.state is EditState.NO else None
            if why in [problem.title for problem in document.problems]:
                return
            yield Finding(Status.SKIPPED, why or unseen, evidence=" ".join(launch.command[:3]))
        elif launch.engine != "sglang":
            yield Finding(
                Status.SKIPPED,
                Text(
                    f"this is {launch.engine}: its flags are not checked",
                    f"这是 {launch.engine}：不检查它的参数",
                ),
                evidence=" ".join(launch.argv[: launch.flags_at]),
            )
        else:
            yield Finding(
                Status.PASS,
                Text("the engine is started in plain sight", "可以看到引擎的启动命令"),
                evidence=" ".join(launch.argv[: launch.flags_at]),
            )
