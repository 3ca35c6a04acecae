"""How an attempt stands, and what is said about it."""

import pytest

from sgdoctor.diagnosis.model import State
from sgdoctor.engines.base import PhaseName, Reading
from sgdoctor.launch.change import Change
from sgdoctor.logs.event import EventKind
from sgdoctor.rules.model import Confidence, FixSpec, Severity
from sgdoctor.texts import Text
from tests.diagnosis.samples import consequence, event, hit, judged, reading, rule

EMPTY = Text("", "")
POSSIBLE = rule("P", confidence=Confidence.POSSIBLE)


def test_a_fatal_cause_is_failed() -> None:
    verdict = judged([hit(rule("A"), event(10), phase=PhaseName.GRAPH_CAPTURE)])

    assert verdict.state is State.FAILED
    assert verdict.summary == Text(
        "The start failed at graph capture: title A.", "启动在“CUDA 图捕获”阶段失败：标题 A。"
    )


def test_a_quoted_line_without_any_engine_is_failed_too() -> None:
    assert judged([hit(rule("A"), event(1))], reading(recognised=False)).state is State.FAILED


def test_a_mere_possibility_needs_another_sign_of_death() -> None:
    alone = judged([hit(POSSIBLE, event(10))])
    dead = judged([hit(POSSIBLE, event(10)), hit(consequence("KILL"), event(11))])

    assert (alone.state, dead.state) == (State.UNDETERMINED, State.FAILED)


@pytest.mark.parametrize(
    ("of", "state"),
    [
        (reading(phases=((PhaseName.ARGS, 1),)), State.STARTING),
        (reading(ready=9, ready_seconds=(46.2, 9)), State.HEALTHY),
        (reading(ready=9, shutdown=20), State.HEALTHY),
        (reading(decode_lines=(3, 2)), State.STARTING),
        (reading(recognised=False), State.UNDETERMINED),
    ],
)
def test_nothing_hit(of: Reading, state: State) -> None:
    assert judged([], of, [event(1)]).state is state


def test_decode_lines_alone_are_a_server_at_work() -> None:
    verdict = judged([], reading(decode_lines=(3, 2)), [event(2, "Decode batch")])

    assert verdict.state is State.HEALTHY


def test_a_degraded_rule_degrades_a_server_that_is_ready() -> None:
    found = [hit(rule("W", Severity.DEGRADED), event(5))]

    assert judged(found, reading(ready=9)).state is State.DEGRADED
    assert judged(found, reading(phases=((PhaseName.ARGS, 1),))).state is State.STARTING


def test_notices_do_not_degrade() -> None:
    verdict = judged(
        [hit(rule("N", Severity.NOTICE), event(5)), hit(rule("B", Severity.BENIGN), event(6))], reading(ready=9)
    )

    assert verdict.state is State.HEALTHY
    assert [(notice.rule, notice.line, notice.occurrences) for notice in verdict.notices] == [("N", 5, 1), ("B", 6, 1)]


def test_an_unknown_exception_that_ends_the_start_is_shown_and_not_guessed_at() -> None:
    verdict = judged([], events=[event(1), event(7, "ValueError: never seen", raised=["ValueError"])])

    assert verdict.state is State.UNDETERMINED
    assert verdict.unexplained is not None
    assert (verdict.unexplained.line, verdict.unexplained.text) == (7, "ValueError: never seen")


def test_an_unknown_exception_before_ready_is_no_failure() -> None:
    verdict = judged([], reading(ready=9), [event(7, raised=["ValueError"]), event(9)])

    assert (verdict.state, verdict.unexplained) == (State.HEALTHY, None)


def test_an_unknown_exception_while_serving_degrades() -> None:
    verdict = judged([], reading(ready=3), [event(3), event(7, raised=["ValueError"])])

    assert verdict.state is State.DEGRADED
    assert verdict.unexplained is not None


def test_an_unknown_exception_after_which_the_server_died_is_undetermined() -> None:
    crash = event(7, raised=["ValueError"])

    verdict = judged([hit(consequence("KILL"), event(8))], reading(ready=3), [event(3), crash, event(8)])

    assert verdict.state is State.UNDETERMINED
    assert verdict.unexplained is not None
    assert verdict.unexplained.line == 7


def test_an_unknown_exception_that_the_start_went_on_from() -> None:
    events = [event(7, raised=["ValueError"], seconds=0), event(8, seconds=20)]

    assert judged([], reading(phases=((PhaseName.ARGS, 1),)), events).state is State.STARTING


