"""Version ranges against exact versions and against bounds."""

import pytest

from sgdoctor.engines.base import Fact
from sgdoctor.rules.versions import applies


@pytest.mark.parametrize(
    ("versions", "version", "expected"),
    [
        (">=0.5.13", "0.5.15", True),
        (">=0.5.13", "0.5.12", False),
        (">=0.5.13,<0.5.15", "0.5.15", False),
        ("==0.5.14", "0.5.14.post1", False),
        ("==0.5.*", "0.5.14.post1", True),
        (">=0.5.10", "0.5.10rc1", False),
        (">=0.5.9", "0.5.10rc1", True),
        (">=0.5.13", "0.0.0.dev1+gabc", True),
        (">=0.5.13", "nonsense", True),
    ],
)
def test_exact_versions(versions: str, version: str, expected: bool) -> None:
    facts = {"version": Fact("version", version, 1)}

    assert expected == applies({"sglang": versions}, facts)


@pytest.mark.parametrize(
    ("versions", "low", "high", "expected"),
    [
        (">=0.5.13", "0.5.10", "0.5.14", True),
        (">=0.5.13", "0.5.10", "0.5.12", False),
        (">0.5.12", "0.5.10", "0.5.12", False),
        ("<0.5.10", "0.5.10", "0.5.12", False),
        ("<=0.5.10", "0.5.10", "0.5.12", True),
        ("==0.5.11", "0.5.10", "0.5.12", True),
        ("==0.5.13", "0.5.10", "0.5.12", False),
        ("==0.5.*", "0.4.9", "0.5.2", True),
        ("==0.4.*", "0.5.1", "0.5.2", False),
        ("~=0.5.3", "0.6.0", "0.7.0", False),
        ("!=0.5.11", "0.5.10", "0.5.12", True),
        (">=0.5.13,<0.5.14", "0.5.14", "0.5.20", False),
        (">=0.5.13", None, "0.5.12", False),
        (">=0.5.13", "0.5.2", None, True),
        ("<0.5.2", "0.5.2", None, False),
    ],
)
def test_bounds(versions: str, low: str | None, high: str | None, expected: bool) -> None:
    facts = {"version_min": low, "version_max": high}

    assert expected == applies({"sglang": versions}, facts)


def test_what_is_unknown_never_excludes() -> None:
    assert applies(None, {})
    assert applies({"sglang": ">=99"}, {})
    assert applies({"torch": ">=99"}, {"version": "0.5.15"})
    assert not applies({"torch": ">=99", "sglang": ">=0.5"}, {"version": "0.5.15", "torch_version": "2.9.1+cu128"})
