"""Texts of rules with the values of a log in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.rules.template import MAX_VALUE, fill, fill_value, generic, mistakes, placeholders, spoken

NAMES = {
    "gib": 18.6789,
    "tokens": 21473,
    "args.tp_size": 2,
    "nothing": None,
    "share": 0.876,
    "choices": ("a", "b"),
    "hostile": "x\x1b[31m\u202ey\nz {tokens} [[a]]",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{gib:.2f} GiB, {tokens:,d} tokens, {share:.0%}", "18.68 GiB, 21,473 tokens, 88%"),
        ("{gib} and {args.tp_size} of {choices}", "18.6789 and 2 of a, b"),
        ("as much[[ as {nothing} GiB]] as {gib:.0f}", "as much as 19"),
        ("[[{tokens} tokens]][[, {missing}]]", "21473 tokens"),
        ("All of it. [[{missing} GiB. ]][[{nothing}]] More.", "All of it. More."),
        ("All of it. [[{tokens} tokens. ]][[{nothing}]] More.", "All of it. 21473 tokens. More."),
        ("[[{missing}]] More[[ {nothing}]] of it", "More of it"),
        ("{missing} and {nothing}", "? and ?"),
        ('{{"rope": 1}} {"rope": 1} {0} {gib!r} {gib.__class__}', '{"rope": 1} {"rope": 1} {0} {gib!r} ?'),
        ("[[ open and ]] closed ]]", " open and  closed ]]"),
        ("[[ never closed {missing}", "[[ never closed ?"),
        ("{gib:>99999999d}", "18.6789"),
        ("{hostile}", "x [31m y z {tokens} [[a]]"),
    ],
)
def test_fill(text: str, expected: str) -> None:
    assert expected == fill(text, NAMES)


def test_values_are_cut() -> None:
    filled = fill("{long}", {"long": "x" * 10_000})

    assert len(filled) == MAX_VALUE


def test_a_value_of_a_change_needs_all_of_its_names() -> None:
    assert fill_value("{gib:.1f}", NAMES) == "18.7"
    assert fill_value("auto", NAMES) == "auto"
    assert fill_value("{gib} {missing}", NAMES) is None
    assert fill_value("{gib}[[ {missing}]]", NAMES) == "18.6789"


def test_placeholders_know_whether_they_are_optional() -> None:
    found = placeholders("{a} [[{b:.1f}]] {{c}} {d.e}")

    assert found == [("a", "", False), ("b", ".1f", True), ("d.e", "", False)]


@pytest.mark.parametrize(
    ("text", "count"),
    [("fine [[{a:.2f}]] {b:,d}", 0), ("[[", 1), ("]]", 1), ("[[ [[ ]] ]]", 2), ("{a:>500d}", 1), ("{a:!r}", 1)],
)
def test_mistakes(text: str, count: int) -> None:
    assert count == len(mistakes(text))


def test_a_text_without_a_log() -> None:
    assert generic("{a:.1f} GiB[[ of {b}]], {{x}}") == "<a> GiB of <b>, {x}"


@given(st.text(alphabet="{}[]:ab.12f ", max_size=30), st.one_of(st.none(), st.floats(), st.integers(), st.text()))
def test_no_text_and_no_value_makes_it_fail(text: str, value: object) -> None:
    filled = fill(text, {"a": value, "b.a": value})

    assert isinstance(filled, str)
    assert generic(text).count("a") <= text.count("a")


def test_names_are_spoken_as_words() -> None:
    text = "`{args_error.flag}` to {state_fraction_min:.2f}, not {x}, {args.page_size} or {{}}[[, {y}]]"

    assert "`<flag>` to <smallest usable value>, not <value from the log>, <present value> or {}" == spoken(text, "en")
    assert "`‹参数名›` to ‹可用的最小值›, not ‹日志中的值›, ‹当前值› or {}" == spoken(text, "zh", "‹›")


def test_what_is_left_out_leaves_one_blank() -> None:
    assert spoken("All of it. [[{tokens} tokens. ]][[{gib} GiB.]] More.", "en") == "All of it. More."
    assert spoken("All[[ of {tokens}]] more", "en") == "All more"
