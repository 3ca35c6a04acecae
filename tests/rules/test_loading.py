"""Rule files: what is read, and what is said about mistakes."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from sgdoctor.launch.change import Change
from sgdoctor.rules.decoding import decode
from sgdoctor.rules.json_schema import json_schema
from sgdoctor.rules.loading import Mute, load_file, load_folder, load_mute, load_rules
from sgdoctor.rules.locate import built_in_dir
from sgdoctor.rules.model import Capture, Severity
from sgdoctor.rules.yaml_files import read_yaml

from .samples import RULE, plain, written


def shown(path: Path) -> list[str]:
    """Mistakes of a file without its folder."""
    source, problems = load_file(path)
    assert (source is None) == bool(problems)
    return [problem.shown().replace(f"{path.parent}/", "") for problem in problems]


def test_a_rule_is_read(tmp_path: Path) -> None:
    rule = decode(plain(tmp_path))

    assert (rule.id, rule.name, rule.severity, rule.engine) == (
        "SGL401",
        "state-cache-empty",
        Severity.FATAL,
        ("sglang",),
    )
    assert rule.patterns[0].literals == ("Not enough GPU memory for hybrid",)
    assert rule.captures == {"slots": Capture("int")}
    assert rule.fixes[0].changes == (Change("flag.raise", "--mem-fraction-static"),)
    assert rule.title.in_language("zh").startswith("显存不足")
    assert rule.origin == str(tmp_path / "state-cache-empty.yaml")


def test_scalars_keep_the_text_that_stands_in_the_file(tmp_path: Path) -> None:
    text = RULE.replace(
        "      - flag.raise: {name: --mem-fraction-static}\n",
        "      - flag.set: {name: --mem-fraction-static, value: 0.90}\n"
        "      - image.tag: {value: 3.10}\n"
        "      - env.set: {name: NCCL_DEBUG, value: on}\n"
        "      - env.set: {name: X, value: 0x10}\n"
        "      - flag.set: {name: --disable-radix-cache}\n"
        "      - wait:\n",
    )

    changes = decode(plain(tmp_path, text)).fixes[0].changes

    assert [change.value for change in changes] == ["0.90", "3.10", "on", "0x10", None, None]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("severity: fatal", "severty: fatal", ":4: unknown key 'severty'; did you mean 'severity'?"),
        ("severity: fatal", "", "`severity` is missing"),
        ("severity: fatal", "severity: bad", ":4: `severity` cannot be 'bad'; it is one of fatal, error"),
        ("id: SGL401", "id: SGL1", ":1: `id` is 'SGL1'; write SGL and three digits"),
        ("name: state", "name: State", ":2: `name` is 'State-cache-empty'; write lower-case words"),
        ('hybrid"]', 'hybrid", short]', ":7: the literal 'short' has fewer than 6 characters"),
        ('  literals: ["Not enough GPU memory for hybrid"]\n', "", "literals are missing"),
        ("  event: any", "  event: fact", ":5: event: fact needs `when`"),
        ("slots>-?\\d+)", "slots>-?\\d+", ":8: the pattern"),
        ("{slots: int}", "{slots: integer}", ":9: `captures.slots.type` cannot be 'integer'"),
        ("{slots: int}", "{slots: {type: int, mn: 0}}", ":9: unknown key 'mn'; did you mean 'min'?"),
        ("fraction < 0.95", "fraction <", ":14: the condition 'fraction <' cannot be read"),
        ("fraction < 0.95", "open('x')", "only the functions"),
        ("flag.raise:", "flag.rise:", ":17: unknown change 'flag.rise'; did you mean 'flag.raise'?"),
        ("flag.raise:", "flag.set: {}\n        wait:", ":17: a change is one `kind: {name: ..., value: ...}`"),
        ("{name: --mem-fraction-static}", "{name: mem-fraction-static}", "a flag is written with its dashes"),
        ("{name: --mem-fraction-static}", "{}", "flag.raise needs a name"),
        ("{name: --mem-fraction-static}", "{name: --a, value: 1}", "flag.raise takes no value"),
        ("safety: safe", "safety: none", ":18: `fixes.safety` cannot be 'none'"),
        ("Too little for {slots}", "[[Too little for {slots}", ":10: [[ without ]]"),
        ("{slots} slots", "{slots:>999s} slots", ":10: unknown format"),
        ("[https://github", "[github", ":20: `references` is"),
        ("engine: [sglang]", "engine: [sglang]\napplies: {versions: {sglang: '0.5'}}", "is not a version set"),
        ("engine: [sglang]", "engine: [sglang]\napplies: {phase: [start]}", "`applies.phase` cannot be 'start'"),
        ("engine: [sglang]", "engine: [sglang]\nengine: [vllm]", ":4: the key 'engine' stands twice"),
        ("title: {en:", "title: {de:", ":10: unknown key 'de'; known here are en, zh"),
        ("severity: fatal", "severity: fatal\n  bad: indent", "not valid YAML"),
        ("severity: fatal", "severity: a: b", ":4: not valid YAML: mapping values are not allowed"),
        ("severity: fatal", "\tseverity: fatal", "not valid YAML"),
        ("'max_mamba", '"\\d max_mamba', "put patterns between single quotes"),
        ("  hit:\n    - text: |", "  hit:\n    - root: maybe\n      text: |", "write true or false"),
        ("captures: {slots: -2}", "log: a.log", "a test has either text or log"),
        ("{slots: int}", "{slots: str}\nx: &a [*a]", "an anchor contains itself"),
        (
            "{slots: int}",
            "{slots: str}",
            None,
        ),
    ],
)  # fmt: skip
def test_mistakes_are_explained_with_their_line(tmp_path: Path, old: str, new: str, expected: str | None) -> None:
    text = RULE.replace(old, new, 1)
    assert text != RULE

    problems = shown(written(tmp_path, text))

    if expected is None:
        assert problems == []
    else:
        assert any(expected in problem for problem in problems), problems
    assert all(re.match(r"state-cache-empty\.yaml:\d+: \S.*$", problem) for problem in problems)


def test_every_mistake_of_a_file_is_reported_in_order(tmp_path: Path) -> None:
    text = (
        RULE.replace("severity: fatal", "severity: bad").replace("safety: safe", "safty: safe").replace("SGL401", "X")
    )

    problems = shown(written(tmp_path, text))

    assert [problem.split(":")[1] for problem in problems] == ["1", "4", "13", "18"]


def test_a_text_from_the_log_does_not_enter_a_change(tmp_path: Path) -> None:
    text = RULE.replace("{slots: int}", "{slots: str}").replace(
        "flag.raise: {name: --mem-fraction-static}", "env.set: {name: X, value: '{slots}'}"
    )

    problems = shown(written(tmp_path, text))

    assert len(problems) == 1
    assert "only int, float, gib, mib, seconds, flag and version may enter a change" in problems[0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "1: the file is not a mapping"),
        (b"- a", "1: the file is not a mapping"),
        (b"a: \xff", "1: is not UTF-8 text"),
        (b"a: 1\nb: \xe4", "2: is not UTF-8 text"),
        (b"a: \x00", "1: not valid YAML"),
        (b"a: [" * 5000, "not valid YAML"),
        (b"? [a]\n: b", "1: a key is not a word"),
        (b"x" * (1 << 20) + b"yy", "1: larger than 1 MiB"),
    ],
)
def test_files_that_are_no_rule(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "rule.yaml"
    path.write_bytes(data)

    value, problems = read_yaml(path)

    assert value is None
    assert len(problems) == 1
    assert expected.partition(": ")[2] in problems[0].text.en
    if ": " in expected:
        assert problems[0].line == int(expected.partition(": ")[0])


def test_an_absent_file_and_a_directory_say_so(tmp_path: Path) -> None:
    assert "cannot be read" in shown(tmp_path / "absent.yaml")[0]
    assert "cannot be read" in shown(tmp_path)[0]


def test_ids_and_names_are_unique_in_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "memory")
    written(tmp_path / "memory", RULE.replace("state-cache-empty", "other"), "other.yaml")
    written(tmp_path / "weights", RULE.replace("SGL401", "SGL402"))

    written(tmp_path / "weights", RULE.replace("SGL401", "SGL402").replace("state-cache-empty", "other"), "x.yaml")

    folder = load_folder(tmp_path)

    assert [source.model.id for source in folder.sources] == ["SGL401", "SGL402"]
    texts = [problem.text.en for problem in folder.problems]
    assert texts[0].startswith("SGL401 is already used by")
    assert texts[1].startswith("SGL402 is already used by")
    assert len(texts) == 2


def test_a_user_overrides_by_id_and_mutes(tmp_path: Path) -> None:
    own, user = tmp_path / "own", tmp_path / "user"
    written(own)
    written(own, RULE.replace("SGL401", "SGL402").replace("state-cache-empty", "second"), "second.yaml")
    written(own, RULE.replace("SGL401", "SGL403").replace("state-cache-empty", "third"), "third.yaml")
    written(user / "deep" / "er", RULE.replace("fatal", "error"))
    written(user, RULE.replace("SGL401", "SGL499").replace("state-cache-empty", "second"), "second.yaml")
    written(user, RULE.replace("fatal", "bad"), "broken.yaml")
    written(user, "mute: [SGL403, SGL999]", "mute.yaml")

    loaded = load_rules(own, [user, tmp_path / "absent"])

    assert [(s.model.id, s.model.severity) for s in loaded.sources] == [("SGL401", "error"), ("SGL402", "fatal")]
    assert loaded.muted == ("SGL403", "SGL999")
    assert loaded.built_in_problems == ()
    texts = [problem.shown() for problem in loaded.user_problems]
    assert len(texts) == 3
    assert "broken.yaml:4: `severity` cannot be 'bad'" in texts[0]
    assert texts[2] == f"{user / 'mute.yaml'}:1: warning: there is no rule SGL999 to mute"
    assert ["SGL403"] == [source.model.id for source in loaded.silenced]
    assert str(user / "mute.yaml") == loaded.mute_files["SGL403"]
    assert {"SGL401": str(own / "state-cache-empty.yaml")} == loaded.replaced
    assert "second.yaml:2: the name second belongs to SGL402" in texts[1]


def test_a_mute_file_is_one_list(tmp_path: Path) -> None:
    ids, problems = load_mute(written(tmp_path, "silence: [SGL401]", "mute.yaml"))

    assert ids == ()
    assert "mute: [SGL912]" in problems[0].text.en


def test_every_mistake_is_told_in_chinese_too(tmp_path: Path) -> None:
    text = RULE.replace("severity: fatal", "severty: bad").replace("fraction < 0.95", "fraction <")

    _, problems = load_file(written(tmp_path, text))

    assert problems
    assert all(re.search(r"[\u4e00-\u9fff]", problem.shown("zh")) for problem in problems)


def test_the_exported_schema_is_that_of_the_code_and_takes_the_rules() -> None:
    import yaml

    exported = json.loads((built_in_dir() / "schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(exported)

    assert exported == json_schema()
    validator.validate(yaml.safe_load(RULE))
    assert not validator.is_valid({**yaml.safe_load(RULE), "severty": "fatal"})


def test_the_built_in_rules_have_no_mistake() -> None:
    folder = load_folder(built_in_dir())

    assert [problem.shown() for problem in folder.problems] == []
    assert folder.sources


@pytest.mark.parametrize("empty", ["null", "~", ""])
def test_a_value_may_be_left_empty(tmp_path: Path, empty: str) -> None:
    assert shown(written(tmp_path, f"{RULE}fixed_in: {empty}\n")) == []


def test_anchors_that_stand_for_more_than_any_memory_holds(tmp_path: Path) -> None:
    levels = "".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))

    problems = shown(written(tmp_path, f"k0: &a0 [x, x]\n{levels}"))

    assert [problem.partition(": ")[2] for problem in problems] == ["the anchors of the file stand for too much"]


def test_digits_of_an_id_are_those_of_ascii(tmp_path: Path) -> None:
    assert "write SGL and three digits" in shown(written(tmp_path, RULE.replace("SGL401", "SGL４01")))[0]


def test_a_long_condition_is_quoted_in_part(tmp_path: Path) -> None:
    problems = shown(written(tmp_path, RULE.replace("fraction < 0.95", "(" * 2000)))

    assert "cannot be read" in problems[0]
    assert len(problems[0]) < 400


def test_a_link_to_a_folder_above_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "rules")
    (tmp_path / "rules" / "loop").symlink_to("..")
    (tmp_path / "other").mkdir()
    written(tmp_path / "other", RULE.replace("SGL401", "SGL402").replace("state-cache-empty", "other"), "other.yaml")
    (tmp_path / "rules" / "linked").symlink_to(tmp_path / "other")

    folder = load_folder(tmp_path / "rules")

    assert folder.problems == ()
    assert sorted(source.model.id for source in folder.sources) == ["SGL401", "SGL402"]


def test_ids_are_muted_in_any_case(tmp_path: Path) -> None:
    path = written(tmp_path, "mute:\n  - SGL901\n  - sgl912\n", "mute.yaml")

    assert ((Mute("SGL901", str(path), 2), Mute("SGL912", str(path), 3)), []) == load_mute(path)
