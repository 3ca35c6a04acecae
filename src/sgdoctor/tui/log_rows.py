"""Which lines are rows of the view, kept as small as the answer allows: never one object for each line."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol


class _Numbers:
    """Ascending line numbers, four bytes each."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = array("I")

    def append(self, numbers: Iterable[int]) -> None:
        self.values.extend(numbers)

    def add(self, numbers: Sequence[int]) -> None:
        if numbers:
            start, stop = self._window(numbers)
            self.values[start:stop] = array("I", sorted({*self.values[start:stop], *numbers}))

    def remove(self, numbers: Sequence[int]) -> None:
        if numbers:
            start, stop = self._window(numbers)
            gone = set(numbers)
            self.values[start:stop] = array("I", (number for number in self.values[start:stop] if number not in gone))

    def cut(self, first: int) -> None:
        del self.values[bisect_left(self.values, first) :]

    def has(self, number: int) -> bool:
        place = bisect_left(self.values, number)
        return place < len(self.values) and self.values[place] == number

    def _window(self, numbers: Sequence[int]) -> tuple[int, int]:
        return bisect_left(self.values, numbers[0]), bisect_right(self.values, numbers[-1])


class Rows(Protocol):
    """Rows of the view, 0-based, and the numbers of their lines.

    Attributes:
        last: number of the newest line that was considered.
    """

    last: int

    def __len__(self) -> int:
        """How many rows there are."""
        ...

    def line(self, index: int) -> int:
        """Number of the line in a row."""
        ...

    def index(self, number: int) -> int:
        """The row of a line; of a line that is not shown the row of the next one, or the number of rows."""
        ...

    def shows(self, number: int) -> bool:
        """Whether a line has a row."""
        ...

    def extend(self, last: int, numbers: Iterable[int]) -> None:
        """Goes on to line ``last``; ``numbers`` are those of the new lines that the store selected."""
        ...

    def cut(self, first: int) -> None:
        """Forgets line ``first`` and all behind it."""
        ...

    def show(self, numbers: Sequence[int]) -> None:
        """Gives rows to lines that had none; ``numbers`` ascend."""
        ...

    def hide(self, numbers: Sequence[int]) -> None:
        """Takes the rows of lines away; ``numbers`` ascend."""
        ...


class AllBut:
    """Every line from ``first`` on has a row but some: those are remembered, and ``extend`` is given them."""

    def __init__(self, first: int = 1) -> None:
        self.first = first
        self.last = first - 1
        self._hidden = _Numbers()

    def __len__(self) -> int:
        return self.last - self.first + 1 - len(self._hidden.values)

    def line(self, index: int) -> int:
        """Number of the line in a row."""
        hidden = self._hidden.values
        low, high = 0, len(hidden)
        while low < high:
            middle = (low + high) // 2
            if hidden[middle] - self.first - middle <= index:
                low = middle + 1
            else:
                high = middle
        return self.first + index + low

    def index(self, number: int) -> int:
        """The row of a line; of a hidden line the row of the next one."""
        number = min(max(number, self.first), self.last + 1)
        return number - self.first - bisect_left(self._hidden.values, number)

    def shows(self, number: int) -> bool:
        """Whether a line has a row."""
        return self.first <= number <= self.last and not self._hidden.has(number)

    def extend(self, last: int, numbers: Iterable[int]) -> None:
        """Goes on to line ``last``; ``numbers`` are hidden."""
        self._hidden.append(numbers)
        self.last = last

    def cut(self, first: int) -> None:
        """Forgets line ``first`` and all behind it."""
        self._hidden.cut(first)
        self.last = max(self.first - 1, min(self.last, first - 1))

    def show(self, numbers: Sequence[int]) -> None:
        """Gives rows to hidden lines."""
        self._hidden.remove(numbers)

    def hide(self, numbers: Sequence[int]) -> None:
        """Takes the rows of lines away."""
        self._hidden.add(numbers)


class Only:
    """Only some lines have a row: those are remembered. ``extend`` is given them."""

    def __init__(self, first: int = 1) -> None:
        self.last = first - 1
        self._shown = _Numbers()

    def __len__(self) -> int:
        return len(self._shown.values)

    def line(self, index: int) -> int:
        """Number of the line in a row."""
        return self._shown.values[index]

    def index(self, number: int) -> int:
        """The row of a line; of a line that is not shown the row of the next one."""
        return bisect_left(self._shown.values, number)

    def shows(self, number: int) -> bool:
        """Whether a line has a row."""
        return self._shown.has(number)

    def extend(self, last: int, numbers: Iterable[int]) -> None:
        """Goes on to line ``last``; ``numbers`` have rows."""
        self._shown.append(numbers)
        self.last = last

    def cut(self, first: int) -> None:
        """Forgets line ``first`` and all behind it."""
        self._shown.cut(first)
        self.last = min(self.last, first - 1)

    def show(self, numbers: Sequence[int]) -> None:
        """Gives rows to lines that had none."""
        self._shown.add(numbers)

    def hide(self, numbers: Sequence[int]) -> None:
        """Takes the rows of lines away."""
        self._shown.remove(numbers)
