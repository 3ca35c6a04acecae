"""Launches for checks, on machines that are described by hand."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.fixes.changed import as_meant
from sgdoctor.launch.compose.document import open_compose
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.host_paths import started_in
from sgdoctor.launch.model import Document
from sgdoctor.preflight.cards import named_cards
from sgdoctor.preflight.model import Area, CardFacts, Finding, HostFacts, ImageFacts, Situation, Status
from sgdoctor.preflight.registry import all_checks

VERSION = "0.5.15"


def cards(names: str = "2x3090") -> tuple[CardFacts, ...]:
    """Real cards of these kinds."""
    return tuple(replace(card, notes=(), uuid=f"GPU-{card.number}a") for card in named_cards(names))


def host(**facts: Any) -> HostFacts:
    """Two 3090 and Docker with nothing running."""
    return HostFacts(**{"cards": cards(), "docker": {"DefaultRuntime": "runc"}, **facts})


def image(*env: str, **facts: Any) -> ImageFacts:
    """The official image."""
    config = {"Config": {"Env": list(env)}}
    return ImageFacts("lmsysorg/sglang:latest", config=facts.pop("config", config), **facts)


def shell(text: str, beside: Path, facts: HostFacts | None = None, **others: Any) -> Situation:
    """Of a pasted command or a script."""
    document = read_shell(text)
    return of_document(document, started_in(text, beside), facts, **others)


def compose(text: str, beside: Path, facts: HostFacts | None = None, **others: Any) -> Situation:
    """Of a compose file, which is written."""
    path = beside / "compose.yaml"
    path.write_text(text, encoding="utf-8")
    return of_document(open_compose([path], None, {}), beside, facts, **others)


def of_document(document: Document, beside: Path, facts: HostFacts | None = None, **others: Any) -> Situation:
    """Of any document."""
    version = others.pop("version", VERSION)
    flags = schema(version)
    return Situation(
        facts or host(),
        document,
        as_meant(document, document.problems, flags),
        others.pop("image", None),
        version=version,
        flags=flags,
        beside=beside,
        **others,
    )


def found(situation: Situation, *names: str) -> list[Finding]:
    """What the checks of launch and command say, or those of these names."""
    return [
        finding
        for check in all_checks()
        if (check.id in names if names else check.area in (Area.LAUNCH, Area.COMMAND))
        for finding in check.findings(situation)
    ]


def troubles(situation: Situation, *names: str) -> list[tuple[str, str | None]]:
    """Status and rule of everything that does not pass."""
    return brief(one for one in found(situation, *names) if one.status is not Status.PASS)


def brief(findings: Iterable[Finding]) -> list[tuple[str, str | None]]:
    """Status and rule of findings."""
    return [(finding.status.value, finding.prevents) for finding in findings]
