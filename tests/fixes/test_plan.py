"""One plan for everything that is wrong and everything that would come next."""

from collections.abc import Sequence

import pytest

from sgdoctor.engines.sglang.memory.prediction import Failure, Prediction, Warned, known
from sgdoctor.errors import UserError
from sgdoctor.fixes.flag_tables import flag_problems
from sgdoctor.fixes.memory.solution import Cut, Interval, Outcome, Solution
from sgdoctor.fixes.model import Basis, Plan
from sgdoctor.fixes.plan import Knowledge, Wishes, plan_for
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import Editable, Edited, EditState, Launch, Problem
from sgdoctor.texts import Text
from tests.fixes.samples import Words, flags_of, verdict_of, verdict_on, words

FRACTION = Change("flag.set", "--mem-fraction-static", "0.92")
NO_RADIX = Change("flag.set", "--disable-radix-cache")
DTYPE = Change("flag.set", "--dtype", "bfloat16")
FAILS = Prediction(0.8, slots=-2, failure=Failure("SGL401", "Not enough GPU memory for hybrid state cache"))
FITS = Prediction(0.92, slots=7, kv_tokens=21473, max_running_requests=1, left_gib=known(1.48))
CONTEXT = Warned("context-over-pool", Text("64K do not fit", "放不下 64K"), "SGL441")


def solve(launch: Launch) -> Solution:
    """A card on which this model fits from 0.91 on, or without prefix cache."""
    flags = {one.flag: one.values for one in given_flags(launch.argv, launch.flags_at, flags_of())}
    cut = Cut(
        "no-radix-cache",
        (NO_RADIX,),
        Text("No prefix cache", "无前缀缓存"),
        Text("slower", "变慢"),
        "safe",
        1,
        FITS,
        opens=True,
    )
    if float(flags.get("--mem-fraction-static", ("0.8",))[-1]) >= 0.91 or "--disable-radix-cache" in flags:
        return Solution(Outcome.FITS, FITS, prediction=FITS, warnings=(CONTEXT,))
    return Solution(Outcome.ADJUST, FAILS, Interval(0.91, 0.93, 0.93), 0.92, (FRACTION,), FITS, (cut,))


def check(launch: Launch) -> Sequence[Problem]:
    """An engine that knows no int16, and takes no two schedules."""
    flags = {one.flag: one.values for one in given_flags(launch.argv, launch.flags_at, flags_of())}
    found = []
    if flags.get("--dtype") == ("int16",):
        found.append(Problem("choice-invalid", "fatal", Text("int16 is no dtype", "int16 不是 dtype")))
    if {"--disable-radix-cache", "--enable-hierarchical-cache"} <= flags.keys():
        found.append(Problem("excluded", "fatal", Text("not both", "不能同时使用")))
    return found


def plan(document: Words, log: str = "", wishes: Wishes | None = None, **options: object) -> Plan:
    options = {"solve": solve, **options}
    verdict = verdict_of(log) if log else None
    return plan_for(document, Knowledge(flags_of(), check, verdict, **options), wishes or Wishes())  # type: ignore[arg-type]


def bases(made: Plan) -> list[tuple[Basis, tuple[Change, ...]]]:
    return [(step.basis, step.changes) for step in made.steps]


LAUNCH = words("--model-path /models/skel27 --context-length 65536")


def test_the_failure_that_was_seen_and_the_one_that_would_come_next() -> None:
    made = plan(LAUNCH, "dtype-float16-hybrid")

    assert [(Basis.FOUND, (DTYPE,)), (Basis.PREDICTED, (FRACTION,))] == bases(made)
    assert "The next start would end with: Not enough GPU memory" in made.steps[1].why.en
    assert (FAILS, FITS) == (made.predicted_before, made.predicted)
    assert (CONTEXT.text,) == made.warnings
    assert "--dtype bfloat16 --mem-fraction-static 0.92" in " ".join(made.after.argv)


