"""One plan that cures everything that the checks have found."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.errors import UserError
from sgdoctor.fixes.config_file import with_config
from sgdoctor.fixes.flag_tables import flag_problems
from sgdoctor.fixes.model import Left, Plan
from sgdoctor.fixes.patch_steps import NO_PATCHES, Patches, kinds_of, patches_for
from sgdoctor.fixes.plan import NO_WISHES, Knowledge, Wishes, plan_for
from sgdoctor.fixes.steps import SHOWN_ONLY
from sgdoctor.launch.model import Problem
from sgdoctor.patches.launch_scripts import intended_patches, recognise_script
from sgdoctor.preflight.launches.places import launch_script
from sgdoctor.preflight.model import Area, Checked, Finding, Situation, Status
from sgdoctor.preflight.patch_site import patch_site
from sgdoctor.preflight.solving import solver_of
from sgdoctor.preflight.versions import transformers_version

_SEVERITIES: Final = {Status.FAIL: "fatal", Status.WARN: "degraded"}
_BAD: Final = frozenset({"fatal", "error"})


def plan_of(
    situation: Situation,
    checked: Sequence[Checked],
    *,
    file: str = "",
    wishes: Wishes = NO_WISHES,
) -> Plan | None:
    """Everything that is to be changed in the launch; None without one.

    Args:
        situation: what is known.
        checked: answers of all checks.
        file: name of the document's file as ``patch`` takes it; empty without one.
        wishes: of the user.

    Raises:
        UserError: a wish cannot be fulfilled.
    """
    document, flags = situation.document, situation.flags
    if document is None or flags is None:
        return None
    assert isinstance(flags, Schema)
    patches = _patches(situation, checked)
    # Which numbers fit is decided last, for the launch with everything else changed.
    about_launch = [answer for answer in checked if answer.check.area is not Area.MEMORY]
    known = Knowledge(
        flags=flags,
        check=lambda launch: flag_problems(launch, flags, {}),
        problems=tuple(_problems(about_launch, patched={step.rule for step in patches.steps})),
        solve=solver_of(situation),
        patches=patches,
        file=file,
    )
    plan = plan_for(with_config(document, flags, situation.beside), known, wishes)
    left = [one for one in by_hand(checked) if one not in plan.left]
    return replace(plan, left=(*plan.left, *left))


def by_hand(checked: Iterable[Checked]) -> tuple[Left, ...]:
    """What has to be done outside of the launch: on the host, in files of the user."""
    found = (
        Left(change, finding.title)
        for _, finding in _troubles(checked)
        for change in finding.changes
        if change.kind in SHOWN_ONLY
    )
    return tuple(dict.fromkeys(found))


def _troubles(checked: Iterable[Checked]) -> Iterator[tuple[str, Finding]]:
    """What is wrong, what ends the start first, each with the id of its check."""
    every = [(answer.check.id, finding) for answer in checked for finding in answer.findings]
    for status in _SEVERITIES:
        yield from ((name, finding) for name, finding in every if finding.status is status)


def _problems(checked: Iterable[Checked], patched: set[str]) -> Iterator[Problem]:
    """Findings as problems of the launch; those that patches cure come with them."""
    seen: dict[str, int] = {}
    for name, finding in _troubles(checked):
        changes = tuple(change for change in finding.changes if change.kind not in SHOWN_ONLY)
        if not changes or finding.prevents in patched:
            continue
        seen[name] = seen.get(name, 0) + 1
        yield Problem(
            id=name if seen[name] == 1 else f"{name}-{seen[name]}",
            severity=_SEVERITIES[finding.status],
            title=finding.title,
            where=finding.where,
            changes=changes,
            rule=finding.prevents,
            detail=finding.detail,
        )


def _patches(situation: Situation, checked: Iterable[Checked]) -> Patches:
    """What takes the place of patches in code: of those that are needed, and of those that a script was meant to be."""
    launch = situation.launch
    if launch is None or not launch.argv:
        return NO_PATCHES
    script = launch_script(situation)
    text = (script.text if script is not None else None) or ""
    versions = {"sglang": situation.version, "transformers": transformers_version(situation)}
    problems = recognise_script(text, **versions) if text else ()
    try:
        return patches_for(
            None,
            patch_site(situation, launch),
            intended_patches(text) if text else (),
            script_is_broken=any(problem.severity in _BAD for problem in problems),
            foreseen=kinds_of(finding.prevents or "" for _, finding in _troubles(checked) if finding.changes),
        )
    except UserError:  # the config.json is none: a check says so
        return NO_PATCHES
