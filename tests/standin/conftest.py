"""The stand-in for transformers, which in the image lies beside the stand-in for the engine."""

import sys
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent / "engine"


@pytest.fixture(autouse=True)
def stand_in_for_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `transformers` be the stand-in."""
    monkeypatch.syspath_prepend(ENGINE)
    for name in ("transformers", "transformers.configuration_utils"):
        monkeypatch.delitem(sys.modules, name, raising=False)
