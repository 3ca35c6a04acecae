"""Launches of a model folder, on cards that are described by hand."""

from collections.abc import Mapping
from pathlib import Path

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.launch.model import Launch, Mount, Origin
from sgdoctor.preflight.cards import named_cards
from sgdoctor.preflight.model import Area, Finding, HostFacts, ImageFacts, Situation, Status
from sgdoctor.preflight.model_folder import model_of
from sgdoctor.preflight.registry import all_checks

ENGINE = ("python3", "-m", "sglang.launch_server")
VERSION = "0.5.15"
LARGE = "180GiB:sm100"


def launch_of(
    *flags: str,
    image: str | None = None,
    mounts: tuple[Mount, ...] = (),
    env: Mapping[str, str | None] | None = None,
    engine: tuple[str, ...] = ENGINE,
) -> Launch:
    """A launch with these flags."""
    argv = (*engine, *flags)
    return Launch(Origin.COMMAND, argv, len(engine), argv, env or {}, image, mounts=mounts)


def situation_of(
    launch: Launch,
    beside: Path = Path(),
    *,
    cards: str = LARGE,
    version: str | None = VERSION,
    packages: Mapping[str, str] | None = None,
) -> Situation:
    """The situation of a launch, with the model that it names."""
    flags = schema(version)
    model, reason = model_of(launch, flags, beside)
    facts = ImageFacts(launch.image, packages=dict(packages or {})) if launch.image else None
    if packages and facts is None:
        facts = ImageFacts("", packages=dict(packages))
    return Situation(
        host=HostFacts(cards=named_cards(cards) if cards else ()),
        launch=launch,
        image=facts,
        model=model,
        model_reason=reason,
        version=version,
        flags=flags,
        beside=beside,
    )


def of_folder(folder: Path, *flags: str, cards: str = LARGE, version: str | None = VERSION) -> Situation:
    """A folder of this machine, started outside of containers."""
    return situation_of(launch_of("--model-path", str(folder), *flags), cards=cards, version=version)


def findings(situation: Situation, *names: str) -> list[Finding]:
    """What the checks of these names say; without names all that look at model and memory."""
    areas = (Area.MODEL, Area.MEMORY)
    checks = [check for check in all_checks() if (check.id in names if names else check.area in areas)]
    assert checks
    return [finding for check in checks for finding in check.findings(situation)]


def troubles(situation: Situation, *names: str) -> list[tuple[str, str | None]]:
    """Status and rule of everything that warns or fails."""
    bad = (Status.WARN, Status.FAIL)
    return [(one.status.value, one.prevents) for one in findings(situation, *names) if one.status in bad]
