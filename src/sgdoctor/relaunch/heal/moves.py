"""Where to go after the tries so far. Pure: the same tries give the same move."""

import math
from collections.abc import Sequence
from typing import Final

from sgdoctor.engines.sglang.memory.fractions import TOO_LOW
from sgdoctor.fixes.memory.situation import OUT_OF_MEMORY
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.heal import texts
from sgdoctor.relaunch.heal.model import End, Identity, Limits, Move, Proposed, Relaunch, Result, Stop, Try

FRACTION: Final = "--mem-fraction-static"
_STEP: Final = 0.01
_ROUNDING: Final = 1e-6
_NO_GRAPHS: Final = "--disable-cuda-graph"
_CAPTURE: Final = "SGL414"
"""Rule of graphs that ran out of memory while they were captured."""
_TOO_LARGE: Final = "SGL411"
"""Rule of weights that are larger than the card."""
_SHORTEST: Final = 1.0
"""With less time than this (seconds) left nothing is begun."""

_ENDS: Final = {
    Result.VERIFIED: End.VERIFIED,
    Result.SERVES: End.SERVES,
    Result.IDLE: End.IDLE,
    Result.REFUSED: End.REFUSED,
    Result.OPEN: End.OPEN,
    Result.STOPPED: End.STOPPED,
}


def next_move(tries: Sequence[Try], limits: Limits) -> Move:
    """What is to be done next.

    Args:
        tries: so far, the launch that was found first.
        limits: of what is left.
    """
    last = tries[-1]
    if (end := _ENDS.get(last.result)) is not None:
        return Stop(end, last.reason)
    proposed = last.proposed
    if not last.rule or proposed is None:
        if _is_over(limits):
            return Stop(End.DEADLINE, texts.DEADLINE)
        faulty = last.result is Result.FAULTY
        return Stop(End.FAULTY, last.reason) if faulty else Stop(End.UNDETERMINED, last.reason)
    if proposed.impossible is not None:
        return Stop(End.DOES_NOT_FIT, proposed.impossible)
    if not proposed.steps or not proposed.cures:
        return _without_a_cure(tries, proposed, limits)
    return _tried_on(tries, proposed, limits)


def _without_a_cure(tries: Sequence[Try], proposed: Proposed, limits: Limits) -> Move:
    """The plan has nothing against the root cause; a fraction that was not tried may be left all the same."""
    last = tries[-1]
    if last.rule == _TOO_LARGE:
        return Stop(End.DOES_NOT_FIT, last.reason)
    if proposed.by_hand and last.rule not in TOO_LOW | OUT_OF_MEMORY:
        return Stop(End.MANUAL, texts.by_hand(proposed.by_hand))
    if _direction(last) is not None:
        return _tried_on(tries, proposed, limits)
    return _left_to_the_user(last, proposed)


def _left_to_the_user(last: Try, proposed: Proposed) -> Stop:
    return Stop(End.MANUAL, texts.by_hand(proposed.by_hand)) if proposed.by_hand else Stop(End.NOTHING_NEW, last.reason)


def _tried_on(tries: Sequence[Try], proposed: Proposed, limits: Limits) -> Move:
    """The launch of the plan, with another fraction where that one is known to fail."""
    if proposed.refused is not None:
        return Stop(End.REFUSED, proposed.refused)
    if proposed.unsafe and not limits.unsafe:
        return Stop(End.UNSAFE, texts.unsafe(proposed.unsafe), proposed.unsafe)
    move = _relaunch(tries, proposed) or _another_way(tries, proposed, limits)
    if move is None:
        return _exhausted(tries, proposed)
    if isinstance(move, Stop):
        return move
    if len(tries) > limits.tries:
        return Stop(End.LIMIT, texts.limit(limits.tries))
    if _is_over(limits):
        return Stop(End.DEADLINE, texts.DEADLINE)
    return move


def _is_over(limits: Limits) -> bool:
    return limits.seconds is not None and limits.seconds < _SHORTEST


