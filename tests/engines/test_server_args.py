from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang.server_args import is_server_args, read_server_args
from sgdoctor.engines.sglang.versions import Bounds, bounds_by_fields

VALUES: list[tuple[str, Any]] = [
    ("None", None),
    ("True", True),
    ("0", 0),
    ("-1", -1),
    ("0.92", 0.92),
    ("1e-05", 1e-05),
    ("'a, b=c)'", "a, b=c)"),
    ('"it\'s"', "it's"),
    (r"'it\'s \\'", "it's \\"),
    ("[1, 2]", [1, 2]),
    ("('a', None)", ("a", None)),
    ("{'a': [1, {'b': ')'}]}", {"a": [1, {"b": ")"}]}),
    ("Config(a=Phase(bs=[1, 2], x=')'), b={})", "Config(a=Phase(bs=[1, 2], x=')'), b={})"),
    ("<Enum.A: 'a, b'>", "<Enum.A: 'a, b'>"),
    ("__import__('os').system('x')", "__import__('os').system('x')"),
    ("[open('x')]", "[open('x')]"),
]


@pytest.mark.parametrize(("source", "value"), VALUES)
def test_values(source: str, value: Any) -> None:
    expected = {"before": 1, "it": value, "after": "x"}

    assert expected == read_server_args(f"server_args=ServerArgs(before=1, it={source}, after='x')")
    assert expected == read_server_args(f"server_args={{'before': 1, 'it': {source}, 'after': 'x'}}")


def test_secrets_are_masked() -> None:
    fields = read_server_args(
        "server_args=ServerArgs(api_key='sk-1', admin_api_key=None, ssl_keyfile_password=\"p'w\", a=1)"
    )

    assert fields == {"api_key": "***", "admin_api_key": None, "ssl_keyfile_password": "***", "a": 1}


def test_what_was_cut_off_is_left_out() -> None:
    assert read_server_args("server_args=ServerArgs(a=1, b='cut of") == {"a": 1}
    assert read_server_args("server_args=ServerArgs(a=1, b=12") == {"a": 1}


def test_only_at_the_beginning() -> None:
    assert not is_server_args("Receive: server_args=ServerArgs(a=1)")
    assert read_server_args("Receive: server_args=ServerArgs(a=1)") == {}


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
)
FIELDS = st.dictionaries(
    st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    st.recursive(
        LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_size=6,
)


@given(FIELDS)
def test_any_repr_is_read_back(fields: dict[str, Any]) -> None:
    listed = ", ".join(f"{name}={value!r}" for name, value in fields.items())

    assert fields == read_server_args(f"server_args=ServerArgs({listed})")
    assert fields == read_server_args(f"server_args={fields!r}")


@given(st.text(alphabet="=,()[]{}'\"\\ abc1."))
def test_no_text_raises(text: str) -> None:
    assert isinstance(read_server_args(f"server_args=ServerArgs({text}"), dict)


def test_version_bounds_of_a_version_in_between() -> None:
    low, high = Bounds("0.5.13", "0.5.15"), Bounds("0.5.16", None)

    assert low.within(Bounds("0.5.14", None)) == Bounds("0.5.14", "0.5.15")
    assert low.within(high) == low


def test_every_known_version_is_recognised_by_its_own_fields() -> None:
    from sgdoctor.engines.sglang.history import load_history

    history = load_history()
    for index, version in enumerate(history.versions):
        fields = {name for name, mask in history.fields.items() if mask >> index & 1}
        bounds = bounds_by_fields(fields)

        assert bounds.low is not None
        assert bounds.high is not None
        assert history.versions.index(bounds.low) <= index <= history.versions.index(bounds.high), version
