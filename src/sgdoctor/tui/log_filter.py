"""Which lines are wanted, and which of them are folded away."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sgdoctor.diagnosis.wording import phase_label
from sgdoctor.engines.base import Phase
from sgdoctor.texts import Text
from sgdoctor.tui.log_rows import AllBut, Only, Rows
from sgdoctor.watching.model import LineKind, Lines

_EVERY_KIND: Final = frozenset(LineKind)
_ALL: Final = Text("all", "全部")
_FOLDED: Final = frozenset({LineKind.TRACEBACK})
_FOLD_GAP: Final = 400
"""Lines of other ranks that may stand between two lines of one traceback."""
_FOLD_LINES: Final = 20_000


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Which lines are wanted; what is left at its default does not matter.

    Attributes:
        kinds: only these kinds.
        rule: only lines of this rule.
        rank: only lines of this rank.
        attempt: only lines of this start.
        first: only lines from this one on.
        last: only lines up to this one; 0 for all that come.
        hide_benign: without lines that look alarming and are not.
        label: what it is called in the title.
    """

    kinds: frozenset[LineKind] | None = None
    rule: str = ""
    rank: str = ""
    attempt: int = 0
    first: int = 1
    last: int = 0
    hide_benign: bool = False
    label: Text = _ALL

    @property
    def picks(self) -> bool:
        """Whether it picks single lines out, rather than showing all of a stretch."""
        return self.kinds is not None or bool(self.rule or self.rank or self.attempt)

    @property
    def narrow(self) -> bool:
        """Whether it follows from the line that the cursor was on: a rule, a rank, a stage."""
        return bool(self.rule or self.rank or self.last or self.first > 1)


EVERYTHING: Final = LineFilter()
ERRORS: Final = LineFilter(
    kinds=frozenset(
        {LineKind.ERROR, LineKind.TRACEBACK_HEAD, LineKind.TRACEBACK, LineKind.ADDED, LineKind.BORDER},
    ),
    label=Text("errors", "错误"),
)
# Not the progress bars: to find those a store has to read every line.
STAGES: Final = LineFilter(
    kinds=frozenset({LineKind.PHASE, LineKind.ERROR, LineKind.TRACEBACK_HEAD, LineKind.ADDED, LineKind.BORDER}),
    label=Text("stages", "阶段"),
)


def of_rule(rule: str) -> LineFilter:
    """The lines of one rule."""
    return LineFilter(rule=rule, label=Text(rule, rule))


def of_rank(rank: str) -> LineFilter:
    """The lines of one rank."""
    return LineFilter(rank=rank, label=Text(rank, rank))


def of_stretch(label: Text, first: int, last: int = 0) -> LineFilter:
    """The lines of a stage or of a start, from the number of its first line to that of its last."""
    return LineFilter(first=max(1, first), last=last, label=label)


def of_stage(phases: Sequence[Phase], number: int) -> LineFilter:
    """The lines of the stage that a line belongs to; all lines where it belongs to none."""
    for phase, after in zip(phases, [*phases[1:], None], strict=True):
        if phase.start_line <= number and (after is None or number < after.start_line):
            return of_stretch(phase_label(phase.name), phase.start_line, after.start_line - 1 if after else 0)
    return EVERYTHING


def fold_members(lines: Lines, head: int) -> list[int]:
    """Numbers of the lines that are folded under a head; lines of other ranks may stand between them."""
    members: list[int] = []
    reached = head
    for number in lines.select(_FOLDED, first=head + 1, last=min(len(lines), head + _FOLD_LINES)):
        if number - reached > _FOLD_GAP:
            break
        if lines.mark(number).head == head:
            members.append(number)
            reached = number
    return members


class Shown:
    """The rows that a filter leaves, kept up to date as lines arrive.

    Args:
        lines: all lines.
        wanted: which of them have rows.
        folded: whether tracebacks are folded under their heads.
        opened: heads whose lines are shown all the same.
    """

    def __init__(
        self, lines: Lines, wanted: LineFilter = EVERYTHING, *, folded: bool = True, opened: Iterable[int] = ()
    ) -> None:
        self.lines = lines
        self.wanted = wanted
        self.folded = folded
        self.opened = set(opened)
        self.rows: Rows = Only(wanted.first) if wanted.picks else AllBut(wanted.first)
        gone = set()
        if folded and not wanted.rule:
            gone.add(LineKind.TRACEBACK)
        if wanted.hide_benign:
            gone.add(LineKind.BENIGN)
        self._asked: frozenset[LineKind] | None
        if wanted.picks:
            kinds = (_EVERY_KIND if wanted.kinds is None else wanted.kinds) - gone
            self._asked = None if kinds == _EVERY_KIND else kinds
        else:
            self._asked = frozenset(gone)

    @property
    def newest(self) -> int:
        """Number of the newest line that the filter can look at."""
        count = len(self.lines)
        return min(count, self.wanted.last) if self.wanted.last else count

    @property
    def complete(self) -> bool:
        """Whether every line was considered."""
        return self.rows.last >= self.newest

    def advance(self, most: int) -> bool:
        """Considers up to ``most`` lines more; says whether there were any."""
        first = self.rows.last + 1
        last = min(self.newest, first + most - 1)
        if last < first:
            return False
        self.rows.extend(last, self._select(first, last))
        return True

    def cut(self, first: int) -> None:
        """Considers line ``first`` and all behind it again: what is known about them changed."""
        self.rows.cut(max(first, self.wanted.first))

    def is_open(self, head: int) -> bool:
        """Whether the lines under a head have rows."""
        return not self.folded or head in self.opened

    def toggle(self, head: int) -> None:
        """Opens or closes one fold."""
        members = [
            number
            for number in fold_members(self.lines, head)
            if number <= self.rows.last and self.lines.mark(number).kind is LineKind.TRACEBACK
        ]
        if head in self.opened:
            self.opened.discard(head)
            self.rows.hide(members)
        else:
            self.opened.add(head)
            self.rows.show(members)

    def _select(self, first: int, last: int) -> Iterable[int]:
        wanted = self.wanted
        if not wanted.picks:
            if not self._asked:
                return ()
            hidden = self.lines.select(self._asked, first=first, last=last)
            return self._without_opened(hidden) if self.opened else hidden
        picked = self.lines.select(
            self._asked, rule=wanted.rule, attempt=wanted.attempt, rank=wanted.rank, first=first, last=last
        )
        return self._with_opened(picked, first, last) if self.opened else picked

    def _without_opened(self, hidden: Sequence[int]) -> list[int]:
        return [number for number in hidden if not self._is_opened(number)]

    def _with_opened(self, picked: Sequence[int], first: int, last: int) -> list[int]:
        folded = self.lines.select(_FOLDED, first=first, last=last)
        return sorted({*picked, *(number for number in folded if self._is_opened(number))})

    def _is_opened(self, number: int) -> bool:
        mark = self.lines.mark(number)
        return mark.kind is LineKind.TRACEBACK and mark.head in self.opened
