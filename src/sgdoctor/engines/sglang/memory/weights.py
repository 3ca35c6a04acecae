"""Size of a model's weights by the headers of its files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from sgdoctor.engines.sglang.memory.pools import GIB

_LARGEST_HEADER: Final = 100 << 20
"""The format allows no larger header (safetensors, `MAX_HEADER_SIZE`)."""
_INDEX: Final = "model.safetensors.index.json"


class WeightsError(ValueError):
    """A file that is not what it claims to be; the message names it."""


def weights_of(folder: Path) -> float | None:
    """Size of the weights in ``folder`` in GiB, read from the headers of its safetensors files alone.

    The files that the index names count; without an index, or where it cannot be read, all of the folder.

    Returns:
        None where there is no safetensors file.

    Raises:
        WeightsError: a header cannot be read.
    """
    files = list(_files(folder))
    return sum(_tensor_bytes(file) for file in files) / GIB if files else None


def _files(folder: Path) -> Iterator[Path]:
    try:
        index = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
        names = {name for name in index["weight_map"].values() if isinstance(name, str) and "/" not in name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        names = set()
    named = [folder / name for name in sorted(names)]
    yield from [file for file in named if file.is_file()] or sorted(folder.glob("*.safetensors"))


def _tensor_bytes(file: Path) -> int:
    """Bytes of all tensors of one file: the end of the last one."""
    try:
        with file.open("rb") as stream:
            header = _header(stream)
        return max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise WeightsError(f"{file.name}: {error}") from error


def _header(stream: BinaryIO) -> dict[str, dict[str, list[int]]]:
    length = int.from_bytes(stream.read(8), "little")
    if not 0 < length <= _LARGEST_HEADER:
        raise ValueError("no safetensors header")
    header = json.loads(stream.read(length))
    if not isinstance(header, dict):
        raise ValueError("no safetensors header")  # noqa: TRY004 - wrong content of a file, not a wrong type in code
    return header
