"""What a running app leaves to the garbage collector."""

import gc
from collections.abc import Iterator
from itertools import count

import pytest
from rich.segment import Segment
from textual.strip import Strip

from sgdoctor.tui.heap import Heap


@pytest.fixture
def heap() -> Iterator[Heap]:
    heap = Heap()
    yield heap
    heap.release()


def cut_rows(rows: int) -> int:
    """What collecting finds after so many rows were cut at their end and dropped."""
    gc.collect()
    gc.disable()
    try:
        for number in range(rows):
            assert [piece.text for piece in Strip([Segment(f"row {number:4}")], 8).divide([8])] == [f"row {number:4}"]
        return gc.collect()
    finally:
        gc.enable()


def test_rows_are_freed_without_the_collector(heap: Heap) -> None:
    assert cut_rows(10) > 10  # Once this fails, Textual has mended it, and the detour can go.
    heap.settle()
    assert cut_rows(10) == 0


def test_rows_cut_in_the_middle_are_as_textual_cuts_them(heap: Heap) -> None:
    strip = Strip([Segment("left"), Segment("right")], 9)
    expected = [piece.text for piece in strip.divide([4, 9])]
    heap.settle()
    assert [piece.text for piece in strip.divide([4, 9])] == expected == ["left", "right"]


def test_everything_is_as_it_was_in_the_end(heap: Heap) -> None:
    divide, thresholds, frozen = Strip.divide, gc.get_threshold(), gc.get_freeze_count()
    heap.settle()
    assert gc.get_freeze_count() > frozen
    assert gc.get_threshold() != thresholds
    heap.release()
    heap.release()
    assert (Strip.divide, gc.get_threshold(), gc.get_freeze_count()) == (divide, thresholds, 0)


def test_it_collects_between_keys_and_not_behind_one(heap: Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [100.0]
    collected: list[float] = []
    monkeypatch.setattr("sgdoctor.tui.heap.time.monotonic", lambda: seconds[0])
    monkeypatch.setattr("sgdoctor.tui.heap.gc.get_count", lambda: (0, 0, 20))
    monkeypatch.setattr("sgdoctor.tui.heap.gc.collect", lambda: collected.append(seconds[0]))
    heap.tidy()
    assert collected == []  # The app is not ready yet.
    heap.settle()
    for _ in count():
        heap.hold()
        heap.tidy()
        if collected or seconds[0] > 110:
            break
        seconds[0] += 0.1
    # Whoever keeps a key pressed does not keep it away for good.
    assert collected == [100.0]
    seconds[0] += 0.05
    heap.hold()
    heap.tidy()
    assert collected == [100.0]
    seconds[0] += 0.2
    heap.tidy()
    assert collected == [100.0, 100.25]


def test_nothing_is_collected_where_nothing_is_due(heap: Heap, monkeypatch: pytest.MonkeyPatch) -> None:
    heap.settle()
    monkeypatch.setattr("sgdoctor.tui.heap.gc.get_count", lambda: (0, 0, 1))
    monkeypatch.setattr("sgdoctor.tui.heap.gc.collect", lambda: pytest.fail("collected"))
    heap.tidy()
