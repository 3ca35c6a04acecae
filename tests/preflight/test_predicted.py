"""The order in which a start meets what was found."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgdoctor.engines.base import PhaseName
from sgdoctor.preflight.launches.start_time import reached_after, start_time
from sgdoctor.preflight.model import Checked, Finding, Situation, Status
from sgdoctor.preflight.models.folder import read_folder
from sgdoctor.preflight.predicted import Predicted, predicted
from sgdoctor.preflight.registry import all_checks
from sgdoctor.texts import Text
from tests.preflight.launching import host, shell

NOTHING = Situation(host())
CHECK = all_checks()[0]


def finding(phase: str | None, rule: str | None = None, status: Status = Status.FAIL) -> Finding:
    return Finding(status, Text(f"{phase} {rule}", f"{phase} {rule}"), prevents=rule, phase=phase)


def order(*findings: Finding) -> list[str | None]:
    course = predicted(NOTHING, [Checked(CHECK, findings)])
    return [one.rule for one in (course.first, *course.then) if one is not None]


def test_nothing_is_foreseen_of_a_good_launch() -> None:
    findings = [finding("args", "SGL109", Status.WARN), finding(None, "SGL335"), finding(None, None, Status.PASS)]

    assert predicted(NOTHING, [Checked(CHECK, findings)]) == Predicted()


def test_failures_come_in_the_order_of_a_start() -> None:
    later, earlier = finding("kv_cache", "SGL421"), finding("docker", "SGL020")

    assert order(later, finding("args", "SGL103"), earlier) == ["SGL020", "SGL103", "SGL421"]


def test_a_rule_is_foreseen_once() -> None:
    assert order(finding("args", "SGL109"), finding("args", "SGL109"), finding("args", "SGL110")) == [
        "SGL109",
        "SGL110",
    ]


def test_findings_without_a_rule_are_kept_apart() -> None:
    first, second = finding("args"), finding("docker")
    course = predicted(NOTHING, [Checked(CHECK, [first, second])])

    assert course.first is not None
    assert (course.first.finding, [one.finding for one in course.then]) == (second, [first])


@pytest.mark.parametrize(
    ("restart", "phase", "repeated"),
    [
        ("--restart always", "args", True),
        ("--restart unless-stopped", "kv_cache", True),
        ("--restart unless-stopped", "docker", False),
        ("--restart on-failure", "args", False),
        ("", "args", False),
    ],
)
def test_a_policy_repeats_what_ends_inside_of_the_container(
    restart: str, phase: str, repeated: bool, tmp_path: Path
) -> None:
    situation = shell(f"docker run --gpus all {restart} lmsysorg/sglang python3 -m sglang.launch_server", tmp_path)

    assert predicted(situation, [Checked(CHECK, [finding(phase)])]).repeated is repeated


def test_times_grow_with_the_phases_and_the_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    with (tmp_path / "model.gguf").open("wb") as file:
        file.truncate(15 << 30)
    situation = replace(NOTHING, model=read_folder("/m", tmp_path))
    spans = [reached_after(situation, phase) for phase in (PhaseName.DOCKER, PhaseName.WEIGHTS, PhaseName.KV_CACHE)]

    assert spans == [(0.0, 1.0), (20.0, 45.0), (30.0, 95.0)]
    assert reached_after(NOTHING, PhaseName.KV_CACHE) is None
    assert start_time(situation) == (37.0, 220.0)


def test_python_does_not_import_before_it_misses_the_script() -> None:
    course = predicted(NOTHING, [Checked(CHECK, [finding("args", "SGL144")])])

    assert course.first is not None
    assert course.first.seconds == (0.0, 1.0)
