"""What the commands about relaunching decide and say without a container engine."""

import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.cli import relaunch_texts
from sgdoctor.cli.history_rows import as_row_data, command_diff, row_lines
from sgdoctor.cli.main import main
from sgdoctor.cli.open_relaunch import is_about, tell_open
from sgdoctor.cli.relaunch_proposal import full_image, lost_paths, planned
from sgdoctor.cli.relaunch_run import Errand, closing
from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection import Inspection, open_inspection
from sgdoctor.redaction import redactor
from sgdoctor.relaunch.journal import Journal
from sgdoctor.relaunch.model import Attempt, Ending, Intent, Outcome, Progress, Step, StepState
from sgdoctor.relaunch.wording import step_text
from sgdoctor.texts import Text
from tests.schemas import validate

ID = "4d" * 32
COMMAND = ["python3", "-m", "sglang.launch_server", "--model-path", "/m", "--mem-fraction-static", "0.8"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder; no engine answers."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    return tmp_path / "sgdoctor"


def begin(home: Path, *states: StepState, **intent: Any) -> Journal:
    """A journal with a step for each state."""
    old = {"Id": ID, "Config": {"Labels": {"com.docker.compose.service": "llm"}}}
    journal = Journal.begin(Intent("sgl", old=old, old_command=tuple(COMMAND), **intent), home)
    for state in states:
        journal.note(Progress(Step.STOP, state, datetime.now(UTC)))
    return journal


def inspection(*more: str) -> Inspection:
    data = {
        "Id": ID,
        "Name": "/sgl",
        "Config": {"Image": "lmsysorg/sglang:v0.5.15", "Cmd": [*COMMAND, *more], "Env": []},
        "HostConfig": {},
        "State": {"Status": "running"},
    }
    return open_inspection(json.dumps(data))


# ---------------------------------------------------------------- texts


def test_every_text_is_in_both_languages_and_fills_in_the_same() -> None:
    for key, (english, chinese) in relaunch_texts._TEXTS.items():
        assert english, key
        assert re.search(r"[\u4e00-\u9fff]", chinese) or key == "step.failed", key
        assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", chinese)), key


def test_every_text_is_used() -> None:
    folder = Path(relaunch_texts.__file__).parent
    source = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py") if path.name != "relaunch_texts.py")
    built = ("source.", "ending.", "state.")

    unused = [key for key in relaunch_texts._TEXTS if f'"{key}"' not in source and not key.startswith(built)]

    assert [] == unused


def test_every_step_has_its_words() -> None:
    assert all(step_text(step).en and step_text(step).zh for step in Step)
    assert all(relaunch_texts.words("en", f"ending.{ending}") for ending in Ending if ending is not Ending.REFUSED)


# ---------------------------------------------------------------- what is asked for


@pytest.mark.parametrize(
    ("given", "now", "image"),
    [
        ("v0.5.16", "lmsysorg/sglang:v0.5.15", "lmsysorg/sglang:v0.5.16"),
        ("v0.5.16", "lmsysorg/sglang", "lmsysorg/sglang:v0.5.16"),
        ("dev", "host:5000/sglang", "host:5000/sglang:dev"),
        ("dev", "host:5000/sglang:x@sha256:ab", "host:5000/sglang:dev"),
        ("other/sglang:v1", "lmsysorg/sglang:v0.5.15", "other/sglang:v1"),
        ("host:5000/sglang", "lmsysorg/sglang:v0.5.15", "host:5000/sglang"),
        ("v1", "", "v1"),
    ],
)
def test_a_tag_is_one_of_the_same_image(given: str, now: str, image: str) -> None:
    assert image == full_image(given, now)


def plan_of(changes: list[dict[str, Any]], argv: list[str], **more: Any) -> str:
    launch = {"argv": argv, "image": "lmsysorg/sglang:v0.5.15"}
    return json.dumps({"schema": 1, "launch": launch, "plan": {"changes": changes}, **more})


SET = {"kind": "flag.set", "name": "--mem-fraction-static", "value": "0.9", "basis": "asked", "step": "x"}


def test_a_plan_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan_of([SET], COMMAND))

    assert [Change("flag.set", "--mem-fraction-static", "0.9")] == planned(str(file), inspection())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "no plan of `sgdoctor fix"),
        ("[]", "no plan of `sgdoctor fix"),
        pytest.param("[" * 100_000, "no plan of `sgdoctor fix", id="deep"),
        (plan_of([SET], COMMAND, schema=2), "no plan of `sgdoctor fix --format json`: schema 2"),
        (plan_of([SET | {"kind": "rm"}], COMMAND), "no plan of `sgdoctor fix --format json`: rm"),
        (plan_of([SET | {"value": 1}], COMMAND), "no plan of `sgdoctor fix"),
        (plan_of([SET | {"value": "***"}], COMMAND), "secrets are hidden"),
        (plan_of([SET], COMMAND[:-1]), "another launch than that of sgl"),
        (plan_of([SET], [*COMMAND[:-1], "0.7"]), "another launch than that of sgl"),
    ],
)
def test_a_plan_that_cannot_be_meant(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)

    with pytest.raises(UserError, match=re.escape(complaint)):
        planned(str(file), inspection())


