"""The log stream of Docker, in recorded frames, becomes the same lines however it is cut."""

import itertools
import struct

from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.containers.demux import STDERR, STDOUT, TTY, Demux, Entry

T0 = 1796040000_000000000  # 2026-11-30T12:00:00Z
AT = b"2026-11-30T12:00:0%d.%09dZ "


def stamp(number: int) -> bytes:
    return AT % divmod(number, 10**9)


def frame(stream: int, message: bytes) -> bytes:
    return struct.pack(">B3xL", stream, len(message)) + message


def whole(demux: Demux, *parts: bytes) -> list[Entry]:
    return [entry for part in parts for entry in demux.feed(part)] + demux.rest()


def test_streams_and_times() -> None:
    data = frame(1, stamp(5) + b"out\n") + frame(2, stamp(3) + b"err\n") + frame(1, stamp(7) + b"\n")

    assert whole(Demux(tty=False), data) == [
        Entry(STDOUT, T0 + 5, b"out\n"),
        Entry(STDERR, T0 + 3, b"err\n"),
        Entry(STDOUT, T0 + 7, b"\n"),
    ]


def test_pieces_of_two_streams_are_joined_each_with_its_own() -> None:
    x, y = b"x" * 16384, b"y" * 16384
    data = b"".join(
        [
            frame(1, stamp(1) + x),
            frame(2, stamp(2) + y),
            frame(1, stamp(1) + x),
            frame(2, stamp(2) + b"end of y\n"),
            frame(1, stamp(1) + b"end of x\n"),
        ]
    )

    assert whole(Demux(tty=False), data) == [
        Entry(STDERR, T0 + 2, y + b"end of y\n"),
        Entry(STDOUT, T0 + 1, x + x + b"end of x\n"),
    ]


def test_last_piece_without_line_feed_ends_with_the_next_time() -> None:
    # The `local` driver.
    data = frame(1, stamp(1) + b"x" * 16384) + frame(1, stamp(1) + b"end") + frame(1, stamp(2) + b"next\n")

    assert whole(Demux(tty=False), data) == [
        Entry(STDOUT, T0 + 1, b"x" * 16384 + b"end\n"),
        Entry(STDOUT, T0 + 2, b"next\n"),
    ]


def test_pieces_of_podman_have_times_of_their_own() -> None:
    # A progress bar, and the line feed of a line of 8192 bytes.
    bar = frame(1, stamp(1) + b"1%") + frame(1, stamp(5) + b"\r2%") + frame(1, stamp(9) + b"\n")
    long = frame(1, stamp(9) + b"x" * 8192) + frame(1, stamp(9) + b"\n")

    assert whole(Demux(tty=False, podman=True), bar + long) == [
        Entry(STDOUT, T0 + 1, b"1%\r2%\n"),
        Entry(STDOUT, T0 + 9, b"x" * 8192 + b"\n"),
    ]


def test_pieces_of_podman_on_a_terminal() -> None:
    data = stamp(1) + b"1%" + stamp(5) + b"\r2%" + stamp(9) + b"\r\n" + stamp(9) + b"next\r\n"

    assert whole(Demux(tty=True, podman=True), data) == [
        Entry(TTY, T0 + 1, b"1%\r2%\n"),
        Entry(TTY, T0 + 9, b"next\n"),
    ]


def test_what_podman_left_unfinished_ends_with_its_start() -> None:
    def at(second: int) -> bytes:
        return b"2026-11-30T12:00:0%dZ " % second

    began = T0 + 3 * 10**9 + 500
    framed = frame(2, at(1) + b"50%|##") + frame(2, at(2) + b"\r60%|##") + frame(2, at(5) + b"again\n")
    typed = at(1) + b"50%|##" + at(2) + b"\r60%|##" + at(5) + b"again\r\n"
    expected = [b"50%|##\r60%|##\n", b"again\n"]

    for tty, data in ((False, framed), (True, typed)):
        assert [entry.data for entry in whole(Demux(tty=tty, podman=True, started=began), data)] == expected
        # Of one start it is one line.
        assert len(whole(Demux(tty=tty, podman=True, started=began - 10**10), data)) == 1


