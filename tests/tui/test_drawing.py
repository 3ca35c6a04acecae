"""Lines for panes: nothing is lost, nothing is wider than the pane, nothing is interpreted."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from sgdoctor.tui.drawing import (
    bar,
    blocks,
    clock,
    column,
    cut,
    plain,
    prose,
    shortened,
    spark,
    spread,
    styled,
    took,
    wrap,
)

WORDS = st.text(st.sampled_from("ab -[]{}中文，。（）`é漢"), max_size=80)


@given(WORDS, st.integers(8, 60))
def test_wrapped_text_fits_and_is_whole(text: str, width: int) -> None:
    lines = wrap(Content(text), width, first=Content("> "))

    assert all(line.cell_length <= width for line in lines)
    joined = lines[0].plain[2:] + "".join(line.plain[2:] for line in lines[1:])
    assert text.replace(" ", "") == joined.replace(" ", "")


def test_chinese_is_wrapped_between_characters_and_not_before_a_comma() -> None:
    lines = wrap(Content("状态缓存只有三个槽，不够一个请求使用。"), 18)

    assert [line.plain for line in lines] == ["状态缓存只有三个", "槽，不够一个请求使", "用。"]


def test_markup_and_escapes_of_the_log_stay_text() -> None:
    content = plain("[bold red]x[/] \x1b[31mred\x1b[0m\u202e")

    assert content.plain == "[bold red]x[/] red"
    assert list(content.spans) == []


def test_backticks_are_coloured_and_odd_ones_left_alone() -> None:
    assert prose("use `--x` now").plain == "use --x now"
    assert prose("a ` b").plain == "a ` b"


def test_bars_have_their_width() -> None:
    assert bar(0.55, 10, "").plain == "━━━━━╸────"
    assert bar(-1, 10, "").plain == "──────────"
    assert bar(7, 10, "").plain == "━━━━━━━━━━"
    assert blocks([(3, "a"), (2, "b")], 10, 10).plain == "█████░░░░░"
    assert blocks([], 0, 4).plain == "░░░░"
    assert spark([0, 8], 5, "").plain == "   ▁█"


def test_columns_count_cells() -> None:
    assert column("权重", 6) == "权重  "
    assert column("权重", 6, right=True) == "  权重"
    assert cell_len(column("状态缓存", 5)) == 5
    assert column("x", 0) == ""


def test_both_ends_of_a_line() -> None:
    assert spread(Content("left"), Content("right"), 13).plain == "left    right"
    assert spread(Content("a long left side"), Content("right"), 13).plain == "a long… right"
    assert spread(Content("a long"), Content("right"), 4).plain == "a l…"


def test_shortened_lines_say_so() -> None:
    lines = [Content("one"), Content("two"), Content("three")]

    assert [line.plain for line in shortened(lines, 2, 10)] == ["one", "two…"]
    assert lines == shortened(lines, 3, 10)
    assert cut(styled("abcdefgh"), 4).cell_length == 4


def test_times() -> None:
    assert [clock(value) for value in (47.4, 725, 3723, -3)] == ["0:47", "12:05", "1:02:03", "0:00"]
    assert [took(value) for value in (0.4, 9.9, 9.96)] == ["0.4 s", "9.9 s", "0:10"]
