"""Repairing the lists of layers of a config.json: what follows, what does not, and that nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.errors import UserError
from sgdoctor.patches.config_repair import Repair, repaired_config

LINEAR = "linear_attention"
FULL = "full_attention"
SLIDING = "sliding_attention"
CYCLE = [LINEAR, LINEAR, LINEAR, FULL]


def repair_of(**config: Any) -> Repair:
    repair = repaired_config(json.dumps(config))
    assert repair is not None
    return repair


def kinds_of(repair: Repair) -> Any:
    return None if repair.content is None else json.loads(repair.content)["layer_types"]


@pytest.mark.parametrize(
    ("config", "kinds", "certain"),
    [
        pytest.param(
            {"full_attention_interval": 4, "layer_types": CYCLE, "num_hidden_layers": 10},
            [*CYCLE, *CYCLE, LINEAR, LINEAR],
            True,
            id="interval named",
        ),
        pytest.param(
            {"full_attention_interval": 4, "layer_types": [], "num_hidden_layers": 4}, CYCLE, True, id="empty list"
        ),
        pytest.param(
            {"model_type": "qwen3_5_text", "layer_types": CYCLE, "num_hidden_layers": 8},
            CYCLE * 2,
            True,
            id="interval by default of the model type",
        ),
        pytest.param(
            {"sliding_window_pattern": 2, "layer_types": [SLIDING], "num_hidden_layers": 3},
            [SLIDING, FULL, SLIDING],
            True,
            id="sliding pattern",
        ),
        pytest.param(
            {"layer_types": [SLIDING, FULL] * 2, "num_hidden_layers": 7},
            ([SLIDING, FULL] * 4)[:7],
            False,
            id="repeated twice",
        ),
        pytest.param(
            {"sliding_window": None, "layer_types": [FULL] * 2, "num_hidden_layers": 4},
            [FULL] * 4,
            False,
            id="dense",
        ),
        pytest.param(
            {"use_sliding_window": False, "sliding_window": 4096, "layer_types": [FULL] * 2, "num_hidden_layers": 4},
            [FULL] * 4,
            False,
            id="dense with an unused window",
        ),
        pytest.param(
            {"full_attention_interval": 4, "layer_types": CYCLE * 4, "num_hidden_layers": 6},
            [*CYCLE, LINEAR, LINEAR],
            False,
            id="too long",
        ),
        pytest.param(
            {
                "num_nextn_predict_layers": 3,
                "layer_types": [FULL, SLIDING, SLIDING, "a", "b", "c"],
                "num_hidden_layers": 3,
            },
            [FULL, SLIDING, SLIDING],
            True,
            id="too long by the predicting layers",
        ),
    ],
)
def test_a_list_that_follows_is_made(config: dict[str, Any], kinds: list[str], certain: bool) -> None:
    repair = repair_of(**config)

    assert kinds == kinds_of(repair)
    assert certain is repair.certain
    assert {**config, "layer_types": kinds} == json.loads(repair.content or b"")


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"layer_types": CYCLE, "num_hidden_layers": 8}, id="one cycle, nothing that names it"),
        pytest.param({"layer_types": [LINEAR, FULL, LINEAR], "num_hidden_layers": 6}, id="no full repetition"),
        pytest.param({"layer_types": ["mamba"] * 4, "num_hidden_layers": 40}, id="beginning of a hybrid"),
        pytest.param(
            {"layer_types": [FULL] * 4, "num_hidden_layers": 8, "sliding_window": 512}, id="a window that is used"
        ),
        pytest.param(
            {"full_attention_interval": 4, "layer_types": [FULL, LINEAR] * 4, "num_hidden_layers": 16},
            id="contradicts the interval",
        ),
        pytest.param(
            {"model_type": "qwen3_next", "layer_types": [LINEAR, FULL] * 4, "num_hidden_layers": 16},
            id="contradicts the default",
        ),
        pytest.param({"layer_types": [1, 1, 1, 1], "num_hidden_layers": 8}, id="no names"),
        pytest.param({"layer_types": [["a"], ["a"]], "num_hidden_layers": 3}, id="lists"),
        pytest.param({"layer_types": [], "num_hidden_layers": 3}, id="empty"),
        pytest.param(
            {"layer_types": [LINEAR] * 3 + [FULL] * 2 + [LINEAR], "num_hidden_layers": 4}, id="too long, no pattern"
        ),
    ],
)
def test_what_does_not_follow_is_not_guessed(config: dict[str, Any]) -> None:
    repair = repair_of(**config)

    assert repair.content is None
    assert not repair.certain
    assert [False] == [one.determined for one in repair.lists]
    assert all(one.why.en and one.why.zh for one in repair.lists)


@pytest.mark.parametrize(
    "config",
    [
        {"layer_types": CYCLE, "num_hidden_layers": 4},
        {"layer_types": CYCLE},
        {"num_hidden_layers": 4},
        {"layer_types": None, "num_hidden_layers": 4},
        {"layer_types": CYCLE, "num_hidden_layers": True},
        {"layer_types": CYCLE, "num_hidden_layers": 10**9},
        {"configs": [{"layer_types": CYCLE, "num_hidden_layers": 8}]},
    ],
)
def test_nothing_to_repair(config: dict[str, Any]) -> None:
    assert repaired_config(json.dumps(config)) is None


def test_one_list_that_does_not_follow_spoils_the_copy() -> None:
    repair = repair_of(
        text_config={"full_attention_interval": 2, "layer_types": [LINEAR], "num_hidden_layers": 2},
        audio_config={"layer_types": ["conv"], "num_hidden_layers": 2},
    )

    assert repair.content is None
    assert [("text_config.layer_types", True), ("audio_config.layer_types", False)] == [
        (one.name, one.determined) for one in repair.lists
    ]


def test_kinds_of_mlps_are_repaired_beside_those_of_attention() -> None:
    repair = repair_of(
        num_hidden_layers=4,
        layer_types=[SLIDING, FULL, SLIDING, FULL],
        mlp_layer_types=["dense", "sparse"],
        first_k_dense_replace=1,
    )

    assert repair.content is not None
    assert ["dense", "sparse", "sparse", "sparse"] == json.loads(repair.content)["mlp_layer_types"]
    assert repair.certain


def test_text_stays_as_it_was_written() -> None:
    before = (
        '{\r\n\t"num_hidden_layers" : 3,\r\n\t"rope_theta": 1e+07, "eps": 1.0E-06, "name": "\\u4e2d 中",'
        ' "inf": Infinity, "nan": NaN,\r\n\t"full_attention_interval":2,\r\n\t"layer_types" :\r\n\t[\r\n'
        '\t\t"linear_attention"\r\n\t] , "big": 123456789012345678901234567890\r\n}\r\n\r\n'
    )
    after = before.replace(
        '\t\t"linear_attention"\r\n', '\t\t"linear_attention",\r\n\t\t"full_attention",\r\n\t\t"linear_attention"\r\n'
    )

    repair = repaired_config(before.encode())

    assert repair is not None
    assert after.encode() == repair.content


def test_of_a_key_given_twice_the_last_one_counts() -> None:
    text = (
        '{"layer_types": ["a"], "text_config": {"layer_types": ["a"], "num_hidden_layers": 5},'
        ' "text_config": {"num_hidden_layers": 3, "full_attention_interval": 2, "num_hidden_layers": 4,'
        ' "layer_types": ["x"], "layer_types": ["linear_attention"]}}'
    )

    repair = repaired_config(text)

    assert repair is not None
    assert repair.content is not None
    assert text.replace(
        '["linear_attention"]', '["linear_attention", "full_attention", "linear_attention", "full_attention"]'
    ) == (repair.content.decode())


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", id="pointer"),
        pytest.param(b'{"a": 1,}', id="comma"),
        pytest.param(b'["layer_types"]', id="list"),
        pytest.param(b"\xff\xfe{", id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param(b'{"a":' * 100_000, id="deep"),
        pytest.param(b'{"a":' + b"1" * 5000 + b"}", id="long number"),
        pytest.param(b'{"a": "' + b"x" * (33 << 20) + b'"}', id="huge"),
    ],
)
def test_what_is_no_config_is_one_clear_line(content: bytes) -> None:
    with pytest.raises(UserError) as caught:
        repaired_config(content)

    assert "config.json" in caught.value.en
    assert "config.json" in caught.value.zh
    assert "\n" not in caught.value.en


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    others=st.dictionaries(st.text(max_size=8), JSON, max_size=4),
    interval=st.integers(1, 5),
    had=st.integers(0, 12),
    needs=st.integers(1, 12),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    nested=st.booleans(),
    ascii_only=st.booleans(),
)
def test_any_config_keeps_all_but_the_list(
    others: dict[str, Any], interval: int, had: int, needs: int, indent: Any, nested: bool, ascii_only: bool
) -> None:
    whole = [LINEAR if (layer + 1) % interval else FULL for layer in range(12)]
    config: dict[str, Any] = {
        **others,
        "layer_types": whole[:had],
        "full_attention_interval": interval,
        "num_hidden_layers": needs,
    }
    wrapped = {"text_config": config, **others} if nested else config
    try:
        text = json.dumps(wrapped, indent=indent, ensure_ascii=ascii_only)
        text.encode()
    except UnicodeEncodeError:
        return

    repair = repaired_config(text)

    if had == needs:
        assert repair is None
        return
    assert repair is not None
    assert repair.content is not None
    config["layer_types"] = whole[:needs]
    expected = json.dumps(wrapped, indent=indent, ensure_ascii=ascii_only)
    if had:
        assert expected == repair.content.decode()
    else:
        assert json.dumps(json.loads(expected)) == json.dumps(json.loads(repair.content))
