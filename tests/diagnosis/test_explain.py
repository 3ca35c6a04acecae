"""Which hit is the root, what follows from it, what is harmless."""

from sgdoctor.engines.base import Phase, PhaseName
from sgdoctor.logs.event import EventKind
from sgdoctor.rules.model import Confidence, Pattern, Severity
from tests.diagnosis.samples import consequence, event, explained, hit, ids, reading, rule

STARTED = ((PhaseName.ARGS, 1), (PhaseName.WEIGHTS, 5))


def test_one_rule_on_eight_ranks_is_one_diagnosis_that_names_them() -> None:
    oom = rule("A")
    hits = [hit(oom, event(10 + rank, rank=f"TP{rank}", raised=["OutOfMemoryError"])) for rank in range(8)]

    found = explained(hits)

    assert ids(found) == ["A"]
    assert found.diagnoses[0].ranks == tuple(f"TP{rank}" for rank in range(8))
    assert len(found.diagnoses[0].hits) == 8


def test_the_earliest_fatal_hit_is_the_root_and_the_rest_folds_under_it() -> None:
    found = explained([hit(rule("A"), event(20)), hit(rule("B"), event(30)), hit(rule("C", Severity.ERROR), event(40))])

    assert ids(found) == ["A"]
    assert [below.rule.id for below in found.diagnoses[0].followed] == ["B", "C"]


def test_the_clock_beats_the_place_when_it_is_clear() -> None:
    found = explained([hit(rule("LATE"), event(20, seconds=9)), hit(rule("EARLY"), event(30, seconds=2))])

    assert ids(found) == ["EARLY"]


def test_half_a_second_is_no_order() -> None:
    found = explained([hit(rule("A"), event(20, seconds=2.5)), hit(rule("B"), event(30, seconds=2))])

    assert ids(found) == ["A"]


def test_an_error_before_the_failure_stands_on_its_own() -> None:
    found = explained([hit(rule("E", Severity.ERROR), event(20)), hit(rule("F"), event(30))])

    assert ids(found) == ["F", "E"]


def test_a_consequence_printed_first_still_belongs_to_its_cause() -> None:
    found = explained([hit(consequence("SIGQUIT"), event(10)), hit(rule("A"), event(20))])

    assert ids(found) == ["A"]
    assert [below.rule.id for below in found.diagnoses[0].followed] == ["SIGQUIT"]
    assert found.signs == ()


def test_consequences_alone_are_signs_and_no_diagnosis() -> None:
    found = explained([hit(consequence("SIGQUIT"), event(10))])

    assert found.diagnoses == ()
    assert [sign.rule.id for sign in found.signs] == ["SIGQUIT"]


def test_an_error_that_the_server_died_of_is_fatal() -> None:
    hits = [
        hit(rule("E", Severity.ERROR), event(10, seconds=1)),
        hit(consequence("SIGQUIT"), event(11, seconds=2)),
    ]

    found = explained(hits, reading(ready=5))

    assert [finding.severity for finding in found.diagnoses] == [Severity.FATAL]


def test_an_error_an_hour_before_the_end_is_not_what_it_died_of() -> None:
    hits = [
        hit(rule("E", Severity.ERROR), event(10, seconds=1)),
        hit(consequence("SIGQUIT"), event(99, seconds=3600)),
    ]

    found = explained(hits, reading(ready=5))

    assert [finding.severity for finding in found.diagnoses] == [Severity.ERROR]
    assert [sign.rule.id for sign in found.signs] == ["SIGQUIT"]


def test_explains_is_transitive_and_survives_circles() -> None:
    hits = [
        hit(rule("C", explains=("A",)), event(10)),
        hit(rule("B", explains=("C",)), event(20)),
        hit(rule("A", explains=("B",)), event(30)),
    ]

    found = explained(hits)

    assert len(found.diagnoses) == 1
    assert len(found.diagnoses[0].followed) == 2


def test_explains_by_id_name_and_both() -> None:
    for entry in ("SGL905", "kill-tree", "SGL905-kill-tree"):
        hits = [hit(rule("A", explains=(entry,)), event(20)), hit(rule("SGL905", name="kill-tree"), event(10))]

        assert ids(explained(hits)) == ["A"]


def test_a_milder_rule_that_explains_a_fatal_one_becomes_as_bad() -> None:
    hits = [hit(rule("W", Severity.DEGRADED, explains=("F",)), event(5)), hit(rule("F"), event(9))]

    found = explained(hits)

    assert [(finding.rule.id, finding.severity) for finding in found.diagnoses] == [("W", Severity.FATAL)]


def test_a_harmless_rule_silences_what_it_explains() -> None:
    hits = [hit(rule("N", Severity.NOTICE, explains=("F",)), event(5)), hit(rule("F"), event(9))]

    found = explained(hits)

    assert found.diagnoses == ()
    assert [finding.rule.id for finding in found.notices] == ["N"]


def test_the_cause_of_a_chain_wins_over_the_outer_exception() -> None:
    trace = event(10, raised=["OutOfMemoryError", "RuntimeError"])

    found = explained([hit(rule("OUTER"), trace, depth=1, weight=90), hit(rule("INNER"), trace, depth=0, weight=20)])

    assert ids(found) == ["INNER"]
    assert [below.rule.id for below in found.diagnoses[0].followed] == ["OUTER"]


def test_the_rule_with_more_literal_text_wins_on_the_same_text() -> None:
    line = event(10)

    found = explained([hit(rule("WIDE"), line, weight=10), hit(rule("NARROW"), line, weight=40)])

    assert ids(found) == ["NARROW"]
    assert found.diagnoses[0].followed == ()