def test_the_numbers_of_the_card_count_more_than_those_of_the_rule() -> None:
    made = plan(LAUNCH, "article27-mfs-0.80")

    assert [(Basis.FOUND, (FRACTION,))] == bases(made)
    assert ("SGL401", "fitting-fraction") == (made.steps[0].rule, made.steps[0].id)
    assert ["no-radix-cache"] == [step.id for step in made.alternatives]


def test_without_a_card_the_rule_has_the_say() -> None:
    made = plan(LAUNCH, "article27-mfs-0.80", solve=None)

    assert [(Basis.FOUND, (Change("flag.set", "--mem-fraction-static", "0.93"),))] == bases(made)
    assert made.predicted is None


def test_a_server_that_served_and_then_ran_out_of_memory_ended_as_computed() -> None:
    made = plan(LAUNCH, "oom-runtime")

    assert [("SGL415", (FRACTION,))] == [(step.rule, step.changes) for step in made.steps]
    assert FITS == made.predicted


def test_where_a_server_served_against_the_computation_the_rule_of_its_failure_has_the_say() -> None:
    text = (
        b"[2026-11-30 10:59:29] The server is fired up and ready to roll!\n"
        b"[2026-11-30 10:59:40] RuntimeError: Not enough GPU memory for hybrid ... max_mamba_cache_size=-2\n"
    )
    made = plan_for(LAUNCH, Knowledge(flags_of(), check, verdict_on(text), solve=solve))

    assert () == made.steps
    assert [Change("flag.raise", "--mem-fraction-static")] == [left.change for left in made.left]


def test_backends_of_one_phase_do_not_outlive_the_one_that_is_set() -> None:
    text = (
        b"[2026-11-30 10:33:40] Scheduler hit an exception: Traceback (most recent call last):\n"
        b"RuntimeError: Error in function 'TllmGenFmhaRunner' at fmhaRunner.cuh:30: Unsupported architecture\n"
    )
    launch = words("--model-path /m --prefill-attention-backend trtllm_mha --decode-attention-backend trtllm_mha")
    made = plan_for(launch, Knowledge(flags_of(), check, verdict_on(text)))

    assert "--model-path /m --attention-backend triton" in " ".join(made.after.argv)
    assert not any("trtllm" in word for word in made.after.argv)


def test_a_direction_without_a_number_is_left_to_be_decided() -> None:
    text = b"RuntimeError: Not enough GPU memory for hybrid ... max_mamba_cache_size=-2\n"
    made = plan_for(LAUNCH, Knowledge(flags_of(), check, verdict_on(text)))

    assert ((), LAUNCH.launch) == (made.steps, made.after)
    assert [Change("flag.raise", "--mem-fraction-static")] == [left.change for left in made.left]


def test_another_way_can_be_chosen() -> None:
    made = plan(LAUNCH, "article27-mfs-0.80", Wishes(("no-radix-cache",)))

    assert [(Basis.FOUND, (NO_RADIX,))] == bases(made)
    assert ["fitting-fraction"] == [step.id for step in made.alternatives]


@pytest.mark.parametrize("name", ["conv-state-float16", "SGL203/conv-state-float16"])
def test_another_fix_of_the_rule_can_be_chosen(name: str) -> None:
    made = plan(LAUNCH, "dtype-float16-hybrid", Wishes((name,)))

    assert (Change("env.set", "SGLANG_MAMBA_CONV_DTYPE", "float16"),) == made.steps[0].changes
    assert ["dtype-bfloat16"] == [step.id for step in made.alternatives if step.rule == "SGL203"]


def test_a_choice_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"^nothing: there is no such fix here\. There are: SGL203/conv-state"):
        plan(LAUNCH, "dtype-float16-hybrid", Wishes(("nothing",)))


def test_what_the_user_asks_for_comes_first_and_is_never_overruled() -> None:
    asked = Change("flag.set", "--dtype", "float16")
    made = plan(LAUNCH, "dtype-float16-hybrid", Wishes(changes=(asked,)))

    assert (Basis.ASKED, (asked,)) == bases(made)[0]
    assert "conv-state-float16" == made.steps[1].id
    assert ["dtype-bfloat16"] == [step.id for step in made.alternatives if DTYPE in step.changes]
    assert "--dtype float16" in " ".join(made.after.argv)


