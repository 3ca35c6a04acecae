"""The stand-in for transformers, which in the image lies beside the stand-in for the engine."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent / "engine"


@pytest.fixture(autouse=True)
def stand_in_for_transformers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have `transformers` be the stand-in, for one test."""
    _forget()
    monkeypatch.syspath_prepend(ENGINE)
    yield
    _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "transformers"]:
        del sys.modules[name]
