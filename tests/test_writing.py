"""Files of the user are replaced whole or not at all."""

import os
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.writing import read_text, replace_with_backup, write_new

NOW = datetime(2026, 7, 10, 15, 30)  # noqa: DTZ001 - a file name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "compose.yaml"
    path.write_text("old\n")
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())


def test_a_file_is_replaced_and_kept_as_backup(file: Path) -> None:
    file.chmod(0o640)
    before = file.stat()
    backup = replace_with_backup(read_text(file), "new\n", NOW)

    assert ["compose.yaml", "compose.yaml.bak-20260710-153000"] == names(file)
    assert ("new\n", "old\n") == (file.read_text(), backup.read_text())
    assert (0o640, before.st_uid) == (stat.S_IMODE(file.stat().st_mode), file.stat().st_uid)


def test_two_backups_in_one_second(file: Path) -> None:
    first = replace_with_backup(read_text(file), "second\n", NOW)
    second = replace_with_backup(read_text(file), "third\n", NOW)

    assert ("old\n", "second\n", "third\n") == (first.read_text(), second.read_text(), file.read_text())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 1234, 4321)
    replace_with_backup(read_text(file), "new\n", NOW)

    assert (1234, 4321) == (file.stat().st_uid, file.stat().st_gid)


def make_read_only(path: Path) -> None:
    path.chmod(0o444)


def edit(path: Path) -> None:
    path.write_text("edited by somebody\n")


def make_link(path: Path) -> None:
    path.rename(path.with_name("real.yaml"))
    path.symlink_to("real.yaml")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (make_read_only, "read-only; nothing was written"),
        (edit, "was edited meanwhile"),
        (make_link, "a link to"),
        (Path.unlink, "no such file or folder"),
    ],
)
def test_nothing_is_written_over_what_is_not_as_it_was(
    file: Path, spoil: Callable[[Path], object], message: str
) -> None:
    found = read_text(file)
    spoil(file)
    before = {name: file.with_name(name).read_bytes() for name in names(file)}
    with pytest.raises(UserError, match=message):
        replace_with_backup(found, "new\n", NOW)

    assert before == {name: file.with_name(name).read_bytes() for name in names(file)}


def test_a_new_file(tmp_path: Path) -> None:
    write_new(tmp_path / "run.sh", b"docker run\n")

    assert "docker run\n" == (tmp_path / "run.sh").read_text()
    assert ["run.sh"] == names(tmp_path / "run.sh")


def test_a_new_file_never_replaces_another_one(file: Path) -> None:
    with pytest.raises(UserError, match="exists already"):
        write_new(file, b"new\n")

    assert "old\n" == file.read_text()


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        write_new(tmp_path / "absent" / "run.sh", b"docker run\n")


def test_what_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, message in (("binary", "not a text"), ("absent", "no such file"), (".", "a folder")):
        with pytest.raises(UserError, match=message):
            read_text(tmp_path / name)