def test_the_rule_with_the_narrower_message_wins_on_equal_text() -> None:
    line = event(10)
    wide = rule("A", patterns=(Pattern(literals=("x" * 10,)),))
    narrow = rule("B", patterns=(Pattern(literals=("x" * 10,), message="x{10} because of y"),))

    assert ids(explained([hit(wide, line), hit(narrow, line)])) == ["B"]


def test_the_same_line_does_not_set_rules_over_facts_against_each_other() -> None:
    line = event(10)
    hits = [hit(rule("A", Severity.DEGRADED), line, weight=0), hit(rule("B", Severity.DEGRADED), line, weight=0)]

    assert ids(explained(hits)) == ["A", "B"]


def test_a_harmless_line_that_quotes_a_failure_is_harmless() -> None:
    line = event(10, "Ignore import error when loading x: No module named 'cutlass', this text is a longer literal")
    benign = rule("OK", Severity.BENIGN, patterns=(Pattern(literals=("Ignore import error when loading",)),))

    found = explained([hit(benign, line, weight=20), hit(rule("F"), line, weight=60)])

    assert found.diagnoses == ()


def test_a_harmless_exception_in_a_chain_does_not_hide_the_fatal_one() -> None:
    trace = event(10, raised=["KeyError", "RuntimeError"])

    assert ids(explained([hit(rule("OK", Severity.BENIGN), trace, depth=0), hit(rule("F"), trace, depth=1)])) == ["F"]


def test_a_fatal_text_that_the_server_outlived_is_a_notice() -> None:
    found = explained([hit(rule("F"), event(10))], reading(phases=STARTED, ready=50))

    assert found.diagnoses == ()
    assert [(finding.rule.id, finding.severity) for finding in found.notices] == [("F", Severity.NOTICE)]


def test_a_fatal_text_in_the_last_steps_before_ready_is_a_possibility() -> None:
    phases = (*STARTED, (PhaseName.WARMUP, 40), (PhaseName.SERVING, 50))

    found = explained([hit(rule("F"), event(45))], reading(phases=phases, ready=50))

    assert [(finding.severity, finding.confidence) for finding in found.diagnoses] == [
        (Severity.DEGRADED, Confidence.POSSIBLE)
    ]


def test_a_fatal_text_after_which_requests_were_served_is_an_error() -> None:
    served = event(90, "Decode batch", seconds=500)
    failure = event(60, seconds=100)

    found = explained([hit(rule("F"), failure)], reading(ready=50, decode_lines=(9, 90)), [failure, served])

    assert [finding.severity for finding in found.diagnoses] == [Severity.ERROR]


def test_a_batch_right_after_the_failure_proves_nothing() -> None:
    served = event(61, "Decode batch", seconds=101)
    failure = event(60, seconds=100)

    found = explained([hit(rule("F"), failure)], reading(ready=50, decode_lines=(9, 61)), [failure, served])

    assert [finding.severity for finding in found.diagnoses] == [Severity.FATAL]


def test_a_line_that_a_later_stage_followed_killed_nobody() -> None:
    death = event(60, raised=["RuntimeError"])

    found = explained([hit(rule("LINE"), event(3)), hit(rule("DEATH"), death)], reading(phases=STARTED))

    assert ids(found) == ["DEATH"]


def test_a_line_before_the_end_of_a_stage_killed_nobody() -> None:
    within = Phase(PhaseName.KV_CACHE, 5, 8, done=True)
    unfinished = within._replace(done=False)

    found = [
        explained([hit(rule("A"), event(5))], reading()._replace(phases=(stage,))) for stage in (within, unfinished)
    ]

    assert [ids(one) for one in found] == [[], ["A"]]


def test_a_traceback_of_another_rank_counts_though_this_rank_went_on() -> None:
    hits = [
        hit(rule("OOM"), event(3, rank="TP1", raised=["OutOfMemoryError"])),
        hit(rule("NCCL"), event(60, rank="TP0")),
    ]

    assert ids(explained(hits, reading(phases=STARTED))) == ["OOM"]


def test_what_the_container_engine_refused_before_a_start_is_over() -> None:
    docker = rule("D", engine=("docker",))

    found = explained(
        [hit(docker, event(1)), hit(rule("F"), event(60, raised=["ValueError"]))],
        reading(phases=((PhaseName.ARGS, 10),)),
    )

    assert ids(found) == ["F"]


def test_nothing_counts_after_a_shutdown_that_was_asked_for() -> None:
    hits = [
        hit(rule("F"), event(60, raised=["CancelledError"])),
        hit(consequence("KILL"), event(61)),
        hit(rule("EXIT"), event(62, kind=EventKind.EXIT)),
    ]

    found = explained(hits, reading(ready=5, shutdown=50))

    assert (found.diagnoses, found.signs) == ((), ())


def test_compose_says_stopping_also_when_nothing_ever_ran() -> None:
    found = explained([hit(rule("D", engine=("docker",)), event(3))], reading(shutdown=2, recognised=False))

    assert ids(found) == ["D"]


def test_a_possibility_never_swallows_what_is_sure() -> None:
    weak, sure = rule("WEAK", confidence=Confidence.POSSIBLE), rule("SURE")

    assert ids(explained([hit(weak, event(10)), hit(sure, event(20))])) == ["SURE", "WEAK"]


def test_captures_of_all_hits_are_kept() -> None:
    of = rule("A")

    found = explained([hit(of, event(10), slots=None, a=1), hit(of, event(20), slots=4, a=2)])

    assert dict(found.diagnoses[0].captures) == {"slots": 4, "a": 1}
