"""How the launch is written: characters, line breaks, quotes, options of Docker and keys of Compose."""

from collections.abc import Iterator
from typing import ClassVar

from sgdoctor.preflight.launches.problems import OTHER_CHECKS, as_findings, written
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text


class LaunchWritten:
    """The launch is written as Docker, Compose or the shell read it."""

    id: ClassVar = "launch-written"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("How it is written", "书写")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Every problem of the text that no other check tells."""
        if situation.document is None:
            return
        problems = tuple(written(situation, lambda name: name not in OTHER_CHECKS))
        yield from as_findings(problems)
        if not problems:
            yield Finding(
                Status.PASS,
                Text("no broken characters, line ends or options", "没有错误的字符、换行或选项"),
                evidence=situation.document.name,
            )
