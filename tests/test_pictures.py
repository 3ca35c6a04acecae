"""The pictures of the documentation show what the app draws today."""

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from tests.conftest import REPO


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", REPO / "tools" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up by name.
    sys.modules["pictures"] = module
    spec.loader.exec_module(module)
    return module


PICTURES = load()


@pytest.mark.parametrize("name", PICTURES.PICTURES)
def test_a_picture_says_what_the_app_says(name: str) -> None:
    there = (REPO / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")

    assert PICTURES.words(PICTURES.draw(name)) == PICTURES.words(there), "run `make docs`"


def test_no_picture_is_left_over_and_none_needs_the_network() -> None:
    files = sorted((REPO / "docs" / "images").iterdir())

    assert {path.name for path in files} == {f"{name}.svg" for name in PICTURES.PICTURES}
    for path in files:
        svg = path.read_text(encoding="utf-8")
        assert "url(http" not in svg
        assert re.findall(r'href="', svg) == []


def test_text_is_as_wide_as_its_cells_and_begins_where_it_stands() -> None:
    before = '<text class="terminal-9-r1" x="12.2" y="20" textLength="48.8" clip-path="u">&#160;日志&#160;</text>'

    after = PICTURES.tidied(before)

    assert after == '<text class="t-r1" x="24.4" y="20" textLength="48.8" clip-path="u">日志</text>'
