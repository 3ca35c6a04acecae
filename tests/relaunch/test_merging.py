"""What one edit changed is made in a text that somebody else edited as well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.relaunch.compose.merging import merged

BASE = "one\ntwo\nthree\nfour\nfive\nsix\n"
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d\n"]), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (BASE.replace("two", "2"), BASE, BASE.replace("two", "2")),
        (BASE, BASE.replace("two", "2"), BASE.replace("two", "2")),
        (BASE.replace("two", "2"), BASE.replace("five", "5"), BASE.replace("two", "2").replace("five", "5")),
        (BASE.replace("two\n", ""), BASE + "seven\n", BASE.replace("two\n", "") + "seven\n"),
        (
            BASE.replace("two", "2"),
            BASE.replace("two", "2").replace("six", "6"),
            BASE.replace("two", "2").replace("six", "6"),
        ),
        (BASE.replace("two", "2"), BASE.replace("two", "II"), None),
        (BASE.replace("two", "2"), BASE.replace("three", "3"), None),
        (BASE.replace("two", "2"), "", None),
    ],
)
def test_edits_of_two(ours: str, theirs: str, expected: str | None) -> None:
    assert expected == merged(BASE, ours, theirs)


@given(LINES, LINES, LINES)
def test_order_of_the_two_does_not_matter(base: str, ours: str, theirs: str) -> None:
    assert merged(base, ours, theirs) == merged(base, theirs, ours)


@given(LINES, LINES)
def test_an_edit_is_taken_back(base: str, edited: str) -> None:
    assert base == merged(edited, base, edited)
