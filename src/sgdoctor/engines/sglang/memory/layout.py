"""How the memory of the KV cache becomes tokens: one pool, one more for windows, or an index beside it.

Sources: ``set_num_token_hybrid`` of srt/model_executor/model_runner.py (0.5.2 to 0.5.6) and of
model_runner_kv_cache_mixin.py (0.5.7 to 0.5.10); ``HybridSWAPoolConfigurator`` and ``SWAChunkCapPoolConfigurator`` of
pool_configurator.py (0.5.11 to 0.5.23).
"""

from typing import Final, NamedTuple

from sgdoctor.engines.sglang.memory import sparse
from sgdoctor.engines.sglang.memory.pools import GIB
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import ModelShape
from sgdoctor.engines.sglang.memory.windows import WindowShape, has_pool
from sgdoctor.engines.sglang.versions import version_key

_WINDOW_RATIO: Final = 0.8
"""Of window tokens to full tokens unless ``--swa-full-tokens-ratio`` says otherwise, 0.4.10 to 0.5.23."""
_EVICTED_EVERY: Final = 128
"""SGLANG_SWA_EVICTION_INTERVAL by default: tokens that a request gains before what left its window is freed."""


class Layout(NamedTuple):
    """What a token of the KV cache takes on one card, in bytes.

    Attributes:
        counted: by which SGLang divides the memory.
        held: that its buffers really have, those of windows left out.
        window: of one token in the pool for windows; 0 without one.
        ratio: of window tokens to tokens.
        window_tokens: of the pool for windows where the requests decide on it; None where the ratio does.
        smallest_window: tokens that this pool has to exceed, or the start ends; None where nothing is checked.
        cap_scale: by which ``--max-total-tokens`` is multiplied before it bounds the tokens.
        shortens: whether no request can be longer than the pool for windows either.
        page: tokens of a page.
        proven: whether a start of such a kind was compared with its log.
    """

    counted: float
    held: int
    window: int = 0
    ratio: float = 0.0
    window_tokens: int | None = None
    smallest_window: int | None = None
    cap_scale: float = 1.0
    shortens: bool = False
    page: int = 1
    proven: bool = True

    def tokens(self, gib: float, max_tokens: int | None) -> int:
        """Tokens that ``gib`` GiB hold, in whole pages; negative where the memory is."""
        fixed = self.window * (self.window_tokens or 0)
        tokens = int((int(gib * GIB) - fixed) // self.counted)
        if max_tokens is not None:
            tokens = min(tokens, int(max_tokens // self.page * self.page * self.cap_scale))
        return tokens // self.page * self.page

    def in_window(self, tokens: int) -> int | None:
        """Tokens of the pool for windows beside so many; None without one."""
        if not self.window:
            return None
        return int(tokens * self.ratio) // self.page * self.page if self.window_tokens is None else self.window_tokens

    def gib(self, tokens: int) -> float:
        """What so many tokens and the windows beside them take, in GiB."""
        return (tokens * self.held + (self.in_window(tokens) or 0) * self.window) / GIB

    def budget_gib(self, tokens: int) -> float:
        """The memory, in GiB, that was divided into so many tokens; up to one page more."""
        return (tokens * self.counted + self.window * (self.window_tokens or 0)) / GIB


def layout_of(
    shape: ModelShape,
    settings: Settings,
    version: str | None,
    *,
    chunk: int | None = None,
    card_mib: float | None = None,
) -> Layout | None:
    """How a model's KV cache is laid out on one card.

    Args:
        shape: of the model.
        settings: the flags.
        version: of SGLang; None for the newest.
        chunk: tokens of a prefill chunk in force; None if unknown.
        card_mib: memory of the card as ``nvidia-smi`` shows it; None if unknown.

    Returns:
        None where it is not determined.
    """
    attention, windows = shape.attention, shape.windows
    if attention is None or settings.kv_bytes_unknown:
        return None
    kv_bytes = settings.kv_bytes or shape.kv_bytes
    if shape.sparse is not None:
        return _sparse(shape.sparse, attention.layers, _Asked(settings, kv_bytes, version, chunk, card_mib))
    full = attention.values(settings.tp) * kv_bytes
    if windows is None:
        if shape.pooled is False and has_pool(shape.architecture, settings, version) is not False:
            return None  # one pool was seen, which does not tell what would be in two
        return Layout(full, full, page=settings.page)
    pooled = has_pool(shape.architecture, settings, version) if shape.pooled is None else shape.pooled
    if settings.windows_off:
        pooled = False
    if pooled is None:
        return None
    if not pooled:
        # Without the second pool every layer is taken to be one of full attention.
        cell = max(1, attention.heads // settings.tp) * attention.width * (attention.layers + windows.layers) * kv_bytes
        return Layout(cell, cell, page=settings.page)
    return _pooled(full, windows, _Asked(settings, kv_bytes, version, chunk, card_mib))


class _Asked(NamedTuple):
    """What ``layout_of`` was asked, with the bytes of one value."""

    settings: Settings
    kv_bytes: int
    version: str | None
    chunk: int | None
    card_mib: float | None


def _sparse(index: sparse.SparseIndex, layers: int, asked: _Asked) -> Layout | None:
    settings, kv_bytes, version = asked.settings, asked.kv_bytes, asked.version
    stored = sparse.latent_bytes(index, settings, kv_bytes, asked.card_mib)
    if stored is None:
        return None
    beside = sparse.index_bytes(index, layers, version)
    counted = sparse.counted_bytes(index, stored, kv_bytes, version)
    return Layout(
        counted * layers + beside,
        stored * layers + beside,
        page=max(settings.page, sparse.PAGE),
        # The published starts have one-byte values under 0.5.16 or older, the only case in which the two differ.
        proven=counted != stored,
    )


def _pooled(full: int, windows: WindowShape, asked: _Asked) -> Layout | None:
    settings, chunk = asked.settings, asked.chunk
    key = version_key(asked.version) if asked.version else (99,)
    window = windows.values(settings.tp) * asked.kv_bytes
    ratio = _WINDOW_RATIO if settings.window_ratio is None else settings.window_ratio
    checked = windows.tokens + settings.page if windows.tokens is not None and key >= (0, 5, 16) else None
    by_requests = key >= (0, 5, 14) and settings.radix_off and settings.requests is not None
    if by_requests and chunk is not None and (chunk > 0 or key < (0, 5, 21)):
        if windows.tokens is None or settings.algorithm is not None:
            return None
        tokens = _window_tokens(windows.tokens, settings, chunk)
        return Layout(full, full, window, window_tokens=tokens, page=settings.page)
    cell = full + ratio * window
    return Layout(
        cell,
        full,
        window,
        ratio,
        smallest_window=checked,
        # Up to 0.5.10 the limit holds before the memory is shared, as if all layers were equal.
        cap_scale=(full + window) / cell if key < (0, 5, 11) else 1.0,
        shortens=key < (0, 5, 11),
        page=settings.page,
        proven=key >= (0, 5, 11),
    )


def window_length(tokens: int, settings: Settings, chunk: int | None) -> int | None:
    """Length of the window by the pool that the requests sized; None where the ratio sized it."""
    if not settings.radix_off or not settings.requests or chunk is None:
        return None
    held = tokens - (1 if settings.overlap_off else 2) * chunk - settings.page
    window = held // max(1, settings.requests // settings.dp) - _EVICTED_EVERY - 2 * settings.page
    return window if window > 0 else None


def _window_tokens(window: int, settings: Settings, chunk: int) -> int:
    """Tokens of windows that the requests can hold at once, and the chunks that are on their way."""
    each = window + _EVICTED_EVERY + 2 * settings.page
    requests = max(1, (settings.requests or 1) // settings.dp)
    needed = each * requests + (1 if settings.overlap_off else 2) * chunk + settings.page
    return -(-needed // settings.page) * settings.page
