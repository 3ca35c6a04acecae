"""What can still be said about a failure that no rule knows (loaded only for one)."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from sgdoctor.diagnosis.course import Course
from sgdoctor.diagnosis.evidence import Quotes
from sgdoctor.diagnosis.model import Evidence, Resembling, Unknown
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.templates import template_of
from sgdoctor.patterns import lazy_pattern
from sgdoctor.rules.base import RuleBase
from sgdoctor.rules.model import Role, Rule
from sgdoctor.rules.template import spoken
from sgdoctor.texts import Text

_MOST_UNUSUAL: Final = 6
_MOST_RESEMBLING: Final = 3
_LIKENESS: Final = 0.35
_SHARED: Final = 2
"""Words that a rule has to share with the failure: one alone is a coincidence."""
_WORD: Final = lazy_pattern(r"[A-Za-z][A-Za-z_]{2,}")
_TRIVIAL: Final = frozenset(
    {"the", "and", "for", "with", "not", "are", "was", "has", "have", "this", "that", "from", "but", "can", "will"}
    | {"may", "your", "you", "its", "than", "then", "when", "error", "runtimeerror", "valueerror", "exception"}
    | {"failed", "invalid"}
)
_COMPLAINT: Final = lazy_pattern(
    r"(?i)error|fail|warn|cannot|can't|could not|unable|missing|not found|invalid|refused|denied|timed? ?out|abort"
    r"|unexpected|unsupported|mismatch|exceed|insufficient|too (?:small|large|long|old|new)"
)


def investigate(
    failure: Event, course: Course, base: RuleBase, quotes: Quotes, *, explained: Collection[int] = ()
) -> Unknown:
    """What stands around a failure that no rule knows.

    Args:
        failure: the event that is not explained.
        course: of the attempt.
        base: the rules, for those that are worded alike.
        quotes: lines of the log.
        explained: numbers of lines that rules know as harmless.
    """
    return Unknown(
        phase=course.reading.phase_at(failure.line.number),
        unusual=tuple(_unusual(failure, course, quotes, explained)),
        # How a process ended is told by a number, and the rules know the numbers that name a cause.
        resembling=() if failure.kind is EventKind.EXIT else tuple(_resembling(failure.text, base)),
    )


@cache
def healthy_shapes() -> frozenset[str]:
    """Shapes of the lines of starts that served (``tools/healthy_lines.py`` writes them)."""
    data = files("sgdoctor.engines.sglang").joinpath("data/healthy_lines.json").read_text(encoding="utf-8")
    return frozenset(json.loads(data))


def _unusual(failure: Event, course: Course, quotes: Quotes, explained: Collection[int]) -> Iterator[Evidence]:
    """Lines in front of the failure that no healthy start has, in log order: complaints first, then the nearest."""
    known = healthy_shapes()
    seen: set[str] = set()
    found: list[tuple[bool, int]] = []
    for event in reversed(course.events):
        text = event.line.text
        if event.kind is not EventKind.LINE or event.first >= failure.first or event.line.progress:
            continue
        shape = template_of(text)
        if shape in known or shape in seen or event.line.number in explained or not _WORD.search(shape):
            continue
        # Newer and older engines word their stages as the reader of stages knows, if not as the recorded starts do.
        if any(marker in text for marker in SGLANG.markers):
            continue
        seen.add(shape)
        found.append((_COMPLAINT.search(text) is None, event.line.number))
    nearest = sorted(found, key=lambda pair: (pair[0], -pair[1]))[:_MOST_UNUSUAL]
    for _, number in sorted(nearest, key=lambda pair: pair[1]):
        evidence = quotes.evidence(number)
        if evidence is not None:
            yield evidence._replace(before=(), after=())


def _resembling(text: str, base: RuleBase) -> Iterator[Resembling]:
    """The rules whose texts share the rarest words with ``text``, the most alike first."""
    wanted = _words(text)
    wordings = _wordings(base)
    scored = [
        (likeness, number)
        for number, likeness in wordings.alike(wanted)
        if likeness >= _LIKENESS and _names_a_cause(base.rule_at(number))
    ]
    for _, number in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:_MOST_RESEMBLING]:
        rule = base.rule_at(number)
        yield Resembling(rule.id, Text(spoken(rule.title.en, "en"), spoken(rule.title.zh, "zh")))


@lru_cache(maxsize=1)
def _wordings(base: RuleBase) -> "_Wordings":
    return _Wordings([_words(" ".join((rule.title.en, *_literals(rule)))) for rule in base.all()])


class _Wordings:
    """The words of all rules, the rare ones weighing most (cosine of inverse document frequencies)."""

    def __init__(self, words: Sequence[frozenset[str]]) -> None:
        self._words = words
        common = Counter(word for some in words for word in some)
        self._weights = {word: math.log(1 + len(words) / (1 + count)) ** 2 for word, count in common.items()}
        self._unseen = math.log(1 + len(words)) ** 2

    def alike(self, wanted: frozenset[str]) -> Iterator[tuple[int, float]]:
        """The rules, by number, that share words with ``wanted``, and how much (0 to 1)."""
        for number, words in enumerate(self._words):
            shared = wanted & words
            if len(shared) >= _SHARED:
                yield number, self._sum(shared) / math.sqrt(self._sum(wanted) * self._sum(words))

    def _sum(self, words: Collection[str]) -> float:
        return sum(self._weights.get(word, self._unseen) for word in words)


def _names_a_cause(rule: Rule) -> bool:
    return rule.role is Role.CAUSE and rule.severity.is_diagnosis


def _literals(rule: Rule) -> Sequence[str]:
    return [literal for pattern in rule.patterns for literal in pattern.literals]


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _TRIVIAL
