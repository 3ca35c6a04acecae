"""Every rule against the logs of every rule, and against the same logs written otherwise.

A cell of the matrix in which another rule is a diagnosis is a mistake: it says that two rules explain one failure.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.rules.base import RuleBase, load_rule_base
from sgdoctor.rules.loading import load_rules
from sgdoctor.rules.locate import built_in_dir, fixtures_dir, test_log
from sgdoctor.rules.model import Rule

# `test_log` finds the log of a test of a rule; it is none.
test_log.__test__ = False  # type: ignore[attr-defined]

_BRACKET = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\] |Error response from daemon: ")
_CHILD = "Received sigquit from a child process. It usually means the child failed."


class Sample(NamedTuple):
    """A log that a rule must hit."""

    rule: str
    log: bytes


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rule_base(user_dirs=())


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return list(_samples())


def _samples() -> Iterator[Sample]:
    for source in load_rules(built_in_dir(), ()).sources:
        for hit in source.model.tests.hit:
            if hit.text:
                yield Sample(source.model.id, hit.text.encode())
            elif (path := test_log(source.file, hit.log, fixtures_dir())) is not None:
                yield Sample(source.model.id, path.read_bytes())


def verdict_of(log: bytes, base: RuleBase) -> Verdict:
    return diagnose_bytes(log, "log", base)[-1]


def answer(rule: str, verdict: Verdict) -> tuple[list[str], bool]:
    """The root cause, and whether the rule is among the notices."""
    return [one.rule.id for one in verdict.diagnoses[:1]], rule in [notice.rule for notice in verdict.notices]


def test_a_log_of_one_rule_is_no_diagnosis_of_another(samples: list[Sample], base: RuleBase) -> None:
    wrong = [
        (sample.rule, diagnosis.rule.id)
        for sample in samples
        for diagnosis in verdict_of(sample.log, base).diagnoses
        if diagnosis.rule.id != sample.rule and sample.rule not in _meant(diagnosis.rule.id, base)
    ]

    assert len(samples) > 600
    assert wrong == []


def _meant(root: str, base: RuleBase) -> tuple[str, ...]:
    """The rules that are a result of ``root``, as it declares itself."""
    return tuple(name.split("-")[0] for name in base.rule(root).explains)


def _literals(rule: Rule) -> list[str]:
    return [literal for pattern in rule.patterns for literal in pattern.literals]


def _each_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(map(change, text.splitlines(keepends=True)))


def _other_decimals(text: str) -> str:
    """The last digit of 18.68, 1.10 and the like is another one."""
    return re.sub(r"(?<![\w.])(\d+\.\d)(\d)(?![\w.%])", lambda found: f"{found[1]}{(int(found[2]) + 1) % 10}", text)


def _wrapped(text: str) -> str:
    """Long lines of the engine and of the daemon are broken at a blank, as a terminal does that is copied from."""
    lines: list[str] = []
    for line in text.splitlines():
        place = line.rfind(" ", 0, 80) if len(line) > 90 and _BRACKET.match(line) and "server_args=" not in line else -1
        lines += [line[: place + 1], line[place + 1 :]] if place > 40 else [line]
    return "\n".join(lines) + "\n"


_OTHER_DTYPE = {"BFloat16": "Half", "Half": "BFloat16", "bfloat16": "float16", "float16": "bfloat16"}


def _other_dtypes(text: str) -> str:
    """A 16-bit type is the other one, everywhere."""
    return re.sub(r"\b(?:BFloat16|Half|bfloat16|float16)\b", lambda found: _OTHER_DTYPE[found[0]], text)


def _other_ranks(text: str) -> str:
    """What a rank above the first one said, another one says."""
    return re.sub(r"\bTP([1-7])\b", lambda found: f"TP{int(found[1]) + 1}", text)


VARIATIONS: dict[str, Callable[[str], str]] = {
    "compose": _each_line("sgl-selode-1  | {}".format),
    "docker-timestamps": _each_line("2026-11-30T10:00:00.123456789Z {}".format),
    "kubernetes": _each_line("2026-11-30T10:00:00.123456789+08:00 stderr F {}".format),
    "windows-line-ends": lambda text: text.replace("\n", "\r\n"),
    "colours": _each_line(lambda line: "\x1b[31m" + line.rstrip("\n") + "\x1b[0m\n"),
    "other-python": lambda text: text.replace("python3.12", "python3.10").replace("dist-packages", "site-packages"),
    "milliseconds": lambda text: re.sub(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?= |\])", r"[\1.123", text),
    "blank-lines": lambda text: f"\n\n{text}\n\n",
    "other-numbers": _other_decimals,
    "other-dtypes": _other_dtypes,
    "other-ranks": _other_ranks,
    "wrapped": _wrapped,
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_a_failure_is_the_same_however_it_is_written(name: str, samples: list[Sample], base: RuleBase) -> None:
    change = VARIATIONS[name]
    texts = [
        (sample.rule, sample.log.decode())
        for sample in samples
        # What a broken line says as a figure is not read; failures are.
        if len(sample.log) < 20_000
        and (name != "wrapped" or base.rule(sample.rule).severity.is_diagnosis)
        # A rule that looks for a type by its name is about that type.
        and not (name == "other-dtypes" and any(change(text) != text for text in _literals(base.rule(sample.rule))))
    ]
    wrong = [
        (rule, before, after)
        for rule, text in texts
        if (before := answer(rule, verdict_of(text.encode(), base)))
        != (after := answer(rule, verdict_of(change(text).encode(), base)))
    ]

    # Few logs name a type or a rank above the first.
    assert sum(change(text) != text for _, text in texts) > (10 if name in ("other-dtypes", "other-ranks") else 15)
    assert wrong == []


@pytest.mark.parametrize("first", [True, False], ids=["parent-first", "child-first"])
def test_it_does_not_matter_whether_parent_or_child_speaks_first(
    first: bool,
    samples: list[Sample],
    base: RuleBase,
) -> None:
    engine = [sample for sample in samples if base.rule(sample.rule).engine == ("sglang",) and len(sample.log) < 20_000]
    line = f"[2026-11-30 10:00:00] {_CHILD}\n".encode()
    causes = 0
    wrong = []
    for sample in engine:
        before = answer(sample.rule, verdict_of(sample.log, base))[0]
        log = line + sample.log if first else sample.log.rstrip(b"\n") + b"\n" + line
        if not before or not base.rule(sample.rule).severity.is_diagnosis:
            continue
        causes += 1
        after = answer(sample.rule, verdict_of(log, base))[0]
        wrong += [(sample.rule, before, after)] if before != after else []

    assert causes > 100
    assert wrong == []
