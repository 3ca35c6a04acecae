"""A copied launch script does what it says: it patches what is there and starts the engine of this version."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.launches.places import State, launch_script
from sgdoctor.preflight.launches.problems import as_findings
from sgdoctor.preflight.launches.scripts import problems_in
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_STOCK: Final = Change("docker.command", value="python3 -m sglang.launch_server")


class CommandScript:
    """The launch script can start the engine."""

    id: ClassVar = "command-script"
    area: ClassVar = Area.COMMAND
    title: ClassVar = Text("What the script does", "脚本内容")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """What is wrong with the script, line by line; nothing where there is none to be read."""
        script = launch_script(situation)
        if script is None:
            return
        if script.text is None:
            if script.state is State.FILE:
                yield Finding(Status.SKIPPED, Text("it cannot be read", "无法读取"), evidence=script.inside)
            return
        name = str(script.elsewhere or script.here or script.inside)
        problems = problems_in(situation, script.text)
        first = True
        for finding in as_findings(problems):
            # The first that no start survives takes the whole script out; a patch that is needed comes back as a file.
            failing = finding.status is Status.FAIL
            changes = (_STOCK,) if failing and first and not finding.changes else finding.changes
            first = first and not failing
            yield replace(finding, evidence=finding.evidence or name, changes=changes)
        if not problems:
            yield Finding(Status.PASS, Text("nothing in it is known to fail", "没有已知会失败的内容"), evidence=name)
