"""The index that sparse latent attention (DeepSeek-V3.2, GLM-5) keeps beside its cache, to choose tokens by.

Sources: ``NSATokenToKVPool``/``DSATokenToKVPool`` of srt/mem_cache/memory_pool.py, ``is_deepseek_nsa`` of
srt/configs/model_config.py, and where the cache is measured: srt/model_executor/model_runner.py (0.5.3 to 0.5.6),
model_runner_kv_cache_mixin.py (0.5.7 to 0.5.10), pool_configurator.py (0.5.11 to 0.5.23).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.windows import Fields
from sgdoctor.engines.sglang.versions import version_key

PAGE: Final = 64
"""Tokens of a page that SGLang sets for such models on NVIDIA cards, whatever ``--page-size`` says."""
_SINCE: Final[Mapping[str, tuple[int, ...]]] = {
    "DeepseekV3ForCausalLM": (0, 5, 3),
    "DeepseekV32ForCausalLM": (0, 5, 3),
    "MistralLarge3ForCausalLM": (0, 5, 6),
    "PixtralForConditionalGeneration": (0, 5, 6),
    "GlmMoeDsaForCausalLM": (0, 5, 9),
    "LongcatFlashForCausalLM": (0, 5, 16),
    "Glm5NextForConditionalGeneration": (0, 5, 20),
    "HYV4ForCausalLM": (0, 5, 20),
}
_BLOCK: Final = 128
"""Values that share one scale of four bytes."""
_SCALE_BYTES: Final = 4
_ROPE_BYTES: Final = 2
"""The rotated part of a latent vector stays in bfloat16 where the rest has eight bits."""
_RAW_BACKENDS: Final = frozenset({"trtllm"})
"""Backends that keep eight-bit vectors without scales."""
_BLACKWELL_MIB: Final = 150 * 1024
"""Cards with more memory are B200 and up, where SGLang takes eight bits and another backend unless told otherwise."""


@dataclass(frozen=True, slots=True)
class SparseIndex:
    """The index of a sparse model.

    Attributes:
        token_bytes: of one token in one layer; eight-bit values and a scale, whatever the dtype of the cache.
        layers: that have an index of their own from 0.5.18 on; before, all have.
        rank: values of a latent vector that ``--kv-cache-dtype fp8_e4m3`` stores in eight bits.
        rotated: values that stay in two bytes then.
        since: version from which on SGLang takes the model for a sparse one.
    """

    token_bytes: int
    layers: int
    rank: int
    rotated: int
    since: tuple[int, ...]


def is_sparse(architecture: str | None) -> bool:
    """Whether an architecture may have an index."""
    return architecture in _SINCE


def sparse_index(architecture: str | None, text: Fields, layers: int) -> SparseIndex | None:
    """The index that a configuration asks for; None for a model without one."""
    head, rank, rotated = (text.whole(name) for name in ("index_head_dim", "kv_lora_rank", "qk_rope_head_dim"))
    since = _SINCE.get(architecture or "")
    if since is None or not text.has("index_topk") or head is None or rank is None or rotated is None:
        return None
    pooled = text.whole("index_kpool") or 1
    size = -(-(head + head // _BLOCK * _SCALE_BYTES) // pooled)
    return SparseIndex(size, sum(not _shares(text, layer) for layer in range(layers)), rank, rotated, since)


def latent_bytes(index: SparseIndex, settings: Settings, kv_bytes: int, card_mib: float | None) -> int | None:
    """Bytes of one latent vector as it is stored; None where that depends on a card that is not known well enough.

    Args:
        index: of the model.
        settings: the flags.
        kv_bytes: bytes of one value by flags and configuration.
        card_mib: memory of the card as ``nvidia-smi`` shows it; None if unknown.
    """
    by_card = (card_mib or 0) > _BLACKWELL_MIB
    if by_card and settings.kv_dtype in (None, "auto") and kv_bytes > 1:
        return None
    whole = (index.rank + index.rotated) * kv_bytes
    if kv_bytes > 1 or settings.kv_dtype == "fp8_e5m2":
        return whole
    backends = {settings.sparse_prefill, settings.sparse_decode} - {None}
    if backends & _RAW_BACKENDS:
        return whole
    if by_card and not backends:
        return None
    return index.rank + index.rank // _BLOCK * _SCALE_BYTES + index.rotated * _ROPE_BYTES


def counted_bytes(index: SparseIndex, stored: int, kv_bytes: int, version: str | None) -> int:
    """Bytes of one latent vector as SGLang counts them when it divides the memory.

    Up to 0.5.16 scales and the wider rotated part are left out, so that the cache takes more than its share.
    """
    if version is not None and version_key(version) < (0, 5, 17):
        return (index.rank + index.rotated) * kv_bytes
    return stored


def index_bytes(index: SparseIndex, layers: int, version: str | None) -> int:
    """Bytes of the index of one token, over all layers."""
    key = version_key(version) if version else (99,)
    if key < index.since:
        return 0
    return index.token_bytes * (index.layers if key >= (0, 5, 18) else layers)


def _shares(text: Fields, layer: int) -> bool:
    """Whether a layer takes the choice of the one before instead of making its own (``dsa_layer_skips_topk``)."""
    if kinds := text.words("indexer_types"):
        return layer < len(kinds) and kinds[layer] == "shared"
    if (factor := text.whole("cli_factor") or 1) > 1:
        return layer % factor != 0
    if pattern := text.word("index_topk_pattern"):
        return layer < len(pattern) and pattern[layer] == "S"
    every, offset = text.whole("index_topk_freq") or 1, text.whole("index_skip_topk_offset") or 2
    return max(layer - offset + 1, 0) % every != 0
