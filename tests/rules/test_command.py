"""``sgdoctor rules`` as its users call it."""

import json
import shutil
from pathlib import Path

import pytest

from sgdoctor.cli import rule_tests
from sgdoctor.cli.main import main
from sgdoctor.rules import checking, locate
from sgdoctor.rules.base import load_rule_base
from sgdoctor.rules.loading import load_file
from tests.conftest import REPO

from .samples import RULE, written


@pytest.fixture(autouse=True)
def _own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv(locate.USER_RULES_ENV, raising=False)
    monkeypatch.setattr(locate, "built_in_dir", lambda: tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "own" / "memory")


def sgdoctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["rules", *arguments])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = sgdoctor(capsys, "list")
    _, none = sgdoctor(capsys, "list", "--family", "docker")
    _, chinese = sgdoctor(capsys, "list", "--lang", "zh")
    _, as_json = sgdoctor(capsys, "list", "--format", "json", "--severity", "fatal")

    assert code == 0
    assert output.splitlines()[0].split() == [
        *("SGL401", "fatal", "state-cache-empty"),
        *("Too", "little", "for", "<value", "from", "the", "log>", "slots"),
    ]
    assert none == "rules: 0, muted: 0\n"
    assert "显存不足以容纳 <日志中的值> 个槽" in chinese
    assert [rule["id"] for rule in json.loads(as_json)] == ["SGL401"]


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = sgdoctor(capsys, "show", "sgl401")
    wrong, complaint = sgdoctor(capsys, "show", "state-cache-emty")
    _, as_json = sgdoctor(capsys, "show", "state-cache-empty", "--format", "json")

    assert code == 0
    assert RULE.strip() in output
    assert wrong == 2
    assert "did you mean state-cache-empty?" in complaint
    assert json.loads(as_json)["tests"]["hit"][0]["captures"] == {"slots": "-2"}


def test_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fine, output = sgdoctor(capsys, "check")
    written(tmp_path / "mine", RULE.replace("fatal", "bad").replace("safety", "safty"))
    written(tmp_path / "mine", RULE.replace(', zh: "权重占用过多。"', "").replace("SGL401", "SGL402"), "other.yaml")
    code, mistakes = sgdoctor(capsys, "check", "mine")
    _, chinese = sgdoctor(capsys, "check", "mine", "--lang", "zh")
    _, as_json = sgdoctor(capsys, "check", "mine", "--format", "json")
    absent, complaint = sgdoctor(capsys, "check", "absent.yaml")

    assert (fine, output) == (0, "rules: 1, errors: 0, warnings: 0\n")
    assert code == 3
    lines = mistakes.splitlines()
    assert lines[0].startswith("mine/state-cache-empty.yaml:4: `severity` cannot be 'bad'; it is one of fatal, error")
    assert lines[1] == "mine/state-cache-empty.yaml:13: `fixes.safety` is missing"
    assert lines[2] == "mine/state-cache-empty.yaml:18: unknown key 'safty'; did you mean 'safety'?"
    assert lines[3].startswith("mine/other.yaml:2: the name 'state-cache-empty' and the file 'other.yaml' differ")
    assert lines[4] == "mine/other.yaml:11: warning: the Chinese text is missing"
    assert lines[5:] == ["rules: 1, errors: 4, warnings: 1"]
    assert "未知的键 'safty'；是否应为 'safety'？" in chinese
    assert [problem["line"] for problem in json.loads(as_json)["problems"]] == [4, 13, 18, 2, 11]
    assert (absent, "absent.yaml" in complaint) == (2, True)


