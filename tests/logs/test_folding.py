"""From lines to events. All texts are composed."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.line import Line


def is_data(line: Line) -> bool:
    return line.text.startswith(("server_args=", "Receive: obj=")) or '"POST ' in line.text


def events(text: str) -> list[Event]:
    return list(fold(read_lines(dedent(text).lstrip("\n").encode()), is_data))


def kinds(text: str) -> list[tuple[EventKind, str]]:
    return [(event.kind, event.text) for event in events(text)]


SIMPLE = """
[2026-11-30 10:38:33 TP2] Scheduler hit an exception: Traceback (most recent call last):
  File "/sglang/srt/managers/scheduler.py", line 4329, in run_scheduler_process
    raise RuntimeError("KV cache pool is full")
          ^^^^^^^^^^^^
  File "/sglang/srt/managers/tp_worker.py", line 12, in forward
    [Previous line repeated 3 more times]
RuntimeError: out of slots,   twice

[2026-11-30 10:38:34] Received sigquit from a child process.
"""


def test_traceback_is_one_event() -> None:
    traceback, after = events(SIMPLE)

    assert traceback.kind is EventKind.TRACEBACK
    assert traceback.text == "RuntimeError: out of slots, twice"
    assert traceback.header == "Scheduler hit an exception:"
    assert (traceback.first, traceback.line.number, traceback.last) == (1, 7, 8)
    assert (traceback.rank, str(traceback.time)) == ("TP2", "2026-11-30 10:38:33")
    assert [(frame.line, frame.function) for frame in traceback.raised[0].frames] == [
        (4329, "run_scheduler_process"),
        (12, "forward"),
    ]
    assert (after.kind, after.text) == (EventKind.LINE, "Received sigquit from a child process.")


def test_without_echoed_source() -> None:
    (event,) = events("""
        Traceback (most recent call last):
          File "/a.py", line 1, in f
          File "/b.py", line 2, in g
        MyOddName: it broke
    """)

    assert (event.text, len(event.raised[0].frames)) == ("MyOddName: it broke", 2)


def test_excerpt_that_starts_in_the_middle_of_the_frames() -> None:
    (event,) = events("""
          File "/b.py", line 2, in g

        OSError: [Errno 28] No space left on device
    """)

    assert (event.text, event.first) == ("OSError: [Errno 28] No space left on device", 1)


@pytest.mark.parametrize(
    "phrase",
    [
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    ],
)
def test_chain_is_one_event_with_the_cause_first(phrase: str) -> None:
    (event,) = events(f"""
Traceback (most recent call last):
  File "/a.py", line 1, in f
ValueError: the cause

{phrase}

Traceback (most recent call last):
  File "/b.py", line 2, in g
  File "/c.py", line 3, in h
