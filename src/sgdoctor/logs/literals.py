"""The literal index: all literals of all rules, found in one pass over bytes.

Back ends, fastest first: Hyperscan (about 2 GB/s), ahocorasick_rs, and the standard library. All of them find the
same hits; ``tests/logs/test_literals.py`` holds them to it.
"""

from collections.abc import Sequence
from typing import Protocol


class LiteralIndex(Protocol):
    """Finds literals in bytes."""

    name: str
    """Of the back end: ``hyperscan``, ``ahocorasick`` or ``stdlib``."""

    def find(self, data: memoryview | bytes) -> list[tuple[int, int]]:
        """Every occurrence of every literal in ``data``, overlapping ones included.

        Returns:
            ``(offset, literal)`` pairs, sorted: the byte offset at which the literal *begins*, and its number in the
            sequence that the index was built from.
        """
        ...

    def present(self, data: memoryview | bytes) -> frozenset[int]:
        """The numbers of the literals that occur at least once in ``data``."""
        ...


def build_index(literals: Sequence[bytes], *, backend: str | None = None) -> LiteralIndex:
    """An index over ``literals``, by the fastest back end that is installed, or by the one named.

    Raises:
        ValueError: an empty literal, a literal twice, or an unknown or absent back end.
    """
    raise NotImplementedError
