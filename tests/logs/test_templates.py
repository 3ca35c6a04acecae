"""Shapes of lines: the same for two lines of one statement, and what of a line never changes."""

import pytest

from sgdoctor.logs.templates import constant_parts, template_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Load weight end. elapsed=13.30 s, mem usage=18.68 GB.", "Load weight end. elapsed=7 s, mem usage=3.01 GB."),
        ("bs=[1, 2, 4, 8], avail mem=1.48 GB", "bs=[1], avail mem=12 GB"),
        ("Uvicorn running on http://0.0.0.0:30000", "Uvicorn running on http://127.0.0.1:8000"),
        ("reading /models/a/config.json", "reading /opt/b.json"),
        ("parser 'qwen3' found", 'parser "glm45" found'),
        ("process 0x7f12ab died", "process 0x1 died"),
    ],
)
def test_what_changes_is_not_part_of_the_shape(one: str, other: str) -> None:
    assert template_of(one) == template_of(other)


def test_words_are() -> None:
    assert template_of("Load weight begin. avail mem=3 GB") != template_of("Load weight end. avail mem=3 GB")


def test_the_longest_constant_part_comes_first() -> None:
    text = "ValueError: 'abc' is already used by a Transformers config, pick another of 17 names."

    assert constant_parts(text) == ["is already used by a Transformers config, pick another of", "ValueError"]
    assert constant_parts("12 of 14") == []
