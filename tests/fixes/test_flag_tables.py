"""Which version a launch was written for, by its flags alone."""

import pytest

from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.names import unknown_flag
from sgdoctor.fixes.flag_tables import likeliest
from sgdoctor.launch.flag_edits import Given
from sgdoctor.launch.model import Problem
from tests.fixes.samples import words


@pytest.mark.parametrize(
    ("flags", "version"),
    [
        ("--model-path x", "0.5.23"),
        ("--model-path x --enable-ep-moe", "0.5.3.post3"),
        ("--model-path x --mamba-scheduler-strategy no_buffer", "0.5.13"),
    ],
)
def test_flags_that_no_version_has_decide_nothing(flags: str, version: str) -> None:
    assert version == likeliest(words(flags), {}).version
    assert version == likeliest(words(f"--nobody-has 1 2 {flags} --nor-this=3 --nor_that"), {}).version


def test_flags_that_no_version_has_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(given: Given, table: Schema) -> Problem:
        asked.append(given.flag)
        return unknown_flag(given, table)

    monkeypatch.setattr("sgdoctor.engines.sglang.flags.check.unknown_flag", counted)
    likeliest(words("--model-path x --nobody-has 1 --model-pth y"), {})

    assert [] == asked
