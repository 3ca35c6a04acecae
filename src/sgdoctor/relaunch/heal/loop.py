"""Carries healing out: one move after the other, until one of them is to stop."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from sgdoctor.fixes.model import Step
from sgdoctor.relaunch.heal.model import End, Healing, Limits, Move, Relaunch, Stop, Try
from sgdoctor.relaunch.heal.moves import next_move


class Ward(Protocol):
    """What healing needs of the world: one container, and the user."""

    def examine(self, seconds: float | None) -> Try:
        """The launch as it is found, with the plan that follows from it.

        Args:
            seconds: that are left; None for no limit.
        """

    def relaunch(self, tries: Sequence[Try], move: Relaunch, seconds: float | None) -> Try:
        """Try a launch; if it fails, the original one is back, and a plan was made from the failure.

        Args:
            tries: so far.
            move: which launch.
            seconds: that are left; None for no limit.
        """

    def agrees(self, move: Relaunch) -> bool:
        """Whether the user agrees to begin."""

    def consents(self, steps: Sequence[Step]) -> bool:
        """Whether the user takes steps that can make answers worse."""

    @property
    def stopped(self) -> bool:
        """Whether the user wants no more."""


def heal(
    ward: Ward,
    limits: Limits,
    *,
    told: Callable[[Move], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Healing:
    """Heal a container.

    Args:
        ward: of the container.
        limits: of the whole.
        told: of each move, before it is carried out.
        clock: in seconds.
    """
    began = clock()

    def left() -> float | None:
        return None if limits.seconds is None else max(0.0, limits.seconds - (clock() - began))

    tries = [ward.examine(left())]
    agreed = False
    while True:
        now = replace(limits, seconds=left())
        move = next_move(tries, now)
        if isinstance(move, Stop) and move.end is End.UNSAFE and ward.consents(move.unsafe):
            move = next_move(tries, replace(now, unsafe=True))
        if isinstance(move, Relaunch) and ward.stopped:
            move = Stop(End.STOPPED)
        if isinstance(move, Relaunch) and not agreed:
            asked = clock()
            agreed = ward.agrees(move)
            began += clock() - asked  # reading takes as long as it takes
            move = move if agreed else Stop(End.NOT_AGREED)
        told(move)
        if isinstance(move, Stop):
            return Healing(tuple(tries), move, clock() - began)
        tries.append(ward.relaunch(tries, move, left()))
