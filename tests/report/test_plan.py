"""A plan on narrow and plain terminals, and without the secrets of its launch, wherever they stand."""

import io
import json
import re
from dataclasses import replace

import pytest

from sgdoctor.diagnosis.fixes import fixes_for
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.engines.sglang.memory.prediction import Failure, Prediction
from sgdoctor.fixes.flag_tables import flag_problems
from sgdoctor.fixes.model import Answer
from sgdoctor.fixes.plan import Knowledge, Wishes, plan_for
from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.messages import say
from sgdoctor.redaction import HIDDEN
from sgdoctor.report.canvas import console_for
from sgdoctor.report.plan_json import as_plan_data
from sgdoctor.report.plan_text import closing_line, print_plan
from sgdoctor.rules.base import load_rule_base
from tests.fixes.samples import flags_of, verdict_of

FLAGS = schema("0.5.15")
KEY, TOKEN, WISH = "plain-word-key", "another-plain-word", "third-plain-word"
COMMAND = f"docker run -e HF_TOKEN={TOKEN} sglang python3 -m sglang.launch_server --model-path /m --api-key {KEY}\n"


def answer(command: str = COMMAND, log: str = "dtype-float16-hybrid") -> Answer:
    document = read_shell(command, "run.sh")
    verdict = verdict_of(log)
    wishes = Wishes(changes=(Change("env.set", "OPENAI_API_KEY", WISH),))
    plan = plan_for(document, Knowledge(flags_of(), lambda _: (), verdict), wishes)
    return Answer("run.sh", document, plan, flags_of(), verdict=verdict, log="x.log", version="0.5.15")


def printed(shown: Answer, lang: str = "en", *, encoding: str = "utf-8", width: int = 80, redact: bool = True) -> str:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding, errors="strict")
    console = console_for(stream, {"COLUMNS": str(width), "TERM": "dumb"})
    print_plan(console, shown, lang, redact=redact)
    stream.flush()
    return buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("write", [printed, lambda shown: json.dumps(as_plan_data(shown, "zh"))])
def test_secrets_are_hidden_wherever_they_stand(write: object) -> None:
    text = write(answer())  # type: ignore[operator]

    assert not any(secret in text for secret in (KEY, TOKEN, WISH))
    assert HIDDEN in text


def test_a_short_secret_is_hidden_by_its_place() -> None:
    data = as_plan_data(answer(COMMAND.replace(KEY, "abc")), "en")

    assert [HIDDEN] == [data["launch"]["argv"][-1]]
    assert HIDDEN == data["launch"]["flags"]["--api-key"]
    assert HIDDEN == data["plan"]["argv"][data["plan"]["argv"].index("--api-key") + 1]


def test_everything_is_shown_on_demand() -> None:
    text = printed(answer(), redact=False)

    assert all(secret in text for secret in (KEY, TOKEN, WISH))


@pytest.mark.parametrize("width", [24, 80, 200])
def test_a_narrow_and_plain_terminal(width: int) -> None:
    text = printed(answer(), encoding="ascii", width=width)
    last = text.splitlines()[-1]

    assert closing_line(answer(), "en") == last
    assert "x The conv state" in text.replace("\n", " ")


def test_escapes_from_a_log_do_not_reach_the_terminal() -> None:
    shown = replace(answer(), target="\x1b[2Jrun.sh\u202e", log="\x1b]0;x\x07.log")

    assert not any(character in printed(shown) for character in "\x1b\x07\u202e")


def test_thousands_of_mistakes_are_counted_and_hide_no_other() -> None:
    command = " ".join(["python3 -m sglang.launch_server", *(f"--no-such-{n} 1" for n in range(3000)), "--dtype int3"])
    document = read_shell(command, "run.sh")
    problems = flag_problems(document.launch, FLAGS, {})
    plan = plan_for(document, Knowledge(FLAGS, lambda launch: flag_problems(launch, FLAGS, {}), problems=problems))
    shown = Answer("run.sh", document, plan, FLAGS, problems=tuple(problems))
    text, data = printed(shown), as_plan_data(shown, "en")

    assert text.count("There is no flag `--no-such-") == 24
    assert text.count("and 2,988 more of the same kind") == 2
    assert "`int3` is not a choice of `--dtype`" in text
    assert "`--model-path` is missing" in text
    assert (len(data["problems"]), len(data["plan"]["steps"])) == (len(problems), len(plan.steps))
    assert len(problems) == 3002
    assert "以及另外 2,988 个同类项" in printed(shown, "zh")


def test_what_is_worth_knowing_is_not_called_wrong() -> None:
    document = read_shell("python3 -m sglang.launch_server --model-path /m --tp 2", "run.sh")
    problems = flag_problems(document.launch, FLAGS, {})
    plan = plan_for(document, Knowledge(FLAGS, lambda launch: flag_problems(launch, FLAGS, {}), problems=problems))
    text = printed(Answer("run.sh", document, plan, FLAGS, problems=tuple(problems)))

    assert ["notice"] == [one.severity for one in problems]
    assert "Worth knowing" in text
    assert "Wrong as written" not in text


_BASE = load_rule_base(user_dirs=())
_BY_HAND = [
    rule
    for rule in map(_BASE.rule_at, range(len(_BASE.entries)))
    if rule.fixes and all(fix.safety == "manual" for fix in rule.fixes) and rule.severity.is_diagnosis
]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_can_only_be_done_by_hand_comes_first(lang: str) -> None:
    document = read_shell("python3 -m sglang.launch_server --model-path /m", "run.sh")
    verdict = verdict_of("oom-weights")
    first = verdict.diagnoses[0]
    heading = {"en": "What to do by hand", "zh": "需要手动完成的"}[lang]
    heading_of_launch = re.sub(r"[\s·]", "", "run.sh" + say(lang, "fix.origin.command"))

    assert len(_BY_HAND) > 100
    for rule in _BY_HAND:
        diagnosis = first._replace(rule=rule, title=rule.title, fixes=fixes_for(rule, {"no_container": None}))
        if not diagnosis.fixes:
            continue
        plan = plan_for(document, Knowledge(flags_of(), lambda _: (), verdict._replace(diagnoses=(diagnosis,))))
        text = printed(Answer("run.sh", document, plan, flags_of()), lang)
        before, _, behind = re.sub(r"[\s`·]", "", text).partition(re.sub(r"\s", "", heading))

        assert (plan.steps, before) == ((), heading_of_launch), rule.id
        assert behind.startswith(re.sub(r"[\s`·]", "", diagnosis.fixes[0].summary.in_language(lang))), rule.id


def test_where_nothing_changes_there_is_no_memory_afterwards() -> None:
    shown = answer()
    memory = Prediction(1.5, kv_tokens=20, failure=Failure("SGL412", "out of memory"))
    changed = replace(shown.plan, predicted_before=memory, predicted=replace(memory, fraction=0.9))
    unchanged = replace(shown.plan, steps=(), predicted_before=memory, predicted=memory)

    then, now = (printed(replace(shown, plan=plan)) for plan in (changed, unchanged))

    assert ["static fraction", "1.5", "0.9"] == cells(then, "static fraction")
    assert "It would still fail: out of memory" in then
    assert ["static fraction", "1.5"] == cells(now, "static fraction")
    assert "It would still fail" not in now


def cells(text: str, begins: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.strip().startswith(begins)]
    return re.split(r" {2,}", line.strip())