def test_a_stop_by_the_user_is_no_exception() -> None:
    verdict = judged([], reading(ready=3, shutdown=7), [event(3), event(7, raised=["KeyboardInterrupt"])])

    assert verdict.state is State.HEALTHY


def test_an_exit_code_without_a_cause_is_undetermined() -> None:
    end = event(9, "exited with code 1", kind=EventKind.EXIT)

    verdict = judged([], reading(exit_code=(1, 9)), [event(1), end])

    assert verdict.state is State.UNDETERMINED
    assert verdict.unexplained is not None
    assert verdict.unexplained.line == 9


def test_exit_code_0_before_ready_is_a_failure_after_it_is_none() -> None:
    end = event(9, "exited with code 0", kind=EventKind.EXIT)

    assert judged([], reading(exit_code=(0, 9)), [event(1), end]).state is State.UNDETERMINED
    assert judged([], reading(exit_code=(0, 9), ready=5), [event(1), end]).state is State.HEALTHY


def test_what_ends_with_0_and_shows_no_engine_is_not_called_a_failure() -> None:
    end = event(9, "sgl exited with code 0", kind=EventKind.EXIT)

    verdict = judged([], reading(recognised=False, exit_code=(0, 9)), [event(1), end])

    assert (verdict.state, verdict.unexplained) == (State.UNDETERMINED, None)
    assert verdict.summary.en == "It ended with exit code 0, and no line shows that it ever served."
    assert verdict.would_decide is not None
    assert "the command that starts the server" in verdict.would_decide.en


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (129, "It ended with exit code 129 (SIGHUP: its terminal was closed)."),
        (130, "It ended with exit code 130 (SIGINT: Ctrl-C)."),
        (132, "It ended with exit code 132 (SIGILL: an instruction that this CPU does not have)."),
        (143, "It ended with exit code 143 (SIGTERM: asked to stop)."),
        (1, "It ended with exit code 1; no line says why."),
    ],
)
def test_the_end_of_a_program_that_is_no_engine_in_words(code: int, said: str) -> None:
    end = event(9, f"sgl exited with code {code}", kind=EventKind.EXIT)

    verdict = judged([], reading(recognised=False, exit_code=(code, 9)), [event(1), end])

    assert (verdict.state, verdict.summary.en) == (State.UNDETERMINED, said)


@pytest.mark.parametrize("code", [129, 130, 143])
def test_a_start_that_was_asked_to_stop_is_told_so(code: int) -> None:
    end = event(9, f"sgl exited with code {code}", kind=EventKind.EXIT)
    of = reading(phases=((PhaseName.WEIGHTS, 1),), exit_code=(code, 9))

    verdict = judged([], of, [event(1), end])

    assert verdict.summary.en.startswith(f"It ended in the middle of the start (weights) with exit code {code} (SIG")


def test_a_signal_behind_an_error_says_how_it_ended_and_where_the_error_is() -> None:
    end = event(9, "sgl exited with code 134", kind=EventKind.EXIT)
    error = event(7, "ValueError: never seen", raised=["ValueError"])

    verdict = judged([], reading(exit_code=(134, 9)), [event(1), error, end])

    assert verdict.unexplained is not None
    assert verdict.unexplained.line == 7
    assert verdict.summary.en == "It failed, but no rule knows why; the first error is in line 7."


def test_of_two_ends_the_bad_one_is_the_first_sign() -> None:
    ends = [event(number, f"exited with code {number - 8}", kind=EventKind.EXIT) for number in (8, 9)]

    verdict = judged([], reading(recognised=False, exit_code=(1, 9)), ends)

    assert verdict.unexplained is not None
    assert verdict.unexplained.line == 9


def test_stalled_only_beyond_what_the_phase_may_take() -> None:
    phases = ((PhaseName.ARGS, 1), (PhaseName.GRAPH_CAPTURE, 5))

    states = [
        judged([], reading(phases=phases, silent_seconds=(seconds, 5)), [event(5)]).state for seconds in (200.0, 700.0)
    ]

    assert states == [State.STARTING, State.STALLED]


def test_no_log_at_all() -> None:
    verdict = judged([], reading(recognised=False))

    assert (verdict.state, verdict.summary.en) == (State.UNDETERMINED, "The log is empty.")


