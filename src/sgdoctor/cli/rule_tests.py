"""Runs the tests that stand inside rule files through the whole pipeline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sgdoctor.cli.rule_texts import words
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.diagnosis.pipeline import became_ready, diagnose_bytes, reading_of, unready_before
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.rules.base import RuleBase
from sgdoctor.rules.loading import RuleSource
from sgdoctor.rules.locate import fixtures_dir, test_log
from sgdoctor.rules.matching import match_attempt
from sgdoctor.rules.model import Hit
from sgdoctor.rules.schema import HitTest, MissTest
from sgdoctor.rules.yaml_files import read_yaml


@dataclass(frozen=True, slots=True)
class Failure:
    """One test that failed.

    Attributes:
        file: the rule file.
        line: of the test in it.
        text: what was expected and what came, on one line.
    """

    file: str
    line: int
    text: str


@dataclass(slots=True)
class Tally:
    """How many tests ran, and those that failed."""

    tests: int = 0
    failures: list[Failure] = field(default_factory=list)


def run_tests(sources: Sequence[RuleSource], base: RuleBase, lang: str) -> Tally:
    """Runs the tests of rule files, and the healthy logs of the checkout as near misses of each of these rules.

    Args:
        sources: the files.
        base: the rules in force; it holds those of the files.
        lang: of the failures' texts.
    """
    tally = Tally()
    runner = _Runner(base, lang)
    for source in sources:
        tests = source.model.tests
        for index, hit in enumerate(tests.hit):
            if runner.can_run(source, hit.log):
                _count(tally, source, ("tests", "hit", index), runner.must_hit(source, hit))
        for index, miss in enumerate(tests.near_miss):
            if runner.can_run(source, miss.log):
                _count(tally, source, ("tests", "near_miss", index), runner.must_miss(source, miss))
    checked = {source.model.id: source for source in sources}
    for verdict in runner.healthy_logs():
        tally.tests += 1
        for diagnosis in verdict.diagnoses:
            if owner := checked.get(diagnosis.rule.id):
                line = diagnosis.evidence[0].line if diagnosis.evidence else 0
                text = words(lang, "test.hits", rule=owner.model.id, line=line)
                tally.failures.append(Failure(owner.file, 1, text))
    return tally


def _count(tally: Tally, source: RuleSource, place: tuple[str | int, ...], texts: Iterator[str]) -> None:
    tally.tests += 1
    tally.failures += [Failure(source.file, source.line(place), text) for text in texts]


class _Runner:
    def __init__(self, base: RuleBase, lang: str) -> None:
        self._base = base
        self._lang = lang
        self._logs = fixtures_dir()

    def can_run(self, source: RuleSource, log: str) -> bool:
        """Whether the log of a test can be here at all."""
        return not log or test_log(source.file, log, self._logs) is not None

    def must_hit(self, source: RuleSource, test: HitTest) -> Iterator[str]:
        data = self._data(source, test.text, test.log)
        if isinstance(data, str):
            yield data
            return
        rule = source.model.id
        hits = self._hits(data)
        mine = [hit for hit in hits if hit.rule.id == rule]
        verdict = diagnose_bytes(data, "test", self._base)[-1]
        if not mine:
            found = ", ".join(dict.fromkeys(hit.rule.id for hit in hits)) or words(self._lang, "nothing")
            yield self._say("test.silent", rule=rule, found=found)
            return
        # A consequence is never the diagnosis, whatever else stands in the log.
        if test.root and source.model.role == "cause" and _shown_first(verdict, rule) != rule:
            found = _shown_first(verdict, rule) or words(self._lang, "nothing")
            yield self._say("test.not_root", rule=rule, found=found)
        for name, expected in test.captures.items():
            values = [hit.captures.get(name) for hit in mine]
            if not any(_same(value, expected) for value in values):
                yield self._say("test.capture", rule=rule, name=name, found=values[0], expected=expected)
        yield from self._details(rule, test, verdict)

    def _details(self, rule: str, test: HitTest, verdict: Verdict) -> Iterator[str]:
        diagnosis = next((one for one in verdict.diagnoses if one.rule.id == rule), None)
        if test.fix is not None:
            fix = diagnosis.fixes[0].id if diagnosis and diagnosis.fixes else words(self._lang, "nothing")
            if fix != test.fix:
                yield self._say("test.fix", rule=rule, found=fix, expected=test.fix)
        if test.severity is not None:
            shown = [one.severity.value for one in verdict.diagnoses if one.rule.id == rule]
            shown += [one.severity.value for one in verdict.notices if one.rule == rule]
            if test.severity not in shown:
                found = ", ".join(shown) or words(self._lang, "nothing")
                yield self._say("test.severity", rule=rule, found=found, expected=test.severity)
        if test.state is not None and test.state != verdict.state:
            yield self._say("test.state", found=verdict.state.value, expected=test.state)

    def must_miss(self, source: RuleSource, test: MissTest) -> Iterator[str]:
        data = self._data(source, test.text, test.log)
        if isinstance(data, str):
            yield data
            return
        rule = source.model.id
        verdict = diagnose_bytes(data, "test", self._base)[-1]
        if (line := _shown(verdict).get(rule)) is not None:
            yield self._say("test.hits", rule=rule, line=line)

    def healthy_logs(self) -> Iterator[Verdict]:
        """The verdicts on the logs beside which an expectation says that they are healthy."""
        for path in sorted(self._logs.rglob("*.expect.yaml")) if self._logs else ():
            expected, _ = read_yaml(path)
            log = path.with_name(path.name.removesuffix(".expect.yaml") + ".log")
            if expected and expected[1].get("state") == "healthy" and log.is_file():
                yield diagnose_bytes(log.read_bytes(), log.name, self._base)[-1]

    def _data(self, source: RuleSource, text: str, log: str) -> bytes | str:
        """The bytes of a test's log; a text where there are none."""
        if not log:
            return text.encode()
        path = test_log(source.file, log, self._logs)
        try:
            return path.read_bytes() if path is not None else b""
        except OSError:
            return self._say("test.no_log", log=path)

    def _hits(self, data: bytes) -> list[Hit]:
        """What hits in the newest attempt, before causes and consequences are told apart."""
        events = list(fold(list(read_lines(data, 0, len(data))), SGLANG.is_data))
        attempts = SGLANG.split_attempts(events)
        newest = events[attempts[-1]] if attempts else events
        ready = [became_ready(events[part]) for part in attempts[:-1]]
        reading = reading_of(newest, unready=unready_before(ready))
        return match_attempt(self._base, newest, reading)

    def _say(self, key: str, **values: Any) -> str:
        return words(self._lang, key, **values)


def _shown_first(verdict: Verdict, rule: str) -> str:
    """The rule of the first diagnosis; of a notice, which has no rank, the rule itself."""
    if any(notice.rule == rule for notice in verdict.notices):
        return rule
    return verdict.diagnoses[0].rule.id if verdict.diagnoses else ""


def _shown(verdict: Verdict) -> Mapping[str, int]:
    """Every rule that the verdict names, with the line it does so for."""
    lines = {notice.rule: notice.line for notice in verdict.notices}
    for diagnosis in verdict.diagnoses:
        lines |= {consequence.rule: consequence.line for consequence in diagnosis.consequences}
    for diagnosis in verdict.diagnoses:
        lines[diagnosis.rule.id] = diagnosis.evidence[0].line if diagnosis.evidence else 0
    return lines


def _same(value: Any, expected: str | None) -> bool:
    """Whether a capture is what the test, in which every scalar is a text, says."""
    if value is None or expected is None:
        return value is None and expected is None
    if isinstance(value, int | float):
        try:
            return abs(float(expected) - value) <= 1e-6 * max(1.0, abs(value))
        except ValueError:
            return False
    return str(value) == expected
