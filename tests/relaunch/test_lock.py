"""One relaunch at a time for each container."""

import multiprocessing
import os
import subprocess
import sys
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.relaunch.lock import holder, locked


def hold(root: Path, held: Event) -> None:
    with locked("sgl", root):
        held.set()
        multiprocessing.Event().wait(60)


def test_name_that_is_too_long_for_a_file(tmp_path: Path) -> None:
    one, other = "n" * 400, "n" * 401
    with locked(one, tmp_path, "ABCD"), locked(other, tmp_path, "ABCD"):
        assert holder(one, tmp_path, "ABCD") is not None
    assert holder(one, tmp_path, "ABCD") is None


def test_names_of_another_script_are_not_one(tmp_path: Path) -> None:
    with locked("模型", tmp_path), locked("千问", tmp_path):
        assert holder("千问", tmp_path) is not None
    with locked("n" * 400, tmp_path, "ABCD"):
        assert max(len(path.name) for path in (tmp_path / "relaunch").iterdir()) <= 255


def test_another_process_is_named_until_it_is_killed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held = context.Event()
    process = context.Process(target=hold, args=(tmp_path, held))
    process.start()
    assert held.wait(30)

    who = holder("sgl", tmp_path)
    with pytest.raises(UserError, match=rf"by process {process.pid} \("), locked("sgl", tmp_path):
        pass
    process.kill()
    process.join()

    assert who is not None
    assert process.pid == who.pid
    assert holder("sgl", tmp_path) is None
    with locked("sgl", tmp_path):
        mine = holder("sgl", tmp_path)
    assert mine is not None
    assert os.getpid() == mine.pid


def test_secrets_of_the_command_are_not_shown_to_others(tmp_path: Path) -> None:
    program = "import sys, time; from pathlib import Path; from sgdoctor.relaunch.lock import locked\n"
    program += "with locked('sgl', Path(sys.argv[-1])): print('held', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", program, "relaunch", "sgl", "--set", "api-key=hush", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"held\n" == process.stdout.readline()
        who = holder("sgl", tmp_path)
        process.kill()

    assert who is not None
    assert process.pid == who.pid
    assert "hush" not in (tmp_path / "relaunch/sgl.lock").read_text()


def test_other_containers_are_free(tmp_path: Path) -> None:
    with locked("sgl", tmp_path), locked("other", tmp_path):
        assert holder("third", tmp_path) is None


def test_lock_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "relaunch").write_text("a file")

    with pytest.raises(UserError, match="cannot be made"), locked("sgl", tmp_path):
        pass
