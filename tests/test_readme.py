"""The READMEs show what the program prints."""

import importlib.util
from types import ModuleType

import pytest

from tests.conftest import REPO


def readme_output() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme_output", REPO / "tools" / "readme_output.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_answer_shown_is_the_answer_given(name: str) -> None:
    assert readme_output().updated(name) == (REPO / name).read_text(encoding="utf-8")
