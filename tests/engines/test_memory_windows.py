"""KV caches with more than one kind of layer: windows with a pool of their own, and the index of sparse attention."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.engines.sglang.memory.layout import layout_of
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.pools import GIB
from sgdoctor.engines.sglang.memory.predict import Card, Start, predict
from sgdoctor.engines.sglang.memory.settings import Settings, settings_of_flags
from sgdoctor.engines.sglang.memory.shape import shape_of
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from tests.engines.memory_cases import deviation, facts_of, reported_start, run_predicted, value_of, vectors

ELSEWHERE = vectors()["elsewhere"]
PRINTED = vectors()["printed"]
MODELS = vectors()["models"]
OSS = MODELS["gpt-oss-20b"]
LAYER = 8 * (64 + 64) * 2
"""Bytes of one token in one layer of gpt-oss: eight heads, keys and values of 64, two bytes each."""


def kinds(pattern: str, times: int) -> list[str]:
    return [{"s": "sliding_attention", "f": "full_attention"}[letter] for letter in pattern * times]


GEMMA3_4B = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 34, "hidden_size": 2560, "sliding_window": 1024},
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
}
GEMMA4_26B = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "text_config": {
        "num_hidden_layers": 30,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "num_global_key_value_heads": 2,
        "head_dim": 256,
        "global_head_dim": 512,
        "sliding_window": 1024,
        "layer_types": kinds("sssssf", 5),
        "num_kv_shared_layers": 0,
    },
}
GEMMA4_E4B = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "text_config": {
        "num_hidden_layers": 42,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "global_head_dim": 512,
        "sliding_window": 512,
        "layer_types": kinds("sssssf", 7),
        "num_kv_shared_layers": 18,
    },
}
MIMO = {
    "architectures": ["MiMoV2FlashForCausalLM"],
    "num_hidden_layers": 48,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "swa_num_key_value_heads": 8,
    "head_dim": 192,
    "v_head_dim": 128,
    "swa_head_dim": 192,
    "swa_v_head_dim": 128,
    "sliding_window": 128,
    "hybrid_layer_pattern": [0, *[1, 1, 1, 1, 1, 0] * 7, 1, 1, 1, 1, 0],
}
LLAMA4 = {
    "architectures": ["Llama4ForConditionalGeneration"],
    "text_config": {
        "num_hidden_layers": 48,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "attention_chunk_size": 8192,
    },
}
STEP = {
    "architectures": ["Step3p5ForCausalLM"],
    "num_hidden_layers": 4,
    "num_attention_heads": 64,
    "num_attention_groups": 8,
    "attention_other_setting": {"num_attention_groups": 4},
    "head_dim": 128,
    "sliding_window": 512,
    "layer_types": kinds("fsss", 2),
}
COHERE2 = {
    "architectures": ["Cohere2ForCausalLM"],
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "sliding_window": 4096,
    "layer_types": kinds("sssf", 8),
}


@pytest.mark.parametrize("case", ELSEWHERE, ids=[case["name"] for case in ELSEWHERE])
def test_starts_that_others_published(case: Mapping[str, Any]) -> None:
    found = predict(reported_start(case))

    assert found.failure is None
    assert deviation(found.kv_tokens, case["tokens"]) <= case["tokens_within"]
    assert case.get("swa_tokens") is None or deviation(found.swa_tokens, case["swa_tokens"]) <= case["tokens_within"]
    assert case.get("requests") in (None, found.max_running_requests)


@pytest.mark.parametrize("case", PRINTED, ids=[case["name"] for case in PRINTED])
def test_sizes_that_logs_print(case: Mapping[str, Any]) -> None:
    layout = layout_of(shape_of(MODELS[case["model"]]), settings_of_flags(case["flags"]), case["version"])
    assert layout is not None

    assert case["gib"] == pytest.approx(layout.gib(case["tokens"]), abs=0.01)


@pytest.mark.parametrize(
    ("config", "full", "window"),
    [
        (OSS, 12 * LAYER, 12 * LAYER),
        # Gemma 4: two heads of 512 in five layers, eight of 256 in the others; shared layers have buffers all the same.
        (GEMMA4_26B, 5 * 2 * 1024 * 2, 25 * 8 * 512 * 2),
        (GEMMA4_E4B, 7 * 2 * 1024 * 2, 35 * 2 * 512 * 2),
        (MIMO, 9 * 4 * 320 * 2, 39 * 8 * 320 * 2),
        (LLAMA4, 12 * 8 * 256 * 2, 36 * 8 * 256 * 2),
        # The list goes on for layers of multi-token prediction.
        (STEP, 1 * 8 * 256 * 2, 3 * 4 * 256 * 2),
        # Every layer keeps every token.
        (GEMMA3_4B, 34 * 4 * 512 * 2, 0),
        (COHERE2, 32 * 8 * 256 * 2, 0),
    ],
    ids=["gpt-oss-20b", "gemma-4-26b", "gemma-4-e4b", "mimo-v2-flash", "llama-4", "step-3.5", "gemma-3-4b", "cohere2"],
)
def test_layouts_of_configurations(config: Mapping[str, Any], full: int, window: int) -> None:
    layout = layout_of(shape_of(config), Settings(), "0.5.15")
    assert layout is not None

    assert (full, window) == (layout.held, layout.window)
    assert full + 0.8 * window == pytest.approx(layout.counted)


@pytest.mark.parametrize(
    ("config", "version", "flags", "pooled"),
    [
        (OSS, "0.5.5", {}, False),
        (OSS, "0.5.6.post2", {}, True),
        (OSS, "0.5.7", {}, False),
        (OSS, "0.5.9", {}, True),
        (OSS, "0.5.9", {"--attention-backend": "trtllm_mha"}, False),
        (OSS, "0.5.10", {"--attention-backend": "trtllm_mha"}, True),
        (OSS, "0.5.8", {"--speculative-algorithm": "EAGLE3"}, False),
        (OSS, None, {}, True),
        (OSS, None, {"--disable-hybrid-swa-memory": None}, False),
        (GEMMA4_26B, "0.5.11", {}, True),
        (LLAMA4, "0.5.7", {}, False),
        (LLAMA4, "0.5.7", {"--hybrid-kvcache-ratio": "0.5"}, None),
        (LLAMA4, "0.5.8", {}, True),
        (MIMO, "0.5.8", {}, None),
        (MIMO, "0.5.13", {"--enable-hierarchical-cache": None}, False),
        (MIMO, "0.5.14", {"--enable-hierarchical-cache": None}, True),
        (STEP, "0.5.14", {"--enable-hierarchical-cache": None}, False),
    ],
)
def test_versions_that_give_windows_a_pool(
    config: Mapping[str, Any], version: str | None, flags: Mapping[str, Any], pooled: bool | None
) -> None:
    layout = layout_of(shape_of(config), settings_of_flags(flags), version)

    assert pooled == (None if layout is None else layout.window > 0)


def oss(**more: Any) -> Start:
    return Start(shape_of(OSS), replace(Settings(fraction=0.88), **more), Card(23.2, 24576), 13.5, "0.5.15")


def test_windows_share_by_the_ratio_and_in_whole_pages() -> None:
    even, fifth, paged = predict(oss()), predict(oss(window_ratio=0.2)), predict(oss(page=64))
    rest = even.rest_gib or 0.0

    assert int(rest * GIB // (12 * LAYER * 1.8)) == even.kv_tokens
    assert int((even.kv_tokens or 0) * 0.8) == even.swa_tokens
    assert int(rest * GIB // (12 * LAYER * 1.2)) == fifth.kv_tokens
    assert ((even.kv_tokens or 0) // 64 * 64, 0) == (paged.kv_tokens, (paged.swa_tokens or 1) % 64)
    for found in (even, fifth, paged):
        assert rest == pytest.approx(found.kv_gib, rel=0.001)


def test_requests_decide_on_windows_without_a_prefix_cache() -> None:
    found = predict(oss(radix_off=True, requests=16, chunk=2048))
    window = 16 * (127 + 128 + 1 + 1) + 2 * 2048 + 1

    assert window == found.swa_tokens
    rest = int((found.rest_gib or 0.0) * GIB)
    assert (rest - window * 12 * LAYER) // (12 * LAYER) == found.kv_tokens
    older = replace(oss(radix_off=True, requests=16, chunk=2048), version="0.5.13")
    assert predict(oss()).kv_tokens == predict(older).kv_tokens
    crowded = predict(oss(radix_off=True, requests=2048, chunk=2048))
    assert crowded.failure is not None
    assert "SGL447" == crowded.failure.rule


def test_a_limit_of_tokens_bounds_the_windows_too() -> None:
    found = predict(oss(max_tokens=100_000))
    assert (100_000, 80_000) == (found.kv_tokens, found.swa_tokens)
    # Up to 0.5.10 the limit is one of equal layers, which the ratio then makes more of.
    older = predict(replace(oss(max_tokens=100_000), version="0.5.10"))
    assert (int(100_000 * 2 / 1.8), older.swa_tokens) == (older.kv_tokens, older.longest_request)
    small = replace(oss(max_tokens=128), version="0.5.16")
    failure = predict(small).failure
    assert failure is not None
    assert "SGL447" == failure.rule
    assert "SWA pool (102 tokens) cannot hold even one request" in failure.message
    assert predict(replace(small, version="0.5.15")).failure is None


@pytest.mark.parametrize(
    "config",
    [
        {**OSS, "layer_types": kinds("sf", 3)},
        {**MIMO, "hybrid_layer_pattern": None},
        {**OSS, "architectures": ["DeepseekV4ForCausalLM"]},
        {**OSS, "architectures": None},
    ],
    ids=["too-few-types", "no-pattern", "further-pools", "no-architecture"],
)
def test_windows_that_are_not_understood_are_not_guessed(config: Mapping[str, Any]) -> None:
    assert layout_of(shape_of(config), Settings(), "0.5.15") is None


def test_layers_that_share_a_choice_of_tokens_have_no_index_of_their_own() -> None:
    glm = {**MODELS["glm-5"], "num_hidden_layers": 6}
    plain = shape_of(glm)
    every = shape_of({**glm, "index_topk_freq": 2})  # layers 0, 1, 3, 5
    listed = shape_of({**glm, "indexer_types": ["full", "shared", "shared", "full", "shared", "shared"]})
    pattern = shape_of({**glm, "index_topk_pattern": "FSSSSS"})

    counted = [layout_of(shape, Settings(), "0.5.18") for shape in (plain, every, listed, pattern)]
    assert [6 * 576 * 2 + layers * 132 for layers in (6, 4, 2, 1)] == [one and one.counted for one in counted]
    older = layout_of(every, Settings(), "0.5.17")
    assert older is not None
    assert 6 * (576 * 2 + 132) == older.counted


@pytest.mark.parametrize(
    ("version", "flags", "card_mib", "sizes"),
    [
        ("0.5.9", {"--kv-cache-dtype": "fp8_e4m3"}, 143771, (576 + 132, 656 + 132)),
        ("0.5.17", {"--kv-cache-dtype": "fp8_e4m3"}, 143771, (656 + 132, 656 + 132)),
        ("0.5.17", {"--kv-cache-dtype": "fp8_e4m3", "--dsa-decode-backend": "trtllm"}, 183359, (708, 708)),
        ("0.5.15", {}, 143771, (576 * 2 + 132, 576 * 2 + 132)),
        # What a B200 does by itself is not known from its memory alone.
        ("0.5.15", {}, 183359, None),
        ("0.5.15", {"--kv-cache-dtype": "fp8_e4m3"}, 183359, None),
        ("0.5.8", {}, 143771, (576 * 2, 576 * 2)),
    ],
)
def test_sparse_attention_over_versions_and_cards(
    version: str, flags: Mapping[str, Any], card_mib: float, sizes: tuple[int, int] | None
) -> None:
    shape = shape_of({**MODELS["glm-5"], "num_hidden_layers": 1})
    layout = layout_of(shape, settings_of_flags(flags), version, card_mib=card_mib)

    assert sizes == (None if layout is None else (layout.counted, layout.held))
    assert layout is None or 64 == layout.page


LOG = """\
[2026-07-01 10:00:00] server_args=ServerArgs(model_path='/models/m', mem_fraction_static=0.88, page_size=1)
[2026-07-01 10:00:01] Load weight begin. avail mem=23.13 GB
[2026-07-01 10:00:09] Load weight end. elapsed=8.00 s, type=GptOssForCausalLM, avail mem=9.70 GB, mem usage=13.43 GB.
[2026-07-01 10:00:09] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 134295, K size: 1.54 GB, V size: 1.54 GB
[2026-07-01 10:00:09] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 167869, K size: 1.92 GB, V size: 1.92 GB
[2026-07-01 10:00:09] SWAKVPool mem usage: 6.92 GB, swa size: 134295, full size: 167869
[2026-07-01 10:00:09] Memory pool end. avail mem=3.20 GB
[2026-07-01 10:01:00] Decode batch, #running-req: 8, #full token: 46991, full token usage: 0.30, #swa token: 120000, \
swa token usage: 0.96, cuda graph: True, gen throughput (token/s): 900.0, #queue-req: 3
"""
"""Composed: the lines of srt/mem_cache/swa_memory_pool.py and the scheduler (0.5.15) with the sizes that follow."""


def test_a_log_of_one_pool_does_not_tell_of_two() -> None:
    start = start_of(facts_of("swa-gptoss-one-pool"))
    assert start is not None

    assert deviation(predict(start).kv_tokens, 120_340) <= 0.0001
    assert predict(start.under(replace(start.settings, windows_off=False))).kv_tokens is None


def test_windows_of_real_runs_are_predicted_too() -> None:
    runs = [case for case in vectors()["runs"] if value_of(case["log"], "swa_tokens") is not None]

    assert 5 == len(runs)
    for case in runs:
        assert deviation(run_predicted(case).swa_tokens, value_of(case["log"], "swa_tokens")) <= 0.002


def test_a_log_tells_both_pools_and_the_next_launch() -> None:
    facts = SGLANG.read(list(fold(read_lines(LOG.encode()), SGLANG.is_data))).facts
    value = {name: fact.value for name, fact in facts.items()}
    assert (167869, 134295, 3.08, 6.92) == tuple(
        value[name] for name in ("kv_tokens", "swa_tokens", "swa_gib", "kv_gib")
    )
    assert (0.96, 0.96) == (value["token_usage"], value["token_usage_max"])

    start = start_of(facts)
    assert start is not None
    assert deviation(predict(start).kv_tokens, 167869) <= 0.001
    fifth = predict(start.under(replace(start.settings, window_ratio=0.2)))
    assert deviation(fifth.kv_tokens, 167869 * 1.8 / 1.2) <= 0.002
    one_pool = predict(start.under(replace(start.settings, windows_off=True)))
    assert deviation(one_pool.kv_tokens, 167869 * 0.9) <= 0.002
