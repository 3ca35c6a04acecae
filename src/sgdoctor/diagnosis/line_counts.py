"""Numbers of lines far inside a large log, from the line ends that were counted while it was looked over."""

import mmap
from array import array
from typing import Final

Data = mmap.mmap | bytes

STEP: Final = 4 << 20


class LineCounts:
    """Numbers of lines, by byte offset.

    Args:
        data: the whole log.
        ends: number of line ends in each ``STEP`` of the log.
    """

    def __init__(self, data: Data, ends: "array[int]") -> None:
        self._data = data
        self._before = array("Q", [0])
        for number in ends:
            self._before.append(self._before[-1] + number)

    def number_at(self, offset: int) -> int:
        """1-based number of the line that holds the byte at ``offset``."""
        step = offset // STEP
        return self._before[step] + self._data[step * STEP : offset].count(b"\n") + 1