def test_a_wish_that_the_engine_would_refuse() -> None:
    with pytest.raises(UserError, match="int16 is no dtype"):
        plan(LAUNCH, wishes=Wishes(changes=(Change("flag.set", "--dtype", "int16"),)))


def test_a_wish_for_a_wrong_value_that_is_there_already() -> None:
    with pytest.raises(UserError, match="int16 is no dtype"):
        plan(words("--model-path /m --dtype int16"), wishes=Wishes(changes=(Change("flag.set", "--dtype", "int16"),)))


def test_one_of_two_that_exclude_each_other_can_be_kept() -> None:
    document = words("--model-path /m --disable-radix-cache --enable-hierarchical-cache")
    made = plan(document, wishes=Wishes(changes=(NO_RADIX,)))

    assert (NO_RADIX,) == made.steps[0].changes


def test_wishes_that_need_each_other_count_together() -> None:
    other = Change("flag.unset", "--enable-hierarchical-cache")
    made = plan(words("--model-path /m --enable-hierarchical-cache"), wishes=Wishes(changes=(NO_RADIX, other)))

    assert [(NO_RADIX,), (other,)] == [step.changes for step in made.steps[:2]]


def test_a_mistake_that_was_there_before_does_not_stop_a_wish() -> None:
    made = plan(words("--model-path /m --dtype int16"), wishes=Wishes(changes=(Change("flag.set", "--port", "1"),)))

    assert (Change("flag.set", "--port", "1"),) == made.steps[0].changes


def test_a_step_that_the_engine_would_refuse_becomes_an_alternative() -> None:
    document = words("--model-path /m --enable-hierarchical-cache --mem-fraction-static 0.92")
    problem = Problem("odd", "error", Text("odd", "怪"), changes=(NO_RADIX,))
    made = plan(document, problems=(problem,))

    assert ((), ["odd"]) == (made.steps, [step.id for step in made.alternatives])


def test_problems_as_written_are_put_right_and_notices_are_not() -> None:
    fatal = Problem("typo", "fatal", Text("typo", "笔误"), changes=(DTYPE,), rule="SGL107")
    notice = Problem("short", "notice", Text("short", "简写"), changes=(Change("flag.unset", "--model-path"),))
    made = plan(words("--model-path /m --mem-fraction-static 0.92"), problems=(fatal, notice))

    assert [(Basis.WRITTEN, (DTYPE,))] == bases(made)


def test_the_same_change_is_made_once() -> None:
    problem = Problem("dtype", "fatal", Text("dtype", "dtype"), changes=(DTYPE,))
    made = plan(LAUNCH, "dtype-float16-hybrid", problems=(problem,))

    assert 1 == made.changes.count(DTYPE)


def test_nothing_to_change() -> None:
    made = plan(words("--model-path /m --mem-fraction-static 0.92"), "boot-hybrid")

    assert ((), None, "", "safe") == (made.steps, made.text, made.diff, made.safety)


def test_what_has_no_place_in_the_form_is_left() -> None:
    made = plan(LAUNCH, "dtype-float16-hybrid", Wishes(("conv-state-float16",)))

    assert [Change("env.set", "SGLANG_MAMBA_CONV_DTYPE", "float16")] == [left.change for left in made.left]


def test_a_launch_that_cannot_be_edited_has_a_plan_all_the_same() -> None:
    why = Text("the engine is started inside run.sh", "引擎在 run.sh 中启动")

    class Hidden(Words):
        def edited(self, changes: Sequence[Change], flags: object) -> Edited:
            raise UserError("put this in by hand: --dtype bfloat16", "请手动加上：--dtype bfloat16")

    made = plan(Hidden(LAUNCH.launch, Editable(EditState.NO, why)), "dtype-float16-hybrid")

    assert (why, None, "") == (made.refused, made.text, made.diff)
    assert DTYPE in made.changes


def test_a_text_that_does_not_say_what_was_planned_is_never_given_out() -> None:
    class Liar(Words):
        def edited(self, changes: Sequence[Change], flags: object) -> Edited:
            return super().edited([*changes, Change("flag.set", "--trust-remote-code")], flags_of())

    made = plan(Liar(LAUNCH.launch), "dtype-float16-hybrid")

    assert made.text is None
    assert made.refused is not None


