"""What a rule takes for a failure is none where the writer of the line calls it a warning, or says that it goes on."""

from collections.abc import Callable, Iterator

import pytest

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs import shapes
from sgdoctor.logs.event import EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.rules.loading import load_rules
from sgdoctor.rules.locate import built_in_dir
from sgdoctor.rules.model import Confidence, Severity
from tests.conftest import LOGS

_SERIOUS = (Severity.FATAL, Severity.ERROR)
WARNINGS: dict[str, Callable[[str], str]] = {
    "logger": "WARNING: {}".format,
    "dated": "2026-11-30 12:00:00,000 - root - WARNING - {}".format,
    "loguru": "2026-11-30 12:00:00.123 | WARNING  | module:load:12 - {}".format,
    "vllm": "WARNING 11-30 12:00:00 [module.py:12] {}".format,
    "glog": "W1130 12:00:00.123456  8274 module.cpp:294] {}".format,
    "c10": "[W1130 12:00:00.123456789 Module.cpp:294] {}".format,
    "rust": "2026-11-30 12:00:00  WARN module::part: {}".format,
    "python": "/usr/lib/python3/module.py:12: UserWarning: {}".format,
    "bracket": "[2026-11-30 12:00:00] [WARNING] [module.py:12] {}".format,
    "info": "INFO: {}".format,
    "falls back": "[2026-11-30 12:00:00] An optional part is missing ({}), falling back to another one.".format,
    "ignored": "[2026-11-30 12:00:00] A part of the set-up failed and will be ignored: {}".format,
}


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base(user_dirs=())


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """A line of each example of each rule that speaks of a failure."""
    return list(dict.fromkeys(_texts()))


def _texts() -> Iterator[str]:
    for source in load_rules(built_in_dir(), ()).sources:
        rule = source.model
        if rule.severity not in _SERIOUS or rule.role == "consequence":
            continue
        literals = [literal for match in rule.match for literal in match.literals]
        for hit in rule.tests.hit:
            for event in fold(read_lines(hit.text.encode()), SGLANG.is_data):
                if event.kind not in (EventKind.LINE, EventKind.TRACEBACK):
                    continue
                # No logger prints these, which begin and end attempts.
                if shapes.is_daemon(event.text) or "exit code" in event.text:
                    continue
                if any(one in event.text for one in literals):
                    yield event.text[:1500]


def answer(log: str, extra: list[str], base: RuleBase) -> Verdict:
    """The verdict on a real log, up to the stop that was asked for, with more lines at its end."""
    lines = (LOGS / "real" / f"{log}.log").read_text("utf-8").splitlines()
    stop = next((number for number, line in enumerate(lines) if "SIGTERM received" in line), len(lines))
    return diagnose_bytes("\n".join([*lines[:stop], *extra, ""]).encode(), "log", base)[-1]


def sure(verdict: Verdict) -> list[str]:
    """The failures that it is sure of."""
    return [
        diagnosis.rule.id
        for diagnosis in verdict.diagnoses
        if diagnosis.severity in _SERIOUS and diagnosis.confidence is not Confidence.POSSIBLE
    ]


@pytest.mark.parametrize("form", WARNINGS)
def test_no_warning_is_the_failure_of_a_server_that_serves(form: str, texts: list[str], base: RuleBase) -> None:
    verdict = answer("boot-dense", [WARNINGS[form](text) for text in texts], base)

    assert len(texts) > 350
    assert verdict.state in (State.HEALTHY, State.DEGRADED)
    assert sure(verdict) == []


@pytest.mark.parametrize("form", WARNINGS)
def test_no_warning_takes_the_place_of_the_cause(form: str, texts: list[str], base: RuleBase) -> None:
    plain = answer("oom-weights", [], base)

    verdict = answer("oom-weights", [WARNINGS[form](text) for text in texts], base)

    assert (verdict.state, sure(verdict)) == (State.FAILED, sure(plain))


def test_the_same_texts_as_errors_are_failures(texts: list[str], base: RuleBase) -> None:
    verdict = answer("boot-dense", [f"ERROR: {text}" for text in texts], base)

    named = {diagnosis.rule.id for diagnosis in verdict.diagnoses}
    named |= {below.rule for diagnosis in verdict.diagnoses for below in diagnosis.consequences}
    assert verdict.state is State.FAILED
    assert len(named) > 15
