"""Where one start ends and the next begins."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.engines.sglang.markers import MARKERS
from sgdoctor.logs.event import Event
from tests.engines.conftest import REAL, events_in

FIVE = ("cfg-moe-40-layers-16-types", "cli-unknown-flag", "oom-weights", "sigterm-busy", "boot-hybrid")
CRASH_LOOPS = [
    FIVE,
    ("cli-article-launch-script", "cli-article-launch-script", "boot-dense"),
    ("cli-transformers-5.17-asr", "cli-transformers-5.17-asr"),
    ("cli-bad-dtype", "cli-bad-dtype"),
    ("kill-scheduler", "cli-no-gpu", "article27-mfs-0.80", "cli-article-patches-real-entry"),
    # No line tells that the first of these two ended: its process was killed from outside.
    ("cli-port-in-use", "cli-port-in-use"),
    ("cli-port-in-use", "cli-article-launch-script"),
]


def joined(names: Sequence[str], prefix: str = "") -> tuple[bytes, list[int]]:
    data, starts = b"", []
    for name in names:
        starts.append(data.count(b"\n") + 1)
        lines = (REAL / f"{name}.log").read_bytes().rstrip(b"\n").split(b"\n")
        data += b"".join(prefix.encode() + line + b"\n" for line in lines)
    return data, starts


def starts_of(events: Sequence[Event]) -> list[int]:
    return [events[attempt.start].first for attempt in SGLANG.split_attempts(events)]


@pytest.mark.parametrize("prefix", ["", "sgl-1  | ", "2026-11-30T10:00:00.000000000Z "])
@pytest.mark.parametrize("names", CRASH_LOOPS)
def test_starts_of_a_crash_loop(names: Sequence[str], prefix: str) -> None:
    data, expected = joined(names, prefix)

    assert expected == starts_of(events_in(data))


@pytest.mark.parametrize("path", sorted(REAL.glob("*.log")), ids=lambda path: path.stem)
def test_one_start_is_never_split(path: object) -> None:
    assert starts_of(events_in(path.read_bytes())) == [1]  # type: ignore[attr-defined]


def test_slices_have_no_gaps() -> None:
    events = events_in(joined(FIVE)[0])
    slices = SGLANG.split_attempts(events)

    assert [0, *(attempt.stop for attempt in slices[:-1])] == [attempt.start for attempt in slices]
    assert slices[-1].stop == len(events)
    assert [slice(0, 0)] == SGLANG.split_attempts([])


def test_the_starts_are_found_in_sparse_events_too() -> None:
    events = [event for event in events_in(joined(FIVE)[0]) if any(marker in event.line.text for marker in MARKERS)]

    assert len(FIVE) == len(SGLANG.split_attempts(events))


def test_the_end_of_a_start_that_the_log_does_not_hold() -> None:
    tail = b"[2026-01-01 00:00:00] kill_process_tree called: parent_pid=1, include_parent=True, pid=1\n"

    assert starts_of(events_in(tail + joined(["boot-dense"])[0])) == [1, 2]


def test_exit_and_compose_lines_belong_to_the_start_that_ended() -> None:
    ends = b"sgl-1 exited with code 137\n"
    data = joined(["oom-weights"], "sgl-1  | ")[0] + ends

    first = data.count(b"\n") + 1
    assert [1, first] == starts_of(events_in(data + joined(["oom-weights"], "sgl-1  | ")[0]))


def test_an_end_that_another_writer_tells_waits_for_no_traceback() -> None:
    ends = b"sgdoctor  | sgl exited with code 1\n"
    data = joined(["cfg-moe-40-layers-16-types"])[0] + ends

    first = data.count(b"\n") + 1
    assert [1] == starts_of(events_in(data))
    assert [1, first] == starts_of(events_in(data + data))


def test_a_prompt_with_server_args_starts_nothing() -> None:
    dump = b"[2026-01-01 00:00:00] Receive: obj=GenerateReqInput(text='server_args=ServerArgs(model_path=1)')\n"
    data = joined(["boot-dense"])[0] + dump + dump

    assert starts_of(events_in(data)) == [1]


def test_two_services_in_one_log_do_not_split_each_other() -> None:
    one = joined(["boot-dense"], "a-1  | ")[0].splitlines(keepends=True)
    two = joined(["boot-dense"], "b-1  | ")[0].splitlines(keepends=True)
    data = b"".join(line for pair in zip(one, two, strict=True) for line in pair)

    assert starts_of(events_in(data)) == [1]


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.sampled_from(["cfg-moe-layertypes-short", "cli-no-gpu", "oom-weights", "cli-bad-dtype"]), max_size=4)
)
def test_any_sequence_of_deaths(names: list[str]) -> None:
    data, expected = joined([*names, "weights-over-fraction"])

    assert expected == starts_of(events_in(data))


def test_begins_attempt(real: Callable[[str], Sequence[Event]]) -> None:
    assert [event.first for event in real("boot-dense") if SGLANG.begins_attempt(event)] == [1, 5]
