"""Size of a model's weights by the headers of its files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sgdoctor.engines.sglang.memory.pools import GIB
from sgdoctor.engines.sglang.memory.safetensors import HeaderError, read_header

INDEX: Final = "model.safetensors.index.json"
"""Which file of a model holds which tensor."""


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
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        names = {name for name in index["weight_map"].values() if isinstance(name, str) and "/" not in name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        names = set()
    named = [folder / name for name in sorted(names)]
    yield from [file for file in named if file.is_file()] or sorted(folder.glob("*.safetensors"))


def _tensor_bytes(file: Path) -> int:
    try:
        return read_header(file).data_bytes
    except (OSError, HeaderError) as error:
        raise WeightsError(f"{file.name}: {error}") from error
