"""Checks are found by their files, and an error of one of them is told as such."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from sgdoctor.preflight import checks as package
from sgdoctor.preflight.model import Area, Checked, Finding, HostFacts, Situation, Status
from sgdoctor.preflight.registry import _check_in, all_checks
from sgdoctor.preflight.run import checked
from sgdoctor.rules.base import load_rule_base
from sgdoctor.texts import Text

NOTHING = Situation(HostFacts())
FINE = Finding(Status.PASS, Text("fine", "正常"))


class Fine:
    id: ClassVar[str] = "fine"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Something", "某项")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        return [FINE]


class Silent(Fine):
    id: ClassVar[str] = "silent"

    def findings(self, situation: Situation) -> Iterable[Finding]:
        return []


class Broken(Fine):
    id: ClassVar[str] = "broken"

    def findings(self, situation: Situation) -> Iterable[Finding]:
        yield FINE
        raise KeyError("total")


def test_checks_stand_in_the_order_of_their_areas_and_files() -> None:
    keys = [(list(Area).index(check.area), type(check).__module__) for check in all_checks()]

    assert sorted(keys) == keys
    assert len({check.id for check in all_checks()}) == len(keys)


def test_every_check_says_what_it_checks_in_one_line_of_documentation() -> None:
    for check in all_checks():
        lines = (type(check).__doc__ or "").strip().splitlines()

        assert len(lines) >= 1, check
        assert check.title.en, check
        assert check.title.zh, check
        assert check.id == check.id.lower().replace("_", "-"), check
        assert check.area.value == type(check).__module__.rpartition(".")[2].partition("_")[0], check


def test_every_rule_that_a_check_prevents_is_in_the_rule_base() -> None:
    folder = Path(package.__file__).parents[1]
    named = {rule for path in folder.rglob("*.py") for rule in re.findall(r"\bSGL\d{3}\b", path.read_text("utf-8"))}

    assert set() == named - {rule.id for rule in load_rule_base().all()}


def test_a_file_with_two_checks_is_refused() -> None:
    module = ModuleType(f"{package.__name__}.host_twins")
    for name in ("One", "Two"):
        setattr(module, name, type(name, (Fine,), {"__module__": module.__name__}))

    with pytest.raises(TypeError, match="host_twins holds 2 checks"):
        _check_in(module)


def test_a_file_without_a_check_is_refused() -> None:
    with pytest.raises(TypeError, match="holds 0 checks"):
        _check_in(sys)


def test_a_check_without_a_say_is_left_out() -> None:
    fine = Fine()

    assert [Checked(fine, (FINE,))] == checked(NOTHING, [fine, Silent()])


def test_an_error_of_a_check_is_told_as_skipped_and_hides_no_other_check() -> None:
    broken, fine = checked(NOTHING, [Broken(), Fine()])

    assert [Status.SKIPPED] == [finding.status for finding in broken.findings]
    assert "an error of sgdoctor" in broken.findings[0].title.en
    assert "KeyError: 'total'" == broken.findings[0].evidence
    assert (FINE,) == fine.findings


def test_an_error_of_a_check_is_raised_where_that_is_wanted() -> None:
    with pytest.raises(KeyError, match="total"):
        checked(NOTHING, [Broken()], strict=True)


def test_no_check_fails_where_nothing_is_known() -> None:
    assert checked(NOTHING) == checked(NOTHING, strict=True)
