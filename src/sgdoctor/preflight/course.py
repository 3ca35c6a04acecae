"""How a start would go: what would end it first, when, and what would come after that."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sgdoctor.engines.base import PhaseName
from sgdoctor.preflight.model import Check, Checked, Finding, Status

Seconds = tuple[float, float]
"""Shortest and longest time."""

_PHASES: Final = tuple(PhaseName)
_DOCKER: Final[Seconds] = (0.0, 2.0)
"""Docker refuses a container at once."""
_NOW: Final[Seconds] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """One way in which the start would end.

    Attributes:
        check: that found it.
        finding: what it found.
        phase: in which the start would end; None where it would not end, and the server would serve something wrong.
        seconds: after how long since the start, if nothing ends it before; None where that is not known.
    """

    check: Check
    finding: Finding
    phase: PhaseName | None
    seconds: Seconds | None = None


def foreseen(checked: Iterable[Checked], usual: Callable[[PhaseName], Seconds | None]) -> tuple[Foreseen, ...]:
    """The failures that a start would meet, in the order in which it would meet them; what never ends it comes last.

    Args:
        checked: answers of all checks.
        usual: how long a phase takes; None where that is not known.
    """
    found = [
        Foreseen(answer.check, finding, phase, _after(phase, usual))
        for answer in checked
        for finding in answer.findings
        if finding.status is Status.FAIL
        for phase in (_phase(finding),)
    ]
    # The sort keeps the order of the checks within a phase.
    return tuple(_once(sorted(found, key=lambda one: _PHASES.index(one.phase) if one.phase else len(_PHASES))))


def _once(found: Iterable[Foreseen]) -> Iterator[Foreseen]:
    """Each failure once: several checks may see the same one coming."""
    rules: set[str] = set()
    for one in found:
        rule = one.finding.prevents
        if rule is None or rule not in rules:
            yield one
        if rule is not None:
            rules.add(rule)


def _phase(finding: Finding) -> PhaseName | None:
    return PhaseName(finding.phase) if finding.phase in set(_PHASES) else None


def _after(phase: PhaseName | None, usual: Callable[[PhaseName], Seconds | None]) -> Seconds | None:
    """From the end of the phases before to the end of this one."""
    if phase is None:
        return None
    if phase is PhaseName.DOCKER:
        return _DOCKER
    before = [usual(one) or _NOW for one in _PHASES[1 : _PHASES.index(phase)]]
    own = usual(phase) or _NOW
    return sum(low for low, _ in before), sum(high for _, high in before) + own[1]
