"""Where lines break."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sgdoctor.report.wrapping import wrapped


def lines(text: str, width: int) -> list[str]:
    return [text[start:end].rstrip() for start, end in wrapped(text, width, cell_len)]


def test_no_line_begins_with_a_closing_mark_or_ends_with_an_opening_one() -> None:
    assert ["原因无法确", "定，用（法）", "错误"] == lines("原因无法确定，用（法）错误", 12)


def test_a_blank_in_front_of_chinese_leaves_no_stub() -> None:
    assert ["任何 decode 都返回", "`Output`。因此"] == lines("任何 decode 都返回 `Output`。因此", 18)


def test_an_address_goes_to_the_next_line_and_only_a_longer_one_is_cut() -> None:
    assert ["see", "https://x.io/abc", "now"] == lines("see https://x.io/abc now", 16)
    assert ["see https:", "//x.io/abc"] == lines("see https://x.io/abc", 10)


@given(st.text(alphabet="ab ，。（）中文-/", max_size=60), st.integers(min_value=2, max_value=30))
def test_nothing_is_lost_and_no_line_is_wider(text: str, width: int) -> None:
    places = wrapped(text, width, cell_len)

    assert text == "".join(text[start:end] for start, end in places)
    assert all(cell_len(text[start:end].rstrip()) <= width for start, end in places)
