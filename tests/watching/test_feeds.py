"""Files and pipes as feeds."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.watching.feeds import Anew, Arrival, Feed, Output, ScriptFeed, Standing, StdinFeed
from sgdoctor.watching.files import FileFeed, file_feed
from sgdoctor.watching.model import Link

LONG_AGO = (1_000_000_000, 1_000_000_000)


def read_until(feed: Feed, enough: Callable[[Sequence[Arrival]], bool], limit: float = 10.0) -> list[Arrival]:
    arrivals: list[Arrival] = []
    end = time.monotonic() + limit
    while not enough(arrivals) and time.monotonic() < end:
        arrivals += feed.read(0.05)
    return arrivals


def bytes_in(arrivals: Sequence[Arrival]) -> bytes:
    return b"".join(arrival.data for arrival in arrivals if isinstance(arrival, Output))


def links_in(arrivals: Sequence[Arrival]) -> list[Link]:
    return [arrival.link for arrival in arrivals if isinstance(arrival, Standing)]


def test_a_finished_file_is_read_and_over(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n" * 100_000)
    os.utime(path, LONG_AGO)

    arrivals = read_until(FileFeed(str(path)), lambda so_far: bool(links_in(so_far)))

    assert bytes_in(arrivals) == b"one\n" * 100_000
    assert links_in(arrivals) == [Link.ENDED]


def test_a_file_that_grows_is_followed_as_long_as_somebody_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    feed = FileFeed(str(path))

    first = read_until(feed, lambda so_far: bool(links_in(so_far)))
    with path.open("ab") as file:
        file.write(b"two\n")
    second = read_until(feed, lambda so_far: bytes_in(so_far) == b"two\n")

    assert (bytes_in(first), links_in(first)) == (b"one\n", [Link.FOLLOWING])
    assert bytes_in(second) == b"two\n"


def test_the_first_line_of_a_file_that_somebody_has_open_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with path.open("wb", buffering=0) as file:
        os.utime(path, LONG_AGO)
        pid = os.fork()  # the writer has to be another process
        if not pid:
            time.sleep(20)
            os._exit(0)
        feed = file_feed(str(path))
        waited = read_until(feed, lambda so_far: bool(links_in(so_far)))
        file.write(b"one\n")
    arrivals = read_until(feed, lambda so_far: bool(bytes_in(so_far)))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    assert links_in(waited) == [Link.WAITING]
    assert (bytes_in(arrivals), links_in(arrivals)) == (b"one\n", [Link.FOLLOWING])


def test_a_file_in_which_nothing_will_be_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.touch()
    feed = file_feed(str(path))
    waited = read_until(feed, lambda so_far: bool(links_in(so_far)))
    os.utime(path, LONG_AGO)

    assert links_in(waited) == [Link.WAITING]
    with pytest.raises(UserError, match="empty"):
        read_until(feed, lambda _: False)
    with pytest.raises(UserError, match="empty"):
        file_feed(str(path))


def test_a_finished_file_that_grows_after_all_is_followed_again(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    os.utime(path, LONG_AGO)
    feed = FileFeed(str(path))
    read_until(feed, lambda so_far: links_in(so_far) == [Link.ENDED])
    with path.open("ab") as file:
        file.write(b"two\n")

    arrivals = read_until(feed, lambda so_far: bool(bytes_in(so_far)))

    assert (bytes_in(arrivals), links_in(arrivals)) == (b"two\n", [Link.FOLLOWING])


@pytest.mark.parametrize("how", ["emptied", "renamed", "removed"])
def test_a_rotated_file_is_read_on(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"the old file\n")
    feed = FileFeed(str(path))
    read_until(feed, lambda so_far: bool(links_in(so_far)))
    if how == "emptied":
        os.truncate(path, 0)
    elif how == "renamed":
        path.rename(tmp_path / "a.log.1")
    else:
        path.unlink()
        waiting = read_until(feed, lambda so_far: Link.WAITING in links_in(so_far))
        assert Link.WAITING in links_in(waiting)
    path.write_bytes(b"new\n")

    arrivals = read_until(feed, lambda so_far: bool(bytes_in(so_far)))

    assert bytes_in(arrivals) == b"new\n"
    assert any(isinstance(arrival, Anew) for arrival in arrivals)


def test_packed_and_utf16_files_are_read(tmp_path: Path) -> None:
    import gzip

    packed, wide = tmp_path / "a.gz", tmp_path / "b.log"
    packed.write_bytes(gzip.compress(b"packed\n"))
    wide.write_text("wide\n", "utf-16")

    read = [
        bytes_in(read_until(file_feed(str(path)), lambda so_far: bool(links_in(so_far)))) for path in (packed, wide)
    ]

    assert read == [b"packed\n", b"wide\n"]


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(UserError, match=r"file\.log"):
        file_feed("/dev/null/file.log")


def test_a_file_is_played_by_its_own_clock(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(
        b"before\n[2026-11-30 10:00:00] a\n[2026-11-30 10:00:00] b\n  more\n[2026-11-30 10:00:30] c\n[2026-11-30 09:00:00] d\n"
    )
    feed = file_feed(str(path), speed=100)
    began = time.monotonic()

    first = read_until(feed, bool)
    rest = read_until(feed, lambda so_far: Link.ENDED in links_in(so_far))

    assert bytes_in(first) == b"before\n[2026-11-30 10:00:00] a\n[2026-11-30 10:00:00] b\n  more\n"
    assert bytes_in(rest) == b"[2026-11-30 10:00:30] c\n[2026-11-30 09:00:00] d\n"
    assert time.monotonic() - began >= 0.3
    assert feed.speed == 100


def test_a_pipe_is_read_to_its_end_and_closing_wakes_the_reader() -> None:
    reading, writing = os.pipe()
    feed = StdinFeed(reading)
    os.write(writing, b"half a line")
    first = feed.read(5)
    nothing = feed.read(0)
    os.close(writing)
    last = feed.read(5)
    feed.close()

    assert (list(first), list(nothing), list(last)) == ([Output(b"half a line")], [], [Standing(Link.ENDED)])
    assert list(feed.read(5)) == []
    os.close(reading)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b\x08\x00abc", bytes(range(256)) * 20])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)

    with pytest.raises(UserError):
        StdinFeed(reading).read(5)
    os.close(reading)


def test_a_script_is_played_in_order_and_may_go_on_for_ever() -> None:
    feed = ScriptFeed([(0.0, b"a"), (0.5, Anew()), (0.5, b"b")], speed=50, end=False)

    arrivals = read_until(feed, lambda so_far: len(so_far) == 3)

    assert arrivals == [Output(b"a"), Anew(), Output(b"b")]
    assert list(feed.read(0)) == []