hub.errors.StrictError: Class validation error for validator 'x':
    ValueError: the cause
    """)

    assert (
        event.text
        == "ValueError: the cause hub.errors.StrictError: Class validation error for validator 'x': ValueError: the cause"
    )
    assert [(raised.type, len(raised.frames)) for raised in event.raised] == [
        ("ValueError", 1),
        ("hub.errors.StrictError", 2),
    ]
    assert event.line.number == 3


def test_chain_whose_beginning_is_missing() -> None:
    (event,) = events("""
        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "/b.py", line 2, in g
        Exception: Capture cuda graph failed: boom
        Possible solutions:
        1. set --mem-fraction-static to a smaller value
    """)

    assert (
        event.text
        == "Exception: Capture cuda graph failed: boom Possible solutions: 1. set --mem-fraction-static to a smaller value"
    )


def test_compiler_echo_is_not_the_message() -> None:
    (event, after) = events("""
        triton.compiler.errors.CompilationError: at 105:8:

            w_base = w_ptr + 1  # RuntimeError: CUDA out of memory

            # Does 2 things:
        def column_zero():
            if load_init_state:
            ^
        AssertionError("Mismatched type for col0 between then block and else block")

        [2026-11-30 10:38:33] SIGQUIT received.
    """)

    assert event.text == (
        'triton.compiler.errors.CompilationError: at 105:8: AssertionError("Mismatched type for col0 between then block and else block")'
    )
    assert after.text == "SIGQUIT received."


def test_message_wrapped_over_blank_lines() -> None:
    first, *rest = kinds("""
        RuntimeError:

        Index put requires the source and destination dtypes match,
        got BFloat16 for the destination

        Trace:
    """)

    assert first == (
        EventKind.TRACEBACK,
        "RuntimeError: Index put requires the source and destination dtypes match, got BFloat16 for the destination",
    )
    assert rest == [(EventKind.LINE, "Trace:")]


def test_a_blank_line_parts_finished_messages() -> None:
    assert kinds("""
        RuntimeError: boom.

        Something else was printed
    """) == [(EventKind.TRACEBACK, "RuntimeError: boom."), (EventKind.LINE, "Something else was printed")]


def test_long_import_error() -> None:
    (event,) = events("""
        ImportError:
        [sgl_kernel] CRITICAL: Could not load any common_ops library!
        Attempted locations:
        1. Architecture-specific pattern: /x/sm100/common_ops.*
        Error details from previous import attempts:
        - ImportError: /x/common_ops.abi3.so: undefined symbol: _ZN
        - ModuleNotFoundError: No module named 'common_ops'
    """)

    assert event.text.startswith("ImportError: [sgl_kernel] CRITICAL: Could not load any common_ops library! Attempted")
    assert event.text.endswith("No module named 'common_ops'")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RuntimeError: boom", "RuntimeError: boom"),
        ("torch.OutOfMemoryError: CUDA out of memory.", "torch.OutOfMemoryError: CUDA out of memory."),
        ("httpx.InvalidURL: Invalid port: ':'", "httpx.InvalidURL: Invalid port: ':'"),
        ('ValueError("type x not supported")', "ValueError: type x not supported"),
        ("NotImplementedError", "NotImplementedError"),
        ("[2026-11-30 10:38:26] TypeError: Unsupported", "TypeError: Unsupported"),
        ("(Worker_TP1 pid=3534) ERROR 10-11 22:28:17 [a.py:694] RuntimeError: Could not find nvcc", "RuntimeError: Could not find nvcc"),
        ("[rank0]: AssertionError: 32768 is not divisible by 3", "AssertionError: 32768 is not divisible by 3"),
        ("ray.exceptions.RayTaskError(RuntimeError): ray::f()", "ray.exceptions.RayTaskError(RuntimeError): ray::f()"),
    ],
)  # fmt: skip
def test_lone_exception(text: str, expected: str) -> None:
    (event,) = events(text)

    assert (event.kind, event.text, len(event.raised)) == (EventKind.TRACEBACK, expected, 1)


@pytest.mark.parametrize(
    "text",
    [
        "Error response from daemon: no such image",
        "Error: something went wrong",
        "I saw a RuntimeError: boom",
        "  RuntimeError: indented prose",
        "INFO: all is well",
        "Warning: '<class X>' is already used by a Transformers model.",
        "- ImportError: in a list",
        '{"error": "x"} Traceback (most recent call last):',
        "sglang serve: error: unrecognized arguments: --x",
    ],
)
def test_what_is_no_exception(text: str) -> None:
    result = list(fold(read_lines(text.encode()), is_data))

    assert [event.kind is EventKind.TRACEBACK for event in result] == [False]


def test_repeated_lone_exceptions_are_one_event_each() -> None:
    assert [event.first for event in events("RuntimeError: boom\n" * 3)] == [1, 2, 3]


def test_compose_prefix_demultiplexes_services() -> None:
    result = events("""
        a-1  | Traceback (most recent call last):
        b-1  | Traceback (most recent call last):
        a-1  |   File "/a.py", line 1, in f
        b-1  |   File "/b.py", line 2, in g
        b-1  | ValueError: of b
        a-1  | RuntimeError: of a
        b-1 exited with code 1
    """)

    assert [(event.text, event.line.source) for event in result if event.raised] == [
        ("RuntimeError: of a", "a-1"),
        ("ValueError: of b", "b-1"),
    ]
    assert [event.raised[0].frames[0].file for event in result if event.raised] == ["/a.py", "/b.py"]
    assert [event.text for event in result if event.kind is EventKind.EXIT] == ["b-1 exited with code 1"]


def test_prefix_on_some_lines_only() -> None:
    (event,) = events("""
        a-1  | [2026-11-30 10:38:33 TP0] Scheduler hit an exception: Traceback (most recent call last):
          File "/a.py", line 1, in f
        RuntimeError: of a
    """)

    assert (event.text, event.header) == ("RuntimeError: of a", "Scheduler hit an exception:")


def test_a_rank_that_speaks_in_between_does_not_cut_a_stack() -> None:
    result = events("""
        [2026-11-30 10:38:33 TP0] Scheduler hit an exception: Traceback (most recent call last):
          File "/a.py", line 1, in f
        [2026-11-30 10:38:33 TP1] Scheduler hit an exception: Traceback (most recent call last):
          File "/b.py", line 2, in g
        [2026-11-30 10:38:33 TP2] still working
        RuntimeError: of one

        RuntimeError: of the other

        [2026-11-30 10:38:34] Received sigquit from a child process.
    """)

    assert [(event.kind, event.rank) for event in result] == [
        (EventKind.LINE, "TP2"),
        (EventKind.TRACEBACK, "TP1"),
        (EventKind.TRACEBACK, "TP0"),
        (EventKind.LINE, ""),
    ]


def test_torch_prefix_on_every_line() -> None:
    (event,) = events("""
        [rank1]: Traceback (most recent call last):
        [rank1]:   File "/a.py", line 1, in f
        [rank1]:     g()
        [rank1]: ValueError: x
        [rank1]:[W1130 10:38:34.110687000 ProcessGroupNCCL.cpp:1575] Warning: destroy_process_group() was not called
    """)[:1]

    assert (event.text, event.line.source, event.last) == ("ValueError: x", "rank1", 4)


def test_unterminated_traceback() -> None:
    (event,) = events("""
        [2026-11-30 10:38:33 TP7] Scheduler hit an exception: Traceback (most recent call last):
          File "/a.py", line 1, in f
    """)

    assert (event.kind, event.text, event.raised, event.rank) == (
        EventKind.TRACEBACK,
        "Scheduler hit an exception:",
        (),
        "TP7",
    )


def test_worker_process_traceback_inside_a_traceback() -> None:
    (event,) = events('''
        multiprocessing.pool.RemoteTraceback:
        """
        Traceback (most recent call last):
          File "/a.py", line 1, in f
        ValueError: x
        """

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "/b.py", line 1, in g
        RuntimeError: y
    ''')

    assert [raised.type for raised in event.raised] == ["ValueError", "RuntimeError"]


def test_exception_group() -> None:
    result = events("""
  + Exception Group Traceback (most recent call last):
  |   File "/a.py", line 1, in f
  |     raise it
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/b.py", line 2, in g
    | ValueError: the real one
    +------------------------------------
