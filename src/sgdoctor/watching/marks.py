"""What is known about every line of a store, in about one byte a line."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from sgdoctor.rules.model import Severity
from sgdoctor.watching.model import LineKind

UNSEEN: Final = 255
"""The code of lines that were counted and never read; what they are is found out when somebody asks."""

LIGHT: Final = frozenset({LineKind.PLAIN, LineKind.ENGINE, LineKind.PROGRESS, LineKind.DATA})
"""What a line can be that was never read: nothing in it concerned any rule or phase."""

_SERIOUS: Final = frozenset({Severity.FATAL, Severity.ERROR})
# These never turn into something else: folds rest on them. Where a start begins is known without its mark.
_FOLDED: Final = frozenset({LineKind.TRACEBACK, LineKind.TRACEBACK_HEAD})
_KEPT: Final = _FOLDED | {LineKind.BORDER, LineKind.ADDED}


class RuleMark(NamedTuple):
    """The rule of a line."""

    rule: str
    severity: Severity


class Marks:
    """Kinds in a byte array, rules and odd folds in sparse tables.

    One thread writes; others may read at any time.
    """

    def __init__(self) -> None:
        self.revision = 0
        self._kinds = bytearray()
        self._under: dict[int, int] = {}
        self._rules: dict[int, RuleMark] = {}
        self._phases: frozenset[int] = frozenset()
        self._heads: dict[int, int] = {}
        self._starts = array("Q", [1])

    def __len__(self) -> int:
        return len(self._kinds)

    # ------------------------------------------------------------ writing

    def extend(self, count: int) -> None:
        """Make room for lines that nobody has read yet."""
        before = len(self._kinds)
        self._kinds += bytes((UNSEEN,)) * count
        for start in reversed(self._starts):
            if start <= before:
                break
            self._overlay(start, LineKind.BORDER)

    def set_kind(self, number: int, kind: LineKind) -> None:
        """Say what a line is."""
        if number in self._under and kind not in _FOLDED:
            self._under[number] = kind
            return
        self._under.pop(number, None)
        self._kinds[number - 1] = kind

    def see(self, number: int, kind: LineKind) -> None:
        """Say what a line is, unless that is known; for any thread."""
        if self._kinds[number - 1] == UNSEEN:
            self._kinds[number - 1] = kind

    def set_head(self, number: int, head: int) -> None:
        """Fold a line away under ``head``, the first line of its traceback."""
        self.set_kind(number, LineKind.TRACEBACK)
        # The nearest head above is the usual one and needs no entry.
        if self._nearest_head(number) != head:
            self._heads[number] = head

    def begin_attempt(self, number: int, first_line: int) -> None:
        """A start begins at a line; starts with higher numbers are forgotten."""
        for old in self._starts[number - 1 :]:
            self._restore(old)
        del self._starts[number - 1 :]
        self._starts.append(first_line)
        self._overlay(first_line, LineKind.BORDER)
        self.revision += 1

    def replace(self, span: range, rules: Mapping[int, RuleMark], phases: Iterable[int]) -> None:
        """New rules and borders of phases for the lines of one start, in place of those that it had.

        Args:
            span: numbers of the lines of the start.
            rules: by line number.
            phases: numbers of lines that begin or end a phase.
        """
        told = frozenset(phases)
        old = {number: mark for number, mark in self._rules.items() if number in span}
        before = frozenset(number for number in self._phases if number in span)
        if old == rules and before == told:
            return
        for number in {*old, *before} - {*rules, *told}:
            self._restore(number)
            self._rules.pop(number, None)
        self._phases = (self._phases - before) | told
        for number in told:
            self._overlay(number, LineKind.PHASE)
        for number, mark in rules.items():
            self._rules[number] = mark
            if mark.severity is Severity.BENIGN:
                self._overlay(number, LineKind.BENIGN)
            elif mark.severity in _SERIOUS:
                self._overlay(number, LineKind.ERROR)
        self.revision += 1

    def _overlay(self, number: int, kind: LineKind) -> None:
        if not 1 <= number <= len(self._kinds):
            return
        code = self._kinds[number - 1]
        if code in _KEPT:
            return
        self._under.setdefault(number, code)
        self._kinds[number - 1] = kind

    def _restore(self, number: int) -> None:
        code = self._under.pop(number, None)
        if code is not None:
            self._kinds[number - 1] = code

    # ------------------------------------------------------------ reading

    def code(self, number: int) -> int:
        """``LineKind`` of a line as a number, or ``UNSEEN``."""
        return self._kinds[number - 1]

    def rule(self, number: int) -> RuleMark | None:
        """The rule of a line."""
        return self._rules.get(number)

    def attempt(self, number: int) -> int:
        """The start that a line belongs to."""
        return max(1, bisect_right(self._starts, number))

    def attempt_span(self, number: int) -> range:
        """The lines of a start; empty where there is no such start."""
        starts = self._starts
        if not 1 <= number <= len(starts):
            return range(0)
        end = starts[number] if number < len(starts) else len(self._kinds) + 1
        return range(1 if number == 1 else starts[number - 1], end)

    def head(self, number: int) -> int:
        """The line that a folded line stands under; 0 for one that is not folded."""
        if self._kinds[number - 1] != LineKind.TRACEBACK:
            return 0
        return self._heads.get(number) or self._nearest_head(number)

    def _nearest_head(self, number: int) -> int:
        return self._kinds.rfind(LineKind.TRACEBACK_HEAD, 0, number - 1) + 1

    def with_rule(self, rule: str) -> list[int]:
        """Numbers of the lines of a rule, ascending."""
        return sorted(number for number, mark in list(self._rules.items()) if mark.rule == rule)

    def with_codes(self, codes: frozenset[int], span: range) -> list[int]:
        """Numbers of the lines in ``span`` whose code is one of ``codes``, ascending."""
        # A copy: searching the array itself would keep the other thread from appending to it.
        window = bytes(self._kinds[span.start - 1 : span.stop - 1])
        wanted = re.compile(b"[" + b"".join(re.escape(bytes((code,))) for code in sorted(codes)) + b"]", re.DOTALL)
        return [found.start() + span.start for found in wanted.finditer(window)]
