"""What authors are told beyond the schema."""

from pathlib import Path

import pytest

from sgdoctor.rules.checking import check
from sgdoctor.rules.conditions import names_in
from sgdoctor.rules.hazards import hazards
from sgdoctor.rules.loading import load_file
from sgdoctor.rules.vocabulary import FACTS

from .samples import RULE, written


def found(folder: Path, text: str = RULE, name: str = "state-cache-empty.yaml") -> list[str]:
    source, problems = load_file(written(folder, text, name))
    assert source is not None, problems
    checked = check(source, ids={"SGL401", "SGL905"}, logs=folder)
    return [problem.shown().replace(f"{folder}/", "") for problem in checked]


def test_a_sound_rule_has_no_mistake(tmp_path: Path) -> None:
    assert found(tmp_path / "memory") == []
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: state-cache-empty", "name: state-cache", ":2: the name 'state-cache' and the file"),
        ("id: SGL401", "id: SGL501", ":1: SGL501 belongs to the folder 'graphs'"),
        ("severity: fatal", "severity: fatal\nexplains: [SGL401]", ":5: a rule does not explain itself; leave it out"),
        ("severity: fatal", "severity: fatal\nexplains: [SGL906]", ":5: there is no rule SGL906; did you mean SGL905?"),
        ("size=(?P<slots>", "size.*=.*(?P<slots>", "more than one unbounded `.*`"),
        ("size=(?P<slots>", "(\\w+\\s?)+(?P<slots>", "repeats a repetition"),
        ("(?P<slots>-?\\d+)'", "(?P<slots>-?\\d+).*'", "at the beginning or the end"),
        ("(?P<slots>-?\\d+)'", "(?P<slots>-?\\d?)(\\s|\\S)+(\\S|\\s)+[~^]\\d'", "needs more than"),
        ("(?P<slots>", "(?P<slot>", "the group 'slot' has no type"),
        ("(?P<slots>", "(?P<slot>", ":9: no pattern has a group (?P<slots>...)"),
        ("when: fraction", "when: fracton", ":14: unknown name 'fracton'; did you mean fraction?"),
        ("when: fraction", "when: args.tp_sise", ":14: unknown name 'args.tp_sise'; did you mean args.tp_size?"),
        ('leave too little."', 'leave {kv_tokens}."', ":11: {kv_tokens} may be unknown; put the part"),
        ('leave too little."', 'leave [[{kv_token}]]."', ":11: unknown name 'kv_token'"),
        (', zh: "权重占用过多。"', "", ":11: warning: the Chinese text is missing"),
        ("--mem-fraction-static}", "--mem-fractoin-static}", ":17: no known SGLang version has --mem-fractoin-static"),
        (
            "fraction < 0.95\n",
            "''\n    changes: [{flag.set: {name: --mem-fraction-static, value: 0.92}}]\n",
            ":15: --mem-fraction-static 0.92 is a constant",
        ),
        ("  near_miss:", "  # near_miss:", "there is no near miss"),
        ("  hit:", "  near_miss:", "there is no test that must hit"),
        ("captures: {slots: -2}", "captures: {slot: -2}", ":25: the rule has no capture 'slot'"),
        ("captures: {slots: -2}", "fix: raise-fractions", ":25: the rule has no fix 'raise-fractions'; did you mean"),
        ("    - text: |\n        Mamba", "    - log: absent.log\n    - text: |\n        Mamba", "there is no log"),
        ("RuntimeError: Not", "RuntimeError: not", ":7: no test that must hit contains a literal"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = RULE.replace(old, new, 1)
    assert text != RULE
    if "constant" in expected:
        text = text.replace("    changes:\n      - flag.raise: {name: --mem-fraction-static}\n", "")
    if expected == "there is no near miss":
        text = text[: text.index("  # near_miss")]
    if expected == "there is no test that must hit":
        text = text[: text.rindex("  near_miss")].replace("      captures: {slots: -2}\n", "")

    problems = found(tmp_path / "memory", text)

    assert any(expected in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("versions", "flag", "expected"),
    [
        ("", "--max-mamba-cache-size", []),
        (">=0.5.14", "--max-mamba-cache-size", []),
        ("<0.5.5", "--cuda-graph-backend-decode", ["--cuda-graph-backend-decode exists in 0.5.14 to"]),
        (">=0.5.2", "--cuda-graph-backend-decode", ["--cuda-graph-backend-decode exists in 0.5.14 to"]),
        ("<0.5.5", "--tp", []),
    ],
)
def test_flags_exist_in_the_versions_claimed(tmp_path: Path, versions: str, flag: str, expected: list[str]) -> None:
    text = RULE.replace("--mem-fraction-static", flag)
    if versions:
        text = text.replace("    safety:", f"    versions: {{sglang: '{versions}'}}\n    safety:")

    problems = found(tmp_path, text)

    assert len(expected) == len(problems)
    assert all(part in problem for part, problem in zip(expected, problems, strict=True))


@pytest.mark.parametrize(
    "pattern",
    [
        r"a.*b.*c", r"a.+b[^x].*?c", r".*x", r"x.*", r"(\w+\s?)*x", r"(a*)*", r"(x+)+y", r"((?:\w+ )+)+", r"(?:\d+,?)+z",
        r"(a|b+)*", r"(?i:\w+)*", r"([a-z]{2,})+", r"(?P<n>\w+?)+",
    ],
)  # fmt: skip
def test_patterns_that_can_take_long(pattern: str) -> None:
    assert hazards(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "", r"a.{0,80}b.{0,80}c", r"a.*b", r"(?:\d+, )*x", r"(?P<a>[\d.]+)\s*GB", r"\(a+\)*", r"a{2,}", r"[.*]+.*[(*]x",
        r"(?:a*b)+", r"(?<!x)y+", r"(?i)foo", r"\.\*\.\*", r"x\{a+\}+", r"[]a]+b+", r"(a++)*",
    ],
)  # fmt: skip
def test_sound_patterns(pattern: str) -> None:
    assert hazards(pattern) == []


def test_the_names_of_facts_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "facts.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in row.replace("`", "").replace(" ", "").split(",")}

    assert named - {"args.<field>"} == FACTS
    assert all(names_in(name) == {name} for name in FACTS)
