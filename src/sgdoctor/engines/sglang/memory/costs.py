"""What memory outside the pools costs: workspaces, graphs, prompts. SGLang computes none of it, so these are ranges.

The bounds come from runs of 0.5.15 on models of one to thirty layers of attention, and from the reserves that SGLang
itself makes in srt/server_args.py. A start that was measured replaces them.
"""

from dataclasses import dataclass
from typing import Final

from sgdoctor.engines.sglang.memory.defaults import Chosen, captured_sizes, decode_sizes
from sgdoctor.engines.sglang.memory.pools import GIB, MIB
from sgdoctor.engines.sglang.memory.prediction import Range, known
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import ModelShape
from sgdoctor.texts import Text

_WORKSPACES: Final = {
    # srt/layers/attention/flashinfer_backend.py: 384 MiB, 512 for some architectures, less what torch holds already.
    "flashinfer": (0.25, 0.65),
    "triton": (0.02, 0.25),
    "fa3": (0.02, 0.3),
}
_ANY_WORKSPACE: Final = (0.02, 0.65)
_LARGEST_TABLE_GIB: Final = 0.65
"""4096 requests of 40960 tokens."""
_POOL_BLOCK_MIB: Final = 2
"""torch rounds each large buffer up to this (c10/cuda/CUDACachingAllocator.cpp)."""

_NOT_CAPTURED: Final = Text(
    "what the graphs take is known only once they are captured",
    "CUDA 图占多少显存，捕获之后才知道",
)
_NOT_RUN: Final = Text(
    "how much is known only from running it",
    "具体多少要运行后才知道",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a start was seen to take; sizes in GiB, None where it was not seen.

    Attributes:
        settings: the flags that it ran under.
        after_pools: from the pools to the end of the start: workspaces and graphs together.
        workspace: of these what is not graphs.
        decode_graphs: the graphs of decoding.
        prefill_graphs: the graphs of prefill.
        requests: at once, which bound the batches with a graph.
    """

    settings: Settings
    after_pools: float | None = None
    workspace: float | None = None
    decode_graphs: float | None = None
    prefill_graphs: float | None = None
    requests: int | None = None


def request_table(requests: int | None, context: int | None, draft_tokens: int | None) -> Range:
    """The table of token places: four bytes for every token that a request may have.

    Source: srt/mem_cache/memory_pool.py ReqToTokenPool, 0.5.15.

    Args:
        requests: at once; None if unknown.
        context: tokens that a request may have; None if unknown.
        draft_tokens: of speculative decoding.
    """
    if requests is None or context is None:
        return Range(0.0, _LARGEST_TABLE_GIB, _NOT_CAPTURED)
    return known((requests + 1) * (context + 4 + (draft_tokens or 0)) * 4 / GIB)


def rounding(shape: ModelShape) -> Range:
    """What the buffers of the pools take beyond their contents."""
    layers = shape.attention.layers if shape.attention is not None else 1
    layers += shape.windows.layers if shape.windows is not None else 0
    return Range(0.0, (2 * max(layers, 16) + 8) * _POOL_BLOCK_MIB * MIB / GIB)


def after_pools(
    chosen: Chosen,
    settings: Settings,
    shape: ModelShape,
    measured: Measured | None,
    *,
    small_card: bool,
    requests: int | None = None,
) -> Range:
    """Workspaces and graphs.

    Args:
        chosen: what is in force.
        settings: the flags.
        shape: of the model.
        measured: what an earlier start took.
        small_card: whether the card is one of those that SGLang gives flashinfer.
        requests: at once, which bound the batches with a graph; None if unknown.
    """
    if measured is not None and measured.after_pools is not None and measured.settings.graphs == settings.graphs:
        return known(measured.after_pools)
    return (
        _workspace(settings, measured, small_card=small_card)
        .plus(_decode_graphs(chosen, settings, measured, requests))
        .plus(_prefill_graphs(chosen, settings, shape, measured))
    )


def _workspace(settings: Settings, measured: Measured | None, *, small_card: bool) -> Range:
    if measured is not None and measured.workspace is not None and measured.settings.attention == settings.attention:
        return known(measured.workspace)
    backend = settings.attention or ("flashinfer" if small_card else "")
    return Range(*_WORKSPACES.get(backend, _ANY_WORKSPACE), _NOT_CAPTURED)


def _decode_graphs(chosen: Chosen, settings: Settings, measured: Measured | None, requests: int | None) -> Range:
    sizes = captured_sizes(chosen.decode_sizes, requests)
    if not sizes:
        return known(0.0)
    if measured is not None and measured.decode_graphs is not None:
        before = measured.settings
        if (before.decode_max_bs, before.decode_sizes) == (settings.decode_max_bs, settings.decode_sizes):
            return known(measured.decode_graphs)
        largest = max(before.decode_sizes, default=before.decode_max_bs or 0)
        captured = captured_sizes(decode_sizes(before, largest), measured.requests) if largest else ()
        if captured == sizes:
            return known(measured.decode_graphs)
        if max(captured, default=0) > sizes[-1]:
            return Range(0.0, measured.decode_graphs, _NOT_CAPTURED)
    # At worst the requests that run at once are not what is predicted, and all sizes are captured.
    low, high = 0.018 + 0.002 * len(sizes), 0.12 + 0.02 * len(chosen.decode_sizes)
    if settings.tp > 1:
        high += 0.3
    if settings.algorithm is not None:
        high = 2 * high + 0.5
    return Range(low, high, _NOT_CAPTURED)


def _prefill_graphs(chosen: Chosen, settings: Settings, shape: ModelShape, measured: Measured | None) -> Range:
    if not chosen.prefill_sizes:
        return known(0.0)
    if (
        measured is not None
        and measured.prefill_graphs is not None
        and measured.settings.prefill_max_bs == settings.prefill_max_bs
    ):
        return known(measured.prefill_graphs)
    if shape.attention is not None and shape.attention.latent:
        return Range(0.2, 1.5, _NOT_CAPTURED)
    return Range(0.05, 0.15 + len(chosen.prefill_sizes) * 8 * MIB / GIB, _NOT_CAPTURED)


def activations(chosen: Chosen, shape: ModelShape, context: int | None) -> Range:
    """What the largest prefill chunk takes while it is computed."""
    tokens = min(chosen.prefill_tokens, context or chosen.prefill_tokens)
    if shape.hidden is not None and shape.intermediate is not None:
        # Residual, attention and gate, up and their product live at once, in two bytes; kernels may keep copies.
        each = (6 * shape.hidden + 3 * shape.intermediate) * 2
        return Range(tokens * each / 2 / GIB, (tokens * each * 2 + 128 * MIB) / GIB, _NOT_RUN)
    return Range(tokens * 0.03 * MIB / GIB, tokens * 0.3 * MIB / GIB, _NOT_RUN)
