"""The end of a start in the words of the real tools, read by the same reader and rules as any log."""

from sgdoctor.containers.exits import exit_lines
from sgdoctor.containers.records import ExitFacts
from sgdoctor.logs.event import EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines


def events_of(data: bytes) -> list[tuple[EventKind, str, str]]:
    return [(event.kind, event.text, event.line.source) for event in fold(read_lines(data), lambda _: False)]


def test_exit_code_is_an_exit_event_with_its_source() -> None:
    data = exit_lines("sgl-x", ExitFacts(137, started=1))

    assert events_of(data) == [(EventKind.EXIT, "sgl-x exited with code 137", "sgdoctor")]


def test_restarting() -> None:
    data = exit_lines("sgl", ExitFacts(1, started=1, restarting=True))

    assert events_of(data)[0][1] == "sgl exited with code 1 (restarting)"


def test_refused_start_is_the_word_of_the_engine_alone() -> None:
    error = "driver failed programming: Bind for 0.0.0.0:30000 failed:\n port is already allocated\x1b[0m"
    data = exit_lines("sgl", ExitFacts(128, error=error))

    assert data.count(b"\n") == 1
    assert events_of(data)[0][1].startswith("docker: Error response from daemon: driver failed programming")


def test_out_of_memory_only_with_a_failure() -> None:
    killed = exit_lines("sgl", ExitFacts(137, oom_killed=True, started=1))
    outlived = exit_lines("sgl", ExitFacts(0, oom_killed=True, started=1))

    assert b"OOMKilled: true" in killed
    assert b"OOMKilled" not in outlived


def test_unknown_end_says_nothing() -> None:
    assert exit_lines("sgl", ExitFacts(None, started=1)) == b""
