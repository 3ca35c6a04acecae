"""Where logs come from."""

import gzip
import mmap
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zstandard

from sgdoctor.errors import UserError
from sgdoctor.logs.sources import LiveInput, open_log

BODY = "".join(f"[2026-11-30 10:38:{n % 60:02}] 第 {n} 行 {random.Random(n).random()}\n" for n in range(9000)).encode()


def packed(kind: str, body: bytes) -> bytes:
    return gzip.compress(body) if kind == "gz" else zstandard.ZstdCompressor().compress(body)


def read(path: Path) -> bytes:
    with open_log(str(path)) as source:
        return source.data[:]


def refusal(target: str) -> UserError:
    with pytest.raises(UserError) as caught, open_log(target):
        pass
    return caught.value


def test_large_file_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    body = BODY * 40
    path.write_bytes(body)

    with open_log(str(path)) as source:
        assert isinstance(source.data, mmap.mmap)
        assert (source.name, source.size, source.mtime, source.note) == (
            str(path),
            len(body),
            path.stat().st_mtime,
            None,
        )
        assert source.data[:] == body


def test_small_file_may_be_cut_while_it_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BODY)

    with open_log(str(path)) as source:
        os.truncate(path, 0)

        assert source.data[:] == BODY


def test_file_without_a_size_is_read() -> None:
    with open_log("/proc/self/status") as source:
        assert b"Name:" in source.data[:]


def test_file_that_cannot_be_read_to_its_end() -> None:
    assert "/proc/self/mem: cannot be read" in refusal("/proc/self/mem").en


def test_empty_name() -> None:
    assert "no such file" in refusal("").en


@pytest.mark.parametrize("place", [0, len(BODY[:3000])])
def test_runs_of_zeros_do_not_make_a_log_binary(tmp_path: Path, place: int) -> None:
    path = tmp_path / "a.log"
    body = BODY[:place] + b"\0" * 4096 + BODY[place:]
    path.write_bytes(body)

    assert body == read(path)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_archives_are_told_by_their_bytes(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "named.log"
    path.write_bytes(packed(kind, BODY) + packed(kind, BODY[:100]))

    assert read(path) == BODY + BODY[:100]


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_cut_archive_gives_what_is_there_and_a_note(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.log"
    whole = packed(kind, BODY)
    path.write_bytes(whole[: len(whole) * 2 // 3])

    with open_log(str(path)) as source:
        data, note = source.data[:], source.note
    assert BODY.startswith(data)
    assert len(data) > len(BODY) // 4
    assert note is not None
    assert "cut off" in note.in_language("en")
    assert "不完整" in note.in_language("zh")


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_junk_behind_an_archive(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(packed(kind, BODY) + b"junk that does not belong here")

    with open_log(str(path)) as source:
        assert (source.data[:], source.note is not None) == (BODY, True)


@pytest.mark.parametrize("head", [b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"])
def test_archive_that_gives_nothing(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(head + b"\xff" * 40)

    assert "damaged" in refusal(str(path)).en


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_of_windows_redirects(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.log"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    path.write_bytes((mark + BODY.decode()).encode(encoding))

    assert read(path) == BODY


def test_missing_file_names_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "server.log.gz").write_bytes(b"x")

    assert str(tmp_path / "server.log.gz") in refusal(str(tmp_path / "server.log")).en
    assert f"{tmp_path / 'qqqqq'}：文件不存在。" == refusal(str(tmp_path / "qqqqq")).zh
    assert "does not exist" in refusal(str(tmp_path / "no" / "x.log")).en


def test_directory_empty_and_binary(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    nul = tmp_path / "nul"
    nul.write_bytes(b"ELF\0\0")
    noise = tmp_path / "noise"
    noise.write_bytes(random.Random(1).randbytes(70_000).replace(b"\0", b"\1"))

    assert "directory" in refusal(str(tmp_path)).en
    assert "empty" in refusal(str(empty)).en
    assert "not a text log" in refusal(str(nul)).en
    assert "不是文本日志" in refusal(str(noise)).zh
    assert "not a text log" in refusal("/dev/zero").en
    assert refusal(str(empty)).code == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BODY)
    path.chmod(0)

    assert "permission" in refusal(str(path)).en


def test_some_invalid_bytes_are_still_a_log(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BODY + b"\xff\xfe\xfd" * 50)

    assert read(path) == BODY + b"\xff\xfe\xfd" * 50


@pytest.mark.parametrize("kind", ["plain", "gz"])
def test_standard_input(kind: str) -> None:
    program = (
        "import sys\nfrom sgdoctor.logs.sources import open_log\n"
        "with open_log('-') as s: print(s.name, s.mtime, flush=True), sys.stdout.buffer.write(s.data[:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=packed(kind, BODY) if kind == "gz" else BODY,
        capture_output=True,
        check=True,
    )

    assert done.stdout == b"stdin None\n" + BODY


def test_empty_standard_input_names_the_usual_mistake() -> None:
    program = (
        "from sgdoctor.logs.sources import open_log\nfrom sgdoctor.errors import UserError\n"
        "try:\n  with open_log('-'): pass\nexcept UserError as e: print(e.text('en'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, check=True)

    assert b"2>&1" in done.stdout


def test_fifo(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(BODY,))
    writer.start()

    assert read(path) == BODY
    writer.join()


def test_live_input_grows() -> None:
    reading, writing = os.pipe()
    with LiveInput(reading) as live:
        assert (live.read_available(0), live.map(), live.eof) == (False, b"", False)
        os.write(writing, b"one\n")
        assert (live.read_available(1), bytes(live.map()[:])) == (True, b"one\n")
        os.write(writing, b"two\n")
        os.close(writing)
        assert (live.read_available(1), bytes(live.map()[:]), live.eof) == (True, b"one\ntwo\n", True)
        assert (live.read_available(1), live.size) == (False, 8)
    os.close(reading)


def test_live_input_that_is_not_text() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\0\1\2")
    with LiveInput(reading) as live:
        live.read_available(1)
        with pytest.raises(UserError):
            live.map()
    os.close(reading)
    os.close(writing)
