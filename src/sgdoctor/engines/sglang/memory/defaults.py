"""What SGLang chooses where a flag is not given: prefill chunk, graphs, static fraction.

Source: ``_handle_gpu_memory_settings`` and ``adjust_mem_fraction_for_vlm`` of srt/server_args.py (0.5.9 to 0.5.19) and
srt/arg_groups/memory_hook.py (0.5.20 to 0.5.23).
"""

from typing import Final, NamedTuple

from sgdoctor.engines.sglang.memory.pools import MIB
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import ModelShape, VisionShape
from sgdoctor.engines.sglang.versions import version_key

_TIERS: Final = (
    (20, 2048, 8, 8),
    (35, 2048, 24, 80),
    (60, 4096, 32, 160),
    (90, 8192, 256, 512),
    (160, 8192, 256, 512),
)
"""Card below so many GiB: prefill chunk, largest decode graph with fewer than 4 cards, and with more."""
_LARGEST_TIER: Final = (16384, 512, 512)
_META_MIB: Final = 512
_CHUNK_MIB: Final = 1.5
"""For each token of a chunk, at least 2048 of them."""
_SMALLEST_CHUNK: Final = 2048
_DECODE_GRAPH_MIB: Final = 2
_PREFILL_GRAPH_MIB: Final = 8
_LATENT_PREFILL_MIB: Final = 1536
_LARGE_CARD_MIB: Final = 60 * 1024
_LARGE_CARD_LEAST_MIB: Final = 10 * 1024
_MAX_PREFILL_TOKENS: Final = 16384


class Chosen(NamedTuple):
    """What is in force once the defaults are filled in.

    Attributes:
        fraction: static share, as SGLang would log it.
        fraction_is_default: whether it was not given.
        chunk: tokens of a prefill chunk, -1 for off.
        default_chunk: what it is on such a card unless asked otherwise.
        prefill_tokens: tokens that one step of prefill computes at most.
        decode_sizes: batches with a decode graph; empty without decode graphs.
        prefill_sizes: chunks with a prefill graph, in tokens; empty without prefill graphs.
    """

    fraction: float
    fraction_is_default: bool
    chunk: int
    default_chunk: int
    prefill_tokens: int
    decode_sizes: tuple[int, ...]
    prefill_sizes: tuple[int, ...]


def choose(settings: Settings, shape: ModelShape, total_mib: float, version: str | None) -> Chosen:
    """Fill in the defaults.

    Args:
        settings: the flags.
        shape: of the model.
        total_mib: memory of the smallest card as ``nvidia-smi`` shows it (``memory.total``).
        version: of SGLang; None for the newest.
    """
    key = version_key(version) if version else (99,)
    default_chunk, max_bs = _tier(total_mib, settings.tp)
    chunk = settings.chunk or default_chunk
    max_bs = max(settings.decode_sizes, default=settings.decode_max_bs or max_bs)
    tokens = chunk if chunk > 0 else settings.max_prefill or _MAX_PREFILL_TOKENS
    latent = shape.attention is not None and shape.attention.latent
    decode = settings.decode_graph != "disabled"
    prefill = _has_prefill_graphs(settings, shape, key)
    limit = settings.prefill_max_bs or (2048 if latent else tokens)
    if settings.prefill_max_bs is None and settings.max_tokens is not None:
        limit = min(limit, settings.max_tokens)
    if settings.context is not None and key < (0, 5, 17):
        limit = min(limit, settings.context)
    prefill_sizes = _prefill_sizes(limit) if prefill else ()

    reserved = _META_MIB + max(tokens, _SMALLEST_CHUNK) * _CHUNK_MIB + settings.tp * settings.pp / 8 * 1024
    # Up to 0.5.14 the decode graphs are counted even where they are off.
    if decode or key < (0, 5, 15):
        reserved += max_bs * _DECODE_GRAPH_MIB
    if prefill:
        reserved += _LATENT_PREFILL_MIB if latent else len(prefill_sizes) * _PREFILL_GRAPH_MIB
    if total_mib > _LARGE_CARD_MIB:
        reserved = max(reserved, _LARGE_CARD_LEAST_MIB)
    if settings.algorithm is not None and key < (0, 5, 14):
        reserved += _draft_reserve(settings.algorithm, key)
    fraction = round((total_mib - reserved) / total_mib, 3)
    if shape.vision is not None:
        fraction *= _vision_factor(shape.vision)
    return Chosen(
        fraction=fraction if settings.fraction is None else settings.fraction,
        fraction_is_default=settings.fraction is None,
        chunk=chunk,
        default_chunk=default_chunk,
        prefill_tokens=tokens,
        decode_sizes=decode_sizes(settings, max_bs) if decode else (),
        prefill_sizes=prefill_sizes,
    )


