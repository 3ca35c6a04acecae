"""The journal of a relaunch: on the disk as it goes, read again whatever was cut off."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.relaunch.journal import (
    Journal,
    check_folder,
    damaged_journals,
    journal_dir,
    journals,
    open_journals,
    read_journal,
    seconds_of,
)
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Progress, Purpose, Step, StepState, Way
from sgdoctor.texts import Text

INTENT = Intent(
    container="sgl",
    purpose=Purpose.ROLLBACK,
    engine="ABCD",
    old={"Id": "1" * 64, "HostConfig": {"AutoRemove": True}, "Config": {"Env": ["A=é中"]}},
    image="sha256:2",
    body={"Cmd": ["a"]},
    connects=(("net", {"Aliases": ["x"]}),),
    policy={"Name": "always", "MaximumRetryCount": 0},
    beside="sgl.sgd-new",
    aside="sgl.sgd-old",
    changes=(Change("flag.set", "--dtype", "bfloat16"), Change("flag.unset", "--x")),
    command=("python3", "-m", "x"),
)
BEGUN = Progress(Step.CREATE, StepState.BEGUN, datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC))
DONE = Progress(Step.CREATE, StepState.DONE, datetime(2026, 11, 30, 12, 0, 2, tzinfo=UTC), Text("made", "已创建"))


def written(root: Path) -> Journal:
    journal = Journal.begin(INTENT, root)
    journal.note(BEGUN)
    journal.note(DONE, new="3" * 64)
    return journal


def test_everything_is_read_again(tmp_path: Path) -> None:
    journal = written(tmp_path)

    again = read_journal(journal.path)

    assert journal == again
    assert again is not None
    assert INTENT == again.intent
    assert again.intent.removes_itself
    assert [BEGUN, DONE] == again.progress
    assert {"new": "3" * 64} == again.known
    assert {Step.CREATE: 2.0} == seconds_of(again)
    assert (Way.CONTAINER, None) == (again.intent.way, again.outcome)


def test_it_is_open_until_it_has_an_end(tmp_path: Path) -> None:
    journal = written(tmp_path)
    before = open_journals("sgl", tmp_path)

    journal.finish(Outcome(Ending.OPEN))
    still = open_journals("sgl", tmp_path)
    journal.finish(Outcome(Ending.BACK, container="4" * 64, reason=Text("why", "为何"), log="/x.log"))

    assert [journal.id] == [one.id for one in before] == [one.id for one in still]
    assert [] == open_journals("sgl", tmp_path)
    [ended] = journals("sgl", tmp_path)
    assert Outcome(Ending.BACK, journal.id, "4" * 64, Text("why", "为何"), "/x.log") == ended.outcome
    # What was reserved is given back.
    assert journal.path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_last_line_that_was_cut_off_is_left_out_and_written_over(tmp_path: Path, kept: int) -> None:
    journal = written(tmp_path)
    lines = journal.path.read_bytes().rstrip(b"\0").split(b"\n")[:-1]
    journal.path.write_bytes(b"\n".join([*lines[:2], lines[2][:kept]]) + bytes(4096))

    again = read_journal(journal.path)
    assert again is not None
    assert [BEGUN] == again.progress
    again.note(DONE)

    repaired = read_journal(journal.path)
    assert repaired is not None
    assert [BEGUN, DONE] == repaired.progress


def test_pages_that_never_reached_the_disk_end_the_journal(tmp_path: Path) -> None:
    journal = written(tmp_path)
    lines = journal.path.read_bytes().rstrip(b"\0").split(b"\n")[:-1]
    journal.path.write_bytes(b"\n".join([lines[0], bytes(len(lines[1])), lines[2]]) + b"\n")

    again = read_journal(journal.path)

    assert again is not None
    assert [] == again.progress


@pytest.mark.parametrize("kept", [0, 1, 500])
def test_journal_without_a_whole_first_line_is_none(tmp_path: Path, kept: int) -> None:
    journal = written(tmp_path)
    journal.path.write_bytes(journal.path.read_bytes()[:kept])

    assert read_journal(journal.path) is None
    assert [] == open_journals(root=tmp_path)


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    """Tokens stand in the environment of a container."""
    journal = written(tmp_path)

    assert 0o600 == journal.path.stat().st_mode & 0o777
    assert 0o700 == journal.path.parent.stat().st_mode & 0o777


def test_other_containers_have_other_journals(tmp_path: Path) -> None:
    written(tmp_path)

    assert [] == journals("other", tmp_path)
    assert 1 == len(journals(root=tmp_path))


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "relaunch").write_text("a file")

    with pytest.raises(UserError, match=r"cannot be written in .*relaunch: File exists\. Nothing was touched\."):
        Journal.begin(INTENT, tmp_path)


def test_folder_of_a_file_system_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((0,) * 8 + (os.ST_RDONLY, 255)))

    with pytest.raises(UserError, match=r"cannot be written in .*: Read-only file system\. Nothing was touched\."):
        check_folder(tmp_path)


def test_step_during_which_the_clock_was_set_back(tmp_path: Path) -> None:
    journal = Journal.begin(INTENT, tmp_path)
    journal.note(BEGUN)
    journal.note(replace(DONE, time=BEGUN.time - timedelta(hours=1)))

    assert {Step.CREATE: 0.0} == seconds_of(journal)


def test_place_is_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert tmp_path / "sgdoctor" / "relaunch" == journal_dir()


def test_end_behind_a_damaged_line_is_an_end(tmp_path: Path) -> None:
    """What has ended must not be taken up again."""
    journal = written(tmp_path)
    journal.finish(Outcome(Ending.DONE, container="4" * 64))
    lines = journal.path.read_bytes().split(b"\n")
    lines[2] = lines[2][:9] + b"\xff\xfe" + lines[2][11:]
    journal.path.write_bytes(b"\n".join(lines))

    again = read_journal(journal.path)

    assert again is not None
    assert [BEGUN] == again.progress
    assert again.outcome is not None
    assert (Ending.DONE, "4" * 64) == (again.outcome.ending, again.outcome.container)


@pytest.mark.parametrize("ended", [False, True])
def test_damaged_first_line_is_told_by_its_file(tmp_path: Path, *, ended: bool) -> None:
    journal = written(tmp_path)
    if ended:
        journal.finish(Outcome(Ending.DONE))
    data = journal.path.read_bytes()
    journal.path.write_bytes(b"{[" + data[2:])

    [damaged] = damaged_journals("sgl", tmp_path)

    assert (journal.path, ended) == (damaged.path, damaged.ended)
    assert "its first line is damaged" == damaged.why.en
    assert [] == journals(root=tmp_path)
    assert [] == damaged_journals("sg", tmp_path)


@pytest.mark.parametrize("data", [b"", bytes(4096), b'{"version":1,"ti', b'{"version":1,"ti' + bytes(4096)])
def test_first_line_that_was_never_written(tmp_path: Path, data: bytes) -> None:
    journal = written(tmp_path)
    journal.path.write_bytes(data)

    [damaged] = damaged_journals(root=tmp_path)

    assert "its first line was never written" == damaged.why.en
    assert not damaged.ended


def test_journal_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)

    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)

    assert ["Permission denied"] == [one.why.en for one in damaged_journals("sgl", tmp_path)]


def test_journals_of_one_engine_and_those_that_do_not_say(tmp_path: Path) -> None:
    named, other, old = (
        Journal.begin(Intent("sgl", engine=engine, old={"Id": engine or "9"}), tmp_path) for engine in ("A", "B", "")
    )

    assert {named.id, old.id} == {one.id for one in open_journals("sgl", tmp_path, "A")}
    assert {other.id, old.id} == {one.id for one in journals("sgl", tmp_path, "B")}
    assert 3 == len(journals("sgl", tmp_path))


def test_record_without_engine_and_endpoint_is_read(tmp_path: Path) -> None:
    journal = written(tmp_path)
    first, _, rest = journal.path.read_bytes().partition(b"\n")
    entry = json.loads(first)
    del entry["intent"]["engine"], entry["intent"]["endpoint"]
    journal.path.write_bytes(json.dumps(entry).encode() + b"\n" + rest)

    again = read_journal(journal.path)

    assert again is not None
    assert ("", "") == (again.intent.engine, again.intent.endpoint)
    assert again.intent.may_be_on("A")
