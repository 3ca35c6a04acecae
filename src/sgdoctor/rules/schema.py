"""The schema of a rule file (pydantic): the border at which YAML becomes data.

Loaded by authors' commands and whenever the compiled rule base is out of date, never on the way of a diagnosis.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from sgdoctor.engines.base import PhaseName
from sgdoctor.launch.change import KINDS
from sgdoctor.rules.fields import (
    Condition,
    Kebab,
    Line,
    Regex,
    RuleId,
    Scalar,
    Version,
    VersionSet,
    none_or_more,
    one_as_list,
    text_template,
    wrong_value,
)
from sgdoctor.rules.template import placeholders

SHORTEST_LITERAL = 6

NO_NAME = frozenset(
    {
        *("docker.shm_size", "docker.ipc", "docker.gpus", "docker.runtime", "docker.port", "docker.volume"),
        *("docker.restart", "docker.user", "docker.name", "docker.memory", "docker.command"),
        *("image.tag", "host.command", "wait"),
    }
)
"""Kinds of changes whose kind says it all."""
NO_VALUE = frozenset({"flag.unset", "flag.raise", "flag.lower", "env.unset", "wait"})
OPTIONAL_VALUE = frozenset({"flag.set", "file.edit", "file.mount", "client.request", "package.pin"})
OPTIONAL_NAME = frozenset({"client.request"})


class Strict(BaseModel):
    """No key that the format does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TextModel(Strict):
    """A text in both languages; a missing translation is a warning of ``rules check``."""

    en: Line
    zh: Annotated[str, StringConstraints(strip_whitespace=True), BeforeValidator(text_template)] = ""


class ClauseModel(Strict):
    """One entry of ``all_of`` or ``none_of``: exactly one of the three."""

    message: Regex = Field("", description="a pattern searched in the text of this event")
    elsewhere: str = Field("", description="a text that stands somewhere in the attempt, letter by letter")
    when: Condition = Field("", description="a condition over facts and captures")

    @model_validator(mode="after")
    def _exactly_one(self) -> "ClauseModel":
        if sum(map(bool, (self.message, self.elsewhere, self.when))) != 1:
            raise wrong_value(
                "clause",
                "an entry is exactly one of message, elsewhere, when",
                "每一项只能有 message、elsewhere、when 之一",
            )
        if self.elsewhere and len(self.elsewhere.encode()) < SHORTEST_LITERAL:
            raise wrong_value(
                "clause",
                f"the text {self.elsewhere!r} is shorter than {SHORTEST_LITERAL} characters",
                f"文本 {self.elsewhere!r} 少于 {SHORTEST_LITERAL} 个字符",
            )
        return self


class PatternModel(Strict):
    """One entry of ``match``."""

    event: Literal["any", "line", "traceback", "exit", "fact"] = "any"
    literals: Annotated[list[str], BeforeValidator(one_as_list)] = Field(
        default=[], description="at least one of these texts, of 6 or more characters, is in the event"
    )
    message: Regex = ""
    exception: Regex = ""
    frame: Regex = ""
    header: Regex = ""
    all_of: Annotated[list[ClauseModel], BeforeValidator(one_as_list)] = []
    none_of: Annotated[list[ClauseModel], BeforeValidator(one_as_list)] = []
    when: Condition = ""
    evidence: list[str] = []

    @field_validator("literals")
    @classmethod
    def _long_enough(cls, literals: list[str]) -> list[str]:
        for literal in literals:
            if len(literal.encode()) < SHORTEST_LITERAL or "\n" in literal:
                raise wrong_value(
                    "literal",
                    f"the literal {literal!r} has fewer than {SHORTEST_LITERAL} characters or spans a line end;"
                    " take the longest text that is constant over the versions",
                    f"字面文本 {literal!r} 少于 {SHORTEST_LITERAL} 个字符或跨行；请选用各版本都不变的最长文本",
                )
        return literals

    @model_validator(mode="after")
    def _needs(self) -> "PatternModel":
        textual = any((self.literals, self.message, self.exception, self.frame, self.header))
        if self.event == "fact" and (textual or not self.when):
            raise wrong_value(
                "fact",
                "event: fact needs `when` and takes no literals or patterns",
                "event: fact 必须有 `when`，且不能有 literals 或正则",
            )
        if self.event != "fact" and not self.literals:
            raise wrong_value(
                "literals",
                "literals are missing: without a text of 6 or more characters the rule is never looked for",
                "缺少 literals：没有至少 6 个字符的字面文本，规则不会被查找",
            )
        if self.event in ("line", "exit") and any((self.exception, self.frame, self.header)):
            raise wrong_value(
                "traceback_only",
                "exception, frame and header are for event: traceback (or any)",
                "exception、frame、header 只用于 event: traceback（或 any）",
            )
        return self