def _relaunch(tries: Sequence[Try], proposed: Proposed) -> Relaunch | None:
    """The next launch; None if it would be one that was tried."""
    low, high = _bracket(tries, proposed)
    wanted = proposed.fraction
    known = {one.identity for one in tries} | {_at(one.identity, one.fraction) for one in tries}
    fresh = proposed.identity not in known and (wanted is None or _between(low, wanted, high))
    as_planned = Relaunch(proposed.changes, proposed.identity, proposed.steps) if fresh else None
    failed = [found for one in _telling(tries, proposed) if (found := _direction(one)) is not None]
    # What the pools take follows from formulas, so the plan knows how much more they need. What graphs take does not,
    # and an allocation that failed says only what was lacking at that moment.
    if not failed or (failed == [1] and as_planned is not None):
        return as_planned
    if low is None or high is None or low > high:
        return None
    middle = round(math.floor((low + high) / 2 / _STEP + 1e-6) * _STEP, 2)
    if as_planned is not None and failed[-1] == -1 and wanted is not None and wanted <= middle:
        return as_planned
    identity = _at(proposed.identity, middle)
    if identity in known:
        return None
    changes = tuple(change for change in proposed.changes if change.name != FRACTION)
    return Relaunch((*changes, Change("flag.set", FRACTION, f"{middle:.2f}")), identity, proposed.steps, middle)


def _another_way(tries: Sequence[Try], proposed: Proposed, limits: Limits) -> Move | None:
    """Where no fraction is left: what can be given up, the smallest loss first; None if that was tried as well."""
    if _direction(tries[-1]) is None:
        return None
    known = {one.identity for one in tries}
    fresh = [one for one in proposed.others if one.identity not in known and not _same_rest(tries[-1], one)]
    way = next((one for one in fresh if limits.unsafe or not one.unsafe), None)
    if way is not None:
        return Relaunch(way.changes, way.identity, way.steps)
    unsafe = fresh[0].unsafe if fresh else ()
    return Stop(End.UNSAFE, texts.unsafe(unsafe), unsafe) if unsafe else None


def _exhausted(tries: Sequence[Try], proposed: Proposed) -> Stop:
    """No launch is left."""
    low, high = _bracket(tries, proposed)
    if _direction(tries[-1]) is not None and low is not None and high is not None and low > high:
        return Stop(End.DOES_NOT_FIT, texts.nothing_between(low, high))
    if not proposed.steps:
        return _left_to_the_user(tries[-1], proposed)
    return Stop(End.NOTHING_NEW, texts.NOTHING_NEW)


def _between(low: float | None, fraction: float, high: float | None) -> bool:
    return (low is None or fraction >= low - _ROUNDING) and (high is None or fraction <= high + _ROUNDING)


def _same_rest(one: Try, proposed: Proposed) -> bool:
    return one.identity.rest == proposed.identity.rest


def _bracket(tries: Sequence[Try], proposed: Proposed) -> tuple[float | None, float | None]:
    """The fractions that are left: those that the solver computed, between those that failed."""
    interval = proposed.interval
    low = interval.low if interval is not None else None
    high = interval.high if interval is not None else None
    for one in _telling(tries, proposed):
        if one.fraction is None:
            continue
        if _direction(one) == 1:
            low = max(low or 0.0, round(one.fraction + _STEP, 4))
        elif _direction(one) == -1:
            high = min(high or 1.0, round(one.fraction - _STEP, 4))
    return low, high


def _telling(tries: Sequence[Try], proposed: Proposed) -> list[Try]:
    """The tries that say which fractions fail for a launch.

    Those of the same launch do. One that ran out of memory says little of a launch that asks for less beside the pools,
    unless that was tried, too, and ran out of memory as well: then both are to be smaller.
    """
    out_of_memory = sum(_direction(one) == -1 for one in tries)
    # Whatever captures took, a launch without any does not.
    no_graphs = any(change.kind == "flag.set" and change.name == _NO_GRAPHS for change in proposed.changes)
    return [
        one
        for one in tries
        if _same_rest(one, proposed)
        or (_direction(one) == -1 and out_of_memory > 1 and not (no_graphs and one.rule == _CAPTURE))
    ]


def _direction(one: Try) -> int | None:
    """1 if its fraction was too low, -1 if it was too high; None if it failed for another reason."""
    if one.result is not Result.FAILED:
        return None
    return 1 if one.rule in TOO_LOW else -1 if one.rule in OUT_OF_MEMORY else None


def _at(identity: Identity, fraction: float | None) -> Identity:
    return Identity(identity.rest, fraction)
