"""Every fixture log gets the answer that is written beside it."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.logs.sources import open_log
from sgdoctor.rules.base import RuleBase, load_rule_base
from tests.conftest import LOGS

ALL = sorted(LOGS.glob("*/*.log"), key=lambda path: path.name)


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base()


def answers(log: Path, base: RuleBase) -> list[Verdict]:
    with open_log(str(log)) as source:
        return diagnose_bytes(source.data, source.name, base, all_attempts=True)


def expectation(log: Path) -> dict[str, Any]:
    loaded = yaml.safe_load(log.with_name(f"{log.stem}.expect.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


@pytest.mark.parametrize("log", ALL, ids=lambda path: path.stem)
def test_log_gets_the_expected_answer(log: Path, base: RuleBase) -> None:
    expected = expectation(log)
    verdicts = answers(log, base)
    newest = verdicts[-1]
    root = newest.diagnoses[0] if newest.diagnoses else None
    actual: dict[str, Any] = {"state": newest.state.value, "attempts": len(verdicts), "root": root and root.rule.name}
    if "fix" in expected:
        actual["fix"] = root.fixes[0].id if root and root.fixes else None
    if "evidence" in expected:
        first = root.evidence[0].text if root else newest.unexplained.text if newest.unexplained else ""
        actual["evidence"] = expected["evidence"] if expected["evidence"] in first else first

    assert {"attempts": 1, "root": None} | {key: value for key, value in expected.items() if key != "why"} == actual


def test_every_log_has_an_expectation_and_every_expectation_a_log() -> None:
    logs = {path.with_suffix("") for path in LOGS.glob("*/*.log")}
    expectations = {path.with_suffix("").with_suffix("") for path in LOGS.glob("*/*.expect.yaml")}

    assert logs == expectations


def composer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("composed_make", LOGS / "composed" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_composed_logs_are_what_their_script_writes() -> None:
    make = composer()
    written = {name: make.content(name) for name in make.LOGS}
    there = {path.stem: path.read_bytes() for path in (LOGS / "composed").glob("*.log")}

    assert written == there
