"""What is said about failures that no rule knows: rules are taken away to make known ones unknown."""

import importlib.util
import json
from collections.abc import Callable
from types import ModuleType

import pytest

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.diagnosis.unknown import healthy_shapes
from sgdoctor.engines.base import PhaseName
from sgdoctor.rules.base import RuleBase, assemble, load_rule_base
from tests.conftest import REPO

REAL = REPO / "fixtures" / "logs" / "real"


@pytest.fixture(scope="module")
def without() -> Callable[..., RuleBase]:
    base = load_rule_base(user_dirs=())

    def rules_but(*ids: str) -> RuleBase:
        return assemble([json.loads(entry.body) for entry in base.entries if entry.id not in ids])

    return rules_but


def verdict_of(data: bytes, base: RuleBase) -> Verdict:
    return diagnose_bytes(data, "log", base)[-1]


def test_rules_that_are_worded_alike_are_named_and_not_taken_for_the_cause(without: Callable[..., RuleBase]) -> None:
    verdict = verdict_of((REAL / "dtype-float16-hybrid-long-prompt.log").read_bytes(), without("SGL201"))

    assert verdict.state is State.UNDETERMINED
    assert verdict.diagnoses == ()
    assert verdict.unknown is not None
    assert verdict.unknown.phase is PhaseName.SERVING
    assert "SGL202" in [each.rule for each in verdict.unknown.resembling]
    assert "{" not in "".join(each.title.en for each in verdict.unknown.resembling)


def test_an_exit_code_resembles_no_rule() -> None:
    verdict = verdict_of(b"sgdoctor  | server exited with code 1\n", load_rule_base(user_dirs=()))

    assert verdict.state is State.UNDETERMINED
    assert verdict.unknown is not None
    assert verdict.unknown.resembling == ()


def test_a_start_that_was_told_to_stop_may_not_be_running_still() -> None:
    log = (REAL / "article27-mfs-0.80.log").read_bytes()
    begun = log[: log.index(b"Load weight begin")].rpartition(b"\n")[0]
    cut, stopped = (
        verdict_of(begun + end, load_rule_base(user_dirs=())) for end in (b"\n", b"\nsgl exited with code 143\n")
    )

    assert (cut.state, stopped.state) == (State.STARTING, State.STARTING)
    assert cut.would_decide is not None
    assert stopped.would_decide is None
    assert "(SIGTERM: asked to stop)" in stopped.summary.en


@pytest.mark.parametrize(("container", "advised"), [(None, False), ("", True), ("sgl", True)])
def test_no_container_is_inspected_where_there_is_none(container: str | None, advised: bool) -> None:
    base = load_rule_base(user_dirs=())
    verdict = diagnose_bytes(b"sgdoctor  | sgl exited with code 137\n", "log", base, container=container)[-1]

    assert ["SGL040"] == [one.rule.id for one in verdict.diagnoses]
    assert advised == ("docker" in " ".join(fix.summary.en for fix in verdict.diagnoses[0].fixes))


def test_a_complaint_that_no_healthy_start_has_is_shown_and_the_usual_lines_are_not(
    without: Callable[..., RuleBase],
) -> None:
    log = (REAL / "article27-mfs-0.80.log").read_bytes()
    border = log.index(b"Load weight begin")
    start = log.rindex(b"\n", 0, border) + 1
    log = log[:start] + b"[2026-11-30 11:00:00] The frobnicator of rank 3 could not be calibrated.\n" + log[start:]

    verdict = verdict_of(log, without("SGL401"))

    assert verdict.unknown is not None
    texts = [evidence.text for evidence in verdict.unknown.unusual]
    assert [text for text in texts if "frobnicator" in text] == texts[-1:]
    assert not any("Load weight" in text for text in texts)


def test_a_known_failure_needs_nothing_of_this() -> None:
    verdict = verdict_of((REAL / "article27-mfs-0.80.log").read_bytes(), load_rule_base(user_dirs=()))

    assert verdict.unknown is None


def test_the_shapes_of_healthy_lines_are_those_of_the_fixtures() -> None:
    assert set(_tool().shapes()) == healthy_shapes()


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("healthy_lines", REPO / "tools" / "healthy_lines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
