"""Quoted lines are harmless and have their context."""

from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.diagnosis.evidence import MAX_QUOTE, Quotes, printable
from sgdoctor.logs.framing import read_lines


def quotes(data: bytes) -> Quotes:
    return Quotes(data, list(read_lines(data)))


def test_a_line_with_two_lines_around_it() -> None:
    evidence = quotes(b"one\ntwo\nthree\nfour\nfive\n").evidence(3)

    assert evidence is not None
    assert (evidence.line, evidence.text) == (3, "three")
    assert evidence.before == ((1, "one"), (2, "two"))
    assert evidence.after == ((4, "four"), (5, "five"))


def test_the_engine_prefix_stays() -> None:
    evidence = quotes(b"[2026-11-30 10:00:00 TP0] RuntimeError: x\n").evidence(1)

    assert evidence is not None
    assert evidence.text == "[2026-11-30 10:00:00 TP0] RuntimeError: x"


def test_a_progress_bar_is_quoted_in_its_last_state() -> None:
    bars = b"shards:  25% Completed | 1/4\rshards: 100% Completed | 4/4\r\n"

    assert quotes(bars).text(1) == "shards: 100% Completed | 4/4"


def test_a_record_of_docker_is_quoted_by_its_message() -> None:
    record = b'{"log":"RuntimeError: x\\n","stream":"stderr","time":"2026-11-30T10:00:00.1Z"}\n'

    assert quotes(record).text(1) == "RuntimeError: x"


def test_endless_lines_are_cut() -> None:
    text = quotes(b"x" * 100_000).text(1)

    assert text is not None
    assert len(text) == MAX_QUOTE


def test_lines_that_were_not_read_cannot_be_quoted() -> None:
    assert quotes(b"one\n").evidence(7) is None


def test_escapes_go_whole_and_text_stays() -> None:
    hostile = "\x1b[31mred\x1b[0m \x1b]8;;http://evil\x07link\x1b]8;;\x07 \u202eabc\x9b2J tab\there 中文 [bold]"

    assert printable(hostile) == "red link abc tab here 中文 [bold]"


@given(st.text())
def test_printable_text_is_one_line_without_controls(text: str) -> None:
    result = printable(text)

    assert not set(result) & {chr(code) for code in (*range(32), *range(127, 160), 0x202E, 0x2066, 0x2028, 0xFEFF)}
    assert printable(result) == result


def test_an_escape_without_an_end_hides_nothing() -> None:
    assert printable("a\x1b]0;title and the failure") == "a0;title and the failure"