def test_a_hidden_word_of_the_launch_may_be_any(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan_of([SET], [*COMMAND, "--api-key", "***"]))

    assert planned(str(file), inspection("--api-key", "secret"))


def test_what_is_only_in_the_container() -> None:
    changed = ["/root", "/root-x", "/root/.cache", "/root/.cache/x", "/tmp", "/models", "/data", "/data/sub"]

    assert ("/root/.cache/x", "/root-x", "/tmp") == lost_paths(changed, ["/models", "/data/sub/dir"])
    assert () == lost_paths([], ["/models"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["relaunch"], "missing: CONTAINER"),
        (["relaunch", "sgl", "--resume", "--set", "x=1"], "leave out --set"),
        (["relaunch", "sgl", "--resume", "--dry-run"], "leave out --dry-run"),
        (["relaunch", "sgl", "--plan", "p", "--image", "v1", "--env", "A=b"], "leave out --env, --image"),
        (["relaunch", "sgl", "--ready-timeout", "0"], "--ready-timeout: 0 is not a number above 0"),
        (["relaunch", "sgl", "--ready-timeout", "nan"], "--ready-timeout: nan is not a number above 0"),
        (["rollback", "sgl", "--ready-timeout", "inf"], "--ready-timeout: inf is not a number above 0"),
        (["relaunch", "sgl", "--image", ""], "--image needs the name or the tag of an image"),
        (["relaunch", "sgl", "--rules", "/nowhere"], "/nowhere is not a folder"),
        (["relaunch", "sgl", "--resume"], "sgl: no relaunch of it was cut off"),
        (["relaunch", "sgl", "--yes"], "unix:///nowhere"),
        (["rollback", "sgl", "--to", "-1"], "--to: -1 is neither good nor original nor a number"),
        (["rollback", "sgl", "--to", "best"], "--to: best is neither good nor original nor a number"),
        (["rollback", "sgl"], "unix:///nowhere"),
        (["history", "sgl"], "sgl: no relaunch of this container is known here"),
        (["forget", "sgl"], "unix:///nowhere"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_2(
    arguments: list[str], complaint: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*arguments, "--lang", "en"])
    said = capsys.readouterr()

    assert (2, "", 1) == (code, said.out, said.err.count("\n"))
    assert complaint in said.err
    assert not (home / "relaunch").exists()


# ---------------------------------------------------------------- open journals


def test_nothing_is_said_where_nothing_is_open(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tell_open("sgl", "en")
    begin(home, StepState.DONE).finish(Outcome(Ending.DONE, container=ID))
    tell_open("sgl", "en")

    assert ("", "") == capsys.readouterr()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_an_open_one_is_said_with_the_way_out(lang: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin(home, StepState.BEGUN)
    tell_open("other", lang)
    silent = capsys.readouterr().err
    tell_open("sgl", lang)
    tell_open(None, lang)
    first, second = capsys.readouterr().err.splitlines()

    assert "" == silent
    assert first == second
    assert "sgdoctor rollback sgl" in first
    assert "sgdoctor relaunch sgl --resume" in first
    assert step_text(Step.STOP).in_language(lang) in first


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("sgl", True),
        ("llm", True),
        (ID[:12], True),
        (ID[:3], False),
        ("sg", False),
        ("/x/compose.yaml", True),
        ("/x/compose.yaml:llm", True),
        ("/y/compose.yaml", False),
    ],
)
def test_whose_journal_it_is(target: str, found: bool, home: Path) -> None:
    assert found == is_about(begin(home, facts={"file": "/x/compose.yaml"}), target)


def test_diagnose_of_a_file_does_not_look(home: Path, capsys: pytest.CaptureFixture[str], logs: Path) -> None:
    begin(home, StepState.BEGUN)
    main(["diagnose", str(logs / "real" / "boot-dense.log")])

    assert "" == capsys.readouterr().err


def test_an_open_journal_is_not_forgotten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = begin(home, StepState.BEGUN)
    code = main(["forget", "sgl", "--yes", "--lang", "en"])

    assert 2 == code
    assert "was cut off" in capsys.readouterr().err
    assert journal.path.exists()


# ---------------------------------------------------------------- history


@pytest.mark.parametrize("name", [".", ".."])
def test_forgetting_a_folder_forgets_nothing_of_others(
    name: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "run" / "sgl").mkdir(parents=True)
    monkeypatch.setattr("sgdoctor.cli.forget._engine_of", lambda _: nullcontext())

    assert 0 == main(["forget", name, "--yes", "--lang", "en"])
    assert f"{name}: nothing is kept of it.\n" == capsys.readouterr().out
    assert (home / "run" / "sgl").is_dir()


def test_commands_differ_by_their_flags() -> None:
    new = [*COMMAND[:-1], "0.9", "--disable-radix-cache"]

    assert [] == command_diff(COMMAND, COMMAND)
    assert ["- --mem-fraction-static 0.8", "+ --mem-fraction-static 0.9", "+ --disable-radix-cache"] == [
        line.plain for line in command_diff(COMMAND, new)
    ]


def test_flags_of_a_difference_can_be_typed() -> None:
    new = [*COMMAND, "--json-model-override-args", '{"a": 1}']

    assert ["+ --json-model-override-args '{\"a\": 1}'"] == [line.plain for line in command_diff(COMMAND, new)]


def test_a_row_hides_secrets() -> None:
    attempt = Attempt(
        number=1,
        container=ID,
        command=(*COMMAND, "--api-key", "swordfish1"),
        changes=(Change("flag.set", "--api-key", "swordfish1"), Change("env.set", "HF_TOKEN", "hf_abcdefghijkl")),
        began=datetime.now(UTC),
        ending=Ending.BACK,
        reason=Text("It ended.", "已结束。"),
        seconds={Step.READY: 3.0, Step.STOP: 1.0},
        rule="SGL401",
    )
    shown = "\n".join(line.plain for line in row_lines(attempt, COMMAND, "en", redactor()))
    data = json.dumps(as_row_data(attempt, "en", redactor()))

    for text in ("failed, went back", "+ --api-key ***", "4.0 s in all", "It ended.", "sgdoctor explain SGL401"):
        assert text in shown
    for secret in ("swordfish1", "hf_abcdefghijkl"):
        assert secret not in shown
        assert secret not in data


def test_history_of_journals(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = (*COMMAND[:-1], "0.9")
    changes = (Change("flag.set", "--mem-fraction-static", "0.9"),)
    journal = begin(home, StepState.BEGUN, StepState.DONE, command=command, changes=changes)
    journal.finish(Outcome(Ending.DONE, container="ab" * 32))
    assert 0 == main(["history", "sgl", "--lang", "en"])
    text = capsys.readouterr().out
    assert 0 == main(["history", "sgl", "--format", "json"])
    data = json.loads(capsys.readouterr().out)

    assert "+ --mem-fraction-static 0.9" in text
    assert "sgl: 2 launches; launch 1 holds the name." == text.splitlines()[-1]
    assert [(0, None, False), (1, "done", True)] == [
        (one["number"], one["ending"], one["current"]) for one in data["attempts"]
    ]


def test_history_of_a_container_that_was_removed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(home, StepState.DONE, engine="A", command=("a",)).finish(Outcome(Ending.DONE, container="ab" * 32))
    # An engine that answers, and has no container of this name.
    monkeypatch.setattr("sgdoctor.cli.history._engine_and_holder", lambda _: ("A", ""))
    assert 0 == main(["history", "sgl", "--lang", "en"])
    text = capsys.readouterr().out
    assert 0 == main(["history", "sgl", "--format", "json"])
    data = json.loads(capsys.readouterr().out)

    assert "sgl: 2 launches; there is no container of this name now." == text.splitlines()[-1]
    assert [False, False] == [one["current"] for one in data["attempts"]]


def test_history_is_of_one_engine_and_mentions_the_others(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for engine, place in (("A", "unix:///a"), ("B", "unix:///b"), ("B", "unix:///b")):
        begin(home, StepState.DONE, engine=engine, endpoint=place, command=("a",)).finish(
            Outcome(Ending.DONE, container=ID)
        )
    assert 0 == main(["history", "sgl", "--lang", "en"])
    text = " ".join(capsys.readouterr().out.split())
    assert 0 == main(["history", "sgl", "--format", "json"])
    data = json.loads(capsys.readouterr().out)

    validate(data, "history")
    # No engine answers: the one that was used last.
    assert "Relaunches of a container of this name on other engines: 1 (unix:///a). DOCKER_HOST shows them." in text
    assert (None, 1) == (data["engine"], data["elsewhere"])
    assert [None, "done", "done"] == [one["ending"] for one in data["attempts"]]


@pytest.mark.parametrize(
    ("lang", "words"), [("en", "cannot be read (its first line is damaged)"), ("zh", "首行已损坏")]
)
def test_damaged_journal_is_told_and_kept(
    home: Path, capsys: pytest.CaptureFixture[str], lang: str, words: str
) -> None:
    journal = begin(home, StepState.BEGUN)
    data = b"x" + journal.path.read_bytes()[1:]
    journal.path.write_bytes(data)
    tell_open("sgl", lang)
    told = capsys.readouterr().err
    assert 2 == main(["relaunch", "sgl", "--set", "x=1", "--yes", "--lang", lang])
    refused = capsys.readouterr().err
    assert 2 == main(["history", "sgl", "--lang", lang])
    history = capsys.readouterr().err

    for text in (told, refused, history):
        assert words in text
        assert f"mv {journal.path} {journal.path}.damaged" in text
    assert data == journal.path.read_bytes()


def test_damaged_journal_that_had_ended_is_only_lacking(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = begin(home, StepState.DONE)
    journal.finish(Outcome(Ending.DONE, container=ID))
    journal.path.write_bytes(b"x" + journal.path.read_bytes()[1:])
    tell_open("sgl", "en")
    silent = capsys.readouterr().err
    begin(home, StepState.DONE).finish(Outcome(Ending.DONE, container=ID))
    assert 0 == main(["history", "sgl", "--lang", "en"])
    told = capsys.readouterr()

    assert "" == silent
    assert 1 == told.err.count("\n")
    assert "Its relaunch had ended; only the history lacks it" in told.err


# ---------------------------------------------------------------- the last line


@pytest.mark.parametrize(
    ("outcome", "code", "line"),
    [
        (Outcome(Ending.DONE), 0, "sgl serves after 3.0 s."),
        (
            Outcome(Ending.BACK, reason=Text("No.", "")),
            3,
            "sgl: it failed and was undone; the old server runs again. No.",
        ),
        (Outcome(Ending.BACK), 130, "sgl: stopped by you; everything is as before."),
        (Outcome(Ending.BACK), 0, "sgl: the relaunch was undone; everything is as before."),
        (Outcome(Ending.REFUSED, reason=Text("No.", "")), 2, "sgl: nothing was changed: No."),
        (
            Outcome(Ending.OPEN, reason=Text("No.", "")),
            4,
            "sgl: not finished: No. Go back: sgdoctor rollback sgl; go on: sgdoctor relaunch sgl --resume",
        ),
    ],
)
def test_the_last_line_says_how_it_stands(outcome: Outcome, code: int, line: str) -> None:
    def act(**_: object) -> Outcome:
        raise AssertionError

    errand = Errand("sgl", act, "{name} serves after {time}.")

    assert line == closing(errand, (code, outcome, 3.0), "en", runs=True)


def test_help_is_in_both_languages(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for command in ("relaunch", "rollback", "history", "forget"):
        for lang in ("en", "zh"):
            assert 0 == main([command, "--help", "--lang", lang])
            texts.append(capsys.readouterr().out)

    assert all("容器" in text for text in texts[1::2])
    assert all("container" in text for text in texts[::2])
