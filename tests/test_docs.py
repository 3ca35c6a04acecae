"""Generated pages are those that the rules of today give; every page is there in both languages, and its links lead on."""

import importlib.util
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.cli.main import main
from tests.conftest import REPO

SCHEMAS = REPO / "src" / "sgdoctor" / "report"
# A record of one measurement is kept in one language.
IN_ENGLISH_ONLY = {"gpu-check.md"}
PAGES = [REPO / "README.md", REPO / "CONTRIBUTING.md", *sorted((REPO / "docs").glob("*.md"))]
ENGLISH = [page for page in PAGES if not page.name.endswith(".zh.md") and page.name not in IN_ENGLISH_ONLY]
EVERY_PAGE = sorted({*PAGES, *(REPO.glob("*.zh.md"))})


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


def _chinese(page: Path) -> Path:
    return page.with_name(f"{page.stem}.zh.md")


def _lines(page: Path) -> list[str]:
    return page.read_text(encoding="utf-8").splitlines()


def _prose(page: Path) -> Iterator[str]:
    """The lines of a page that stand in no block of code."""
    inside = False
    for line in _lines(page):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield line


def _headings(page: Path) -> list[str]:
    return [line for line in _prose(page) if re.match(r"#{1,6} ", line)]


def _tables(page: Path) -> list[list[str]]:
    rows = groupby(_prose(page), key=lambda line: line.startswith("|"))
    return [list(lines) for in_table, lines in rows if in_table]


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    anchors = set()
    for heading in _headings(page):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip())
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = found[slug] = found.get(slug, -1) + 1
        anchors.add(f"{slug}-{number}" if number else slug)
    return anchors


def _links(page: Path) -> list[str]:
    """The targets of all links of a page but those that lead into the web."""
    text = re.sub(r"`[^`\n]*`", "", "\n".join(_prose(page)))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]


def _keys(row: str) -> list[str]:
    """What stands as code in the first cell of a row."""
    return re.findall(r"`([^`]+)`", row.split("|")[1])


def _is_missing(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return not target.exists() or bool(anchor and anchor not in _anchors(target))


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.name)
def test_a_page_is_built_alike_in_both_languages(page: Path) -> None:
    chinese = _chinese(page)
    shapes = [
        {
            "headings": [len(heading.partition(" ")[0]) for heading in _headings(one)],
            "rows of the tables": [len(table) for table in _tables(one)],
            "lines of code fences": sum(line.lstrip().startswith("```") for line in _lines(one)),
        }
        for one in (page, chinese)
    ]

    assert shapes[0] == shapes[1]
    assert f"[中文]({chinese.name})" in "\n".join(_lines(page)[:5])
    assert f"[English]({page.name})" in "\n".join(_lines(chinese)[:5])


def test_no_chinese_page_stands_alone() -> None:
    assert {page.name for page in EVERY_PAGE if page.name.endswith(".zh.md")} == {
        _chinese(page).name for page in ENGLISH
    }


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in _links(page) if _is_missing(page, link)] == []


@pytest.mark.parametrize("page", ENGLISH, ids=lambda page: page.name)
def test_chinese_pages_lead_to_chinese_pages(page: Path) -> None:
    chinese = _chinese(page)
    known = {one.resolve() for one in ENGLISH if one != page}

    assert [link for link in _links(chinese) if (chinese.parent / link.partition("#")[0]).resolve() in known] == []


@pytest.mark.parametrize("name", ["json-output", "facts"])
def test_both_languages_list_the_same_keys(name: str) -> None:
    page = REPO / "docs" / f"{name}.md"
    listed = [[_keys(row) for table in _tables(one) for row in table] for one in (page, _chinese(page))]

    assert any(listed[0])
    assert listed[0] == listed[1]


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a part of a schema allows: itself, or what it refers to, or its alternatives."""
    if "$ref" in node:
        file, _, pointer = node["$ref"].partition("#/")
        document = json.loads((SCHEMAS / file).read_text("utf-8")) if file else schema
        target = document
        for step in pointer.split("/"):
            target = target[step]
        yield from _resolved(document, target)
    elif "oneOf" in node and "properties" not in node:
        for one in node["oneOf"]:
            yield from _resolved(schema, one)
    else:
        yield {**node, "$document": schema}


def _has(node: dict[str, Any], steps: list[str]) -> bool:
    """Whether a path such as ``diagnoses[]``, ``evidence`` is one of a schema."""
    if not steps:
        return True
    name, is_list = steps[0].removesuffix("[]"), steps[0].endswith("[]")
    for one in _resolved(node["$document"], node.get("properties", {}).get(name, {"absent": True})):
        if "absent" in one:
            return False
        inner = _resolved(one["$document"], one["items"]) if is_list else iter([one])
        if any(_has(each, steps[1:]) for each in inner):
            return True
    return False


def test_the_keys_of_json_output_are_those_of_the_schemas() -> None:
    places = [
        ("diagnose", "answer"),
        ("fix", "answer"),
        ("preflight", "answer"),
        ("relaunch", "relaunch"),
        ("history", ""),
        ("heal", ""),
    ]
    tables = [table for table in _tables(REPO / "docs" / "json-output.md") if table[0].startswith("| key |")]

    assert len(tables) == len(places)
    for (name, part), table in zip(places, tables, strict=True):
        document = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
        root = {**(document["$defs"][part] if part else document), "$document": document}
        keys = [key for row in table for key in _keys(row)]
        assert [key for key in keys if not _has(root, key.split("."))] == [], name
        assert {re.split(r"[.\[]", key)[0] for key in keys} == set(root["properties"]) - {"schema"}, name
