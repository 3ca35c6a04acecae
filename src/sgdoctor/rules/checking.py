"""What the schema cannot see: the mistakes that ``sgdoctor rules check`` explains to authors."""

import difflib
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import regex

from sgdoctor.engines.sglang.history import FlagHistory, load_history
from sgdoctor.rules.conditions import names_in
from sgdoctor.rules.drafts import unfinished
from sgdoctor.rules.hazards import hazards
from sgdoctor.rules.loading import RuleSource
from sgdoctor.rules.locate import fixtures_dir, test_log
from sgdoctor.rules.schema import FixModel, PatternModel, TextModel
from sgdoctor.rules.template import placeholders
from sgdoctor.rules.vocabulary import EVENT_NAMES, FACTS, FAMILIES
from sgdoctor.rules.yaml_files import Problem
from sgdoctor.texts import Text

SLOW_SECONDS: Final = 0.05
"""For one pattern on 20,000 characters of text that nearly matches; a sound one takes a hundredth of it."""

_FRACTIONS: Final = frozenset({"--mem-fraction-static", "--gpu-memory-utilization"})

Where = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One mistake, at a place of the file."""

    where: Where
    text: Text
    warning: bool = False


def check(source: RuleSource, *, ids: Collection[str], logs: Path | None = None) -> list[Problem]:
    """The mistakes of one rule file that follows the schema, by line.

    Args:
        source: the file.
        ids: ids of all rules there are.
        logs: directory of the logs that tests name; that of the checkout where None.
    """
    findings = _Checker(source, ids, logs or fixtures_dir()).findings()
    problems = [Problem(source.file, source.line(one.where), one.text, one.warning) for one in findings]
    return sorted(dict.fromkeys((*problems, *unfinished(source))), key=lambda problem: problem.line)


class _Checker:
    def __init__(self, source: RuleSource, ids: Collection[str], logs: Path | None) -> None:
        self.rule = source.model
        self.path = Path(source.file)
        self.ids = ids
        self.logs = logs
        self.known = FACTS | EVENT_NAMES | set(self.rule.captures)

    def findings(self) -> Iterator[Finding]:
        yield from self._names_and_folders()
        yield from self._patterns()
        yield from self._captures()
        yield from self._conditions()
        yield from self._texts()
        yield from self._fixes()
        yield from self._tests()

    def _names_and_folders(self) -> Iterator[Finding]:
        rule = self.rule
        if rule.name != self.path.stem:
            yield Finding(
                ("name",),
                Text(
                    f"the name {rule.name!r} and the file {self.path.name!r} differ; they have to agree",
                    f"名称 {rule.name!r} 与文件名 {self.path.name!r} 不一致；两者必须相同",
                ),
            )
        folder = self.path.parent.name
        family = FAMILIES[rule.id[3]]
        if folder in FAMILIES.values() and folder != family:
            digit = next(digit for digit, name in FAMILIES.items() if name == folder)
            yield Finding(
                ("id",),
                Text(
                    f"{rule.id} belongs to the folder {family!r}; ids in {folder!r} begin with SGL{digit}",
                    f"{rule.id} 属于目录 {family!r}；{folder!r} 中的 id 以 SGL{digit} 开头",
                ),
            )
        for index, other in enumerate(rule.explains):
            if other == rule.id:
                yield Finding(
                    ("explains", index),
                    Text("a rule does not explain itself; leave it out", "规则不能解释自身；请删除"),
                )
            elif other not in self.ids:
                yield Finding(
                    ("explains", index),
                    Text(
                        f"there is no rule {other}{_meant(other, self.ids)}",
                        f"没有规则 {other}{_meant(other, self.ids, zh=True)}",
                    ),
                )

    def _patterns(self) -> Iterator[Finding]:
        for index, pattern in enumerate(self.rule.match):
            for where, text in _regexes(pattern):
                for hazard in hazards(text):
                    yield Finding(("match", index, *where), hazard)
                if not hazards(text) and self._is_slow(text):
                    yield Finding(
                        ("match", index, *where),
                        Text(
                            f"the pattern {text!r} needs more than {SLOW_SECONDS} s on 20,000 characters",
                            f"正则 {text!r} 处理 2 万个字符的耗时超过 {SLOW_SECONDS} 秒",
                        ),
                    )

    def _is_slow(self, pattern: str) -> bool:
        texts = [test.text for test in self.rule.tests.hit if test.text] or ["0 aA=" * 40]
        bait = (" ".join(" ".join(texts).split())[:-1] + " ") * 200
        started = time.process_time()
        try:
            for _ in regex.compile(pattern).finditer(bait[:20_000], timeout=1.0):
                pass
        except TimeoutError:
            return True
        return time.process_time() - started > SLOW_SECONDS

    def _groups(self, pattern: PatternModel) -> set[str]:
        return set(regex.compile(pattern.message).groupindex) if pattern.message else set()

    def _captures(self) -> Iterator[Finding]:
        caught: set[str] = set()
        for index, pattern in enumerate(self.rule.match):
            groups = self._groups(pattern)
            caught |= groups
            for name in sorted(groups - set(self.rule.captures)):
                yield Finding(
                    ("match", index, "message"),
                    Text(
                        f"the group {name!r} has no type; add `captures: {{{name}: int}}` or the type it has",
                        f"命名组 {name!r} 没有类型；请添加 `captures: {{{name}: int}}` 或相应类型",
                    ),
                )
        for name in self.rule.captures:
            if name not in caught:
                yield Finding(
                    ("captures", name),
                    Text(
                        f"no pattern has a group (?P<{name}>...)",
                        f"没有任何正则包含命名组 (?P<{name}>...)",
                    ),
                )

    def _conditions(self) -> Iterator[Finding]:
        rule = self.rule
        places: list[tuple[Where, str]] = [(("applies", "when"), rule.applies.when)]
        for index, pattern in enumerate(rule.match):
            places.append((("match", index, "when"), pattern.when))
            for kind, clauses in (("all_of", pattern.all_of), ("none_of", pattern.none_of)):
                places += [(("match", index, kind, number), clause.when) for number, clause in enumerate(clauses)]
            places += [(("match", index, "evidence", n), name) for n, name in enumerate(pattern.evidence)]
        places += [(("fixes", index, "when"), fix.when) for index, fix in enumerate(rule.fixes)]
        places += [(("fixed_in", index, "when"), one.when) for index, one in enumerate(rule.fixed_in)]
        for where, condition in places:
            for name in sorted(names_in(condition)) if condition else ():
                yield from self._unknown(where, name)

    def _unknown(self, where: Where, name: str) -> Iterator[Finding]:
        known: Collection[str] = self.known
        if name.startswith("args."):
            known = {f"args.{field}" for field in load_history().fields}
        if name not in known:
            yield Finding(
                where,
                Text(
                    f"unknown name {name!r}{_meant(name, known)}; facts are listed in docs/facts.md",
                    f"未知的名称 {name!r}{_meant(name, known, zh=True)}；事实列表见 docs/facts.zh.md",
                ),
            )

    def _texts(self) -> Iterator[Finding]:
        rule = self.rule
        yield from self._text(("title",), rule.title, "")
        yield from self._text(("cause",), rule.cause, "")
        if rule.not_this:
            yield from self._text(("not_this",), rule.not_this, "")
        for index, fix in enumerate(rule.fixes):
            # A summary without its numbers is not shown at all, so they need no brackets.
            needed = {name for name, _, optional in placeholders(fix.summary.en) if not optional}
            yield from self._text(("fixes", index, "summary"), fix.summary, fix.when, needed)
            if fix.effect:
                yield from self._text(("fixes", index, "effect"), fix.effect, fix.when, needed)

    def _text(self, where: Where, text: TextModel, when: str, needed: Collection[str] = ()) -> Iterator[Finding]:
        if not text.zh:
            yield Finding(where, Text("the Chinese text is missing", "缺少中文文本"), warning=True)
        certain = self._certain(when) | set(needed)
        for lang, words in (("en", text.en), ("zh", text.zh)):
            for name, _, optional in placeholders(words):
                yield from self._unknown((*where, lang), name)
                if not optional and name not in certain:
                    yield Finding(
                        (*where, lang),
                        Text(
                            f"{{{name}}} may be unknown; put the part of the sentence that needs it between [[ and ]]",
                            f"{{{name}}} 可能未知；请把用到它的部分放在 [[ 和 ]] 之间",
                        ),
                    )

    def _certain(self, when: str) -> set[str]:
        """Names that are known whenever the rule hits (and ``when`` is true), as far as conditions ask for them."""
        in_all = set.intersection(*(self._asked(pattern) for pattern in self.rule.match))
        conditions = [when, self.rule.applies.when]
        return in_all.union({"ranks", "lines"}, *(names_in(text) for text in conditions if text))

    def _asked(self, pattern: PatternModel) -> set[str]:
        conditions = [pattern.when, *(clause.when for clause in (*pattern.all_of, *pattern.none_of))]
        return self._groups(pattern).union(*(names_in(text) for text in conditions if text))

    def _fixes(self) -> Iterator[Finding]:
        seen: set[str] = set()
        for index, fix in enumerate(self.rule.fixes):
            if fix.id in seen:
                yield Finding(
                    ("fixes", index, "id"),
                    Text(f"the fix id {fix.id!r} stands twice", f"修复 id {fix.id!r} 重复"),
                )
            seen.add(fix.id)
            for number, change in enumerate(fix.changes):
                where = ("fixes", index, "changes", number)
                for name, _, _ in placeholders(change.name + (change.value or "")):
                    yield from self._unknown(where, name)
                if change.kind in ("flag.set", "flag.raise", "flag.lower") and "{" not in change.name:
                    yield from self._flag(where, change.name, fix)
                if change.name in _FRACTIONS and _is_number(change.value) and not fix.when:
                    yield Finding(
                        where,
                        Text(
                            f"{change.name} {change.value} is a constant that fits some cards only;"
                            " compute it, use flag.raise or flag.lower, or say in `when` where it fits",
                            f"{change.name} {change.value} 是常数，只适合部分显卡；"
                            "请通过计算得出，或用 flag.raise / flag.lower，或在 `when` 中说明适用条件",
                        ),
                    )

    def _flag(self, where: Where, flag: str, fix: FixModel) -> Iterator[Finding]:
        if not {"sglang", "any"} & set(self.rule.engine):
            return
        history = load_history()
        if flag not in history.flags:
            # argparse takes an unambiguous beginning: `--tp` is what everyone writes for `--tp-size`.
            long = [known for known in history.flags if known.startswith(flag)]
            if len(long) != 1:
                yield Finding(
                    where,
                    Text(
                        f"no known SGLang version has {flag}{_meant(flag, history.flags)}",
                        f"已知的 SGLang 版本都没有 {flag}{_meant(flag, history.flags, zh=True)}",
                    ),
                )
                return
            flag = long[0]
        specs = [spec["sglang"] for spec in (self.rule.applies.versions, fix.versions) if spec and "sglang" in spec]
        claimed = _claimed(history, specs) if specs else history.versions[-1:]
        lacking = [version for version, has in _having(history, flag) if version in claimed and not has]
        if lacking:
            since, until = history.since(flag), history.until(flag)
            yield Finding(
                where,
                Text(
                    f"{flag} exists in {since} to {until}, not in {lacking[0]};"
                    f" add `versions: {{sglang: '>={since},<={until}'}}` to the fix, or narrow those of the rule",
                    f"{flag} 只存在于 {since} 至 {until}，{lacking[0]} 中没有；"
                    f"请给该修复添加 `versions: {{sglang: '>={since},<={until}'}}`，或缩小规则的版本范围",
                ),
                warning=not specs,
            )

    def _tests(self) -> Iterator[Finding]:
        tests = self.rule.tests
        if not tests.hit:
            yield Finding(
                ("tests",), Text("there is no test that must hit (tests.hit)", "缺少必须命中的测试(tests.hit)")
            )
        if not tests.near_miss:
            yield Finding(
                ("tests",),
                Text(
                    "there is no near miss (tests.near_miss): a text that resembles this one and means something else",
                    "缺少近似但不应命中的测试(tests.near_miss)",
                ),
            )
        texts = []
        complete = True
        inputs: dict[str, list[tuple[str, str]]] = {
            "hit": [(test.text, test.log) for test in tests.hit],
            "near_miss": [(test.text, test.log) for test in tests.near_miss],
        }
        for kind, entries in inputs.items():
            for index, (inline, log) in enumerate(entries):
                text = inline
                if log:
                    path = test_log(str(self.path), log, self.logs)
                    if path is None:
                        complete = False
                        continue
                    try:
                        text = path.read_text("utf-8", "replace")
                    except OSError:
                        yield Finding(
                            ("tests", kind, index),
                            Text(f"there is no log {path}", f"没有日志 {path}"),
                        )
                if kind == "hit":
                    texts.append(" ".join(text.split()))
        yield from self._test_details()
        if texts and complete:
            yield from self._untested_literals(texts)

    def _test_details(self) -> Iterator[Finding]:
        fixes = [fix.id for fix in self.rule.fixes]
        for index, test in enumerate(self.rule.tests.hit):
            if test.fix is not None and test.fix not in fixes:
                yield Finding(
                    ("tests", "hit", index, "fix"),
                    Text(
                        f"the rule has no fix {test.fix!r}{_meant(test.fix, fixes)}",
                        f"该规则没有修复 {test.fix!r}{_meant(test.fix, fixes, zh=True)}",
                    ),
                )
            for name in test.captures:
                if name not in self.rule.captures:
                    yield Finding(
                        ("tests", "hit", index, "captures", name),
                        Text(f"the rule has no capture {name!r}", f"该规则没有捕获 {name!r}"),
                    )

    def _untested_literals(self, texts: Sequence[str]) -> Iterator[Finding]:
        untested = [
            index
            for index, pattern in enumerate(self.rule.match)
            if pattern.literals
            and not any(" ".join(literal.split()) in text for literal in pattern.literals for text in texts)
        ]
        for index in untested:
            yield Finding(
                ("match", index, "literals"),
                Text(
                    "no test that must hit contains a literal of this entry of match",
                    "没有任何必须命中的测试包含这一项 match 的字面文本",
                ),
                warning=len(untested) < len(self.rule.match),
            )


def _regexes(pattern: PatternModel) -> Iterator[tuple[Where, str]]:
    for name in ("message", "exception", "frame", "header"):
        if text := getattr(pattern, name):
            yield (name,), text
    for kind, clauses in (("all_of", pattern.all_of), ("none_of", pattern.none_of)):
        for index, clause in enumerate(clauses):
            if clause.message:
                yield (kind, index, "message"), clause.message


def _having(history: FlagHistory, flag: str) -> Iterator[tuple[str, bool]]:
    mask = history.flags[flag]
    for number, version in enumerate(history.versions):
        yield version, bool(mask >> number & 1)


def _claimed(history: FlagHistory, specs: Sequence[str]) -> Collection[str]:
    """The known versions that all of the version sets allow."""
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 - few rules claim versions

    return [
        version
        for version in history.versions
        if all(SpecifierSet(spec).contains(version, prereleases=True) for spec in specs)
    ]


def _is_number(value: str | None) -> bool:
    try:
        float(value or "")
    except ValueError:
        return False
    return True


def _meant(given: str, known: Collection[str], *, zh: bool = False) -> str:
    near = difflib.get_close_matches(given, known, 1)
    if not near:
        return ""
    return f"；是否应为 {near[0]}？" if zh else f"; did you mean {near[0]}?"