def test_the_tests_of_rules_run_through_the_whole_diagnosis(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fine, output = sgdoctor(capsys, "test")
    text = RULE.replace("captures: {slots: -2}", "captures: {slots: 3}\n      state: healthy").replace(
        "Mamba Cache is allocated. max_mamba_cache_size: 7",
        "RuntimeError: Not enough GPU memory for hybrid. max_mamba_cache_size=1",
    )
    written(tmp_path / "mine", text)
    silent = RULE.replace("RuntimeError: Not", "RuntimeError: not").replace("SGL401", "SGL402")
    written(tmp_path / "mine", silent.replace("state-cache-empty", "silent"), "silent.yaml")
    code, failures = sgdoctor(capsys, "test", "mine")
    _, as_json = sgdoctor(capsys, "test", "mine", "--format", "json")

    assert fine == 0
    assert output.endswith(", failures: 0\n")
    assert code == 3
    lines = failures.splitlines()
    assert lines[0] == "mine/silent.yaml:23: SGL402 must hit and does not (found: nothing)"
    assert "mine/state-cache-empty.yaml:23: SGL401: slots is -2, expected 3" in lines
    assert "mine/state-cache-empty.yaml:23: the verdict is failed, expected healthy" in lines
    assert "mine/state-cache-empty.yaml:28: SGL401 must stay silent and hits line 1" in lines
    assert len(json.loads(as_json)["failures"]) == 4


def test_a_draft_follows_the_schema_and_is_a_mistake_until_its_texts_are_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, output = sgdoctor(capsys, "new", "my-crash", "--family", "memory")
    path = tmp_path / "config" / "sgdoctor" / "rules" / "memory" / "my-crash.yaml"
    source, problems = load_file(path)
    again, complaint = sgdoctor(capsys, "new", "my-crash", "--family", "memory")
    wrong, _ = sgdoctor(capsys, "new", "My Crash", "--family", "memory")
    checked, complaints = sgdoctor(capsys, "check")
    tested, _ = sgdoctor(capsys, "test")
    chinese, _ = sgdoctor(capsys, "new", "zweite", "--family", "memory", "--dir", "drafts", "--lang", "zh")

    assert (code, str(path) in output) == (0, True)
    assert problems == []
    assert source is not None
    assert source.model.id == "SGL499"
    assert (again, "exists already" in complaint) == (2, True)
    assert wrong == 2
    assert (checked, tested) == (3, 0)
    assert complaints.count("this text of the draft is still to be replaced") == 11
    assert chinese == 0
    assert "至少 6 个字符" in (tmp_path / "drafts" / "zweite.yaml").read_text("utf-8")


def test_a_draft_begins_with_a_line_of_a_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        'fine\nTraceback (most recent call last):\n  File "a.py", line 3, in f\n'
        "FluxError: the flux of 12 units is out of range, api_key=sk-secret123456\n",
        "utf-8",
    )
    code, _ = sgdoctor(capsys, "new", "flux", "--family", "runtime", "--from", f"{log}:4", "--dir", "drafts")
    written = tmp_path / "drafts" / "flux.yaml"
    source, _ = load_file(written)
    tested, _ = sgdoctor(capsys, "test", str(written))
    outside, complaint = sgdoctor(capsys, "new", "flux2", "--family", "runtime", "--from", f"{log}:5")
    nowhere, _ = sgdoctor(capsys, "new", "flux2", "--family", "runtime", "--from", str(log))

    assert (code, tested) == (0, 0)
    assert source is not None
    assert source.plain["match"][0]["event"] == "traceback"
    assert source.plain["match"][0]["literals"] == ["units is out of range, api_key=sk"]
    assert "sk-secret123456" not in written.read_text("utf-8")
    assert (outside, nowhere) == (2, 2)
    assert "has no line 5" in complaint


def test_a_draft_is_left_out_of_diagnoses_until_its_title_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    log.write_text('Traceback (most recent call last):\n  File "a.py", line 3, in f\nFluxError: too much flux\n')
    sgdoctor(capsys, "new", "flux", "--family", "runtime", "--from", f"{log}:3", "--dir", "drafts")
    folder, written = tmp_path / "drafts", tmp_path / "drafts" / "flux.yaml"
    id_ = written.read_text("utf-8").partition("id: ")[2][:6]
    draft = load_rule_base(user_dirs=[folder], use_cache=False)
    written.write_text(written.read_text("utf-8").replace("REPLACE: what is wrong, in a few words", "Too much flux"))
    begun = load_rule_base(user_dirs=[folder], use_cache=False)

    assert id_ not in {rule.id for rule in draft.all()}
    assert [problem.en.startswith(f"{written}:") for problem in draft.problems] == [True]
    assert begun.rule(id_).title.en == "Too much flux"
    assert begun.problems == ()


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = sgdoctor(capsys, "schema")

    assert code == 0
    assert json.loads(output)["required"] == ["id", "name", "severity", "match", "title", "cause"]


