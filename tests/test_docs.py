"""Generated pages are those that the rules of today give."""

from pathlib import Path

from sgdoctor.cli.main import main
from tests.conftest import REPO


def test_rule_pages_are_up_to_date(tmp_path: Path) -> None:
    assert main(["rules", "docs", str(tmp_path)]) == 0
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    there = {path.name: path.read_text(encoding="utf-8") for path in (REPO / "docs" / "rules").iterdir()}

    assert sorted(written) == sorted(there)
    assert [name for name in written if written[name] != there[name]] == [], "run `make docs`"
