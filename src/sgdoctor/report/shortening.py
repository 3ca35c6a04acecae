"""Long lists on a page for people: the first of each kind, and how many more there are."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Final, TypeVar

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
