"""The compiled rule base: the same rules without YAML, and no trust in what lies in the cache."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from sgdoctor.rules import compiled, loading, locate
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.rules.compiled import cached_index, key_of, read_rules, write_rules

from .samples import RULE, base_of, written


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(locate.USER_RULES_ENV, raising=False)
    monkeypatch.setattr(locate, "built_in_dir", lambda: tmp_path / "own")
    written(tmp_path / "own" / "memory")


def cache_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "sgdoctor").glob("*.bin"))


def no_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the YAML was read")

    monkeypatch.setattr(loading, "load_rules", fail)


def same(left: RuleBase, right: RuleBase) -> bool:
    return (
        list(left.all()) == list(right.all())
        and left.literals == right.literals
        and left.literal_rules == right.literal_rules
        and left.fact_rule_numbers == right.fact_rule_numbers
        and left.problems == right.problems
        and left.muted == right.muted
    )


def test_a_second_start_reads_no_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "config" / "sgdoctor" / "rules", RULE.replace("fatal", "bad"), "broken.yaml")
    written(tmp_path / "config" / "sgdoctor" / "rules", "mute: [SGL499]", "mute.yaml")
    first = load_rule_base()
    no_yaml(monkeypatch)

    second = load_rule_base()

    assert same(first, second)
    assert len(second) == 1
    assert second.muted == ("SGL499",)
    assert "broken.yaml:4" in second.problems[0].en
    assert "不能是" in second.problems[0].zh
    assert second.rule("sgl401") == second.rule("state-cache-empty")
    assert [second.index.find(b"x Not enough GPU memory for hybrid")] == [[(2, 0)]]
    with pytest.raises(KeyError):
        second.rule("SGL999")


def test_every_change_of_a_file_is_seen(tmp_path: Path) -> None:
    user = tmp_path / "config" / "sgdoctor" / "rules"
    path = tmp_path / "own" / "memory" / "state-cache-empty.yaml"
    assert load_rule_base().rule("SGL401").severity == "fatal"

    # The same size and the same time: only the ctime tells.
    before = path.stat()
    path.write_text(RULE.replace("severity: fatal", "severity: error"), "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_rule_base().rule("SGL401").severity == "error"

    override = written(user, RULE.replace("severity: fatal", "severity: notice"))
    assert load_rule_base().rule("SGL401").severity == "notice"

    written(user, "mute: [SGL401]", "mute.yaml")
    assert len(load_rule_base()) == 0

    (user / "mute.yaml").unlink()
    override.unlink()
    assert load_rule_base().rule("SGL401").severity == "error"


def test_directories_of_the_environment_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "config" / "sgdoctor" / "rules", RULE.replace("severity: fatal", "severity: notice"))
    written(tmp_path / "more", RULE.replace("severity: fatal", "severity: benign"))
    monkeypatch.setenv(locate.USER_RULES_ENV, os.pathsep.join([str(tmp_path / "more"), "", str(tmp_path / "absent")]))

    base = load_rule_base()

    assert base.rule("SGL401").severity == "benign"
    assert load_rule_base(user_dirs=()).rule("SGL401").severity == "fatal"


def test_a_damaged_cache_is_computed_again(tmp_path: Path) -> None:
    expected = load_rule_base()
    assert expected.index.find(b"") == []
    for path in cache_files(tmp_path):
        whole = path.read_bytes()
        for damaged in (b"", whole[:10], whole[:-1], whole[:40] + b"?" + whole[41:], b"\0" * len(whole), whole + b"?"):
            path.write_bytes(damaged)
            base = load_rule_base()

            assert same(expected, base)
            assert base.index.find(b"Not enough GPU memory for hybrid") == [(0, 0)]
            assert path.read_bytes() == whole


def test_an_unwritable_cache_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")

    base = load_rule_base()

    assert base.index.find(b"Not enough GPU memory for hybrid") == [(0, 0)]
    assert (tmp_path / "cache").is_file()


def test_without_the_cache_nothing_is_written(tmp_path: Path) -> None:
    assert len(load_rule_base(use_cache=False)) == 1
    assert cache_files(tmp_path) == []


def test_a_compiled_base_of_another_state_is_not_read(tmp_path: Path) -> None:
    cache, folder = tmp_path / "cache", tmp_path / "own"
    base = base_of({"literals": ["out of memory"]})
    write_rules(cache, [folder], key_of([folder]), base)

    assert read_rules(cache, [folder], key_of([folder])) is not None
    assert read_rules(cache, [folder], "another state") is None
    assert read_rules(cache, [tmp_path], key_of([folder])) is None


def test_an_index_with_further_literals(tmp_path: Path) -> None:
    base = load_rule_base()
    extra = ["KV Cache is allocated", "Not enough GPU memory for hybrid"]

    literals = base.literals_with(extra)
    found = base.index_with(extra).find(b"KV Cache is allocated")

    assert literals == ("Not enough GPU memory for hybrid", "KV Cache is allocated")
    assert found == [(0, 1)]


def test_old_indexes_are_thrown_away(tmp_path: Path) -> None:
    for number in range(20):
        cached_index([b"literal %d" % number], tmp_path)

    assert len(list(tmp_path.glob("literals-*.bin"))) == compiled._KEPT_INDEXES
    assert list(tmp_path.glob(".*")) == []


def test_hidden_files_and_other_files_are_no_rules(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    written(folder / ".git", RULE, "a.yaml")
    written(folder, RULE, "notes.md")
    written(folder, RULE, ".hidden.yaml")

    names = [name for name, _ in locate.rule_files(folder)]

    assert names == ["memory/state-cache-empty.yaml"]


def test_a_cached_start_loads_neither_yaml_nor_pydantic(tmp_path: Path) -> None:
    program = (
        "import sys; from sgdoctor.rules.base import load_rule_base; base = load_rule_base(); base.index; "
        "print(len(base), *sorted({'yaml', 'pydantic', 'simpleeval', 'regex', 'packaging', 'platformdirs'} & {*sys.modules}))"
    )
    outputs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    ]

    assert outputs[0][0] == outputs[1][0]
    assert outputs[1][1:] == []


def test_a_whole_file_of_another_shape_is_compiled_anew(tmp_path: Path) -> None:
    load_rule_base()
    path = next(file for file in cache_files(tmp_path) if file.name.startswith("rules-"))
    for header in (b'{"a":', b"[]", b"{}", b'{"key": null}'):
        body = len(header).to_bytes(4, "big") + header
        path.write_bytes(b"sgdoctor rule base\n" + zlib.crc32(body).to_bytes(4, "big") + body)

        assert load_rule_base().rule("SGL401").severity == "fatal"


def test_a_user_without_home_and_account_has_no_rules_of_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321)

    assert load_rule_base().rule("SGL401").severity == "fatal"
    assert not locate.user_rules_dir().exists()
