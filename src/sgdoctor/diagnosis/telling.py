"""Which of several starts says how a launch ends."""

from collections.abc import Sequence
from typing import Final

from sgdoctor.diagnosis.model import State, Verdict

_OPEN: Final = frozenset({State.STARTING, State.STALLED, State.UNDETERMINED})


def telling(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The verdict that says how a launch ends: the newest, or the one before while the newest start has just begun.

    Args:
        verdicts: on its starts, the oldest first.

    Returns:
        None without any.
    """
    if not verdicts:
        return None
    *earlier, newest = verdicts
    if newest.state in _OPEN and "ready" not in newest.facts and earlier and earlier[-1].state is State.FAILED:
        return earlier[-1]
    return newest
