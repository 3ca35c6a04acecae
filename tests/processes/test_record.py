"""Starts of processes in the journal."""

from pathlib import Path

import pytest

from sgdoctor.launch.change import Change
from sgdoctor.processes.record import Record, Start, close_cut_off, command_words, files_folder
from sgdoctor.relaunch.journal import Journal, journal_dir, journals
from sgdoctor.relaunch.launches import history
from sgdoctor.relaunch.lock import locked
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Step, Way
from sgdoctor.relaunch.recovery import look_for_open
from sgdoctor.texts import Text

FIRST = Start("sgl", ("python", "-m", "sglang.launch_server"))
CHANGE = Change("flag.set", "--dtype", "bfloat16")
SECOND = Start("sgl", (*FIRST.words, "--dtype", "bfloat16"), FIRST.words, (CHANGE,))


def test_starts_count_from_one(tmp_path: Path) -> None:
    first = Record.begin(FIRST, Path("/logs/1.log"), tmp_path)
    first.end(Outcome(Ending.FAILED, reason=Text("It died.", "已退出。")), {"weights": 13.3})
    second = Record.begin(SECOND, None, tmp_path)
    second.serves()
    second.end(Outcome(Ending.DONE), {})

    found = history("sgl", tmp_path)
    assert [(1, Ending.FAILED), (2, Ending.DONE)] == [(one.number, one.ending) for one in found]
    assert [FIRST.words, SECOND.words] == [one.command for one in found]
    assert [(), (CHANGE,)] == [one.changes for one in found]
    assert [{Step.START, Step.READY}, {Step.START, Step.READY, Step.SERVE}] == [set(one.seconds) for one in found]
    assert ["/logs/1.log", None] == [one.log for one in found]
    assert [{"weights": 13.3}, {}] == [one.phases for one in found]
    assert {Way.PROCESS} == {one.way for one in found}
    assert not any(one.current for one in found)


def test_the_one_that_runs_is_the_current_one(tmp_path: Path) -> None:
    with locked("sgl", tmp_path):
        Record.begin(FIRST, None, tmp_path)
        running = history("sgl", tmp_path)
    left = history("sgl", tmp_path)

    assert [(Ending.OPEN, True)] == [(one.ending, one.current) for one in running]
    assert [(Ending.OPEN, False)] == [(one.ending, one.current) for one in left]


def test_a_process_has_no_way_back(tmp_path: Path) -> None:
    Record.begin(FIRST, None, tmp_path)
    open_ = look_for_open("sgl", tmp_path)
    close_cut_off("sgl", tmp_path)

    assert [] == open_
    (one,) = history("sgl", tmp_path)
    assert Ending.FAILED is one.ending
    assert one.reason is not None


def test_a_container_of_the_same_name_begins_a_list_of_its_own(tmp_path: Path) -> None:
    Record.begin(FIRST, None, tmp_path).end(Outcome(Ending.DONE), {})
    Journal.begin(Intent("sgl", old={"Id": "1" * 64}), tmp_path).finish(Outcome(Ending.DONE, container="2" * 64))
    of_container = [(one.number, one.way) for one in history("sgl", tmp_path)]
    Record.begin(SECOND, None, tmp_path).end(Outcome(Ending.DONE), {})

    assert [(0, Way.CONTAINER), (1, Way.CONTAINER)] == of_container
    assert [(1, Way.PROCESS)] == [(one.number, one.way) for one in history("sgl", tmp_path)]


def test_a_server_is_started_without_a_journal_where_there_can_be_none(tmp_path: Path) -> None:
    journal_dir(tmp_path).write_text("a file where the folder should be")
    record = Record.begin(FIRST, None, tmp_path)
    record.serves()
    record.end(Outcome(Ending.DONE), {})

    assert record.problem is not None
    assert [] == journals("sgl", tmp_path)


@pytest.mark.parametrize(
    ("text", "variables", "words"),
    [
        ("python -m x", {}, ["python", "-m", "x"]),
        ("A=1 B='x y' python --c=d", {"A": "1", "B": "x y"}, ["python", "--c=d"]),
        ("'a b=c' d", {}, ["a b=c", "d"]),
        ("A=1", {"A": "1"}, []),
    ],
)
def test_variables_in_front_of_a_command(text: str, variables: dict[str, str], words: list[str]) -> None:
    assert (variables, words) == command_words(text)


@pytest.mark.parametrize("name", [".", "..", "模型", "sgl"])
def test_files_of_a_server_lie_in_a_folder_of_their_own(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    # `forget` removes it with all that is in it.
    folder = files_folder(name)

    assert tmp_path / "sgdoctor" / "run" == folder.resolve().parent
    assert folder != files_folder("千问")
