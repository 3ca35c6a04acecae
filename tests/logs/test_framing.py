"""From bytes to lines. All texts are composed."""

import mmap
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.logs.framing import MAX_TEXT, LineReader, read_lines
from sgdoctor.logs.line import Line

PIECES = st.lists(
    st.sampled_from(
        [
            b"\n", b"\n", b"\r\n", b"\r", b"\x1b[31m", b"\x1b]0;t\x07", b"\x1b", b"[2026-11-30 10:38:19 TP0] ", b"sgl-1  | ",
            b"2026-11-30T10:38:20.1Z stdout P ", b"2026-11-30T10:38:20.1Z stdout F ", b"\xff\xc3", "内存".encode(), b"\xef\xbb\xbf",
            b"Loading:  50%|##  | 1/2 [00:01<00:01]", b" ", b"RuntimeError: x", b'{"log":"a\\rb","stream":"stderr","time":"x"}',
            b"x" * 300_000,
        ]
    )
    | st.binary(max_size=8),
    max_size=30,
)  # fmt: skip


def in_chunks(data: bytes, cuts: list[int]) -> list[Line]:
    reader = LineReader()
    lines: list[Line] = []
    borders = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(borders):
        lines += reader.feed(data[start:end])
    return lines + reader.close()


@given(pieces=PIECES, cuts=st.lists(st.integers(min_value=0), max_size=12))
def test_chunk_borders_make_no_difference(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    expected = list(read_lines(data))

    assert expected == in_chunks(data, cuts)


@given(data=st.binary(max_size=400))
def test_byte_by_byte(data: bytes) -> None:
    expected = list(read_lines(data))

    assert expected == in_chunks(data, list(range(len(data))))


@given(pieces=PIECES)
def test_any_bytes_give_bounded_clean_lines(pieces: list[bytes]) -> None:
    data = b"".join(pieces)

    for line in read_lines(data):
        assert len(line.text) <= MAX_TEXT
        assert not set("\n\r\x1b") & set(line.text)
        assert 0 <= line.offset < len(data)


def test_numbers_offsets_and_line_ends() -> None:
    lines = list(read_lines("一\r\nb\n\nd".encode()))

    assert [Line(1, 0, "一"), Line(2, 5, "b"), Line(3, 7, ""), Line(4, 8, "d")] == lines


def test_part_of_a_log() -> None:
    lines = list(read_lines(b"a\nbb\ncc\ndd\n", 2, 8, first_number=2))

    assert [Line(2, 2, "bb"), Line(3, 5, "cc")] == lines


def test_mmap_and_memoryview(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"a\nb\n")

    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert [line.text for line in read_lines(mapped)] == ["a", "b"]
    assert [line.text for line in read_lines(memoryview(b"a\nb\n"))] == ["a", "b"]


def test_bar_keeps_its_last_state_and_all_percentages() -> None:
    bar = "\rCapturing batches (bs={} avail_mem=1.20 GB): {:3}%|##  | {}/2 [00:01<00:01,  1.0s/it]"
    line = next(read_lines((bar.format(2, 0, 0) + bar.format(2, 50, 1) + bar.format(1, 100, 2) + "\n").encode()))

    assert line.text == "Capturing batches (bs=1 avail_mem=1.20 GB): 100%|##  | 2/2 [00:01<00:01,  1.0s/it]"
    assert line.progress == (0, 50, 100)


def test_text_glued_to_an_unfinished_bar() -> None:
    data = b"\r 50%|##  | 1/2 [00:01<00:01,  1.0s/it][2026-11-30 10:38:19 TP0] Scheduler hit an exception: Traceback"
    line = next(read_lines(data))

    assert (
        line.text,
        line.rank,
        line.engine,
        line.progress,
    ) == ("Scheduler hit an exception: Traceback", "TP0", True, (50,))


def test_percentages_of_ordinary_text_are_no_progress() -> None:
    assert next(read_lines(b"GPU memory is used to 97%, that is much")).progress == ()


def test_escapes_go() -> None:
    data = b"\x1b[1;33mwarn\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(Bend \xc2\x9b31mc1\x1b[K\x1b["

    assert next(read_lines(data)).text == "warn link end c1"


def test_invalid_bytes_are_replaced() -> None:
    assert next(read_lines(b"a\xffb")).text == "a\ufffdb"


def test_byte_order_mark_goes() -> None:
    assert next(read_lines(b"\xef\xbb\xbf[2026-11-30 10:38:19] x")).engine


def test_endless_line_keeps_head_and_last_state() -> None:
    states = b"".join(b"\rload: %3d%%|## | %d/900000 [00:01<00:02]" % (i // 9000, i) for i in range(900_000))
    plain, bars = read_lines(b"y" * 9_000_000 + b"\n" + states)

    assert plain.text == "y" * MAX_TEXT
    assert bars.text == "load:  99%|## | 899999/900000 [00:01<00:02]"
    assert bars.progress == (0, 99)
    assert bars.offset == 9_000_001


def test_record_behind_a_carriage_return() -> None:
    line = next(read_lines(b'\r{"log":"a\\r\\u001b[1mb\\n","stream":"stderr","time":"x"}'))

    assert (line.text, line.stream) == ("b", "stderr")


def test_windows_line_end_changes_nothing_else() -> None:
    text = b"[2026-11-30 10:38:19] (Prompt pid=1) [2026-11-30 10:38:19 TP0] x"

    assert list(read_lines(text + b"\r\n")) == list(read_lines(text + b"\n"))


def test_many_unfinished_pieces_are_given_up() -> None:
    data = b"".join(b"sgl-%d  | 2026-11-30T10:38:20.1Z stdout P x\n" % number for number in range(100))

    assert len(list(read_lines(data))) == 100


def test_zeros_that_a_crash_left_do_not_hide_what_follows() -> None:
    data = b"a\n\0\0\0[2026-11-30 10:38:19] Load weight begin.\nb\0c\n"

    lines = list(read_lines(data))

    assert [line.text for line in lines] == ["a", "Load weight begin.", "bc"]
    assert [line.offset for line in lines] == [0, 2, 46]
    assert lines[1].engine
