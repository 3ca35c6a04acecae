"""Counted words: where a number is filled in before a plural, one of them has words of its own."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping

import sgdoctor

PLURAL = re.compile(r"\{(?:count|tries|starts|launches|rest)(?::,)?\} (?:[a-z]+ ){0,2}?[a-z]{2,}s\b")
TABLES = re.compile(r"\.(?:\w+_)?(?:messages|texts|words|wording)$")
# Never of one: what is told so is counted from two on, or is a number that is always large.
SEVERAL = {"added", "docs.written", "after.n", "report.count", "report.times", "search.more", "relaunches"} | {
    "history.process_stands"
}


def tables() -> Iterator[tuple[str, Mapping[str, tuple[str, str]]]]:
    for module in pkgutil.walk_packages(sgdoctor.__path__, "sgdoctor."):
        if TABLES.search(module.name):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, dict) and value and all(isinstance(pair, tuple) for pair in value.values()):
                    yield module.name, {key: pair for key, pair in value.items() if isinstance(pair[0], str)}


def test_one_thing_is_not_told_in_the_plural() -> None:
    seen, wrong = 0, []
    for module, table in tables():
        for key, (english, *_) in table.items():
            if key in SEVERAL or not PLURAL.search(english):
                continue
            seen += 1
            stem = key.removesuffix(".several")
            if not any(f"{stem}{end}" in table for end in (".one", "_one", "_once", "_first")):
                wrong.append((module, key))

    assert seen > 15
    assert wrong == []
