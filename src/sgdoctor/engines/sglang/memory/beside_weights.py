"""What lies on a card beside the weights when SGLang measures what is left for the pools.

Two things that no line of a log tells:

- The map of the experts of a mixture is made before "Load weight begin" (srt/eplb/expert_location.py, 0.5.9 to
  0.5.23).
- After "Load weight end" every table of sines and cosines is lengthened to the whole context, those of an image encoder
  too (``reserve_rope_cache_for_long_sequences`` of srt/utils/common.py, 0.5.9 to 0.5.23). How much memory that takes
  depends on the room that torch has in its blocks.
"""

from typing import Final

from sgdoctor.engines.sglang.memory.pools import GIB, MIB
from sgdoctor.engines.sglang.memory.prediction import Range, known
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import ModelShape, PositionTable
from sgdoctor.texts import Text

_MARGIN: Final = 256
"""Positions beyond the context: SGLANG_ROPE_CACHE_SAFETY_MARGIN."""
_ALIGN: Final = 128
"""What their sum is rounded up to: SGLANG_ROPE_CACHE_ALIGN."""
_TABLE_BYTES: Final = 4
_MAP_BYTES: Final = 8
# Sizes of torch's blocks: c10/cuda/CUDACachingAllocator.cpp, 2.5 to 2.11.
_OWN_BLOCK: Final = 10 * MIB
"""From this size on a tensor gets a block of its own, ..."""
_ROUNDED_TO: Final = 2 * MIB
"""... rounded up to this; a smaller one gets a place in a shared block, ..."""
_SHARED_BLOCK: Final = 20 * MIB
"""... of this size, or of 2 MiB up to a size of 1 MiB."""

_ROOM_UNKNOWN: Final = Text(
    "whether the tables of positions find room in memory that torch holds already is known only once the weights are "
    "loaded",
    "位置编码表能否放进 torch 已占用的显存，权重加载之后才知道",
)


def experts_gib(shape: ModelShape) -> float:
    """What the map of the experts takes, in GiB; 0 for a model without one."""
    if shape.experts is None:
        return 0.0
    size = shape.experts.layers * shape.experts.experts**2 * _MAP_BYTES
    if size <= MIB:
        return 0.0
    return (_own_block(size) if size >= _OWN_BLOCK else _SHARED_BLOCK) / GIB


def tables_gib(shape: ModelShape, settings: Settings) -> Range:
    """What the tables of positions take beyond what they took when the weights were loaded, in GiB."""
    context = settings.context or shape.context
    if context is None:
        return known(0.0)
    positions = -(-(context + _MARGIN) // _ALIGN) * _ALIGN
    total = known(0.0)
    for table in shape.tables:
        if positions > table.positions:
            total = total.plus(_lengthened(table, positions))
    return total


def _lengthened(table: PositionTable, positions: int) -> Range:
    """A table is copied into a longer one; the shorter one is freed after that."""
    row = table.width * _TABLE_BYTES
    size, freed = positions * row, table.positions * row
    if size < _OWN_BLOCK:
        return Range(0.0, _SHARED_BLOCK / GIB, _ROOM_UNKNOWN)
    return known((_own_block(size) - (_own_block(freed) if freed >= _OWN_BLOCK else 0)) / GIB)


def _own_block(size: int) -> int:
    return -(-size // _ROUNDED_TO) * _ROUNDED_TO
