"""One log gets one answer: what ``diagnose`` advises about the memory is what ``fix`` plans, and both know how sure."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from sgdoctor.cli.fix_answer import answer_for
from sgdoctor.diagnosis.model import Fix
from sgdoctor.fixes.memory_steps import FRACTION
from sgdoctor.fixes.model import Answer
from sgdoctor.launch.change import Change
from sgdoctor.rules.base import load_rule_base
from sgdoctor.targets import open_target
from tests.conftest import REPO

REAL = REPO / "fixtures" / "logs" / "real"
SIZES = {"--mem-fraction-static", "--chunked-prefill-size"}
WISHES: dict[str, object] = {"choose": [], "set": [], "unset": [], "env": [], "version": None, "log": None}
ABOUT_MEMORY = re.compile(rb"out of memory|[Nn]ot enough (?:GPU )?memory|state cache is too small|leave no GPU memory")
RECOMMENDED = re.compile(r"recommended (0\.\d\d)")
CERTAIN = re.compile(r"up to (0\.\d\d) for certain")


def answer(log: Path) -> Answer:
    with open_target([str(log)], None) as target:
        return answer_for(target, load_rule_base(user_dirs=()), argparse.Namespace(**WISHES))


def sizes(changes: Sequence[Change]) -> dict[str, str | None]:
    return {one.name: one.value for one in changes if one.kind == "flag.set" and one.name in SIZES}


def advised(found: Answer) -> Fix | None:
    """The first fix of the root cause that sets a size."""
    root = found.verdict.diagnoses[:1] if found.verdict is not None else ()
    return next((fix for one in root for fix in one.fixes if fix.safety != "manual" and sizes(fix.changes)), None)


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    return {log.stem: answer(log) for log in sorted(REAL.glob("*.log")) if ABOUT_MEMORY.search(log.read_bytes())}


def test_diagnosis_and_plan_set_the_same(answers: dict[str, Answer]) -> None:
    compared = set()
    for name, found in answers.items():
        fix = advised(found)
        planned = sizes([change for step in found.plan.steps if step.id == FRACTION for change in step.changes])
        assert planned == (sizes(fix.changes) if fix is not None else {}), name
        compared |= {name} if planned else set()

    assert {"oom-runtime", "oom-kv-alloc-a", "moe-mfs-tiny", "weights-over-fraction", "article27-mfs-0.80"} <= compared


def test_what_is_recommended_works_for_certain_or_is_said_not_to(answers: dict[str, Answer]) -> None:
    seen = 0
    for name, found in answers.items():
        texts = [step.note.en for step in found.plan.steps]
        texts += [fix.summary.en for one in (found.verdict.diagnoses if found.verdict else ()) for fix in one.fixes]
        for text in filter(RECOMMENDED.search, texts):
            seen += 1
            interval = found.plan.interval
            best, certain = (pattern.search(text) for pattern in (RECOMMENDED, CERTAIN))
            assert best is not None
            if certain is None:
                assert interval is None or not interval.low <= interval.safe < float(best[1]), name
            elif float(best[1]) > float(certain[1]):
                # Only for a good part of the KV cache.
                assert name == "oom-runtime", name

    assert seen > 12


@pytest.mark.parametrize(
    "name", ["weights-over-fraction", "moe-mfs-tiny", "oom-kv-alloc-a", "oom-runtime", "article27-mfs-0.80"]
)
def test_the_plan_keeps_to_what_is_certain(name: str, answers: dict[str, Answer]) -> None:
    plan = answers[name].plan
    [value] = [one.value for one in plan.changes if one.name == "--mem-fraction-static"]

    assert plan.interval is not None
    assert value is not None
    assert plan.interval.low <= float(value) <= plan.interval.safe
