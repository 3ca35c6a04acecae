"""Values as argparse and the engine read them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang.flags.model import Option
from sgdoctor.engines.sglang.flags.values import human_readable_int, read_values


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("65536", 65536),
        ("64k", 64_000),
        ("64Ki", 65536),
        ("25.6k", 25_600),
        ("1M", 1_000_000),
        ("2Gi", 2 << 30),
        (" 12 ", 12),
        ("-1", -1),
    ],
)
def test_numbers_with_suffixes(text: str, number: int) -> None:
    assert number == human_readable_int(text)


@pytest.mark.parametrize("text", ["64K", "64 k", "1.5Ki", "k", "", "1e3", "32,768", "0x10", "64kk", "１k2"])
def test_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        human_readable_int(text)


@given(st.decimals(0, 1000, places=2), st.sampled_from([("k", 10**3), ("M", 10**6), ("T", 10**12)]))
def test_decimal_suffixes_multiply(number: Decimal, suffix: tuple[str, int]) -> None:
    letter, factor = suffix

    assert human_readable_int(f"{number}{letter}") == int(number * factor)


@pytest.mark.parametrize(
    ("option", "texts", "value"),
    [
        (Option("--a", "a", type="bool", nargs="0"), (), True),
        (Option("--no-a", "a", type="bool", nargs="0"), (), False),
        (Option("--a", "a", type="int"), ("7",), 7),
        (Option("--a", "a", type="float", nargs="+"), ("1", "2.5"), [1.0, 2.5]),
        (Option("--a", "a", type="nullable_str"), ("None",), None),
        (Option("--a", "a", type="json.loads"), ('{"a": 1}',), {"a": 1}),
        (Option("--a", "a", type="parse_something"), ("x",), "x"),
        (Option("--json-model-override-args", "j"), ("{}",), {}),
        (Option("--a", "a", nargs="?"), (), None),
    ],
)
def test_what_a_field_holds(option: Option, texts: tuple[str, ...], value: object) -> None:
    assert value == read_values(option, texts)
