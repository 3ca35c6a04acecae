"""What fixes tell people to write on the command line, against the command lines of all known versions."""

import re
from collections.abc import Iterator

import pytest
from packaging.specifiers import SpecifierSet

from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.schemas import schema, versions
from sgdoctor.rules.loading import load_rules
from sgdoctor.rules.locate import built_in_dir
from sgdoctor.rules.schema import FixModel, RuleModel

_QUOTED = re.compile(r"`([^`]+)`")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9](?![\w-])")


@pytest.fixture(scope="module")
def schemas() -> list[Schema]:
    return [schema(version) for version in versions()]


@pytest.fixture(scope="module")
def rules() -> list[RuleModel]:
    return [source.model for source in load_rules(built_in_dir(), ()).sources]


def _claimed(rule: RuleModel, fix: FixModel, schemas: list[Schema]) -> list[Schema]:
    """The versions that a fix is offered for."""
    specs = [(asked or {}).get("sglang", "") for asked in (rule.applies.versions, fix.versions)]
    return [one for one in schemas if all(SpecifierSet(spec).contains(one.version, prereleases=True) for spec in specs)]


def refused(rule: RuleModel, schemas: list[Schema]) -> Iterator[tuple[str, str, str, str]]:
    """Values of changes that a version takes the flag for, but not the value."""
    for fix in rule.fixes:
        for change in fix.changes:
            if change.kind != "flag.set" or change.value is None or "{" in change.name + change.value:
                continue
            for one in _claimed(rule, fix, schemas):
                option = one.option(change.name)
                if option is not None and option.choices and change.value not in option.choices:
                    yield fix.id, change.name, change.value, one.version


def ambiguous(rule: RuleModel, schemas: list[Schema]) -> set[str]:
    """Flags that a rule shortens in a way in which some version finds several."""
    texts = [rule.title, rule.cause, *(text for fix in rule.fixes for text in (fix.summary, fix.effect) if text)]
    named = {flag for text in texts for quoted in _QUOTED.findall(text.en) for flag in _FLAG.findall(quoted)}
    named |= {change.name for fix in rule.fixes for change in fix.changes if change.kind.startswith("flag.")}
    # A name that was a whole flag once is told as such: "before 0.5.14 `--cuda-graph-max-bs`".
    whole = {flag for flag in named for one in schemas if flag in one.names}
    return {flag for flag in named - whole for one in schemas if len(one.matches(flag)) > 1}


def test_a_fix_sets_only_values_that_its_versions_take(rules: list[RuleModel], schemas: list[Schema]) -> None:
    wrong = [(rule.id, *what) for rule in rules if "vllm" not in rule.engine[:1] for what in refused(rule, schemas)]

    assert wrong == []


def test_no_rule_shortens_a_flag_to_the_beginning_of_several(rules: list[RuleModel], schemas: list[Schema]) -> None:
    wrong = {rule.id: sorted(flags) for rule in rules if (flags := ambiguous(rule, schemas))}

    assert wrong == {}


def _rule(summary: str, changes: list[dict[str, object]], **fix: object) -> RuleModel:
    text = {"en": "x", "zh": "x"}
    return RuleModel.model_validate(
        {
            "id": "SGL999",
            "name": "made-up",
            "severity": "fatal",
            "match": {"literals": ["some text"]},
            "title": text,
            "cause": text,
            "fixes": [
                {"id": "one", "summary": {"en": summary, "zh": "x"}, "safety": "manual", "changes": changes, **fix}
            ],
        }
    )


def test_a_value_of_another_version_is_found(schemas: list[Schema]) -> None:
    change: dict[str, object] = {"flag.set": {"name": "--reasoning-parser", "value": "nemotron_3"}}

    assert {version for *_, version in refused(_rule("x", [change]), schemas)} >= {"0.5.2", "0.5.9"}
    assert not list(refused(_rule("x", [change], versions={"sglang": ">=0.5.10"}), schemas))


@pytest.mark.parametrize(
    ("summary", "found"), [("Use `--pp 3`.", {"--pp"}), ("Use `--pp-size 3` and `--tp 2`.", set()), ("--pp 3", set())]
)
def test_a_shortened_flag_is_found(summary: str, found: set[str], schemas: list[Schema]) -> None:
    assert ambiguous(_rule(summary, []), schemas) == found
