"""What stands behind the log view: cells, rows, wrapping, filters, search."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from sgdoctor.tui.log_cells import Cells
from sgdoctor.tui.log_filter import ERRORS, EVERYTHING, LineFilter, Shown, fold_members, of_rank, of_rule
from sgdoctor.tui.log_rows import AllBut, Only, Rows
from sgdoctor.tui.log_search import SLICE, Search
from sgdoctor.tui.log_wrap import BLOCK, Wrapped
from sgdoctor.watching.model import LineKind, LineMark
from tests.tui.log_lines import MemoryLines, crashed, numbered

TEXTS = st.text(alphabet=st.sampled_from("ab 中文█🚀e\u0301\u200d\ufe0f\t"), max_size=60)


# ---------------------------------------------------------------- cells


@given(TEXTS, st.integers(0, 70), st.integers(0, 30))
def test_a_piece_never_takes_more_cells_than_there_are(text: str, column: int, width: int) -> None:
    cells = Cells(text)

    piece = cells.piece(column, width)

    assert cell_len(cells.text[piece.start : piece.stop]) == piece.cells
    assert piece.before + piece.cells <= width


@given(TEXTS, st.integers(2, 30))
def test_wrapped_rows_hold_the_whole_line(text: str, width: int) -> None:
    cells = Cells(text)

    starts = cells.rows(width)
    rows = [cells.text[low:high] for low, high in zip(starts, [*starts[1:], len(cells.text)], strict=True)]

    assert cells.text == "".join(rows)
    assert len(rows) == cells.height(width)
    assert all(cell_len(row) <= width for row in rows)


def test_a_wide_character_cut_by_the_left_edge_leaves_a_blank() -> None:
    piece = Cells("中文").piece(1, 3)

    assert piece == (1, 2, 1, 2)


def test_columns_and_characters_belong_together() -> None:
    cells = Cells("a中b")

    assert [cells.column(index) for index in range(3)] == [0, 1, 3]
    assert [cells.index(column) for column in range(5)] == [0, 1, 1, 2, 3]


def test_escapes_do_not_reach_the_terminal() -> None:
    assert Cells("\x1b[31mred\x1b[0m [b]not bold[/b]\x07").text == "red [b]not bold[/b]"


# ---------------------------------------------------------------- rows


@given(st.sets(st.integers(1, 60)), st.integers(1, 60), st.integers(1, 20))
def test_both_kinds_of_rows_agree(hidden: set[int], last: int, first: int) -> None:
    but, only = AllBut(first), Only(first)
    span = range(first, max(first, last) + 1)
    but.extend(span[-1], [number for number in span if number in hidden])
    only.extend(span[-1], [number for number in span if number not in hidden])

    visible = [number for number in span if number not in hidden]
    for rows in (but, only):
        assert visible == [rows.line(index) for index in range(len(rows))]
        assert list(range(len(visible))) == [rows.index(number) for number in visible]
        assert visible == [number for number in range(1, 90) if rows.shows(number)]
    assert [only.index(number) for number in range(1, 90)] == [but.index(number) for number in range(1, 90)]


@pytest.mark.parametrize("make", [AllBut, Only])
def test_rows_are_shown_hidden_and_cut(make: type[AllBut | Only]) -> None:
    rows = make(1)
    rows.extend(10, (4, 5, 8) if make is AllBut else (1, 2, 3, 6, 7, 9, 10))

    rows.show([4, 8])
    assert _numbers(rows) == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    rows.hide([8, 9])
    assert _numbers(rows) == [1, 2, 3, 4, 6, 7, 10]
    rows.cut(7)
    assert (_numbers(rows), rows.last) == ([1, 2, 3, 4, 6], 6)


def _numbers(rows: Rows) -> list[int]:
    return [rows.line(index) for index in range(len(rows))]


# ---------------------------------------------------------------- wrapping


@settings(max_examples=60)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4 * BLOCK), st.data())
def test_wrapped_rows_are_found_in_any_order(heights: list[int], data: st.DataObject) -> None:
    wrapped = Wrapped(heights.__getitem__)
    begin = data.draw(st.integers(1, len(heights)))
    for count in (begin, len(heights)):
        wrapped.grow(count)
        index = data.draw(st.integers(0, count - 1))
        assert (index, 0) == wrapped.locate(wrapped.row(index))

    wrapped.settle(0, len(heights) - 1)

    places = [(index, part) for index, height in enumerate(heights) for part in range(height)]
    assert len(places) == wrapped.total
    assert places == [wrapped.locate(row) for row in range(len(places))]
    assert places[-1] == wrapped.locate(wrapped.total + 5)


def test_only_what_is_looked_at_is_measured() -> None:
    measured: set[int] = set()

    def height(index: int) -> int:
        measured.add(index)
        return 3

    wrapped = Wrapped(height, 1_000_000)
    measured.clear()

    assert wrapped.total == 3_000_000
    assert wrapped.locate(1_500_001) == (500_000, 1)
    assert len(measured) <= 2 * BLOCK


def test_wrapped_lines_are_forgotten_and_grown_again() -> None:
    heights = [2] * 200
    wrapped = Wrapped(heights.__getitem__, 200)
    wrapped.settle(0, 199)

    heights[150] = 5
    wrapped.cut(150)
    wrapped.grow(200)
    wrapped.settle(0, 199)

    assert wrapped.total == 403
    assert wrapped.locate(304) == (150, 4)


# ---------------------------------------------------------------- filters


def _shown(shown: Shown) -> list[int]:
    while shown.advance(3):
        pass
    return _numbers(shown.rows)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (EVERYTHING, [1, 2, 3, 4, 5, 12, 13]),
        (LineFilter(hide_benign=True), [1, 2, 4, 5, 12, 13]),
        (ERRORS, [1, 4, 5, 12, 13]),
        (of_rule("SGL201"), [10]),
        (of_rank("TP1"), [5]),
        (LineFilter(attempt=2), []),
        (LineFilter(first=3, last=9), [3, 4, 5]),
    ],
)
def test_filters(wanted: LineFilter, expected: list[int]) -> None:
    assert expected == _shown(Shown(crashed(), wanted))


def test_tracebacks_are_unfolded_all_at_once() -> None:
    assert list(range(1, 14)) == _shown(Shown(crashed(), folded=False))
    assert [1, *range(4, 14)] == _shown(Shown(crashed(), ERRORS, folded=False))


@pytest.mark.parametrize("wanted", [EVERYTHING, ERRORS])
def test_a_fold_opens_without_the_lines_of_another_rank(wanted: LineFilter) -> None:
    shown = Shown(crashed(), wanted)
    folded = _shown(shown)

    shown.toggle(4)
    assert sorted([*folded, 6, 8, 9, 10]) == _numbers(shown.rows)
    shown.toggle(4)
    assert folded == _numbers(shown.rows)


@pytest.mark.parametrize("wanted", [EVERYTHING, ERRORS])
def test_lines_that_arrive_under_an_open_head_are_shown(wanted: LineFilter) -> None:
    lines = crashed()
    shown = Shown(lines, wanted, opened=[4])
    before = _shown(shown)

    lines.append("  more", LineMark(LineKind.TRACEBACK, 1, head=4))
    lines.append("  of the other", LineMark(LineKind.TRACEBACK, 1, head=5))

    assert [*before, 14] == _shown(shown)


def test_the_lines_of_a_fold_end_where_another_one_is_far_away() -> None:
    lines = crashed()
    for _ in range(1000):
        lines.append("served")
    lines.append("stray", LineMark(LineKind.TRACEBACK, 1, head=4))

    assert fold_members(lines, 4) == [6, 8, 9, 10]


# ---------------------------------------------------------------- search


def _search(lines: MemoryLines, pattern: str, *, regex: bool = False) -> Search:
    search = Search(lines, pattern, regex=regex)
    while search.advance():
        pass
    return search


@pytest.mark.parametrize(
    ("pattern", "regex", "expected"),
    [
        ("LINE 7", False, []),
        ("line 7", False, [7]),
        ("LINE", False, []),
        (r"\Sine [89]$", True, [8, 9]),
        ("line .", False, []),
    ],
)
def test_search(pattern: str, *, regex: bool, expected: Iterable[int]) -> None:
    assert expected == list(_search(numbered(9), pattern, regex=regex).matches)


def test_case_counts_only_where_the_pattern_has_an_upper_case_letter() -> None:
    lines = MemoryLines(["Error", "error"])

    assert list(_search(lines, "error").matches) == [1, 2]
    assert list(_search(lines, "Error").matches) == [1]


def test_a_search_goes_on_with_lines_that_came_later() -> None:
    lines = numbered(3)
    search = _search(lines, "line")

    lines.append("line 4")
    assert not search.complete
    search.advance()

    assert (list(search.matches), search.complete) == ([1, 2, 3, 4], True)


def test_a_search_is_done_in_slices() -> None:
    search = Search(MemoryLines(["x"] * (SLICE + 5)), "x", regex=False)

    assert search.advance()
    assert search.searched == SLICE
    assert not search.advance()
    assert len(search.matches) == SLICE + 5


def test_matches_follow_one_another_and_begin_again() -> None:
    search = _search(MemoryLines(["x", "", "x", "", "x"]), "x")

    assert [search.next(number, 1) for number in (1, 3, 5)] == [3, 5, 1]
    assert [search.next(number, -1) for number in (1, 3, 5)] == [5, 1, 3]
    assert [search.place(number) for number in (1, 2, 3)] == [1, 0, 2]


def test_a_broken_expression_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="unterminated"):
        Search(numbered(1), "[a", regex=True)


def test_matches_are_coloured_only_inside_of_what_is_seen() -> None:
    search = Search(numbered(1), "aa", regex=False)

    assert search.spans("...aa.aa.aa", 4, 8) == [(4, 5), (6, 8)]


def test_an_expression_that_takes_too_long_colours_nothing() -> None:
    search = Search(numbered(1), r"(a|a?)+b", regex=True)

    assert search.spans("a" * 4000, 0, 4000) == []
