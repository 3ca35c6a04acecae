"""Headers of safetensors files: what a file holds, and whether it is whole. No weight is ever read.

A header comes from the internet: its size, its nesting and the number of its entries are bounded before it is decoded.
"""

import json
import math
import os
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

LARGEST_HEADER: Final = 64 << 20
"""Bytes. The format allows 100 MB; a hundred thousand tensors take about 15."""
_MOST_VALUES: Final = 6_000_000
"""Commas and colons of a header, which bound the objects that decoding it makes; a tensor has about ten."""
_METADATA: Final = "__metadata__"
_EACH: Final = b'"data_offsets"'
_BITS: Final = {
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}


class HeaderError(ValueError):
    """A file without a header that holds; the message says what is wrong with it."""


class Tensor(NamedTuple):
    """One tensor of a file.

    Attributes:
        dtype: as the format names it, such as ``BF16``.
        shape: its dimensions.
        begin: of its bytes, counted behind the header.
        end: behind them.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Header(NamedTuple):
    """The header of one file.

    Attributes:
        tensors: by name.
        start: offset in the file at which the tensors start.
    """

    tensors: dict[str, Tensor]
    start: int

    @property
    def data_bytes(self) -> int:
        """Bytes of all tensors."""
        return max((tensor.end for tensor in self.tensors.values()), default=0)

    @property
    def file_bytes(self) -> int:
        """Size of the whole file."""
        return self.start + self.data_bytes


def read_header(file: Path) -> Header:
    """The header of ``file``, checked as the loader of the format checks it.

    Raises:
        HeaderError: it is no safetensors file, or its header contradicts itself.
        OSError: the file cannot be read.
    """
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        length = int.from_bytes(stream.read(8), "little")
        if not 1 < length <= LARGEST_HEADER or 8 + length > size:
            raise HeaderError("no safetensors header")
        raw = stream.read(length)
    return Header(_tensors(raw), 8 + length)


def _tensors(raw: bytes) -> dict[str, Tensor]:
    if not raw.startswith(b"{"):
        raise HeaderError("no safetensors header")
    if raw.count(b",") + raw.count(b":") > _MOST_VALUES:
        raise HeaderError("more entries than any model has")
    try:
        decoded = json.loads(raw)
    except RecursionError as error:
        raise HeaderError("nested too deeply") from error
    except ValueError as error:
        raise HeaderError(str(error)) from error
    tensors = {name: _tensor(name, entry) for name, entry in decoded.items() if name != _METADATA}
    # Of a name that stands twice only the last entry is left; inside of a name the quotes would be escaped.
    if raw.count(_EACH) > len(tensors):
        raise HeaderError("a name stands twice in its header")
    end = 0
    # The loader refuses gaps and overlaps: safetensors/src/tensor.rs `Metadata::validate`.
    for tensor in sorted(tensors.values(), key=itemgetter(2, 3)):
        if tensor.begin != end:
            raise HeaderError("offsets of its tensors overlap or leave gaps")
        end = tensor.end
    return tensors


def _tensor(name: str, entry: Any) -> Tensor:
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        whole = {int}.issuperset(map(type, (begin, end, *shape)))
    except (KeyError, TypeError, ValueError):
        raise HeaderError(f"no description of a tensor: {name[:80]}") from None
    if not whole or not isinstance(dtype, str) or not isinstance(shape, list):
        raise HeaderError(f"no description of a tensor: {name[:80]}")
    if not 0 <= begin <= end < 1 << 63 or (shape and not 0 <= min(shape) <= max(shape) < 1 << 48):
        raise HeaderError(f"no place in the file: {name[:80]}")
    bits = _BITS.get(dtype)
    if bits is not None and math.prod(shape) * bits != (end - begin) * 8:
        raise HeaderError(f"size and shape disagree: {name[:80]}")
    return Tensor(dtype, tuple(shape), begin, end)