def test_pages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "SGL998.md").write_text("of a rule that is no more")

    code, _ = sgdoctor(capsys, "docs", "pages")

    page = (tmp_path / "pages" / "SGL401.md").read_text("utf-8")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["README.md", "SGL401.md", "messages.md"]
    assert page.startswith("# SGL401: Too little for ‹value from the log› slots\n")
    assert "# SGL401：显存不足以容纳 ‹日志中的值› 个槽\n" in page
    assert "`flag.raise --mem-fraction-static`" in page
    assert "[SGL401](SGL401.md)" in (tmp_path / "pages" / "README.md").read_text("utf-8")


def test_a_place_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    docs, complaint = sgdoctor(capsys, "docs", "file/pages")
    new, other = sgdoctor(capsys, "new", "x", "--family", "api", "--dir", "file/x")

    assert (docs, new) == (2, 2)
    assert len(complaint.splitlines()) == len(other.splitlines()) == 1


def test_an_installed_package_checks_and_tests_without_the_logs_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = tmp_path / "rulebase"
    shutil.copytree(REPO / "rules", installed)
    for module in (locate, checking, rule_tests):
        monkeypatch.setattr(module, "fixtures_dir", lambda: None)
    monkeypatch.setattr(locate, "built_in_dir", lambda: installed)

    one = installed / "memory" / "state-cache-empty.yaml"
    codes = main(["rules", "check"]), main(["rules", "test", str(one)])

    assert codes == (0, 0), capsys.readouterr().out[-2000:]


def test_a_log_beside_a_rule_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    rule = (REPO / "rules" / "memory" / "state-cache-empty.yaml").read_text(encoding="utf-8")
    inline = rule.index("tests:")
    (folder / "state-cache-empty.yaml").write_text(
        rule[:inline] + "tests:\n  hit:\n    - log: my.log\n  near_miss:\n    - text: all is well\n", encoding="utf-8"
    )
    (folder / "my.log").write_bytes((REPO / "fixtures/logs/real/article27-mfs-0.80.log").read_bytes())

    code = main(["rules", "test", str(folder / "state-cache-empty.yaml")])

    assert code == 0, capsys.readouterr().out[-2000:]


def test_names_and_texts_of_others_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[31m\x1b]0;t\x07\x9b1m\u202e\x1bPx"
    folder = tmp_path / f"rules{evil}"
    written(folder, f"id: SGL499\n# {evil}\n", f"broken{evil}.yaml")
    (folder / "fine.yaml").write_text(RULE + f"# {evil}\n", "utf-8")

    outputs = [
        sgdoctor(capsys, *arguments)[1]
        for arguments in (
            ("show", evil),
            ("check", evil),
            ("check", str(folder)),
            ("check", str(folder), "--format", "json"),
            ("test", str(folder)),
            ("new", "a-b", "--family", "memory", "--dir", f"/proc/{evil}"),
            ("docs", f"/proc/{evil}"),
        )
    ]

    assert [output for output in outputs if not output.replace("\n", "").isprintable()] == []
    assert "broken" in outputs[2]
    assert "SGL499" not in outputs[2]
    assert "yaml:2: not valid YAML: control characters are not allowed" in outputs[2]


def test_a_severity_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    code, complaint = sgdoctor(capsys, "list", "--severity", "fatl")

    assert code == 2
    assert "did you mean fatal?" in complaint


def test_muted_and_overriding_rules_are_shown_as_such(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = RULE.replace("SGL401", "SGL402").replace("state-cache-empty", "second")
    written(tmp_path / "own" / "memory", other, "second.yaml")
    mine = tmp_path / "config" / "sgdoctor" / "rules"
    written(mine, RULE)
    written(mine, "mute: [SGL402, SGL777]\n", "mute.yaml")

    _, listed = sgdoctor(capsys, "list")
    shown, text = sgdoctor(capsys, "show", "second")
    checked, complaints = sgdoctor(capsys, "check")
    explained = main(["explain", "sgl402"])
    page = capsys.readouterr().out

    assert listed.splitlines()[0].endswith("[yours, over the built-in one]")
    assert listed.splitlines()[1].endswith("[muted]")
    assert listed.splitlines()[2] == "rules: 2, muted: 1"
    assert (0, f"# muted by {mine / 'mute.yaml'}") == (shown, text.splitlines()[1])
    assert checked == 0
    assert "mute.yaml:1: warning: there is no rule SGL777 to mute" in complaints
    assert explained == 0
    assert "Muted by" in page