def test_a_model_that_does_not_fit() -> None:
    proof = Text("the weights alone take more than the card has", "仅权重就超过显存")
    made = plan(LAUNCH, "article27-mfs-0.80", solve=lambda _: Solution(Outcome.IMPOSSIBLE, FAILS, why=proof))

    assert ((), proof) == (made.steps, made.left[0].why)


def test_a_model_in_float16_beside_a_state_in_bfloat16_is_foreseen() -> None:
    text = (
        b"[2026-11-30 10:38:33] server_args=ServerArgs(model_path='/m', dtype='auto', kv_cache_dtype='auto', "
        b"mamba_radix_cache_strategy='extra_buffer', disable_radix_cache=False)\n"
        b"[2026-11-30 10:38:34] Mamba Cache is allocated. max_mamba_cache_size: 7, conv_state size: 0.02GB, ssm_state size: 1.12GB\n"
        b"[2026-11-30 10:38:34] KV Cache is allocated. dtype: torch.float16, #tokens: 20000, K size: 0.66 GB, V size: 0.66 GB\n"
        b"[2026-11-30 10:38:35] Scheduler hit an exception: Traceback (most recent call last):\n"
        b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.68 GiB\n"
    )
    launch = words("--model-path /m --mem-fraction-static 0.92")
    made = plan_for(launch, Knowledge(flags_of(), check, verdict_on(text)))
    kept = plan_for(words("--model-path /m --dtype bfloat16"), Knowledge(flags_of(), check, verdict_on(text)))

    assert (Basis.PREDICTED, (DTYPE,)) in bases(made)
    assert DTYPE not in kept.changes


def test_thousands_of_unknown_flags_take_few_looks() -> None:
    table = flags_of()
    names = [f"--nobody-has-{number}" for number in range(300)]
    document = words(f"--model-path x {' '.join(names)} --dtype bf16 --nobody-has-7 seven")
    looks = []

    def look(launch: Launch) -> Sequence[Problem]:
        looks.append(launch)
        return flag_problems(launch, table, {})

    problems = flag_problems(document.launch, table, {})
    made = plan_for(document, Knowledge(table, look, problems=problems))

    assert [*names, "--dtype"] == [change.name for step in made.steps for change in step.changes]
    assert ("--model-path", "x", "--dtype", "bfloat16") == made.after.argv[3:]
    assert 10 > len(looks)


def test_unknown_flags_that_cannot_all_go() -> None:
    table = flags_of()
    document = words("--nobody-has-1 1 --nobody-has-2 '$@' --nobody-has-3")

    def look(launch: Launch) -> Sequence[Problem]:
        return flag_problems(launch, table, {})

    made = plan_for(document, Knowledge(table, look, problems=look(document.launch)))

    # Without the word that may stand for it, --model-path would be missing.
    assert ["--nobody-has-1", "--nobody-has-3"] == [change.name for step in made.steps for change in step.changes]
    assert ["--nobody-has-2"] == [change.name for step in made.alternatives for change in step.changes]


def test_a_start_that_served_says_nothing_of_another_fraction() -> None:
    served = plan(words("--model-path /models/skel27 --mem-fraction-static 1.5"), "boot-dense", solve=tight)

    assert [FRACTION] == [change for step in served.steps for change in step.changes]


def test_a_start_that_served_with_these_settings_counts_more_than_what_was_computed() -> None:
    served = plan(words("--model-path /models/skel27 --mem-fraction-static 0.833"), "boot-dense", solve=tight)

    assert [] == [change for step in served.steps for change in step.changes]


def tight(launch: Launch) -> Solution:
    """A card on which nothing but the recommended fraction works, as computed."""
    if FRACTION.value in launch.argv:
        return Solution(Outcome.FITS, FITS, prediction=FITS)
    return Solution(Outcome.ADJUST, FAILS, Interval(0.91, 0.93, 0.93), 0.92, (FRACTION,), FITS)
