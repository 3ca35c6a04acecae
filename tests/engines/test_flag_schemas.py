"""The shipped schemas, those that a user adds, and look-ups as argparse does them."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from sgdoctor.engines.sglang.flags.model import Option, Schema
from sgdoctor.engines.sglang.flags.schemas import add, schema, versions
from sgdoctor.engines.sglang.history import load_history
from sgdoctor.errors import UserError
from sgdoctor.launch.model import Arity, FlagTable

NEWEST = load_history().versions[-1]


@pytest.mark.parametrize(
    ("asked", "version", "exact"),
    [
        ("0.5.15", "0.5.15", True),
        ("0.5.15.post1", "0.5.15.post1", True),
        ("0.5.6", "0.5.5", False),
        ("0.5.10", "0.5.9", False),
        ("0.3.0", "0.4.6.post5", False),
        ("9.9", NEWEST, False),
        (None, NEWEST, True),
    ],
)
def test_the_nearest_known_version(tmp_path: Path, asked: str | None, version: str, exact: bool) -> None:
    found = schema(asked, tmp_path)

    assert (version, exact) == (found.version, found.exact)


def test_counts_of_flags_of_released_versions() -> None:
    counts = {
        version: sum(not option.no_cli for option in schema(version).options)
        for version in ("0.4.6.post5", "0.5.2", "0.5.9")
    }

    # As many as `add_argument` is called in these versions.
    assert counts == {"0.4.6.post5": 145, "0.5.2": 210, "0.5.9": 331}


@pytest.mark.parametrize(
    ("flag", "arity"),
    [
        ("--model-path", Arity.ONE),
        ("--model", Arity.ONE),
        ("--trust-remote-code", Arity.NONE),
        ("--lora-paths", Arity.MANY),
        ("--cuda-graph-bs-decode", Arity.MANY),
        ("--mem-fraction", Arity.ONE),
        ("--cuda-graph-max-bs", Arity.ONE),
        ("--no-lora-strict-loading", Arity.NONE),
        ("--nothing-like-it", None),
        ("--", None),
        ("-", None),
    ],
)
def test_arity(flag: str, arity: Arity | None) -> None:
    table: FlagTable = schema("0.5.15")

    assert arity == table.arity(flag)


def test_names_are_found_by_alias_and_by_beginnings_that_fit_only_one() -> None:
    older, newer = schema("0.5.15"), schema("0.5.20")

    assert older.canonical("--model") == "--model-path"
    assert older.canonical("--mem-fraction") == "--mem-fraction-static"
    assert older.canonical("--unknown") == "--unknown"
    assert newer.canonical("--cuda-graph-max-bs") == "--cuda-graph-max-bs"
    assert newer.matches("--cuda-graph-max-bs") == ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill")
    assert newer.option("--cuda-graph-max-bs") is None


def test_fields_without_a_flag_are_no_flags() -> None:
    hidden = Schema("1", exact=True, options=(Option("--inner", "inner", no_cli=True), Option("--outer", "outer")))

    assert hidden.option("--inner") is None
    assert list(hidden.names) == ["--outer"]


def test_a_version_that_the_user_adds_is_used_from_then_on(tmp_path: Path) -> None:
    before = schema("0.5.99", tmp_path)
    file = add("0.5.99", (Option("--brand-new", "brand_new"),), tmp_path)
    after = schema("0.5.99", tmp_path)

    assert file == tmp_path / "0.5.99.json"
    assert not before.exact
    assert after.exact
    assert list(after.names) == ["--brand-new"]
    assert versions(tmp_path)[-1] == "0.5.99"
    assert schema(None, tmp_path).version == "0.5.99"


def test_a_version_of_the_user_counts_more_than_the_shipped_one(tmp_path: Path) -> None:
    add("0.5.15", (Option("--of-a-fork", "of_a_fork"),), tmp_path)

    assert list(schema("0.5.15", tmp_path).names) == ["--of-a-fork"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": "0.5.99", "options": [{}]}'])
def test_a_damaged_file_of_the_user_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "0.5.99.json").write_text(text)

    with pytest.raises(UserError, match=r"0\.5\.99\.json.*flags add"):
        schema("0.5.99", tmp_path)


def test_files_of_another_name_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")

    assert schema(None, tmp_path).version == NEWEST


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UserError, match="file"):
        add("0.5.99", (), tmp_path / "file" / "flags")


def _tool() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "flag_data.py"
    spec = importlib.util.spec_from_file_location("flag_data", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_short_history_follows_from_the_schemas() -> None:
    tool = _tool()
    derived = tool.history(list(tool.shipped().items()))

    assert json.loads((tool.DATA / "flag_history.json").read_text("utf-8")) == derived
