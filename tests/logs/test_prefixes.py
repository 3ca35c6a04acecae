"""Prefixes that others put in front of a line. All texts are composed."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.line import Line
from sgdoctor.logs.prefixes import strip

ENGINE_TIME = datetime(2026, 11, 30, 10, 38, 19)  # noqa: DTZ001


def only(text: str) -> Line:
    lines = list(read_lines(text.encode()))
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("text", "time", "rank"),
    [
        ("[2026-11-30 10:38:19] Load weight begin.", ENGINE_TIME, ""),
        ("[2026-11-30 10:38:19 TP2] Load weight begin.", ENGINE_TIME, "TP2"),
        (
            "[2026-11-30 10:38:19 DP1 PP0 ATTN_CP2 MOE_DP1 TP0 EP3] Load weight begin.",
            ENGINE_TIME,
            "DP1 PP0 ATTN_CP2 MOE_DP1 TP0 EP3",
        ),
        ("[2026-11-30 10:38:19.250] Load weight begin.", ENGINE_TIME.replace(microsecond=250_000), ""),
        ("[10:38:19 TP0] Load weight begin.", None, "TP0"),
        ("[TP0] Load weight begin.", None, "TP0"),
        ("[DP0 TP1] Load weight begin.", None, "DP0 TP1"),
        ("[gpu=0] Load weight begin.", None, "gpu=0"),
    ],
)
def test_engine_bracket(text: str, time: datetime | None, rank: str) -> None:
    expected = Line(1, 0, "Load weight begin.", time, rank, engine=True)

    assert expected == only(text)


@pytest.mark.parametrize(
    "text",
    [
        "[transformers] `torch_dtype` is deprecated! Use `dtype` instead!",
        "[Gloo] Rank 0 is connected to 0 peer ranks.",
        "[2026-11-30 99:99:99x] no such clock",
        "(not a worker) text",
        "Loading weights | half done",
        "INFO:     Started server process [6713]",
        "12 tokens per second",
        "Novel prompt",
        '{"log": 3}',
        '  File "/a.py", line 1, in f',
    ],
)
def test_what_is_no_prefix_stays(text: str) -> None:
    line = only(text)

    assert (text, "", False) == (line.text, line.source, line.engine)


@pytest.mark.parametrize(
    ("prefix", "source"),
    [
        ("sglang-1  | ", "sglang-1"),
        ("sgl_1     | ", "sgl_1"),
        ("sgl-1 | ", "sgl-1"),
        ("web  | ", "web"),
        ("\x1b[36msglang-1  | \x1b[0m", "sglang-1"),
        ("(SGLangEngine pid=3111) ", "SGLangEngine pid=3111"),
        ("\x1b[36m(Worker_TP1 pid=3534)\x1b[0m ", "Worker_TP1 pid=3534"),
        ("(RolloutWorker pid=77, ip=10.0.0.2) ", "RolloutWorker pid=77, ip=10.0.0.2"),
        ("[pod/sglang-0/server] ", "pod/sglang-0/server"),
        ("[rank0]: ", "rank0"),
        ("Nov 30 10:38:19 box docker[123]: ", "docker"),
        ("2026-11-30T10:38:19+0800 box docker[123]: ", "docker"),
        ("[2026-11-30T18:38:19+08:00] job-7 >> (SGLangEngine pid=3111) ", "job-7/SGLangEngine pid=3111"),
        ("sgl-1  | (APIServer pid=1) ERROR 10-11 22:28:17 [core.py:694] ", "sgl-1/APIServer pid=1"),
        ("ERROR 10-11 22:28:17 core.py:694] ", ""),
        ("2026-08-04 08:15:07.612163+00:00 - gpustack.worker - INFO - ", ""),
        ("2026-03-05 10:32:02,424 - INFO - ", ""),
    ],
)
@pytest.mark.parametrize("text", ["RuntimeError: boom", '    File "/a.py", line 1, in f', ""])
def test_outer_prefix_goes_and_leading_blanks_stay(prefix: str, source: str, text: str) -> None:
    line = only(prefix + text)

    assert (text, source) == (line.text, line.source)


def test_every_order_of_stacked_prefixes() -> None:
    line = only(
        "2026-11-30T10:38:20.123456789Z sgl-1  | (SGLangEngine pid=3) [2026-11-30 10:38:19 TP1] Load weight begin."
    )

    assert (
        line.text,
        line.time,
        line.rank,
        line.source,
        line.engine,
    ) == ("Load weight begin.", ENGINE_TIME, "TP1", "sgl-1/SGLangEngine pid=3", True)


def test_docker_timestamps() -> None:
    line = only("2026-11-30T10:38:20.123456789Z   warnings.warn(")

    assert ("  warnings.warn(", datetime(2026, 11, 30, 10, 38, 20, 123456, UTC)) == (line.text, line.time)


def test_cri_line_names_stream_and_zone() -> None:
    line = only('2026-11-30T18:38:20.5+08:00 stderr F   File "/a.py", line 1, in f')

    assert ('  File "/a.py", line 1, in f', "stderr", timedelta(hours=8)) == (
        line.text,
        line.stream,
        line.time and line.time.utcoffset(),
    )


def test_cri_pieces_are_one_line() -> None:
    text = (
        "2026-11-30T10:38:20.1Z stdout P [2026-11-30 10:38:19 TP1] Load wei\n"
        "2026-11-30T10:38:20.1Z stderr F RuntimeError: boom\n"
        "2026-11-30T10:38:20.2Z stdout P ght begin.\n"
        "2026-11-30T10:38:20.3Z stdout F  avail mem=1.00 GB\n"
    )

    lines = list(read_lines(text.encode()))

    assert [(line.number, line.text, line.rank) for line in lines] == [
        (2, "RuntimeError: boom", ""),
        (1, "Load weight begin. avail mem=1.00 GB", "TP1"),
    ]


def test_piece_without_an_end_is_kept() -> None:
    lines = list(read_lines(b"2026-11-30T10:38:20.1Z stdout P [2026-11-30 10:38:19] Load wei"))

    assert [(line.text, line.engine) for line in lines] == [("Load wei", True)]


def test_docker_json_file() -> None:
    line = only(
        r'{"log":"[2026-11-30 10:38:19 TP0] \u001b[31mopen \"x\"\u001b[0m\n","stream":"stderr",'
        r'"time":"2026-11-30T10:38:19.5Z"}'
    )

    assert (line.text, line.rank, line.stream, line.engine) == ('open "x"', "TP0", "stderr", True)


def test_docker_json_pieces_and_bars() -> None:
    text = (
        r'{"log":"\rLoading:  50%|##  | 1/2 [00:01\u003c00:01,  1.0s/it]","stream":"stderr","time":"2026-11-30T10:38:19Z"}'
        "\n"
        r'{"log":"\rLoading: 100%|####| 2/2 [00:02\u003c00:00,  1.0s/it]\n","stream":"stderr","time":"2026-11-30T10:38:20Z"}'
    )

    line = only(text)

    assert (line.text, line.progress) == ("Loading: 100%|####| 2/2 [00:02<00:00,  1.0s/it]", (50, 100))


def test_json_body_is_no_docker_line() -> None:
    text = '{"log": "x", "model": "y"}'

    assert text == strip(text).text


def test_escaped_daemon_error_keeps_its_text() -> None:
    text = (
        r"docker: Error response from daemon: OCI runtime create failed: exec: \\\"nvidia-container-cli\\\": unknown."
    )

    assert text == only(text).text


def test_zone_less_clock_is_naive_and_innermost_wins() -> None:
    line = only("2026-11-30T18:38:20.5+08:00 stdout F [2026-11-30 10:38:19] x")

    assert line.time == ENGINE_TIME
    assert line.time != datetime(2026, 11, 30, 18, 38, 20, 500000, timezone(timedelta(hours=8)))
