"""The solver on real logs and on the quotations of the published reports: which way, how far, and what it costs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgdoctor.engines.base import Fact
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.engines.sglang.memory.fractions import TOO_LOW, at_fraction
from sgdoctor.engines.sglang.memory.predict import Card, Start
from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.memory.shape import shape_of
from sgdoctor.fixes.memory.limits import interval_of
from sgdoctor.fixes.memory.situation import Situation, Tried, situation_of
from sgdoctor.fixes.memory.solution import Outcome, Solution
from sgdoctor.fixes.memory.solver import solve
from sgdoctor.fixes.memory_steps import ways_of
from sgdoctor.launch.change import Change
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from tests.engines.memory_cases import deviation, facts_of, reported_start, vectors
from tests.fixes.samples import verdict_of

MODEL_27B = {
    "--model-path": "/models/huggingface/cyankiwi/Qwen3.6-27B-AWQ-INT4",
    "--dtype": "bfloat16",
    "--context-length": "65536",
}
LOADED = "Load weight end. elapsed=13.30 s, type=Qwen3_5ForConditionalGeneration, quant=compressed-tensors, mem usage=19.05 GB\n"
QUOTED = {
    "0.80": (
        "SGL401",
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache\nmax_mamba_cache_size=-2\n",
    ),
    "0.88": ("SGL402", "RuntimeError: Hybrid state cache is too small. max_mamba_cache_size=4\n"),
}


def facts_in(text: str) -> Mapping[str, Fact]:
    return SGLANG.read(list(fold(read_lines(text.encode()), SGLANG.is_data))).facts


def quoted(fraction: str, *, loaded: bool) -> Solution:
    rule, text = QUOTED[fraction]
    flags = {**MODEL_27B, "--mem-fraction-static": fraction}
    situation = situation_of(facts_in((LOADED if loaded else "") + text), flags, rule=rule, card_mib=24576)
    assert situation is not None
    return solve(situation)


def solved(log: str, rule: str | None = None, flags: Mapping[str, Any] | None = None, **told: Any) -> Solution:
    situation = situation_of(facts_of(log), flags, rule=rule, card_mib=24564, **told)
    assert situation is not None
    return solve(situation)


def test_a_context_without_end_is_named_and_shortened() -> None:
    shape, card = shape_of(vectors()["models"]["dense-8b"]), Card(22.86, 24564)
    solution = solve(Situation(Start(shape, Settings(context=10**9), card, 15.28, "0.5.15")))

    assert Outcome.CUT == solution.outcome
    assert ["shorter-context"] == names(solution)
    assert solution.context is not None
    assert solution.why is not None
    assert f"{solution.context:,}" in solution.why.en
    assert f"{solution.context:,}" in solution.why.zh
    shorter = solve(Situation(Start(shape, Settings(context=solution.context), card, 15.28, "0.5.15")))
    assert Outcome.IMPOSSIBLE != shorter.outcome
    assert shorter.context is None
    weights = solve(Situation(Start(shape, Settings(context=10**9), card, 23.0, "0.5.15")))
    assert (Outcome.IMPOSSIBLE, None) == (weights.outcome, weights.context)


def names(solution: Solution) -> list[str]:
    return [cut.id for cut in solution.cuts]


@pytest.mark.parametrize("fraction", ["0.80", "0.88"])
def test_the_reports_of_the_27b_lead_to_092_and_its_tokens(fraction: str) -> None:
    found = quoted(fraction, loaded=True)
    assert found.interval is not None
    assert found.prediction is not None

    assert Outcome.ADJUST is found.outcome
    assert 0.92 in found.interval
    assert (Change("flag.set", "--mem-fraction-static", "0.92"),) == found.changes
    assert deviation(found.prediction.kv_tokens, 21482) <= 0.01
    assert ["context-over-pool", "model-assumed"] == [warned.id for warned in found.warnings]
    assert found.interval.context_low is None
    more = [cut for cut in found.cuts if cut.serves_context]
    assert more
    assert all((cut.prediction.kv_tokens or 0) >= 65536 for cut in more)


@pytest.mark.parametrize("fraction", ["0.80", "0.88"])
def test_two_quoted_lines_are_enough_for_the_fraction(fraction: str) -> None:
    found = quoted(fraction, loaded=False)
    assert found.prediction is not None

    assert 0.92 == found.fraction
    assert deviation(found.prediction.kv_tokens, 21482) <= 0.02


def test_the_numbers_of_a_log_outweigh_the_name_of_the_model() -> None:
    other = QUOTED["0.88"][1].replace("=4", "=11")
    flags = {**MODEL_27B, "--mem-fraction-static": "0.88"}
    situation = situation_of(facts_in(LOADED + other), flags, rule="SGL402", card_mib=24576)

    assert situation is None or solve(situation).outcome is Outcome.UNKNOWN


def test_a_report_of_the_35b_serves_the_context_from_the_next_fraction_on() -> None:
    case = next(case for case in vectors()["reported"] if case["name"] == "35B-A3B at 0.88")
    found = solve(Situation(reported_start(case)))
    assert found.interval is not None

    assert Outcome.FITS is found.outcome
    assert 0.90 == found.interval.context_low
    assert "higher-fraction" == found.cuts[0].id
    assert found.cuts[0].serves_context


@pytest.mark.parametrize(
    ("log", "rule", "low"),
    [
        ("article27-mfs-0.80", "SGL401", 0.89),
        ("article27-w19.28-mfs-0.88", "SGL402", 0.90),
        ("skel27-default", "SGL402", 0.86),
        ("skel27-mfs-0.80", "SGL402", 0.86),
        ("weights-over-fraction", "SGL421", 0.67),
        ("moe-mfs-tiny", "SGL401", 0.03),
    ],
)
def test_pools_without_room_are_given_a_larger_share(log: str, rule: str, low: float) -> None:
    found = solved(log, rule)
    assert found.now is not None
    assert found.now.failure is not None
    assert found.interval is not None
    assert found.prediction is not None

    assert rule == found.now.failure.rule
    assert Outcome.ADJUST is found.outcome
    assert low == found.interval.low
    assert (found.fraction or 0) > found.now.fraction
    assert found.prediction.failure is None


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        ("article27-mfs-0.80", "SGL401"),
        ("article27-w19.28-mfs-0.88", "SGL402"),
        ("skel27-mfs-0.80", "SGL402"),
        ("skel27-default", "SGL402"),
        ("weights-over-fraction", "SGL421"),
        ("moe-mfs-tiny", "SGL401"),
        ("oom-kv-alloc-a", "SGL412"),
        ("skel27-mfs-0.99", "SGL413"),
    ],
)
def test_a_diagnosis_and_the_plan_name_the_same_numbers(log: str, rule: str) -> None:
    """A diagnosis knows the log alone; it would confuse to be told another value by the plan."""
    facts, found = facts_of(log), solved(log, rule)
    assert found.interval is not None
    advised = "solver.fraction" if rule in TOO_LOW else "fraction_lower"

    assert found.fraction == facts[advised].value
    assert found.interval.low == facts["fraction_floor"].value
    assert found.interval.high == facts["solver.high"].value


@pytest.mark.parametrize("log", ["article27-mfs-0.80", "moe-mfs-tiny", "weights-over-fraction", "oom-kv-alloc-a"])
def test_diagnosis_and_plan_say_which_fractions_work_in_the_same_words(log: str) -> None:
    verdict = verdict_of(log)
    rule = verdict.diagnoses[0].rule.id
    found = solved(log, rule)
    (step, *_), fix = [way.step for way in ways_of(found, None)], verdict.diagnoses[0].fixes[0]

    assert step.changes == fix.changes
    assert found.interval is not None
    low, high = f"{found.interval.low:.2f}", f"{found.interval.high:.2f}"
    for said in (step.note, fix.summary):
        assert f"t works from {low} to {high}" in said.en
        assert f"; recommended {found.fraction:.2f}." in said.en
        assert f"自 {low} 起至 {high} " in said.zh
        assert f"，推荐 {found.fraction:.2f}。" in said.zh


SKELETON = {
    "skel27-default": "SGL402",
    "skel27-mfs-0.80": "SGL402",
    "skel27-mfs-0.99": "SGL413",
    "skel27-mfs-0.88": None,
    "skel27-mfs-0.92": None,
}
ARTICLE = {"article27-mfs-0.80": "SGL401", "article27-w19.28-mfs-0.88": "SGL402", "article27-w19.28-mfs-0.92": None}
DENSE = {
    "weights-over-fraction": "SGL421",
    "oom-kv-alloc-a": "SGL412",
    "oom-runtime": "SGL415",
    "long-context-over-pool": None,
}
SERIES = [
    (failed, rule, other, ended)
    for series in (SKELETON, ARTICLE, DENSE)
    for failed, rule in series.items()
    for other, ended in series.items()
    if rule is not None and other != failed
]


@pytest.mark.parametrize(("failed", "rule", "other", "ended"), SERIES)
def test_what_one_failed_start_leads_to_is_what_the_others_of_its_series_did(
    failed: str, rule: str, other: str, ended: str | None
) -> None:
    """Each other recorded start of the model, as the log of this failed one foretells it."""
    situation, recorded = situation_of(facts_of(failed), rule=rule), situation_of(facts_of(other))
    assert situation is not None
    assert recorded is not None
    start = situation.start.under(recorded.start.settings)
    interval, then = interval_of(start, situation.tried), at_fraction(start, None)
    assert interval is not None

    if ended in TOO_LOW:
        assert then.fraction < interval.low
        assert then.failure is not None
        assert ended == then.failure.rule
    elif ended is not None:
        assert interval.safe < then.fraction
    else:
        assert interval.low <= then.fraction <= interval.safe
        assert then.failure is None
        assert then.left_gib is not None
        left = facts_of(other)["available_gpu_mem_gib"].value
        assert then.left_gib.low <= left <= then.left_gib.high


@pytest.mark.parametrize("log", ["boot-dense", "boot-hybrid", "skel27-mfs-0.88", "skel35moe-mfs-0.92"])
def test_what_works_stays(log: str) -> None:
    found = solved(log)

    assert Outcome.FITS is found.outcome
    assert () == found.changes
    assert found.now is found.prediction


def test_a_measured_start_bounds_the_interval_more_closely() -> None:
    situation = situation_of(facts_of("skel27-mfs-0.92"))
    assert situation is not None
    measured = interval_of(situation.start, None)
    guessed = interval_of(replace(situation.start, measured=None), None)
    assert measured is not None
    assert guessed is not None

    assert measured.safe > guessed.safe
    assert measured.low == guessed.low


def capture_failed(model: str = "27b", lacking: float = 0.3, **settings: Any) -> Situation:
    """Out of memory at 0.95 while graphs were captured; the 27B serves two requests at once, the 8B more than a graph is for."""
    start = reported_start(vectors()["reported"][2])
    if model != "27b":
        start = replace(start, shape=shape_of(vectors()["models"][model]), weights_gib=16.0)
    flags = Settings(fraction=0.95, **settings)
    if model == "27b":
        flags = replace(flags, context=65536, strategy="extra_buffer")
    return Situation(start.under(flags), Tried(flags, 0.95, "SGL414", lacking))


def test_a_capture_failure_never_leads_to_the_printed_advice() -> None:
    found = solve(capture_failed())
    assert found.prediction is not None

    assert Outcome.ADJUST is found.outcome
    assert 0.89 <= (found.fraction or 0) <= 0.95
    assert found.prediction.failure is None


@pytest.mark.parametrize(
    ("lacking", "first"),
    [
        (0.0, Change("flag.set", "--cuda-graph-max-bs-decode", "8")),
        (0.05, Change("flag.set", "--cuda-graph-max-bs-decode", "8")),
        (0.3, Change("flag.set", "--cuda-graph-backend-prefill", "disabled")),
        (3.0, Change("flag.set", "--mem-fraction-static", "0.82")),
    ],
)
def test_graphs_are_cut_where_that_may_save_what_was_lacking(lacking: float, first: Change) -> None:
    assert first == solve(capture_failed("dense-8b", lacking)).changes[0]


@pytest.mark.parametrize(
    ("rule", "flag"), [("SGL414", "--cuda-graph-max-bs-decode"), ("SGL415", "--chunked-prefill-size")]
)
def test_a_lower_fraction_is_offered_beside_smaller_graphs_or_prompts(rule: str, flag: str) -> None:
    situation = capture_failed("dense-8b", 0.05, chunk=8192)
    flags = replace(situation.start.settings, fraction=0.97)
    found = solve(Situation(situation.start.under(flags), Tried(flags, 0.97, rule, 0.05)))
    lower = next(cut for cut in found.cuts if cut.id == "lower-fraction")
    (change,) = lower.changes

    assert flag == found.changes[0].name
    assert "--mem-fraction-static" == change.name
    assert 0.7 < float(change.value or 1) <= (found.fraction or 0) < 0.97
    assert lower.opens
    assert (lower.prediction.kv_tokens or 0) > 0
    assert "KV cache" in lower.loss.en


@pytest.mark.parametrize("lacking", [0.0, 0.01])
@pytest.mark.parametrize("flags", [{"requests": 1}, {"requests": 8}, {"decode_max_bs": 1}])
def test_graphs_for_more_requests_than_run_at_once_are_not_cut(lacking: float, flags: dict[str, int]) -> None:
    situation = capture_failed("dense-8b", lacking, prefill_graph="disabled", **flags)
    found = solve(situation)

    names = [change.name for change in found.changes]
    assert ("--cuda-graph-max-bs-decode" in names) == (flags.get("requests") == 8)
    if "--cuda-graph-max-bs-decode" in names:
        assert "1" == found.changes[0].value
    else:
        assert ["--mem-fraction-static"] == names
        assert (found.fraction or 1) < 0.95


def test_a_limit_of_graphs_that_changes_none_of_them_keeps_the_bound_of_a_failure() -> None:
    tried = capture_failed("dense-8b", requests=1)
    limited = replace(tried, start=tried.start.under(replace(tried.start.settings, decode_max_bs=8)))
    assert limited.tried is not None

    none = tried.start.under(replace(tried.start.settings, decode_graph="disabled"))
    most, same, more = (interval_of(start, tried.tried) for start in (tried.start, limited.start, none))

    assert most is not None
    assert same is not None
    assert more is not None
    assert most.high == same.high < more.high


def test_a_prompt_that_is_shorter_than_a_chunk_is_not_helped_by_a_smaller_one() -> None:
    short, long = (
        solve(replace(one, tried=replace(one.tried, rule="SGL415")))
        for one in (capture_failed("dense-8b", 0.0, chunk=8192, context=context) for context in (2048, 32768))
        if one.tried is not None
    )

    assert "--chunked-prefill-size" not in [change.name for change in short.changes]
    assert "--chunked-prefill-size" == long.changes[0].name


def test_a_capture_failure_with_one_graph_lowers_the_fraction_no_further_than_the_pools_allow() -> None:
    found = solve(capture_failed(decode_max_bs=1))
    assert found.interval is not None

    assert ["--mem-fraction-static"] == [change.name for change in found.changes]
    assert found.interval.low <= (found.fraction or 0) < 0.95
    assert found.interval.high <= 0.93


@pytest.mark.parametrize(("weights", "fraction", "lacking"), [(22.0, 0.95, 0.1), (22.0, 0.96, 0.3), (22.3, 0.97, 0.1)])
def test_graphs_are_given_up_before_a_model_is_said_not_to_fit(weights: float, fraction: float, lacking: float) -> None:
    flags = Settings(fraction=fraction, decode_max_bs=1, prefill_graph="disabled")
    start = Start(shape_of(vectors()["models"]["dense-8b"]), flags, Card(23.22, 24576), weights, "0.5.15")
    found = solve(Situation(start, Tried(flags, fraction, "SGL414", lacking)))

    assert Outcome.CUT is found.outcome
    assert ["no-graphs"] == names(found)
    (cut,) = found.cuts
    assert Change("flag.set", "--disable-cuda-graph") == cut.changes[0]
    assert cut.opens
    assert () == cut.prediction.decode_graphs == cut.prediction.prefill_graphs
    assert "slower" in cut.loss.en
    assert "变慢" in cut.loss.zh
    without = replace(flags, decode_graph="disabled")
    again = solve(Situation(start.under(without), Tried(without, fraction, "SGL413", lacking)))
    assert "no-graphs" not in names(again)


def test_giving_up_all_graphs_is_the_last_of_the_ways_that_keep_the_answers() -> None:
    flags = Settings(fraction=0.95, strategy="extra_buffer", decode_max_bs=1, prefill_graph="disabled")
    start = Start(shape_of(vectors()["models"]["27b"]), flags, Card(23.22, 24576), 20.5, "0.5.15")
    ways = ways_of(solve(Situation(start, Tried(flags, 0.95, "SGL414", 0.1))), None)

    kept = [way.step.id for way in ways if way.step.safety == "safe"]
    assert len(kept) > 2
    assert "no-graphs" == kept[-1]
    # Where the server starts, it is no way to more tokens.
    assert not any("no-graphs" in cut.id for cut in solved("skel27-mfs-0.92").cuts)


def test_a_capture_failure_is_not_cured_by_a_smaller_chunk() -> None:
    tried = capture_failed("dense-8b", decode_max_bs=1, prefill_graph="disabled")
    shorter = tried.start.under(replace(tried.start.settings, chunk=1024))
    as_prompt = replace(tried, tried=replace(tried.tried, rule="SGL415")) if tried.tried is not None else tried

    bounds = [interval_of(start, one.tried) for one in (tried, as_prompt) for start in (tried.start, shorter)]
    captured, captured_shorter, read, read_shorter = (bound.high for bound in bounds if bound is not None)
    assert captured == captured_shorter == read < read_shorter


def test_older_versions_have_older_names() -> None:
    situation = capture_failed("dense-8b", 0.0)
    found = solve(replace(situation, start=replace(situation.start, version="0.5.13")))

    assert "--cuda-graph-max-bs" == found.changes[0].name
    older = solve(Situation(replace(reported_start(vectors()["reported"][1]), version="0.5.13")))
    assert "--mamba-radix-cache-strategy" not in str((older.changes, older.cuts))


def test_a_cap_below_a_page_is_taken_away() -> None:
    found = solved("not-enough-memory-max-total-tokens", "SGL423")

    assert (Change("flag.unset", "--max-total-tokens"),) == found.changes
    assert found.fraction is None
    assert found.why is not None


def test_retraction_under_a_cap_is_not_cured_by_the_fraction() -> None:
    found = solved("retract-dense", "SGL432")

    assert (Change("flag.unset", "--max-total-tokens"),) == found.changes
    assert found.fraction is None
    assert found.prediction is not None
    assert (found.prediction.kv_tokens or 0) > 100_000


def test_retraction_without_a_cap_is_helped_by_a_larger_share() -> None:
    found = solved("long-context-over-pool", "SGL432")

    assert Outcome.ADJUST is found.outcome
    assert (found.fraction or 0) > 0.8


def test_three_slots_do_not_become_enough_by_a_lazy_buffer() -> None:
    situation = situation_of(facts_of("article27-w19.28-mfs-0.88"), rule="SGL402")
    assert situation is not None
    lazy = situation.start.under(replace(situation.start.settings, strategy="extra_buffer_lazy"))
    found = at_fraction(lazy, None)

    assert (3, 4) == (found.slots, found.slots_needed)
    assert found.failure is not None
    assert "SGL402" == found.failure.rule


def test_long_chunks_are_shortened_before_the_pools() -> None:
    found = solved("oom-runtime", "SGL415")

    assert "--chunked-prefill-size" == found.changes[0].name
    assert 0.9 <= (found.fraction or 0) < 0.97


def test_a_changed_launch_is_judged_by_what_it_is_now() -> None:
    flags = {**MODEL_27B, "--mem-fraction-static": "0.92", "--cuda-graph-max-bs-decode": "8"}
    found = solved("article27-w19.28-mfs-0.88", "SGL402", flags)
    assert found.now is not None

    assert Outcome.FITS is found.outcome
    assert deviation(found.now.kv_tokens, 20267) <= 0.01


def test_a_failure_that_the_model_does_not_explain_is_not_explained_away() -> None:
    situation = situation_of(facts_of("skel27-mfs-0.92"), rule="SGL402")
    assert situation is not None

    assert Outcome.UNKNOWN is solve(situation).outcome


def test_weights_that_do_not_fit_are_proven_with_numbers() -> None:
    situation = situation_of(facts_of("oom-weights"), rule="SGL411", weights_gib=15.28)
    assert situation is not None
    found = solve(situation)
    assert found.why is not None

    assert Outcome.IMPOSSIBLE is found.outcome
    assert "15.28 GiB" in found.why.en
    assert "15.28 GiB" in found.why.zh
    assert () == found.cuts


def test_a_model_that_leaves_too_little_is_cut_down_or_proven_impossible() -> None:
    shape = shape_of(vectors()["models"]["27b"])
    flags = Settings(fraction=0.95, strategy="extra_buffer")

    tight = solve(Situation(Start(shape, flags, Card(23.22, 24576), 21.6, "0.5.15")))
    assert Outcome.CUT is tight.outcome
    assert all(cut.opens and cut.prediction.failure is None for cut in tight.cuts)
    full = solve(Situation(Start(shape, flags, Card(23.22, 24576), 23.0, "0.5.15")))
    assert Outcome.IMPOSSIBLE is full.outcome
    assert full.why is not None
    assert "23.00 of 23.22 GiB" in full.why.en


def test_unknown_numbers_give_no_solution() -> None:
    assert situation_of({}, MODEL_27B) is None
    assert situation_of({}, MODEL_27B, weights_gib=19.05) is None
    only_card = situation_of({}, {"--model-path": "/models/some-model"}, weights_gib=19.05, card_mib=24576)
    assert only_card is not None
    assert solve(only_card).interval is not None


@pytest.mark.parametrize(("capability", "dtype"), [(86, "fp8_e5m2"), (89, "fp8_e4m3"), (None, "fp8_e5m2")])
def test_the_small_kv_format_is_one_that_the_card_converts(capability: int | None, dtype: str) -> None:
    found = solved("skel27-mfs-0.88", capability=capability)

    cut = next(cut for cut in found.cuts if cut.id == "half-size-kv")
    assert Change("flag.set", "--kv-cache-dtype", dtype) == cut.changes[0]
    assert "unsafe" == cut.safety
    assert ("RTX 40" in cut.loss.en) == (dtype == "fp8_e5m2")


@given(
    st.floats(0.3, 0.98),
    st.floats(4, 24),
    st.sampled_from(["27b", "35b-a3b", "dense-8b"]),
    st.sampled_from(["0.5.12", "0.5.15", "0.5.17", None]),
    st.sampled_from([None, "SGL412", "SGL414", "SGL415"]),
    st.sampled_from([None, 32768, 65536]),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_advised_is_predicted_to_work(
    fraction: float, weights: float, model: str, version: str | None, rule: str | None, context: int | None
) -> None:
    flags = Settings(fraction=round(fraction, 2), context=context, strategy="extra_buffer")
    start = Start(shape_of(vectors()["models"][model]), flags, Card(23.22, 24576), weights, version)
    tried = None if rule is None else Tried(flags, flags.fraction, rule, 0.2)
    found = solve(Situation(start, tried))

    if found.changes:
        assert found.prediction is not None
        assert found.prediction.failure is None or rule is not None
    if found.fraction is not None and found.interval is not None:
        assert found.fraction in found.interval
    for cut in found.cuts:
        assert cut.prediction.failure is None
        assert cut.loss.en
        assert cut.loss.zh
    assert sorted(cut.rank for cut in found.cuts) == [cut.rank for cut in found.cuts]
    assert (found.outcome is Outcome.IMPOSSIBLE) == (found.why is not None and "--tp-size 2" in found.why.en)
