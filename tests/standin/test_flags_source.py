"""The flags that are read out of the image are those of the version."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgdoctor.engines.sglang.flags.extract import extract
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.engines.sglang.flags.sources import FileSources
from tests.standin.flags_source import with_flags

STUB = Path(__file__).parent / "engine" / "sglang" / "srt" / "server_args.py"


@pytest.mark.parametrize("version", ["0.5.9", "0.5.15", "0.5.23"])
def test_flags_are_read_back(version: str) -> None:
    flags = schema(version)
    files = {
        "sglang/srt/server_args.py": with_flags(STUB.read_text(), flags),
        "sglang/version.py": f'__version__ = "{version}"',
    }

    found = extract(FileSources(files))

    assert version == found.version
    # A successor of two flags at once cannot be told in a help text.
    expected = [replace(option, replaced_by="") for option in flags.options if not option.no_cli]
    assert expected == [replace(option, replaced_by="") for option in found.options]
