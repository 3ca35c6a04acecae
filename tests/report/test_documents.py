"""JSON by its schema, Markdown and SARIF as their readers need them."""

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sgdoctor.diagnosis.model import Evidence, State
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.report.json import as_data
from sgdoctor.report.markdown import as_markdown
from sgdoctor.report.safe import json_text
from sgdoctor.report.sarif import as_sarif
from sgdoctor.rules.base import load_rule_base
from tests.report.samples import TOKEN, verdict

UNKNOWN = verdict(state=State.UNDETERMINED, diagnoses=(), unexplained=Evidence(9, "ValueError: ``` who knows"))


@pytest.fixture(scope="module")
def schema() -> Any:
    return json.loads(resources.files("sgdoctor.report").joinpath("diagnose.schema.json").read_text("utf-8"))


def test_the_json_of_a_verdict_follows_the_published_schema(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    for of in (verdict(), UNKNOWN):
        data = json.loads(json.dumps(as_data(of, "some.log", "en"), allow_nan=False))

        jsonschema.validate(data, schema)


def test_the_json_of_real_logs_follows_the_published_schema(schema: Any, logs: Path) -> None:
    base = load_rule_base()
    for log in sorted((logs / "real").glob("*.log"))[::6]:
        for found in diagnose_bytes(log.read_bytes(), log.name, base):
            jsonschema.validate(json.loads(json.dumps(as_data(found, log.name, "zh"), allow_nan=False)), schema)


def test_the_contract_by_example() -> None:
    data = as_data(verdict(), "some.log", "en")

    assert data["engine"] == {"name": "sglang", "version": "0.5.15"}
    assert data["verdict"]["state"] == "failed"
    assert data["diagnoses"][0]["fixes"][0]["changes"][0] == {
        "kind": "flag.set",
        "name": "--mem-fraction-static",
        "value": "0.92",
    }
    assert data["diagnoses"][0]["evidence"][0]["line"] == 812
    assert data["diagnoses"][0]["consequences"][0] == {"rule": "SGL901", "title": "It was told to die", "line": 840}
    assert data["notices"][0]["severity"] == "benign"
    assert data["facts"]["weights_gib"] == 19.05
    assert data["facts"]["args_error.choices"] == ["a", "b"]
    assert data["facts"]["big"] is None
    assert data["phases"][0]["seconds"] == 13.3


def test_texts_are_in_the_language_asked_for() -> None:
    assert as_data(verdict(), "x", "zh")["diagnoses"][0]["title"] == "混合模型的状态缓存放不下"


@pytest.mark.parametrize(
    "write",
    [
        lambda redact: json.dumps(as_data(verdict(), "x", "en", redact=redact)),
        lambda redact: as_markdown(verdict(), "x", "en", redact=redact),
        lambda redact: json.dumps(as_sarif([("x", verdict())], "en", redact=redact)),
    ],
)
def test_secrets_are_hidden_in_every_format(write: Callable[[bool], str]) -> None:
    assert TOKEN not in write(True)
    assert "my-own-secret" not in write(True)
    assert TOKEN in write(False)


def test_markdown_keeps_log_text_in_code() -> None:
    page = as_markdown(verdict(), "some.log", "en")

    assert "> 812  RuntimeError: [bold red]x" in page
    assert "\\<b\\>" in page
    assert "@someone" not in page.split("```")[0]
    assert "1. Raise `--mem-fraction-static` to 0.92. (safe)" in page


def test_a_fence_in_the_log_cannot_close_the_block() -> None:
    page = as_markdown(UNKNOWN, "some.log", "en")

    assert "````text\n> 9  ValueError: ``` who knows\n````" in page


def test_sarif_has_what_code_hosts_ask_for() -> None:
    run = as_sarif([("logs/some.log", verdict()), ("/var/log/other one.log", UNKNOWN)], "en")["runs"][0]

    first, second = run["results"]
    location = first["locations"][0]["physicalLocation"]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "SGL402"
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == ("logs/some.log", 812)
    assert first["level"] == "error"
    assert second["ruleId"] == "unexplained"
    assert second["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///var/log/other%20one.log"


def test_json_is_harmless_to_a_terminal_and_still_the_same_data() -> None:
    document = {"name": "\x1b[31m \x7f \x9b1m \u202e \u200b \U000e0041 \udcff 显存"}

    text = json_text(document)

    assert text.replace("\n", "").isprintable()
    assert "显存" in text
    assert json.loads(text) == document
