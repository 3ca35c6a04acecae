"""Which lines are warnings to their own writer, and what becomes of a failure that only they tell of."""

import pytest

from sgdoctor.diagnosis.mildness import goes_on, is_warning
from sgdoctor.diagnosis.model import State
from sgdoctor.engines.base import PhaseName
from sgdoctor.logs.event import Event, Frame
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.rules.model import Confidence, Severity
from tests.diagnosis.samples import consequence, event, explained, hit, ids, judged, reading, rule

SERVING = reading(ready=5)
STARTING = reading(phases=((PhaseName.ARGS, 1), (PhaseName.WEIGHTS, 5)))


def read(text: str) -> Event:
    return next(fold(read_lines(text.encode()), lambda _: False))


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: x",
        "[2026-11-30 10:00:00 TP0] WARNING: x",
        "WARNING 11-30 10:00:00 [x.py:1] RuntimeError: x",
        "2026-11-30 10:00:00,123 - x.y - WARNING - RuntimeError: x",
        "2026-11-30 10:00:00.123 | WARNING  | x:y:1 - z",
        "2026-11-30 10:00:00  WARN x::y: z",
        "[2026-11-30 10:00:00,123] [WARNING] [x.py:1:y] z",
        "W1130 10:00:00.123456  8274 x.cpp:294] y",
        "[W1130 10:00:00.123456789 X.cpp:1] y",
        "[W socket.cpp:464] [c10d] y",
        "/usr/lib/x.py:12: UserWarning: y",
        "UserWarning: y",
        'time="2026-11-30T10:00:00Z" level=warning msg="x"',
        "WARN[0000] /x/compose.yaml: y",
        "[TensorRT-LLM][WARNING] x",
        "svc-1  | INFO: x",
    ],
)
def test_what_its_writer_calls_a_warning(text: str) -> None:
    assert is_warning(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: x",
        "RuntimeError: x",
        "[2026-11-30 10:00:00 TP0] Watchdog timeout",
        "ERROR 11-30 10:00:00 [x.py:1] RuntimeError: x",
        "2026-11-30 10:00:00,123 - x.y - ERROR - x",
        "2026-11-30 10:00:00 ERROR x::y: after a WARN z",
        "E1130 10:00:00.123456  8274 x.cpp:294] y",
        "[E1130 10:00:00.123456789 X.cpp:1] y",
        "host:77:77 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found",
        "docker: Error response from daemon: WARNING: x",
        "Information is missing",
        "Warnings are errors: x",
    ],
)
def test_what_its_writer_calls_no_warning(text: str) -> None:
    assert not is_warning(read(text))


@pytest.mark.parametrize(
    "text", ["x failed, falling back to y", "x will be ignored", "x timed out, retrying", "Skipping x", "fallback to y"]
)
def test_a_line_that_says_that_the_program_goes_on(text: str) -> None:
    assert goes_on(read(text))


@pytest.mark.parametrize(
    "text", ["x cannot fall back to y", "no fallback to y", "x failed", "RuntimeError: retrying x"]
)
def test_a_line_that_does_not_say_so(text: str) -> None:
    assert not goes_on(read(text))


def test_a_failure_that_only_a_warning_tells_of_is_a_note_about_a_server_that_serves() -> None:
    verdict = judged([hit(rule("F"), event(10, "WARNING: x"))], SERVING)

    assert (verdict.state, [notice.rule for notice in verdict.notices]) == (State.HEALTHY, ["F"])


def test_an_error_that_only_a_warning_tells_of_is_a_possibility() -> None:
    found = explained([hit(rule("E", Severity.ERROR), event(10, "WARNING: x"))], SERVING)

    assert [(one.severity, one.confidence) for one in found.diagnoses] == [(Severity.DEGRADED, Confidence.POSSIBLE)]


def test_a_warning_before_the_end_of_a_start_is_only_possibly_its_cause() -> None:
    alone = judged([hit(rule("F"), event(10, "WARNING: x"))], STARTING)
    with_death = [hit(rule("F"), event(10, "WARNING: x")), hit(consequence("END"), event(20))]

    assert (alone.state, alone.diagnoses[0].confidence) == (State.UNDETERMINED, Confidence.POSSIBLE)
    assert judged(with_death, STARTING).diagnoses[0].confidence is Confidence.POSSIBLE


def test_a_warning_takes_no_place_from_what_failed_later() -> None:
    warned, failed = rule("W", explains=("F",)), rule("F")

    found = explained([hit(warned, event(10, "WARNING: x")), hit(failed, event(20))], STARTING)

    assert ids(found) == ["F", "W"]


def test_a_line_that_falls_back_is_a_note_even_while_starting() -> None:
    found = explained([hit(rule("F"), event(10, "x failed, falling back to y"))], STARTING)

    assert (ids(found), [one.rule.id for one in found.notices]) == ([], ["F"])


def test_the_line_of_the_failure_stands_before_the_warning_of_it() -> None:
    of = rule("F")

    found = explained([hit(of, event(10, "WARNING: x")), hit(of, event(20, "RuntimeError: x"))], STARTING)

    assert (found.diagnoses[0].first.event.line.number, found.diagnoses[0].confidence) == (20, Confidence.CERTAIN)


def test_a_warning_that_something_died_is_no_sign_of_it() -> None:
    warned, said = event(10, "WARNING: x"), event(10, "x died; skipping y")

    assert explained([hit(consequence("END"), warned)], SERVING).signs == ()
    assert [sign.rule.id for sign in explained([hit(consequence("END"), said)], SERVING).signs] == ["END"]


def test_torch_without_cuda_is_no_mere_warning() -> None:
    line = event(10, "/x/torch/cuda/__init__.py:118: UserWarning: CUDA initialization: x")

    found = explained([hit(rule("GPU", explains=("F",)), line), hit(rule("F"), event(20))], STARTING)

    assert (ids(found), found.diagnoses[0].confidence) == (["GPU"], Confidence.CERTAIN)


@pytest.mark.parametrize(
    ("file", "function", "header", "severity"),
    [
        ("/x/uvicorn/protocols/http/httptools_impl.py", "run_asgi", "", Severity.ERROR),
        ("/x/sglang/srt/entrypoints/openai/serving_base.py", "handle_request", "", Severity.ERROR),
        ("/x/starlette/routing.py", "app", "Scheduler hit an exception:", Severity.FATAL),
        ("/x/sglang/srt/managers/scheduler.py", "event_loop_normal", "", Severity.FATAL),
    ],
)
def test_what_fails_one_request_does_not_end_a_server_that_serves(
    file: str, function: str, header: str, severity: Severity
) -> None:
    trace = event(10, raised=["ValueError"])
    raised = trace.raised[0]._replace(frames=(Frame(file, 1, function),))
    failure = hit(rule("F"), trace._replace(raised=(raised,), header=header))
    dying = hit(consequence("END"), event(20))

    assert [one.severity for one in explained([failure], SERVING).diagnoses] == [severity]
    assert [one.severity for one in explained([failure], STARTING).diagnoses] == [Severity.FATAL]
    assert [one.severity for one in explained([failure, dying], SERVING).diagnoses] == [Severity.FATAL]


def test_an_exception_that_a_logger_only_warned_of_is_not_what_is_unknown() -> None:
    warned = event(10, raised=["ValueError"])
    line = warned.line._replace(level="WARNING")

    verdict = judged([], SERVING, [warned._replace(line=line)])

    assert verdict.state is State.HEALTHY
