"""Conditions: what they can say, what they cannot, and what is unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.rules.conditions import ConditionError, holds, names_in, value

NAMES = {
    "kv_tokens": 1200,
    "args.tp_size": 2,
    "args.quantization": "awq",
    "args_error.choices": ("bfloat16", "float16"),
    "version": "0.5.14.post1",
    "ready": False,
    "fraction": 0.88,
}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("", True),
        ("kv_tokens < 4096 and args.tp_size == 2", True),
        ("args.quantization in ('awq', 'gptq')", True),
        ("'bfloat16' in args_error.choices", True),
        ("not ready", True),
        ("missing is None and args.missing is None", True),
        ("missing is not None", False),
        ("min(kv_tokens, 100) + abs(-1) == 101", True),
        ("round(fraction * 100) == 88 and len(args.quantization) == 3", True),
        ("lower('AWQ') == args.quantization", True),
        ("v(version) >= v('0.5.14') and v(version) < v('0.5.15')", True),
        ("'a' if ready else 'b'", True),
        ("1 < args.tp_size <= 2", True),
        # Tripping over an unknown or an ill-typed value is false, in either direction.
        ("missing < 5", False),
        ("not missing < 5", False),
        ("missing + 1 > 0", False),
        ("v(missing) >= v('0.5')", False),
        ("v(args.quantization) >= v('0.5')", False),
        ("args.quantization > 3", False),
        ("kv_tokens / 0 > 1", False),
        ("args.quantization * 1000000 == ''", False),
        ("'%9999999d' % 1 == ''", False),
        ("lower(kv_tokens) == ''", False),
    ],
)
def test_conditions(condition: str, expected: bool) -> None:
    assert expected == holds(condition, NAMES)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("kv_tokens <", "not an expression"),
        ("a = 1", "not one expression"),
        ("a; b", "not one expression"),
        ("9 ** 9 ** 9", "Pow is not part"),
        ("[x for x in y]", "ListComp is not part"),
        ("names['a']", "Subscript is not part"),
        ("lambda: 1", "Lambda is not part"),
        ("f'{a}'", "JoinedStr is not part"),
        ("().__class__", "a dot is only part of a name"),
        ("'x'.join(a)", "only the functions"),
        ("open('/etc/passwd')", "only the functions"),
        ("min(1, key=len)", "only the functions"),
        ("b'x' == a", "is not a number, a text or None"),
        ("a" * 501, "longer than 500"),
        ("(" * 300 + ")" * 300, "longer than 500"),
        ("(" * 240 + "1" + ")" * 240, "not an expression"),
    ],
)
def test_what_is_no_condition(condition: str, message: str) -> None:
    with pytest.raises(ConditionError, match=message):
        holds(condition, NAMES)


def test_names_are_dotted() -> None:
    names = names_in("args.tp_size > 1 and min(kv_tokens, weights_gib) < 3 or args_error.kind == 'choice'")

    assert names == {"args.tp_size", "kv_tokens", "weights_gib", "args_error.kind"}


def test_a_value_is_what_it_says_and_none_where_it_trips() -> None:
    assert value("kv_tokens * 2", NAMES) == 2400
    assert value("missing * 2", NAMES) is None


@given(st.text(alphabet="ab.1 ()[]'<>=+-*/,not irmnx", max_size=40))
def test_any_text_is_a_condition_or_is_refused(text: str) -> None:
    try:
        result = holds(text, {"a": 1, "b.a": "x"})
    except ConditionError:
        return
    assert isinstance(result, bool)
