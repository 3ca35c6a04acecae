"""The memory model against numbers that are known from elsewhere, and against itself."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.engines.sglang.memory.beside_weights import experts_gib, tables_gib
from sgdoctor.engines.sglang.memory.defaults import choose
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.pools import StateAsk, kv_between, kv_tokens, sizing_of, split_state
from sgdoctor.engines.sglang.memory.predict import Card, Start, cell_bytes, predict, slots_needed
from sgdoctor.engines.sglang.memory.prediction import Bounds, Range, known
from sgdoctor.engines.sglang.memory.settings import Settings, settings_of_arguments, settings_of_flags
from sgdoctor.engines.sglang.memory.shape import ModelShape, VisionShape, shape_of
from sgdoctor.engines.sglang.memory.weights import WeightsError, weights_of
from tests.conftest import LOGS
from tests.engines.memory_cases import (
    deviation,
    facts_of,
    predicted_from,
    reported_start,
    run_predicted,
    value_of,
    vectors,
)

REPORTED = vectors()["reported"]
RUNS = vectors()["runs"]
PAIRS = vectors()["from_another"]
BESIDE = vectors()["beside_weights"]
DEFAULTS = [
    (log, VisionShape(24, 256) if kind == "vision" else None)
    for kind in ("dense", "vision")
    for log in vectors()["default_fraction"][kind]
]


def contains(bounds: Bounds | None, number: int) -> bool:
    return bounds is not None and bounds.low <= number <= bounds.high


@pytest.mark.parametrize("case", REPORTED, ids=[case["name"] for case in REPORTED])
def test_published_reports(case: Mapping[str, Any]) -> None:
    found = predict(reported_start(case))

    assert case.get("failure") == (found.failure.rule if found.failure else None)
    if "slots" in case:
        assert case["slots"] == found.slots
    if "requests" in case:
        assert case["requests"] == found.max_running_requests
    if "tokens" in case:
        assert deviation(found.kv_tokens, case["tokens"]) <= case["tokens_within"]
        assert contains(found.kv_tokens_bounds, case["tokens"])
    assert case.get("tokens_at_least", 0) <= (found.kv_tokens or 0)


@pytest.mark.parametrize("case", RUNS, ids=[case["log"] for case in RUNS])
def test_runs_are_predicted_from_the_memory_before_the_pools(case: Mapping[str, Any]) -> None:
    found = run_predicted(case)

    slots, tokens = (value_of(case["log"], name) for name in ("state_slots", "kv_tokens"))
    assert slots == found.slots
    assert slots is None or contains(found.slots_bounds, slots)
    if tokens is not None:
        assert deviation(found.kv_tokens, tokens) <= 0.01
        assert contains(found.kv_tokens_bounds, tokens)
    requests = value_of(case["log"], "max_running_requests")
    assert requests is None or requests == found.max_running_requests


@pytest.mark.parametrize("case", BESIDE, ids=[f"{case['model']}-{case.get('context')}" for case in BESIDE])
def test_what_lies_beside_the_weights(case: Mapping[str, Any]) -> None:
    shape = shape_of(vectors()["models"][case["model"]])
    tables = tables_gib(shape, Settings(context=case.get("context")))

    assert case["experts"] == pytest.approx(experts_gib(shape) * 1024)
    assert tables.low * 1024 <= case["tables"] <= tables.high * 1024
    assert (tables.reason is None) == tables.known


@pytest.mark.parametrize(
    ("rope", "positions"),
    [
        ({}, 40960),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 40960),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}, 131072),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, 81920),
        ({"rope_scaling": {"type": "longrope", "factor": 2}}, None),
        ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, 40960),
        ({"rope_scaling": {"type": "yarn", "factor": "4"}}, 40960),
        ({"max_position_embeddings": None}, None),
    ],
)
def test_positions_of_a_table(rope: Mapping[str, Any], positions: int | None) -> None:
    tables = shape_of({**vectors()["models"]["tiny-dense"], **rope}).tables

    assert ([] if positions is None else [(128, positions)]) == [tuple(table) for table in tables]


@given(
    st.floats(0.5, 6),
    st.floats(0, 0.3),
    st.floats(0, 1),
    st.sampled_from([0.003, 0.06, 0.143]),
    st.sampled_from(["0.5.12", "0.5.15", "0.5.17"]),
    st.sampled_from([0, 4]),
)
def test_bounds_hold_all_between(low: float, width: float, at: float, slot: float, version: str, drafts: int) -> None:
    ask, sizing = StateAsk(slot, 5, draft_tokens=drafts, requests=2), sizing_of(version)

    least, most = kv_between(low, low + width, ask, sizing)
    assert least - 1e-9 <= split_state(low + at * width, ask, sizing).kv_gib <= most + 1e-9


def test_ranges_are_read_in_both_languages() -> None:
    assert ("0.97-1.42", "0.97-1.42") == Range(0.97, 1.42).text
    assert ("-760.98 to -759.75", "-760.98 到 -759.75") == Range(-760.98, -759.75).text
    assert ("-0.10 to 0.50", "-0.10 到 0.50") == Range(-0.1, 0.5).text
    assert ("1.00", "1.00") == known(1.0).text


def test_what_no_start_has_measured_is_said() -> None:
    start = start_of(facts_of("skel27-mfs-0.80"), settings_of("skel27-mfs-0.92"))
    assert start is not None
    said = [text.en for text in predict(start).not_measured]

    assert ["tokens: whether", "captured", "running it"] == [
        next(word for word in ("tokens: whether", "captured", "running it") if word in text) for text in said
    ]
    assert all(text.zh for text in predict(start).not_measured)
    measured = start_of(facts_of("skel27-mfs-0.92"))
    assert measured is not None
    assert ["running it"] == [text.en[-10:] for text in predict(measured).not_measured]


@pytest.mark.parametrize("log", [case["log"] for case in RUNS])
def test_a_log_with_pools_agrees_with_itself(log: str) -> None:
    start = start_of(facts_of(log))
    assert start is not None
    found = predict(start)

    assert value_of(log, "state_slots") == found.slots
    tokens, requests = value_of(log, "kv_tokens"), value_of(log, "max_running_requests")
    assert tokens is None or deviation(found.kv_tokens, tokens) <= 0.0001
    assert requests is None or requests == found.max_running_requests
    pools, left = value_of(log, "mem_after_pools_gib"), value_of(log, "available_gpu_mem_gib")
    for seen, predicted in ((pools, found.left_after_pools_gib), (left, found.left_gib)):
        if seen is not None:
            assert predicted is not None
            assert predicted.low - 0.1 <= seen <= predicted.high + 0.05


@pytest.mark.parametrize("pair", PAIRS, ids=[f"{pair['log']}-then-{pair['then']}" for pair in PAIRS])
def test_one_run_tells_the_next(pair: Mapping[str, str]) -> None:
    found = predicted_from(pair["log"], pair["then"])

    assert value_of(pair["then"], "state_slots") == found.slots
    tokens, requests = value_of(pair["then"], "kv_tokens"), value_of(pair["then"], "max_running_requests")
    assert tokens is None or deviation(found.kv_tokens, tokens) <= 0.01
    assert requests is None or requests == found.max_running_requests


@pytest.mark.parametrize(("log", "vision"), DEFAULTS, ids=[log for log, _ in DEFAULTS])
def test_default_fraction_is_exact(log: str, vision: VisionShape | None) -> None:
    settings = settings_of_arguments(lambda name: value_of(log, f"args.{name}"))
    asked = replace(settings, fraction=None)
    chosen = choose(asked, ModelShape(vision=vision), vectors()["default_fraction"]["card_mib"], "0.5.15")

    assert settings.fraction == pytest.approx(chosen.fraction, abs=1e-12)
    assert chosen.fraction_is_default


@pytest.mark.parametrize(
    ("card_mib", "version", "flags", "fraction"),
    [
        # By hand after srt/server_args.py of each version: reserve, then rounded to three digits.
        (24576, "0.5.9", {}, round((24576 - 512 - 3072 - 48 - 128) / 24576, 3)),
        (24576, "0.5.13", {}, round((24576 - 512 - 3072 - 48 - 128 - 42 * 8) / 24576, 3)),
        (
            *(24576, "0.5.13", {"--speculative-algorithm": "EAGLE"}),
            round((24576 - 512 - 3072 - 48 - 128 - 42 * 8 - 4096) / 24576, 3),
        ),
        (24576, "0.5.15", {"--disable-cuda-graph": None}, round((24576 - 512 - 3072 - 128) / 24576, 3)),
        (24576, "0.5.15", {"--tp": "2", "--chunked-prefill-size": "8192"}, None),
        (81559, "0.5.15", {}, round((81559 - 512 - 8192 * 1.5 - 512 - 128 - 58 * 8) / 81559, 3)),
        (81559, "0.5.15", {"--chunked-prefill-size": "2048"}, round((81559 - 10240) / 81559, 3)),
    ],
)
def test_default_fraction_over_versions(
    card_mib: int, version: str, flags: Mapping[str, Any], fraction: float | None
) -> None:
    chosen = choose(settings_of_flags(flags), ModelShape(), card_mib, version)

    expected = round((24576 - 512 - 8192 * 1.5 - 48 - 256 - 58 * 8) / 24576, 3) if fraction is None else fraction
    assert expected == chosen.fraction


DEEPSEEK = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "hidden_size": 7168,
}
NEMOTRON = {
    "architectures": ["NemotronHForCausalLM"],
    "model_type": "nemotron_h",
    "hybrid_override_pattern": "M-M*-M-",
    "num_hidden_layers": 7,
    "mamba_num_heads": 128,
    "mamba_head_dim": 64,
    "n_groups": 8,
    "ssm_state_size": 128,
    "conv_kernel": 4,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "attention_head_dim": 128,
    "hidden_size": 4096,
}
FALCON = {
    "architectures": ["FalconH1ForCausalLM"],
    "model_type": "falcon_h1",
    "num_hidden_layers": 10,
    "mamba_n_heads": 24,
    "mamba_d_head": 64,
    "mamba_n_groups": 1,
    "mamba_d_state": 256,
    "mamba_d_conv": 4,
    "mamba_d_ssm": 1536,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "hidden_size": 1024,
}
GRANITE = {
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "model_type": "granitemoehybrid",
    "num_hidden_layers": 4,
    "layer_types": ["mamba", "mamba", "attention", "mamba"],
    "mamba_n_heads": 48,
    "mamba_d_head": 64,
    "mamba_n_groups": 1,
    "mamba_d_state": 128,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "hidden_size": 1536,
}


@pytest.mark.parametrize(
    ("config", "values", "slot"),
    [
        # A latent cache keeps one vector for a layer; mamba states are (inner + 2*groups*state) * (kernel-1) values of
        # two bytes and heads * head * state values of four, in every mamba layer.
        (DEEPSEEK, 576 * 61, None),
        (NEMOTRON, 8 * 256 * 1, 3 * ((128 * 64 + 2 * 8 * 128) * 3 * 2 + 128 * 64 * 128 * 4)),
        (FALCON, 2 * 128 * 10, 10 * ((1536 + 2 * 256) * 3 * 2 + 24 * 64 * 256 * 4)),
        (GRANITE, 4 * 256 * 1, 3 * ((3072 + 2 * 128) * 3 * 2 + 48 * 64 * 128 * 4)),
    ],
    ids=["latent", "nemotron-h", "falcon-h1", "granite-hybrid"],
)
def test_shapes_of_configurations(config: Mapping[str, Any], values: int, slot: int | None) -> None:
    shape = shape_of(config)

    assert shape.attention is not None
    assert values == shape.attention.values(1)
    assert slot == (None if shape.state is None else shape.state.slot_bytes(1))
    assert (slot is not None) == shape.hybrid


def test_latent_caches_are_repeated_on_every_card_and_heads_are_divided() -> None:
    latent, grouped = shape_of(DEEPSEEK).attention, shape_of(NEMOTRON).attention
    assert latent is not None
    assert grouped is not None

    assert latent.values(8) == latent.values(1)
    assert grouped.values(1) == 4 * grouped.values(4)
    assert grouped.values(8) == grouped.values(16)


@pytest.mark.parametrize(
    "config",
    [
        {
            "num_hidden_layers": 4,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
            "head_dim": 64,
            "num_attention_heads": 8,
        },
        {**DEEPSEEK, "index_head_dim": 128},
        {"model_type": "unheard_of"},
        {"text_config": "not a mapping", "architectures": "not a list", "vision_config": 3},
        {"num_hidden_layers": -1, "num_attention_heads": 0, "head_dim": "256"},
    ],
    ids=["sliding-window", "sparse-latent", "unknown", "wrong-types", "wrong-values"],
)
def test_what_is_not_understood_is_not_guessed(config: Mapping[str, Any]) -> None:
    shape = shape_of(config)
    found = predict(Start(shape, Settings(fraction=0.85), Card(23.2, 24576), 15.0, "0.5.15"))

    assert shape.attention is None
    assert found.kv_tokens is None
    assert found.failure is None


def test_more_of_the_state_in_newer_versions() -> None:
    start = reported_start(REPORTED[2])
    padded = predict(replace(start, version="0.5.17"))

    assert (6, 1) == (padded.slots, padded.max_running_requests)
    assert predict(start).kv_tokens == padded.kv_tokens


@pytest.mark.parametrize(
    ("version", "flags", "needed"),
    [
        ("0.5.15", {}, 5),
        ("0.5.13", {}, 3),
        ("0.5.13", {"--mamba-scheduler-strategy": "extra_buffer"}, 5),
        ("0.5.15", {"--mamba-radix-cache-strategy": "extra_buffer_lazy"}, 4),
        ("0.5.15", {"--mamba-radix-cache-strategy": "extra_buffer", "--disable-overlap-schedule": None}, 4),
        ("0.5.15", {"--mamba-radix-cache-strategy": "no_buffer"}, 3),
        ("0.5.15", {"--disable-overlap-schedule": True}, 3),
        ("0.5.15", {"--disable-radix-cache": True}, 1),
    ],
)
def test_slots_of_one_request(version: str, flags: Mapping[str, Any], needed: int) -> None:
    shape = shape_of(vectors()["models"]["27b"])

    assert needed == slots_needed(shape, settings_of_flags(flags), version)


def test_fixed_slots_and_no_prefix_cache_give_the_rest_to_the_kv_cache() -> None:
    start = reported_start(REPORTED[2])

    def under(**settings: Any) -> tuple[int | None, int | None, int | None]:
        found = predict(start.under(replace(start.settings, **settings)))
        return found.slots, found.max_running_requests, found.kv_tokens

    assert (5, 1, 26252) == under(state_slots=5)
    assert (1, 1, 35648) == under(radix_off=True, requests=1)
    assert (15, 3) == under(ssm_dtype="bfloat16")[:2]
    slots, requests, tokens = under(kv_dtype="fp8_e5m2")
    assert (7, 1) == (slots, requests)
    assert 2 * (under()[2] or 0) == pytest.approx(tokens, abs=1)


def test_drafts_keep_states_of_their_own() -> None:
    asked = StateAsk(0.1, 5, draft_tokens=4, requests=8)

    # (budget / (slot * (1 + 4/5))), then 4 states for each of the requests that fit.
    split = split_state(9.5, asked, sizing_of("0.5.15"))
    assert 25 == split.slots
    assert 9.5 - 0.1 * 4 * 5 - 2.5 == pytest.approx(split.kv_gib)
    # Up to 0.5.12 the states of all requests are taken off first.
    apart = split_state(9.5, asked, sizing_of("0.5.12"))
    assert 29 == apart.slots


def test_a_cap_below_a_page_is_not_a_matter_of_memory() -> None:
    shape = shape_of(vectors()["models"]["dense-8b"])
    start = Start(shape, Settings(fraction=0.84, max_tokens=32, page=64), Card(22.86, 24564), 15.28, "0.5.15")
    found = predict(start)

    assert found.failure is not None
    assert "SGL423" == found.failure.rule


def test_weights_that_exceed_the_card_or_the_share() -> None:
    shape = shape_of(vectors()["models"]["dense-8b"])
    start = Start(shape, Settings(fraction=0.5), Card(22.86, 24564), 15.28, "0.5.15")

    assert "SGL421" == getattr(predict(start).failure, "rule", None)
    assert "SGL422" == getattr(predict(replace(start, version="0.5.12")).failure, "rule", None)
    assert "SGL411" == getattr(predict(replace(start, weights_gib=23.0)).failure, "rule", None)


def test_a_measured_start_replaces_the_ranges() -> None:
    start = start_of(facts_of("skel27-mfs-0.92"))
    assert start is not None
    guessed, measured = predict(replace(start, measured=None)).left_gib, predict(start).left_gib
    assert guessed is not None
    assert measured is not None

    assert guessed.reason is not None
    assert measured.high - measured.low < guessed.high - guessed.low


@pytest.mark.parametrize(
    ("log", "graphs"), [("article27-w19.28-mfs-0.92", [1]), ("boot-hybrid", [1, 2, 4, 8, 12, 16, 24])]
)
def test_graphs_are_those_that_the_engine_captured(log: str, graphs: list[int]) -> None:
    """It leaves out batches of more requests than run at once, so a higher limit costs only those that do."""
    start = start_of(facts_of(log))
    assert start is not None
    now = predict(start)
    more = predict(start.under(replace(start.settings, decode_max_bs=64)))
    assert now.left_gib is not None
    assert more.left_gib is not None

    assert f", bs={graphs}, avail mem=" in (LOGS / "real" / f"{log}.log").read_text()
    assert tuple(graphs) == now.decode_graphs
    if graphs == [1]:
        assert more.left_gib == now.left_gib
    else:
        assert more.left_gib.low < now.left_gib.low


@given(
    st.floats(0.3, 0.98),
    st.floats(5, 22),
    st.sampled_from(["27b", "35b-a3b", "dense-8b", "tiny-hybrid"]),
    st.sampled_from([None, "0.5.12", "0.5.15", "0.5.17", "0.5.23"]),
    st.sampled_from([1, 16, 64]),
)
def test_pools_never_hold_more_than_they_got(
    fraction: float, weights: float, model: str, version: str | None, page: int
) -> None:
    shape = shape_of(vectors()["models"][model])
    settings = Settings(fraction=fraction, page=page, strategy="extra_buffer")
    found = predict(Start(shape, settings, Card(23.2, 24576), weights, version))

    if found.failure is None and found.kv_gib is not None and found.rest_gib is not None:
        slot = (found.slot_mib or 0) / 1024
        assert found.kv_gib + (found.state_gib or 0) <= found.rest_gib + slot + 1e-6
        assert (found.kv_tokens or 0) % page == 0
    raised = predict(Start(shape, replace(settings, fraction=fraction + 0.01), Card(23.2, 24576), weights, version))
    if found.kv_tokens is not None and raised.kv_tokens is not None:
        # A further slot may take what the larger share gives.
        cell = cell_bytes(shape, settings) or 1
        assert raised.kv_tokens >= found.kv_tokens - kv_tokens((found.slot_mib or 0) / 1024, cell, 1) - page - 1


def settings_of(log: str) -> dict[str, Any]:
    """The flags of a run that decide on the graphs and the pools."""
    return {
        "--mem-fraction-static": value_of(log, "args.mem_fraction_static"),
        "--context-length": value_of(log, "args.context_length"),
    }


def safetensors(path: Path, *sizes: int) -> None:
    at, header = 0, {"__metadata__": {"format": "pt"}}
    for index, size in enumerate(sizes):
        header[f"w{index}"] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}  # type: ignore[dict-item]
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)


def test_weights_are_counted_by_their_headers(tmp_path: Path) -> None:
    assert weights_of(tmp_path) is None
    safetensors(tmp_path / "model-00001-of-00002.safetensors", 1 << 29, 1 << 28)
    safetensors(tmp_path / "model-00002-of-00002.safetensors", 1 << 28)

    assert 1.0 == weights_of(tmp_path)
    safetensors(tmp_path / "consolidated.safetensors", 1 << 30)
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert 1.0 == weights_of(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"version https://git-lfs", b"\x02\0\0\0\0\0\0\0[]", b'\x09\0\0\0\0\0\0\0{"a": 1}']
)
def test_a_file_that_is_no_safetensors_file_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)

    with pytest.raises(WeightsError, match=r"^model\.safetensors: "):
        weights_of(tmp_path)


@pytest.mark.parametrize(
    ("given", "context"),
    [
        ("65536", 65536),
        ("64k", 64000),
        ("64Ki", 65536),
        (32768, 32768),
        ("abc", None),
        ("64k; rm -rf", None),
        (True, None),
    ],
)
def test_numbers_as_they_are_typed(given: object, context: int | None) -> None:
    assert context == settings_of_flags({"--context-length": given}).context


@pytest.mark.parametrize("given", ["0,9", "nan", "inf", "-1", "0.9 --api-key x", "$(id)"])
def test_a_fraction_that_is_none_is_not_read(given: str) -> None:
    assert settings_of_flags({"--mem-fraction-static": given}).fraction is None
