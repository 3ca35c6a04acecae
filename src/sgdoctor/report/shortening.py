"""Long lists on a page for people: the first of each kind, and how many more there are."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Final, TypeVar

from sgdoctor.fixes.model import Left
from sgdoctor.texts import Text

_T = TypeVar("_T")
_SHOWN: Final = 12


def first_of_each(items: Iterable[_T], kind: Callable[[_T], Hashable], shown: int = _SHOWN) -> tuple[list[_T], int]:
    """The first items of each kind in their order, and how many are left out.

    A command with thousands of unknown flags hides nothing else by them.

    Args:
        items: all of them.
        kind: what alike items have in common.
        shown: how many of a kind are kept.
    """
    counts: Counter[Hashable] = Counter()
    kept: list[_T] = []
    rest = 0
    for item in items:
        of = kind(item)
        counts[of] += 1
        if counts[of] <= shown:
            kept.append(item)
        else:
            rest += 1
    return kept, rest


def grouped(lefts: Iterable[Left]) -> list[tuple[Text, list[Left]]]:
    """What is left, with the changes of one piece of advice together."""
    groups: dict[Text, list[Left]] = {}
    for left in lefts:
        groups.setdefault(left.why, []).append(left)
    return list(groups.items())