def _short_capture(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


class CaptureModel(Strict):
    """Type and bounds of a named group."""

    type: Literal["int", "float", "str", "path", "flag", "version", "gib", "mib", "seconds", "bytes"]
    min: float | None = None
    max: float | None = None


class AppliesModel(Strict):
    """Where a rule can hit; what is unknown never excludes."""

    versions: dict[Literal["sglang", "transformers", "torch"], VersionSet] | None = None
    phase: Annotated[list[PhaseName], BeforeValidator(one_as_list)] = []
    when: Condition = ""


def _flat_change(value: Any) -> Any:
    if not isinstance(value, Mapping) or len(value) != 1:
        raise wrong_value(
            "change",
            "a change is one `kind: {name: ..., value: ...}`, e.g. `flag.set: {name: --tp, value: 2}`",
            "每个改动写成 `kind: {name: ..., value: ...}`，例如 `flag.set: {name: --tp, value: 2}`",
        )
    kind, fields = next(iter(value.items()))
    if kind not in KINDS:
        import difflib  # noqa: PLC0415

        near = difflib.get_close_matches(kind, KINDS, 1)
        raise wrong_value(
            "change",
            f"unknown change {kind!r}; " + (f"did you mean {near[0]!r}?" if near else _known()),
            f"未知的改动 {kind!r}；" + (f"是否应为 {near[0]!r}？" if near else _known()),
        )
    fields = fields or {}
    if not isinstance(fields, Mapping) or set(fields) - {"name", "value"}:
        raise wrong_value(
            "change",
            f"{kind} takes a mapping of name and value only",
            f"{kind} 只接受 name 和 value",
        )
    return {"kind": kind, **fields}


def _known() -> str:
    return ", ".join(sorted(KINDS))


class ChangeModel(Strict):
    """One edit of a launch, in the file ``kind: {name: ..., value: ...}``."""

    kind: str
    name: str = ""
    value: Annotated[Scalar, BeforeValidator(text_template)] | None = None

    @model_validator(mode="after")
    def _fields(self) -> "ChangeModel":
        wants_name = self.kind not in NO_NAME | OPTIONAL_NAME
        wants_value = self.kind not in NO_VALUE | OPTIONAL_VALUE
        if (wants_name and not self.name) or (self.kind in NO_NAME and self.name):
            need, zh = ("needs a", "必须有") if wants_name else ("takes no", "不能有")
            raise wrong_value("change", f"{self.kind} {need} name", f"{self.kind} {zh} name")
        if (wants_value and self.value is None) or (self.kind in NO_VALUE and self.value is not None):
            need, zh = ("needs a", "必须有") if wants_value else ("takes no", "不能有")
            raise wrong_value("change", f"{self.kind} {need} value", f"{self.kind} {zh} value")
        if self.kind.startswith("flag.") and not re.fullmatch(r"--[a-z][a-z0-9-]*|\{[a-z_.]+\}", self.name):
            raise wrong_value(
                "change",
                f"a flag is written with its dashes, such as --mem-fraction-static; {self.name!r} is not",
                f"标志要带横线书写，例如 --mem-fraction-static；{self.name!r} 不是",
            )
        return self


class FixModel(Strict):
    """One fix, the best first."""

    id: Kebab
    when: Condition = ""
    versions: dict[Literal["sglang", "transformers", "torch"], VersionSet] | None = None
    summary: TextModel
    changes: list[Annotated[ChangeModel, BeforeValidator(_flat_change)]] = []
    safety: Literal["safe", "unsafe", "manual"]
    effect: TextModel | None = None
    verify: str = ""


class FixedInModel(Strict):
    """The first release of a package that does not fail this way any more."""

    package: Literal["sglang", "vllm", "transformers", "torch", "flashinfer", "docker"]
    version: Version
    when: Condition = Field("", description="where only some of the failures of this rule are fixed there")
    only: TextModel | None = Field(None, description="in words, which failures those of `when` are")


class HitTest(Strict):
    """A log that must hit the rule."""

    text: str = ""
    log: str = ""
    root: bool = True
    captures: dict[str, Scalar | None] = {}
    fix: str | None = None
    severity: Literal["fatal", "error", "degraded", "notice", "benign"] | None = None
    state: Literal["failed", "degraded", "healthy", "starting", "stalled", "undetermined"] | None = None

    @model_validator(mode="after")
    def _one_input(self) -> "HitTest":
        _one_of_text_and_log(self.text, self.log)
        return self


class MissTest(Strict):
    """A log on which the rule must stay silent."""

    text: str = ""
    log: str = ""

    @model_validator(mode="after")
    def _one_input(self) -> "MissTest":
        _one_of_text_and_log(self.text, self.log)
        return self


def _one_of_text_and_log(text: str, log: str) -> None:
    if bool(text) == bool(log):
        raise wrong_value("test", "a test has either text or log", "每个测试要么有 text,要么有 log")


class TestsModel(Strict):
    """The tests of a rule."""

    hit: Annotated[list[HitTest], BeforeValidator(one_as_list)] = []
    near_miss: Annotated[list[MissTest], BeforeValidator(one_as_list)] = []


class RuleModel(Strict):
    """A rule of sgdoctor. The format is described in docs/rule-format.md."""

    id: RuleId = Field(description="SGL and three digits; the first digit is the family")
    name: Kebab = Field(description="kebab case, equal to the file's name")
    status: Literal["experimental", "stable", "deprecated"] = "stable"
    engine: Annotated[
        list[Literal["sglang", "vllm", "docker", "nccl", "cuda", "transformers", "python", "any"]],
        BeforeValidator(one_as_list),
    ] = ["any"]
    applies: AppliesModel = AppliesModel()
    severity: Literal["fatal", "error", "degraded", "notice", "benign"]
    confidence: Literal["certain", "likely", "possible"] = "certain"
    role: Literal["cause", "consequence"] = "cause"
    match: Annotated[list[PatternModel], Field(min_length=1), BeforeValidator(one_as_list)]
    captures: dict[str, Annotated[CaptureModel, BeforeValidator(_short_capture)]] = {}
    explains: list[RuleId] = []
    title: TextModel
    cause: TextModel
    fixes: list[FixModel] = []
    fixed_in: Annotated[list[FixedInModel], BeforeValidator(none_or_more)] = []
    references: list[Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]] = []
    not_this: TextModel | None = None
    tests: TestsModel = TestsModel()

    @model_validator(mode="after")
    def _values_are_typed(self) -> "RuleModel":
        """The log is written by others: only what reads as a number, a flag or a version goes into a command."""
        for fix in self.fixes:
            for change in fix.changes:
                for name, _, _ in placeholders(change.name + (change.value or "")):
                    if name in self.captures and self.captures[name].type in ("str", "path", "bytes"):
                        raise wrong_value(
                            "typed",
                            f"the change {change.kind} uses {{{name}}} of the type {self.captures[name].type};"
                            " only int, float, gib, mib, seconds, flag and version may enter a change",
                            f"改动 {change.kind} 使用了类型为 {self.captures[name].type} 的 {{{name}}}；"
                            "只有 int、float、gib、mib、seconds、flag、version 可以进入改动",
                        )
        return self