[2026-11-30 10:38:34] next
""")

    assert [event.text for event in result] == [
        "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
        "ValueError: the real one",
        "next",
    ]


def test_text_of_others_is_data() -> None:
    text = """
        [2026-11-30 10:38:33] Receive: obj=GenerateReqInput(text='Traceback (most recent call last):
        [2026-11-30 10:38:33] server_args=ServerArgs(model_path='RuntimeError: CUDA out of memory')
        {"messages": [{"content": "RuntimeError: CUDA out of memory"}]}
        {
          "content": "x",
          "error": "torch.OutOfMemoryError: CUDA out of memory"
        }
        usage: sglang serve [-h]
                            [--model-path MODEL_PATH]
        sglang serve: error: boom
    """

    assert [event.kind for event in events(text)] == [EventKind.DATA] * 5 + [EventKind.LINE]


def test_whole_traceback_inside_one_line_is_a_line() -> None:
    text = r"[2026-11-30 10:38:33] prompt: Traceback (most recent call last):\n  File \"a\"\nRuntimeError: x"

    assert [event.kind for event in events(text)] == [EventKind.LINE]


def test_source_that_a_warning_echoes_is_data() -> None:
    assert [event.kind for event in events("""
/x/launch_server.py:55: UserWarning: 'python -m x' is still supported
  Example: sglang serve
  warnings.warn(
[2026-11-30 10:38:33] next
""")] == [EventKind.LINE, EventKind.DATA, EventKind.LINE]  # fmt: skip


def test_dumps_of_native_stacks_are_not_matched() -> None:
    assert {event.kind for event in events("""
Thread 0x7F (active): "MainThread"
    forward (model.py:12)
    out_of_memory (model.py:13)
Current thread 0x00007f (most recent call first):
  File "/x.py", line 3 in f
""")} == {EventKind.DATA}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web-1 exited with code 137", "web-1 exited with code 137"),
        ("Killed", "Killed"),
        (
            "./run.sh: line 19: 867080 Killed                  python -m x --flag CUDA",
            "./run.sh: line 19: 867080 Killed",
        ),
        (
            "/bin/bash: line 1:    12 Segmentation fault      (core dumped) python",
            "/bin/bash: line 1: 12 Segmentation fault",
        ),
        ("Segmentation fault (core dumped)", "Segmentation fault (core dumped)"),
        ("Exit code: -9", "Exit code: -9"),
        ("command terminated with exit code 137", "command terminated with exit code 137"),
        ("[1]+  Killed                  python -m x", "[1]+ Killed"),
    ],
)
def test_endings(text: str, expected: str) -> None:
    assert kinds(text) == [(EventKind.EXIT, expected)]


def test_bars() -> None:
    result = kinds("\rLoading:   0%|  | 0/1 [00:00<?, ?it/s]\rLoading: 100%|##| 1/1 [00:01<00:00,  1.0s/it]\n")

    assert result == [(EventKind.PROGRESS, "Loading: 100%|##| 1/1 [00:01<00:00, 1.0s/it]")]


def test_engine_message_that_goes_on() -> None:
    assert kinds("""
        [2026-11-30 10:38:33] Prefill out of memory. Try to lower your batch size.
        Try to allocate 12 tokens.
        [2026-11-30 10:38:33] next
        plain text

        not joined to it
    """) == [
        (EventKind.LINE, "Prefill out of memory. Try to lower your batch size. Try to allocate 12 tokens."),
        (EventKind.LINE, "next plain text"),
        (EventKind.LINE, "not joined to it"),
    ]


def test_daemon_error_that_goes_on() -> None:
    assert kinds("""
        docker: Error response from daemon: error running hook #0: Auto-detected mode as 'legacy'
        nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown.
        ERRO[0000] error waiting for container: context canceled
    """)[0] == (
        EventKind.LINE,
        (
            "docker: Error response from daemon: error running hook #0: Auto-detected mode as 'legacy' "
            "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown."
        ),
    )


def test_joining_is_bounded() -> None:
    first, *_ = events("[2026-11-30 10:38:33] begin\n" + "goes on\n" * 100)

    assert first.last == 13


def test_exception_under_an_engine_line_is_an_event_of_its_own() -> None:
    assert [event.kind for event in events("""
[2026-11-30 10:38:33] Server warmup failed; aborting startup
httpx.InvalidURL: Invalid port: ':'
""")] == [EventKind.LINE, EventKind.TRACEBACK]  # fmt: skip


def test_endless_stack_stays_bounded() -> None:
    text = (
        "Traceback (most recent call last):\n"
        + '  File "/a.py", line 1, in f\n    f()\n' * 3000
        + "RecursionError: deep\n"
    )
    (event,) = events(text)

    assert (len(event.raised[0].frames), event.text) == (2000, "RecursionError: deep")


def test_text_is_bounded() -> None:
    (event,) = events("RuntimeError: " + "x" * 60_000)

    assert len(event.text) == 8192


LINES = st.lists(
    st.sampled_from(
        [
            "Traceback (most recent call last):", '  File "/a.py", line 1, in f', "    f()", "    ^^^", "RuntimeError: x", "",
            "The above exception was the direct cause of the following exception:", "[2026-11-30 10:38:33 TP0] x", "a-1  | y",
            "[2026-11-30 10:38:33 TP1] E hit: Traceback (most recent call last):", "a-1  | ValueError: y", "Killed", "{", "}",
            "E: at 1:2:", "triton.E: at 1:2:", "usage: x", "  y", 'ValueError("x")', "100%|#| 1/1 [00:00<00:00]", "text,",
        ]
    )
    | st.text(max_size=20),
    max_size=40,
)  # fmt: skip


@given(lines=LINES)
def test_any_lines_give_ordered_bounded_events(lines: list[str]) -> None:
    text = "\n".join(lines)
    read = list(read_lines(text.encode()))

    result = list(fold(read, is_data))

    for event in result:
        assert 1 <= event.first <= event.line.number <= event.last <= len(read)
        assert event.text == " ".join(event.text.split())
        assert bool(event.raised) <= (event.kind is EventKind.TRACEBACK)
    singles = [event.first for event in result if event.kind is not EventKind.TRACEBACK]
    assert singles == sorted(singles)