def test_place_in_the_second_tells_lines_of_whole_seconds_apart() -> None:
    second = [b"2026-11-30T12:00:0%dZ " % number for number in range(2)]
    old = frame(1, second[0] + b"a\n") + frame(2, second[0] + b"b\n")
    new = frame(1, second[1] + b"c\n") + frame(2, second[1] + b"d\n")
    entries = whole(Demux(tty=False, podman=True), old, new)

    assert [entry.time - T0 for entry in entries] == [0, 1, 10**9, 10**9 + 1]
    assert whole(Demux(tty=False, podman=True), new) == entries[2:]


def test_unfinished_line_is_given_only_when_none_can_follow() -> None:
    demux = Demux(tty=False)
    first = demux.feed(frame(1, stamp(1) + b"loading"))

    assert first == []
    assert demux.rest() == [Entry(STDOUT, T0 + 1, b"loading\n")]
    assert demux.rest() == []


def test_message_of_the_engine_is_no_line() -> None:
    demux = Demux(tty=False)
    entries = demux.feed(frame(3, b"Error grabbing logs: invalid character '\\x00'") + frame(1, stamp(1) + b"x\n"))

    assert entries == [Entry(STDOUT, T0 + 1, b"x\n")]
    assert demux.failure.startswith("Error grabbing logs")


def test_terminal_has_no_frames_and_keeps_the_states_of_bars() -> None:
    data = stamp(1) + b" 10%\r 50%\r100%\r\n" + stamp(2) + b"done\r\n"

    assert whole(Demux(tty=True), data) == [Entry(TTY, T0 + 1, b" 10%\r 50%\r100%\n"), Entry(TTY, T0 + 2, b"done\n")]


def test_terminal_repeats_the_time_within_a_long_line() -> None:
    data = stamp(1) + b"x" * 16384 + stamp(1) + b"end\r\n"

    assert whole(Demux(tty=True), data) == [Entry(TTY, T0 + 1, b"x" * 16384 + b"end\n")]


def test_terminal_and_local_driver_glue_the_next_line_on() -> None:
    data = stamp(1) + b"x" * 16384 + stamp(1) + b"end" + stamp(2) + b"next\r\n"

    assert whole(Demux(tty=True, driver="local"), data) == [
        Entry(TTY, T0 + 1, b"x" * 16384 + b"end\n"),
        Entry(TTY, T0 + 2, b"next\n"),
    ]


def test_times_of_podman() -> None:
    # Trailing zeros are dropped, the zone is the machine's.
    data = frame(1, b"2026-11-30T13:00:00.5+01:00 a\n") + frame(1, b"2026-11-30T06:30:01-05:30 b\n")

    assert whole(Demux(tty=False), data) == [
        Entry(STDOUT, T0 + 500_000_000, b"a\n"),
        Entry(STDOUT, T0 + 1_000_000_000, b"b\n"),
    ]


def test_line_without_time_takes_the_one_before() -> None:
    data = frame(1, stamp(4) + b"a\n") + frame(1, b"no time\n")

    assert whole(Demux(tty=False), data)[1] == Entry(STDOUT, T0 + 4, b"no time\n")


texts = st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"").replace(b"\r", b"") + b"\n")


@given(
    lines=st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), texts), max_size=12),
    cuts=st.lists(st.integers(0, 900), max_size=12),
)
def test_frames_cut_anywhere_give_the_same_lines(lines: list[tuple[int, bytes]], cuts: list[int]) -> None:
    data = b"".join(frame(stream, stamp(number) + text) for number, (stream, text) in enumerate(lines))
    expected = [Entry(stream, T0 + number, text) for number, (stream, text) in enumerate(lines)]

    assert whole(Demux(tty=False), *_cut(data, cuts)) == expected


@given(lines=st.lists(texts, max_size=12), cuts=st.lists(st.integers(0, 900), max_size=12))
def test_terminal_cut_anywhere_gives_the_same_lines(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(stamp(number) + text[:-1] + b"\r\n" for number, text in enumerate(lines))
    expected = [Entry(TTY, T0 + number, text) for number, text in enumerate(lines)]

    assert whole(Demux(tty=True), *_cut(data, cuts)) == expected


def _cut(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]
