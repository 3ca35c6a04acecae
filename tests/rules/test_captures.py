"""Named groups as typed values."""

import pytest

from sgdoctor.rules.captures import read, typed
from sgdoctor.rules.model import Capture


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "-2", -2),
        ("int", "1,234", 1234),
        ("int", "1.5", None),
        ("int", "9" * 5000, None),
        ("float", "0.88", 0.88),
        ("float", "nan", None),
        ("float", "1e999", None),
        ("gib", "18.5", 18.5),
        ("gib", "512 MB", 0.5),
        ("gib", "512.00 MiB", 0.5),
        ("gib", "1 TB", 1024.0),
        ("mib", "2 GiB", 2048.0),
        ("mib", "64", 64.0),
        ("bytes", "1 KiB", 1024),
        ("bytes", "33030144", 33030144),
        ("gib", "much", None),
        ("seconds", "1:30", 90.0),
        ("seconds", "1:00:01", 3601.0),
        ("seconds", "300 seconds", 300.0),
        ("seconds", "250ms", 0.25),
        ("seconds", "1.5 min", 90.0),
        ("seconds", "soon", None),
        ("flag", "--mem-fraction-static", "--mem-fraction-static"),
        ("flag", "--x; rm -rf /", None),
        ("flag", "-x", None),
        ("version", "0.5.14.post1", "0.5.14.post1"),
        ("version", "12.8", "12.8"),
        ("version", "$(reboot)", None),
        ("str", "a\x1b[31mb", "a [31mb"),
        ("path", "/models/\nx", "/models/ x"),
        ("str", "\x00", None),
    ],
)
def test_read(kind: str, text: str, expected: object) -> None:
    assert expected == read(kind, text)


def test_values_out_of_their_bounds_and_absent_groups_are_dropped() -> None:
    captures = {"slots": Capture("int", min=0, max=4096), "left": Capture("gib", min=0)}

    assert typed(captures, {"slots": "7", "left": "0.5 GB", "other": "x"}) == {"slots": 7, "left": 0.5, "other": "x"}
    assert typed(captures, {"slots": "-2", "left": None}) == {}
    assert typed(captures, {"slots": "5000"}) == {}


def test_long_texts_are_cut() -> None:
    assert len(str(read("str", "x" * 4000))) == 200
    assert read("str", "x" * 5000) is None
