"""What would happen: what was found wrong, in the order in which a start would meet it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sgdoctor.engines.base import PhaseName
from sgdoctor.preflight.launches.start_time import Seconds, reached_after
from sgdoctor.preflight.model import Check, Checked, Finding, Situation, Status

_ORDER: Final = {phase.value: index for index, phase in enumerate(PhaseName)}
# Python does not get as far as the first import: no script, a folder, a mistake of syntax.
_NOT_STARTED: Final = frozenset({"SGL144", "SGL145", "SGL146"})
_AT_ONCE: Final = Seconds(0.0, 1.0)
_ENDLESS: Final = ("always", "unless-stopped")


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A failure that a start would run into.

    Attributes:
        check: that found it.
        finding: what it is.
        phase: in which the start ends.
        seconds: from the start of the container; None where that depends on weights that are not here.
    """

    check: Check
    finding: Finding
    phase: PhaseName
    seconds: Seconds | None

    @property
    def rule(self) -> str | None:
        """Id of the rule that its log would hit."""
        return self.finding.prevents


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a start would run into.

    Attributes:
        first: the failure that it ends with; None where none is known.
        then: those that it would meet next, one after the other, each with the ones before it cured.
        repeated: whether the restart policy starts it again and again.
    """

    first: Foreseen | None = None
    then: tuple[Foreseen, ...] = ()
    repeated: bool = False


def predicted(situation: Situation, results: Iterable[Checked]) -> Predicted:
    """The failures in their order; of several findings that one rule tells about, the first stands for all.

    Args:
        situation: that was checked.
        results: of the checks, in the order of the report.
    """
    fails = [
        (result.check, finding)
        for result in results
        for finding in result.findings
        if finding.status is Status.FAIL and finding.phase in _ORDER
    ]
    found: dict[str, Foreseen] = {}
    # Within one phase the order of the areas is that of a start: host, container, command, model, memory.
    for check, finding in sorted(fails, key=lambda fail: _ORDER[fail[1].phase or ""]):
        phase = PhaseName(finding.phase or "")
        name = finding.prevents or f"{check.id} {finding.title.en}"
        seconds = _AT_ONCE if finding.prevents in _NOT_STARTED else reached_after(situation, phase)
        found.setdefault(name, Foreseen(check, finding, phase, seconds))
    if not found:
        return Predicted()
    first, *then = found.values()
    return Predicted(first, tuple(then), _is_repeated(situation, first))


def _is_repeated(situation: Situation, first: Foreseen) -> bool:
    """A container that Docker cannot start is not started again (moby daemon/start.go); one that ends is."""
    restart = situation.launch.restart if situation.launch is not None else None
    return restart in _ENDLESS and first.phase not in (PhaseName.DOCKER, PhaseName.SERVING)