def _tier(total_mib: float, tp: int) -> tuple[int, int]:
    gib = total_mib * MIB / (1 << 30)
    for below, chunk, few, many in _TIERS:
        if gib < below:
            return chunk, few if tp < 4 else many
    chunk, few, _ = _LARGEST_TIER
    return chunk, few


def _has_prefill_graphs(settings: Settings, shape: ModelShape, key: tuple[int, ...]) -> bool:
    if settings.prefill_graph is not None:
        return settings.prefill_graph != "disabled"
    if key < (0, 5, 10) or settings.pp > 1:
        return False
    # Multimodal models have none up to 0.5.15; later those that were found to work do (Qwen3.5 among them).
    return shape.vision is None or (key >= (0, 5, 16) and (shape.architecture or "").startswith("Qwen3_5"))


def _prefill_sizes(limit: int) -> tuple[int, ...]:
    sizes = [
        *range(4, 33, 4),
        *range(48, 257, 16),
        *range(288, 513, 32),
        *range(576, 1025, 64),
        *range(1280, 4097, 256),
        *range(4608, limit + 1, 512),
    ]
    return tuple(size for size in sizes if size <= limit)


def decode_sizes(settings: Settings, max_bs: int) -> tuple[int, ...]:
    """The batches that are to get a graph, up to ``max_bs`` requests, ascending."""
    if settings.decode_sizes:
        return settings.decode_sizes
    if settings.algorithm is None:
        sizes = [1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, max_bs + 1, 32)]
    else:
        sizes = [*range(1, 9), *range(10, 33, 2), *range(40, 65, 4), *range(72, 257, 8), *range(272, max_bs + 1, 16)]
    return tuple(sorted({size for size in sizes if size <= max_bs} | {max_bs}))


def captured_sizes(sizes: tuple[int, ...], requests: int | None) -> tuple[int, ...]:
    """The batches that really get a graph: none is larger than the requests that run at once.

    Source: ``get_batch_sizes_to_capture`` of srt/model_executor (0.5.9 to 0.5.23).

    Args:
        sizes: that were asked for, ascending.
        requests: at once; None if unknown.
    """
    if requests is None or not sizes or sizes[-1] <= requests:
        return sizes
    return tuple(sorted({*(size for size in sizes if size <= requests), max(requests, 1)}))


def _draft_reserve(algorithm: str, key: tuple[int, ...]) -> int:
    """For draft weights and graphs, in MiB; from 0.5.14 on draft weights are counted when the pools are made."""
    if algorithm == "NGRAM":
        return 0
    if algorithm == "STANDALONE":
        return 6 * 1024
    return (2 if key < (0, 5, 10) else 4) * 1024


def _vision_factor(vision: VisionShape) -> float:
    """The reduction for images: 0.95, and a tenth less for every ViT-L/14 above the first."""
    complexity = vision.layers * vision.hidden**2 / (24 * 1024**2)
    factor = 1.0 - 0.1 * (complexity - 1.0)
    return 0.95 * max(0.8, min(1.05, factor))
