"""Generated pages are those that the rules of today give."""

import importlib.util
from pathlib import Path

import pytest

from sgdoctor.cli.main import main
from tests.conftest import REPO


def test_rule_pages_are_up_to_date(tmp_path: Path) -> None:
    assert main(["rules", "docs", str(tmp_path)]) == 0
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    there = {path.name: path.read_text(encoding="utf-8") for path in (REPO / "docs" / "rules").iterdir()}

    assert sorted(written) == sorted(there)
    assert [name for name in written if written[name] != there[name]] == [], "run `make docs`"


@pytest.mark.parametrize(
    ("tool", "page"),
    [
        ("key_tables", "docs/watch.md"),
        ("key_tables", "docs/watch.zh.md"),
        ("fix_output", "docs/fix.md"),
        ("fix_output", "docs/fix.zh.md"),
    ],
)
def test_pages_show_what_the_program_has_and_prints(tool: str, page: str) -> None:
    spec = importlib.util.spec_from_file_location(tool, REPO / "tools" / f"{tool}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.updated(page) == (REPO / page).read_text(encoding="utf-8"), "run `make docs`"
