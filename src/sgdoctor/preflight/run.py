"""Runs all checks on a situation."""

from collections.abc import Iterable, Sequence

from sgdoctor.preflight.model import Check, Checked, Finding, Situation, Status
from sgdoctor.preflight.registry import all_checks
from sgdoctor.texts import Text


def checked(situation: Situation, checks: Iterable[Check] | None = None, *, strict: bool = False) -> list[Checked]:
    """What every check says; a check that has no say is left out.

    Args:
        situation: what is known.
        checks: those to be run; all of them where None.
        strict: whether the error of a check is raised instead of told: for tests.
    """
    wanted = all_checks() if checks is None else checks
    answers = [(check, _findings(check, situation, strict=strict)) for check in wanted]
    return [Checked(check, findings) for check, findings in answers if findings]


def _findings(check: Check, situation: Situation, *, strict: bool) -> Sequence[Finding]:
    """Findings of one check. An error of a check is no fact about the launch, and must not hide what others found."""
    try:
        return tuple(check.findings(situation))
    except Exception as error:
        if strict:
            raise
        why = f"{type(error).__name__}: {error}"[:200]
        return (
            Finding(
                Status.SKIPPED,
                Text(
                    "this check failed: an error of sgdoctor, not of the launch",
                    "该检查自身出错：这是 sgdoctor 的错误，与启动无关",
                ),
                evidence=why,
            ),
        )
