"""Lines in memory, for tests of the log pane."""

import re
import threading
from collections.abc import Iterable, Sequence

from sgdoctor.rules.model import Severity
from sgdoctor.watching.model import LineKind, LineMark

PLAIN = LineMark(LineKind.ENGINE, 1)


class MemoryLines:
    """``Lines`` over a list."""

    def __init__(self, texts: Iterable[str] = (), marks: Iterable[LineMark] | None = None) -> None:
        self._texts = list(texts)
        self._marks = list(marks) if marks is not None else [PLAIN] * len(self._texts)
        self._revision = 0
        self._lock = threading.Lock()

    def append(self, text: str, mark: LineMark = PLAIN) -> None:
        with self._lock:
            self._marks.append(mark)
            self._texts.append(text)

    def remark(self, number: int, mark: LineMark) -> None:
        self._marks[number - 1] = mark
        self._revision += 1

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, number: int) -> str:
        return self._texts[number - 1]

    def raw(self, number: int) -> str:
        return f"[2026-01-02 09:14:{number % 60:02}] {self._texts[number - 1]}"

    def mark(self, number: int) -> LineMark:
        return self._marks[number - 1]

    def revision(self) -> int:
        return self._revision

    def search(
        self, pattern: str, *, regex: bool, ignore_case: bool, limit: int = 100_000, first: int = 1, last: int = 0
    ) -> Sequence[int]:
        try:
            compiled = re.compile(pattern if regex else re.escape(pattern), re.IGNORECASE if ignore_case else 0)
        except re.error as error:
            raise ValueError(str(error)) from None
        span = range(first, min(last or len(self), len(self)) + 1)
        return [number for number in span if compiled.search(self.text(number))][:limit]

    def select(
        self,
        kinds: frozenset[LineKind] | None,
        *,
        rule: str = "",
        attempt: int = 0,
        rank: str = "",
        first: int = 1,
        last: int = 0,
    ) -> Sequence[int]:
        numbers = []
        for number in range(max(1, first), min(last or len(self), len(self)) + 1):
            mark = self._marks[number - 1]
            if (
                (kinds is None or mark.kind in kinds)
                and (not rule or mark.rule == rule)
                and (not attempt or mark.attempt == attempt)
                and (not rank or mark.rank == rank)
            ):
                numbers.append(number)
        return numbers


def numbered(count: int) -> MemoryLines:
    """``line 1`` to ``line N``."""
    return MemoryLines(f"line {number}" for number in range(1, count + 1))


def crashed() -> MemoryLines:
    """A short start that dies: a border, a stage, something harmless, a folded traceback of two ranks, an exit."""
    lines = MemoryLines()
    lines.append("server_args=ServerArgs(model_path='m')", LineMark(LineKind.BORDER, 1))
    lines.append("Load weight begin.", LineMark(LineKind.PHASE, 1))
    lines.append("Acceleration is not supported", LineMark(LineKind.BENIGN, 1, "SGL901", Severity.BENIGN))
    lines.append("Traceback (most recent call last):", LineMark(LineKind.TRACEBACK_HEAD, 1, rank="TP0"))
    lines.append("Traceback (most recent call last):", LineMark(LineKind.TRACEBACK_HEAD, 1, rank="TP1"))
    folded = LineKind.TRACEBACK
    lines.append('  File "a.py", line 1, in run', LineMark(folded, 1, head=4, rank="TP0"))
    lines.append('  File "b.py", line 2, in run', LineMark(folded, 1, head=5, rank="TP1"))
    lines.append('  File "c.py", line 3, in load', LineMark(folded, 1, head=4, rank="TP0"))
    lines.append("    raise RuntimeError", LineMark(folded, 1, head=4, rank="TP0"))
    lines.append(
        "RuntimeError: the cache does not fit", LineMark(folded, 1, "SGL201", Severity.FATAL, head=4, rank="TP0")
    )
    lines.append("ValueError: another", LineMark(folded, 1, head=5, rank="TP1"))
    lines.append("Killed child", LineMark(LineKind.ERROR, 1, "SGL900", Severity.ERROR))
    lines.append("The container ended with 1.", LineMark(LineKind.ADDED, 1))
    return lines
