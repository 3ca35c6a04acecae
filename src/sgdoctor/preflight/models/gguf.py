"""The head of a GGUF file: what the model is called, how large it is, whether the file is whole.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

_MAGIC: Final = b"GGUF"
_MOST_TENSORS: Final = 200_000
_MOST_KEYS: Final = 4096
_LARGEST_HEAD: Final = 128 << 20
"""Bytes; a vocabulary of 260,000 tokens takes about 10 MB."""
_LONGEST_KEPT: Final = 1 << 20
"""Longer texts are passed over; a chat template has a few thousand characters."""
_DEFAULT_ALIGNMENT: Final = 32
_NUMBERS: Final = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT: Final = 8
_ARRAY: Final = 9
# Values and bytes of one block, by ggml type: ggml/include/ggml.h, ggml-common.h.
_BLOCKS: Final = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}


class GgufError(ValueError):
    """A file that is no GGUF file; the message says why."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """The head of a GGUF file.

    Attributes:
        name: of the file.
        size: of the file, in bytes.
        values: numbers and texts of its metadata, by key; arrays are passed over.
        tensors: how many it has.
        needs: bytes that the file should have at least; None where a type of tensor is not known.
        problem: why it cannot be read; empty if it can.
    """

    name: str
    size: int
    values: Mapping[str, Any] = field(default_factory=dict)
    tensors: int = 0
    needs: int | None = None
    problem: str = ""

    @property
    def short(self) -> bool:
        """Whether the file ends before its last tensor."""
        return self.needs is not None and self.size < self.needs


def read_gguf(file: Path) -> Gguf:
    """The head of a file; what is wrong with it stands in ``problem``."""
    size = 0
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            return _read(stream, file.name, size)
    except OSError as error:
        return Gguf(file.name, size, problem=error.strerror or "cannot be read")
    except (GgufError, struct.error) as error:
        return Gguf(file.name, size, problem=str(error))


class _Place(NamedTuple):
    """Where a tensor lies behind the head, and its size in bytes; None where its type is not known."""

    offset: int
    size: int | None


def _read(stream: BinaryIO, name: str, size: int) -> Gguf:
    head = _Head(stream)
    if head.take(4) != _MAGIC:
        raise GgufError("no GGUF header")
    version = head.number("<I")
    if version not in (2, 3):
        raise GgufError(f"version {version} of the format")
    tensors, keys = head.number("<Q"), head.number("<Q")
    if tensors > _MOST_TENSORS or keys > _MOST_KEYS:
        raise GgufError("more entries than any model has")
    values = {}
    for _ in range(keys):
        key = head.text()
        value = head.value(head.number("<I"))
        if value is not None:
            values[key] = value
    places = [_place(head) for _ in range(tensors)]
    alignment = values.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
        raise GgufError("alignment out of range")
    start = -(-head.at // alignment) * alignment
    ends = [None if place.size is None else place.offset + place.size for place in places]
    known = [end for end in ends if end is not None]
    needs = start + max(known, default=0) if len(known) == len(ends) else None
    return Gguf(name, size, values, tensors, needs)


def _place(head: "_Head") -> _Place:
    head.text()
    dimensions = head.number("<I")
    if dimensions > 8:
        raise GgufError("a tensor of more than eight dimensions")
    count = math.prod(head.number("<Q") for _ in range(dimensions))
    block = _BLOCKS.get(head.number("<I"))
    offset = head.number("<Q")
    return _Place(offset, None if block is None else -(-count // block[0]) * block[1])


class _Head:
    """Reads the head of a file, up to a bound."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.at = 0

    def take(self, count: int) -> bytes:
        self.at += count
        if count < 0 or self.at > _LARGEST_HEAD:
            raise GgufError("a header larger than any model has")
        found = self._stream.read(count)
        if len(found) < count:
            raise GgufError("ends within its header")
        return found

    def number(self, form: str) -> int:
        found: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return found

    def text(self) -> str:
        return self.take(self.number("<Q")).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A number or a text; None for what is passed over."""
        if kind == _TEXT:
            found = self.text()
            return found if len(found) <= _LONGEST_KEPT else None
        if kind == _ARRAY:
            self._pass_array(0)
            return None
        return self.number(self._form(kind))

    def _form(self, kind: int) -> str:
        if kind not in _NUMBERS:
            raise GgufError(f"a value of type {kind}")
        return _NUMBERS[kind]

    def _pass_array(self, depth: int) -> None:
        kind, count = self.number("<I"), self.number("<Q")
        if depth > 4 or count > _LARGEST_HEAD:
            raise GgufError("an array larger than any model has")
        if kind == _TEXT:
            for _ in range(count):
                self.take(self.number("<Q"))
        elif kind == _ARRAY:
            for _ in range(count):
                self._pass_array(depth + 1)
        else:
            self.take(count * struct.calcsize(self._form(kind)))