def test_the_version_is_a_range_where_only_bounds_are_known() -> None:
    bounds = [
        reading(version=("0.5.15", 1)),
        reading(version_min=("0.5.14", 1), version_max=("0.5.15", 1)),
        reading(version_min=("0.5.14", 1), version_max=("0.5.14", 1)),
        reading(version_min=("0.5.14", 1)),
        reading(version_max=("0.5.9", 1)),
        reading(),
    ]

    versions = [judged([], of).version for of in bounds]

    assert versions == ["0.5.15", "0.5.14-0.5.15", "0.5.14", ">=0.5.14", "<=0.5.9", ""]


def fix(id_: str, **fields: object) -> FixSpec:
    return FixSpec(id_, fields.pop("summary", Text(id_, id_)), EMPTY, **fields)  # type: ignore[arg-type]


def test_fixes_are_chosen_by_condition_and_version_and_filled_in() -> None:
    raised = (Change("flag.set", "--mem-fraction-static", "{state_fraction_min:.2f}"),)
    fixes = (
        fix("too-old", versions={"sglang": ">=0.5.20"}),
        fix("wrong", when="slots > 100"),
        fix("right", when="slots == 4 and ready == False", changes=raised, summary=Text("to {slots}", "到 {slots}")),
    )

    of = reading(version=("0.5.15", 1), state_fraction_min=(0.9, 1))
    verdict = judged([hit(rule("A", fixes=fixes), event(10), slots=4)], of)

    assert [(found.id, found.summary.zh, found.changes[0].value) for found in verdict.diagnoses[0].fixes] == [
        ("right", "到 4", "0.90")
    ]


def test_a_change_without_its_number_is_left_out_and_a_summary_without_it_drops_the_fix() -> None:
    unknown = (Change("flag.set", "--x", "{nobody_knows}"), Change("flag.unset", "--y"))
    fixes = (fix("partly", changes=unknown), fix("useless", summary=Text("set it to {nobody_knows}", "")))

    verdict = judged([hit(rule("A", fixes=fixes), event(10))])

    assert [(found.id, found.changes) for found in verdict.diagnoses[0].fixes] == [
        ("partly", (Change("flag.unset", "--y"),))
    ]


def test_a_condition_that_cannot_be_read_offers_nothing() -> None:
    verdict = judged([hit(rule("A", fixes=(fix("broken", when="import os"),)), event(10))])

    assert verdict.diagnoses[0].fixes == ()


def test_text_from_the_log_cannot_steer_the_terminal_through_a_title() -> None:
    verdict = judged([hit(rule("A", title=Text("for {name}", "")), event(10), name="\x1b[31mred\u202e\x07")])

    assert "\x1b" not in verdict.diagnoses[0].title.en
    assert verdict.diagnoses[0].title.en.isprintable()


def test_the_closing_line_is_one_sentence_with_one_full_stop() -> None:
    asked = rule("A", title=Text("did you mean `--x`?", "是否想写 `--x`？"))
    failed = judged([hit(asked, event(10), phase=PhaseName.ARGS)])
    stopped = judged([], reading(shutdown=9), [event(10)])
    starting = judged([], reading(phases=[(PhaseName.WEIGHTS, 1)]), [event(10)])

    assert (
        Text("failed at arguments: did you mean `--x`?", "启动失败（参数解析阶段）：是否想写 `--x`？") == failed.closing
    )
    assert failed.summary.zh.endswith("`--x`？")
    assert Text("healthy: stopped on request, nothing is wrong.", "已按要求停止，没有问题。") == stopped.closing
    assert starting.closing is not None
    assert "starting: weights, nothing is wrong so far, not ready yet." == starting.closing.en


def test_what_was_wrong_with_a_server_that_was_stopped_is_over() -> None:
    found = [hit(rule("W", Severity.DEGRADED), event(5))]
    verdict = judged(found, reading(ready=3, shutdown=9), [event(3), event(5), event(9)])

    assert verdict.state is State.DEGRADED
    assert Text("Stopped on request; before that: title W.", "服务已按要求停止；在此之前：标题 W。") == verdict.summary
    assert verdict.closing is not None
    assert "degraded until it was stopped on request: title W." == verdict.closing.en


def test_an_excerpt_that_shows_batches_before_the_failure_is_of_a_server_that_served() -> None:
    batch, crash = event(3, "Decode batch", seconds=1), event(9, raised=["RuntimeError"], seconds=2)

    verdicts = [
        judged([hit(rule("F"), crash)], reading(decode_lines=(1, line)), [batch, crash, event(12)]) for line in (3, 12)
    ]

    assert [verdict.summary.en.startswith("The server died: ") for verdict in verdicts] == [True, False]
