"""Reading on after a break neither repeats nor skips a line."""

from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.containers.demux import STDERR, STDOUT, Entry
from sgdoctor.containers.marks import Marks

S = 10**9


def line(stream: int, time: int) -> Entry:
    return Entry(stream, time, b"%d-%d\n" % (stream, time))


@given(
    steps=st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.integers(0, 3)), min_size=1, max_size=40),
    breaks=st.lists(st.integers(0, 40), max_size=4),
)
def test_every_line_once_over_any_breaks(steps: list[tuple[int, int]], breaks: list[int]) -> None:
    # Steps of 0: a coarse clock gives two lines of a stream the same time.
    log: list[Entry] = []
    time = 5 * S
    for number, (stream, step) in enumerate(steps):
        time += step
        log.append(Entry(stream, time, b"%d\n" % number))
    marks = Marks()
    given_lines: list[Entry] = []
    for end in [*sorted(min(point, len(log)) for point in breaks), len(log)]:
        marks.resume()
        since = marks.since or 0
        given_lines += marks.fresh([entry for entry in log[:end] if entry.time >= since])

    assert given_lines == log
    assert not marks.lost


def test_streams_that_are_a_little_out_of_order() -> None:
    log = [line(STDOUT, 10 * S), line(STDERR, 10 * S - 500), line(STDOUT, 10 * S + 1)]
    marks = Marks()
    first = list(marks.fresh(log[:1]))
    marks.resume()
    rest = list(marks.fresh([entry for entry in log if entry.time >= (marks.since or 0)]))

    assert first + rest == log


def test_a_log_that_begins_behind_the_mark_has_lost_lines() -> None:
    marks = Marks()
    marks.fresh([line(STDERR, 10 * S)])
    marks.resume()
    fresh = marks.fresh([line(STDERR, 20 * S)])

    assert fresh == [line(STDERR, 20 * S)]
    assert marks.lost


def test_a_stream_that_was_silent_for_long_is_no_loss() -> None:
    # The line of the silent stream has long been rotated away; the newest line has not.
    marks = Marks()
    marks.fresh([line(STDOUT, 1 * S), line(STDERR, 99 * S)])
    marks.resume()
    fresh = marks.fresh([line(STDERR, 99 * S), line(STDOUT, 100 * S)])

    assert fresh == [line(STDOUT, 100 * S)]
    assert not marks.lost


def test_nothing_new_is_no_loss() -> None:
    marks = Marks()
    marks.fresh([line(STDOUT, 1 * S)])
    marks.resume()

    assert marks.fresh([]) == []
    assert not marks.lost
