"""Every flag against the version that will read it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.fixes.flag_tables import flag_problems
from sgdoctor.launch.change import Change
from sgdoctor.preflight.chosen_cards import smallest_capability
from sgdoctor.preflight.launches.problems import as_findings, written
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text, counted

# True in every version that was read; all else depends on the version.
_ALWAYS: Final = frozenset(
    {
        "flag-misspelled", "flag-unknown", "flag-foreign", "flag-underscore", "value-missing", "value-on-switch",
        "value-type", "json-broken", "list-glued", "word-stray", "flag-missing", "fraction-out-of-range",
        "size-out-of-range",
    }
)  # fmt: skip


# Names cut short are so usual (`--tp`) that they are no reason to warn.
_STATUSES: Final = {"flag-abbreviated": Status.PASS}


class CommandFlags:
    """The engine accepts its flags, and each of them does something."""

    id: ClassVar = "command-flags"
    area: ClassVar = Area.COMMAND
    title: ClassVar = Text("Flags", "参数")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """What the engine would refuse, change or ignore."""
        launch, schema = situation.launch, situation.flags
        if launch is None or not launch.argv or launch.engine != "sglang" or not isinstance(schema, Schema):
            return
        if any(written(situation, lambda name: name == "newline-argument")):
            launch = replace(launch, argv=tuple(word for word in launch.argv if word.strip() or not word))
        told = _told(situation)
        problems = tuple(
            problem
            for problem in flag_problems(launch, schema, _facts(situation))
            if not any(change in told for change in problem.changes)
        )
        known = situation.version is not None
        found = list(as_findings(problems, _STATUSES))
        if not known:
            found = [
                finding if problem.id in _ALWAYS else _softened(finding)
                for problem, finding in zip(problems, found, strict=True)
            ]
        yield from found
        config = situation.config
        if config is not None and config.note is not None:
            yield Finding(Status.PASS if config.read else Status.SKIPPED, config.note)
        count = sum(word.startswith("--") for word in launch.argv[launch.flags_at :])
        if not known:
            yield Finding(
                Status.SKIPPED,
                Text(
                    f"the version in the image is not known; checked against {schema.version}",
                    f"镜像中的版本未知；按 {schema.version} 检查",
                ),
            )
        elif not schema.exact:
            yield Finding(
                Status.SKIPPED,
                Text(
                    f"the flags of {situation.version} are not known; checked against {schema.version}",
                    f"不知道 {situation.version} 的参数；按 {schema.version} 检查",
                ),
            )
        elif all(finding.status is Status.PASS for finding in found):
            yield Finding(
                Status.PASS,
                Text(
                    f"{counted(count, 'flag')} {'fits' if count == 1 else 'fit'} SGLang {schema.version}",
                    f"{count} 个参数符合 SGLang {schema.version}",
                ),
            )


def _told(situation: Situation) -> frozenset[Change]:
    """Flags that the check of the writing has taken out: options of Docker among them."""
    problems = situation.document.problems if situation.document is not None else ()
    return frozenset(change for problem in problems for change in problem.changes if change.kind == "flag.unset")


def _facts(situation: Situation) -> Mapping[str, Any]:
    """What some combinations depend on, by the names in ``docs/facts.md``."""
    facts: dict[str, Any] = {}
    if (sm := smallest_capability(situation)) is not None:
        facts["gpu.sm"] = sm
    if situation.model is not None and situation.model.architectures:
        facts["architecture"] = situation.model.architectures[0]
    return facts


def _softened(finding: Finding) -> Finding:
    """Of a version that is only likely."""
    return replace(finding, status=Status.WARN, phase=None) if finding.status is Status.FAIL else finding
