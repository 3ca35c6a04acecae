"""Rules and hits as the matcher and the diagnosis use them: neither pydantic nor YAML, which cost a whole start-up."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sgdoctor.engines.base import PhaseName
from sgdoctor.launch.change import Change
from sgdoctor.logs.event import Event
from sgdoctor.texts import Text

CAPTURE_TYPES: Final = ("int", "float", "str", "path", "flag", "version", "gib", "mib", "seconds", "bytes")


class Severity(StrEnum):
    """How bad it is, worst first."""

    FATAL = "fatal"
    ERROR = "error"
    DEGRADED = "degraded"
    NOTICE = "notice"
    BENIGN = "benign"

    @property
    def is_diagnosis(self) -> bool:
        """Whether it is shown as a diagnosis (else as a notice)."""
        return self not in (Severity.NOTICE, Severity.BENIGN)


class Confidence(StrEnum):
    """How sure a diagnosis is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Role(StrEnum):
    """Whether a text says why something failed, or only that it did."""

    CAUSE = "cause"
    CONSEQUENCE = "consequence"


class Clause(NamedTuple):
    """One entry of ``none_of`` or ``all_of``; exactly one field is set."""

    message: str = ""
    elsewhere: str = ""
    when: str = ""


class Pattern(NamedTuple):
    """One entry of ``match``. See ``docs/rule-format.md`` for the meaning of the fields."""

    event: str = "any"
    literals: tuple[str, ...] = ()
    message: str = ""
    exception: str = ""
    frame: str = ""
    header: str = ""
    all_of: tuple[Clause, ...] = ()
    none_of: tuple[Clause, ...] = ()
    when: str = ""
    evidence: tuple[str, ...] = ()


class Capture(NamedTuple):
    """Type and bounds of a named group."""

    type: str
    min: float | None = None
    max: float | None = None


class FixSpec(NamedTuple):
    """A fix as its rule words it: names in texts and values are not filled in yet."""

    id: str
    summary: Text
    effect: Text
    changes: tuple[Change, ...] = ()
    safety: str = "manual"
    when: str = ""
    versions: Mapping[str, str] | None = None
    verify: str = ""


_SPELLINGS: Final = {
    "sglang": "SGLang",
    "vllm": "vLLM",
    "torch": "PyTorch",
    "flashinfer": "FlashInfer",
    "docker": "Docker",
}


_SOME: Final = Text("some cases", "部分情况")


class FixedIn(NamedTuple):
    """The first release of a package that does not fail this way any more.

    Attributes:
        package: as in ``applies.versions``, or another one that logs do not name.
        version: of the release.
        when: a condition, where only some of the failures of the rule are fixed.
        only: which ones these are, in words.
    """

    package: str
    version: str
    when: str = ""
    only: Text | None = None

    @property
    def release(self) -> str:
        """As people write it: ``SGLang 0.5.20``."""
        return f"{_SPELLINGS.get(self.package, self.package)} {self.version}"

    def release_and_extent(self, lang: str) -> str:
        """The release, and in brackets what it fixes where that is not all."""
        if not self.when:
            return self.release
        return f"{self.release} ({(self.only or _SOME).in_language(lang)})"


class Rule(NamedTuple):
    """One rule. See ``docs/rule-format.md`` for the meaning of the fields."""

    id: str
    name: str
    severity: Severity
    patterns: tuple[Pattern, ...]
    title: Text
    cause: Text
    status: str = "stable"
    engine: tuple[str, ...] = ("any",)
    confidence: Confidence = Confidence.CERTAIN
    role: Role = Role.CAUSE
    versions: Mapping[str, str] | None = None
    phases: tuple[str, ...] = ()
    when: str = ""
    captures: Mapping[str, Capture] | None = None
    explains: tuple[str, ...] = ()
    fixes: tuple[FixSpec, ...] = ()
    fixed_in: tuple[FixedIn, ...] = ()
    references: tuple[str, ...] = ()
    not_this: Text | None = None
    origin: str = ""
    """File it was read from."""

    def fixed_releases(self, lang: str) -> str:
        """The releases that cure it in one line; empty where none does, or where only the log tells which.

        Args:
            lang: ``en`` or ``zh``, for what is fixed where that is not all.
        """
        named = (one for one in self.fixed_in if not one.version.startswith("{"))
        return ", ".join(one.release_and_extent(lang) for one in named)


class Hit(NamedTuple):
    """One match of a rule.

    Attributes:
        rule: which.
        event: the event it matched; for a rule over facts an event made of the first evidence line.
        captures: typed values of the named groups.
        phase: the phase the log was in at that event.
        depth: index in ``event.raised`` of the exception that matched (0 is the cause); 0 for other events.
        weight: number of characters of literal text that matched, to prefer the more specific of two rules.
        evidence: numbers of the lines that prove it, the decisive one first.
    """

    rule: Rule
    event: Event
    captures: Mapping[str, Any]
    phase: PhaseName | None
    depth: int
    weight: int
    evidence: tuple[int, ...]
