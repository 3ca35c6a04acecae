"""Everything that ``sgdoctor preflight`` has to say about one target."""

from dataclasses import dataclass
from typing import Final

from sgdoctor.fixes.model import Answer, Left
from sgdoctor.preflight.model import Area, Checked, Finding, Situation, Status
from sgdoctor.preflight.predicted import Foreseen, Predicted
from sgdoctor.texts import Text

NOTHING: Final = Predicted()
"""No failure is in sight."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """The answer for one target.

    Attributes:
        target: as it was named; empty for the host alone.
        situation: what was known.
        checked: what the checks say, in their order.
        predicted: how the start would end.
        fix: the plan against all of it; None without a launch.
        left: what has to be done by hand where there is no plan.
        note: a reservation about all of this; None if there is none.
    """

    target: str
    situation: Situation
    checked: tuple[Checked, ...]
    predicted: Predicted = NOTHING
    fix: Answer | None = None
    left: tuple[Left, ...] = ()
    note: Text | None = None

    def count(self, status: Status) -> int:
        """How many findings have a status."""
        return sum(finding.status is status for answer in self.checked for finding in answer.findings)

    @property
    def course(self) -> tuple[Foreseen, ...]:
        """How the start would end: first, and next once that is cured, and so on."""
        first = self.predicted.first
        return (first, *self.predicted.then) if first is not None else ()

    @property
    def silent(self) -> tuple[Finding, ...]:
        """What would not end the start: the server would serve something wrong."""
        findings = (finding for answer in self.checked for finding in answer.findings)
        return tuple(finding for finding in findings if finding.status is Status.FAIL and finding.phase is None)

    @property
    def unchecked(self) -> tuple[Area, ...]:
        """Which of model and memory, without which nobody can say that an engine starts, could not be looked at."""
        launch = self.situation.launch
        if launch is None or not launch.argv:
            return ()
        computed = any(
            finding.status is not Status.SKIPPED
            for answer in self.checked
            if answer.check.area is Area.MEMORY
            for finding in answer.findings
        )
        seen = {Area.MODEL: self.situation.model is not None, Area.MEMORY: computed}
        return tuple(area for area, there in seen.items() if not there)

    @property
    def status(self) -> Status:
        """The worst of all findings that are not skipped."""
        return next((status for status in (Status.FAIL, Status.WARN) if self.count(status)), Status.PASS)
