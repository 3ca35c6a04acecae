"""From a launch to everything that there is to say before its start."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from sgdoctor.engines.base import PhaseName
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.fixes.config_file import with_config
from sgdoctor.fixes.flag_tables import assumed
from sgdoctor.fixes.model import Answer
from sgdoctor.fixes.plan import NO_WISHES, Wishes
from sgdoctor.launch.model import Document
from sgdoctor.preflight.answer import Preflight
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Situation
from sgdoctor.preflight.planning import by_hand, plan_of
from sgdoctor.preflight.predicted import predicted
from sgdoctor.preflight.run import checked
from sgdoctor.preflight.situation import Wanted, situation_for

_TIMED: Final = (PhaseName.WEIGHTS, PhaseName.GRAPH_CAPTURE, PhaseName.WARMUP)
Usual = Callable[[str, str, str, str], tuple[float, float] | None]
"""Shortest and longest seconds of a phase, by name of the model, image, card and phase; None where nothing is known."""


def preflight_of(
    name: str,
    document: Document | None,
    beside: Path,
    wanted: Wanted | None = None,
    *,
    wishes: Wishes = NO_WISHES,
    answers: Mapping[str, str] | None = None,
    file: str = "",
    usual: Usual = lambda _model, _image, _card, _phase: None,
) -> Preflight:
    """Gathers, checks, foresees and plans.

    Args:
        name: of the target, as the user knows it.
        document: the launch; None for the host alone.
        beside: folder of this machine that relative paths of the launch start from.
        wanted: what the user says instead of what is there.
        wishes: of the user, for the plan.
        answers: of probes that were allowed to start something.
        file: name of the document's file as ``patch`` takes it; empty without one.
        usual: how long phases took before.

    Raises:
        UserError: a card or a model that was named does not exist, or a wish cannot be fulfilled.
    """
    situation = situation_for(document, beside, wanted)
    situation = replace(situation, answers=dict(answers or {}), learned=_learned(situation, usual))
    found = tuple(checked(situation))
    course = predicted(situation, found)
    plan = plan_of(situation, found, file=file, wishes=wishes)
    flags = situation.flags
    if document is None or plan is None or flags is None:
        return Preflight(name, situation, found, course, left=by_hand(found))
    fix = Answer(name, with_config(document, flags, situation.beside), plan, flags, version=situation.version or "")
    note = assumed(situation.version or "", flags) if isinstance(flags, Schema) else None
    return Preflight(name, situation, found, course, fix, note=note)


def _learned(situation: Situation, usual: Usual) -> dict[str, tuple[float, float]]:
    """How long the phases of this launch took here before."""
    launch = situation.launch
    path = asked_by(launch, situation.flags).value("--model-path") if launch is not None else None
    if launch is None or not path:
        return {}
    model = path.rstrip("/").rpartition("/")[2]
    card = situation.host.cards[0].name if situation.host.cards else ""
    spans = {phase.value: usual(model, launch.image or "", card, phase.value) for phase in _TIMED}
    return {phase: span for phase, span in spans.items() if span is not None}
