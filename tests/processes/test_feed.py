"""The output of a process as a feed: whole, kept on disk, with its end in lines."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sgdoctor.containers.spool import Spool, bytes_of, spooled
from sgdoctor.processes.child import Patience
from sgdoctor.processes.feed import ProcessFeed
from sgdoctor.watching.feeds import Arrival, Begun, Output, Standing
from sgdoctor.watching.model import Link
from tests.processes.conftest import LIMIT_S, Script, alive


@contextmanager
def fed(words: list[str], root: Path, patience: Patience | None = None) -> Iterator[ProcessFeed]:
    feed = ProcessFeed("sgl", words, dict(os.environ), patience=patience, spool=Spool(root))
    try:
        yield feed
    finally:
        feed.close()


def all_of(feed: ProcessFeed, then: Callable[[bytes], None] = lambda _: None) -> list[Arrival]:
    """What it gives until it says that it is over; ``then`` sees the output as it comes."""
    found: list[Arrival] = []
    limit = time.monotonic() + LIMIT_S
    while not (found and isinstance(found[-1], Standing) and found[-1].final):
        found += feed.read(0.1)
        then(output(found))
        assert time.monotonic() < limit
    return found


def output(arrivals: list[Arrival], *, added: bool = False) -> bytes:
    return b"".join(one.data for one in arrivals if isinstance(one, Output) and one.added is added)


def test_from_its_beginning_to_its_end(script: Script, tmp_path: Path) -> None:
    with fed(script("print('one'); print('two', end='', file=sys.stderr); sys.exit(3)\n"), tmp_path) as feed:
        arrivals = all_of(feed)
        subject = feed.subject

    assert [Begun(feed.started), Standing(Link.FOLLOWING)] == arrivals[:2]
    assert b"one\ntwo" == output(arrivals)
    assert b"sgdoctor  | sgl exited with code 3\n" == output(arrivals, added=True)
    assert Standing(Link.ENDED, final=True) == arrivals[-1]
    assert ("process", "sgl", str(feed.child.pid)) == subject[:3]


def test_what_it_said_is_kept(script: Script, tmp_path: Path) -> None:
    with fed(script("print('one', end=''); os.kill(os.getpid(), signal.SIGSEGV)\n"), tmp_path) as feed:
        all_of(feed)
    (kept,) = spooled(tmp_path, "sgl")

    assert feed.log == kept.path
    assert b"one\nsgdoctor  | sgl exited with code 139\n" == bytes_of(kept)
    assert kept.facts == feed.facts
    assert kept.container.command == feed.subject.command


def test_each_start_is_kept_for_itself(script: Script, tmp_path: Path) -> None:
    for word in ("one", "two"):
        with fed(script(f"print('{word}')\n"), tmp_path) as feed:
            all_of(feed)

    assert [b"one\n", b"two\n"] == [kept.path.read_bytes() for kept in spooled(tmp_path, "sgl")]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("signal.signal(signal.SIGINT, signal.SIG_DFL)\n", b"sgdoctor  | sgl exited with code 130\n"),
        ("for one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)\n", b""),
    ],
)
def test_an_end_that_was_forced_is_no_failure(script: Script, tmp_path: Path, source: str, said: bytes) -> None:
    def stop(text: bytes) -> None:
        if text == b"ready\n" and not feed.child.stopping:
            feed.child.stop()

    words = script(source + "print('ready'); time.sleep(600)\n")
    with fed(words, tmp_path, Patience(interrupt=0.1, terminate=0.1)) as feed:
        arrivals = all_of(feed, stop)

    assert said == output(arrivals, added=True)


def test_processes_that_were_left_behind_are_told(script: Script, tmp_path: Path) -> None:
    source = "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); print(left.pid)\n"
    with fed(script(source), tmp_path) as feed:
        arrivals = all_of(feed)

    assert not alive(int(output(arrivals)))
    assert b"1 processes were left behind and were ended\n" in output(arrivals, added=True)
    assert b"sgl exited with code 0\n" in output(arrivals, added=True)


def test_closing_ends_it(script: Script, tmp_path: Path) -> None:
    with fed(script("time.sleep(600)\n"), tmp_path) as feed:
        pass

    assert not alive(feed.child.pid)
    assert feed.facts is not None


def test_lines_of_any_length_and_no_lines_at_all(script: Script, tmp_path: Path) -> None:
    source = "sys.stdout.write('x' * 3_000_000); sys.stdout.flush(); sys.stdout.write('\\r50 %\\r100 %')\n"
    with fed(script(source), tmp_path) as feed:
        arrivals = all_of(feed)

    assert b"x" * 3_000_000 + b"\r50 %\r100 %" == output(arrivals)


def test_a_reader_that_is_late_loses_nothing(tmp_path: Path) -> None:
    source = "import os\nline = b'x' * 99 + b'\\n'\nfor _ in range(2000): os.write(1, line * 100)"
    with fed([sys.executable, "-c", source], tmp_path) as feed:
        limit = time.monotonic() + LIMIT_S
        while feed.facts is None and time.monotonic() < limit:
            time.sleep(0.01)
        arrivals = all_of(feed)

    assert 20_000_000 == len(output(arrivals)) == len(feed.log.read_bytes()) if feed.log else 0


def test_signals_are_told_as_a_shell_does(script: Script, tmp_path: Path) -> None:
    with fed(script(f"os.kill(os.getpid(), {int(signal.SIGABRT)})\n"), tmp_path) as feed:
        arrivals = all_of(feed)

    assert b"sgdoctor  | sgl exited with code 134\n" == output(arrivals, added=True)
