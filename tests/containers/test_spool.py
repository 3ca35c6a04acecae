"""Starts are kept on disk within their limits, and can be read again."""

import json
import subprocess
import threading
from pathlib import Path

import pytest

from sgdoctor.containers.records import AttemptEnded, AttemptStarted, Container, ExitFacts, LogChunk
from sgdoctor.containers.spool import Limits, Spool, bytes_of, file_name_of, spooled

T0 = 1796040000_000000001


def container(name: str = "sgl", key: str = "a") -> Container:
    return Container(key * 64, name, "lmsysorg/sglang:v0.5.15", command=("python3", "-m", "sglang.launch_server"))


def started(number: int = 1, name: str = "sgl", key: str = "a") -> AttemptStarted:
    return AttemptStarted(container(name, key), number, T0 + number)


def chunk(data: bytes) -> LogChunk:
    return LogChunk(data, "stdout", T0)


def test_a_start_is_read_again_with_its_end(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    facts = ExitFacts(137, oom_killed=True, restart_count=2, started=T0 + 1, finished=T0 + 9)
    for record in (started(), chunk(b"a\n"), chunk(b"b\n"), AttemptEnded(container(), facts)):
        assert spool.take(record) is None
    spool.close()
    (kept,) = spooled(tmp_path)

    assert kept.container == container()
    assert kept.started == T0 + 1
    assert kept.facts == facts
    assert kept.path.read_bytes() == b"a\nb\n"
    assert bytes_of(kept) == b"a\nb\nsgdoctor  | OOMKilled: true\nsgdoctor  | sgl exited with code 137\n"


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.take(started())
    spool.close()
    (kept,) = spooled(tmp_path)

    assert kept.path.stat().st_mode & 0o777 == 0o600
    assert kept.path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["../../x", "..", ".", "a/b", "模型"])
def test_name_cannot_leave_the_folder(name: str, tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.take(started(name=name))
    spool.close()
    (kept,) = spooled(tmp_path, name)

    assert [path.name for path in tmp_path.iterdir()] == ["spool"]
    assert kept.path.parent.parent == tmp_path / "spool"


def test_names_of_files_are_different_ones() -> None:
    names = ("sgl", "sgl.2", "模型", "千问", "__", ".", "..", "n" * 300, "n" * 301)
    files = [file_name_of(name) for name in names]

    assert ["sgl", "sgl.2", "__"] == [files[0], files[1], files[4]]
    assert len(names) == len(set(files))
    assert all(len(file) <= 255 for file in files)


def test_middle_is_dropped_and_marked(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Limits(attempt=10_000))
    spool.take(started())
    lines = [b"line %05d\n" % number for number in range(5000)]
    for at in range(0, 5000, 50):
        spool.take(chunk(b"".join(lines[at : at + 50])))
    generation = spool.generation
    spool.close()
    (kept,) = spooled(tmp_path)
    found = kept.path.read_bytes().splitlines(keepends=True)
    marks = [line for line in found if line.startswith(b"sgdoctor  | ")]

    assert generation > 1
    assert kept.path.stat().st_size <= 10_500
    assert found[:100] == lines[:100]
    assert found[-200:] == lines[-200:]
    assert set(found) - set(marks) <= set(lines)
    assert marks


def test_old_starts_of_a_container_are_removed(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Limits(attempts=3))
    for number in range(1, 8):
        spool.take(started(number))
        spool.take(chunk(b"%d\n" % number))
    spool.close()

    assert [kept.path.read_bytes() for kept in spooled(tmp_path)] == [b"5\n", b"6\n", b"7\n"]


def test_total_size_is_kept_over_all_containers(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Limits(total=2500))
    for number, name in enumerate(("one", "two", "three", "four"), 1):
        spool.take(started(number, name))
        spool.take(chunk(b"x" * 999 + b"\n"))
    spool.close()

    assert [kept.container.name for kept in spooled(tmp_path)] == ["two", "three", "four"]


def test_start_that_is_read_again_replaces_its_older_copy(tmp_path: Path) -> None:
    for data in (b"a\nb\n", b"a\nb\nc\n"):
        spool = Spool(tmp_path)
        spool.take(started())
        spool.take(chunk(data))
        spool.close()

    assert [kept.path.read_bytes() for kept in spooled(tmp_path)] == [b"a\nb\nc\n"]


def test_shorter_copy_does_not_replace_a_longer_one(tmp_path: Path) -> None:
    # The engine has rotated the beginning away meanwhile.
    for data in (b"a\nb\n", b"b\n"):
        spool = Spool(tmp_path)
        spool.take(started())
        spool.take(chunk(data))
        spool.close()

    assert sorted(kept.path.read_bytes() for kept in spooled(tmp_path)) == [b"a\nb\n", b"b\n"]


def test_file_that_another_one_writes_is_left_alone(tmp_path: Path) -> None:
    writing = Spool(tmp_path)
    writing.take(started())
    other = Spool(tmp_path, Limits(attempts=1))
    other.take(started(2))
    writing.take(chunk(b"still here\n"))
    writing.close()
    other.close()

    assert b"still here\n" in [kept.path.read_bytes() for kept in spooled(tmp_path)]


def test_full_disk_goes_on_in_memory_and_says_so_once(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=False).returncode:
        pytest.skip("cannot mount")
    before = threading.active_count()
    try:
        spool = Spool(small)
        said = [spool.take(started())]
        lines = [b"line %05d\n" % number for number in range(20_000)]
        for at in range(0, len(lines), 500):
            said.append(spool.take(chunk(b"".join(lines[at : at + 500]))))
        said.append(spool.take(AttemptEnded(container(), ExitFacts(1, started=T0))))
        assert spool.path is not None
        seen = spool.path.read_bytes()
        spool.close()
        on_disk = spooled(small)[0].path.read_bytes()
    finally:
        subprocess.run(["umount", small], check=True)
    messages = [message for message in said if message is not None]

    assert len(messages) == 1
    assert "No space left" in messages[0].en
    assert "内存" in messages[0].zh
    assert seen == b"".join(lines)
    assert on_disk == b"".join(lines)[: len(on_disk)]
    assert on_disk.endswith(b"\n")
    assert threading.active_count() == before


def test_folder_that_cannot_be_made_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    spool = Spool(tmp_path)
    said = [spool.take(started()), spool.take(chunk(b"a\n"))]
    assert spool.path is not None
    seen = spool.path.read_bytes()
    spool.close()

    assert [message is not None for message in said] == [True, False]
    assert seen == b"a\n"


def test_damaged_notes_are_passed_over(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.take(started())
    spool.close()
    (kept,) = spooled(tmp_path)
    kept.path.with_suffix(".json").write_text(json.dumps({"container": 1}))

    assert spooled(tmp_path) == []
