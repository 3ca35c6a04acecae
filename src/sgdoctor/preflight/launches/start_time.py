"""How long a start takes, roughly: what a health check and a person have to wait for."""

from typing import Final, NamedTuple

from sgdoctor.engines.base import PhaseName
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Situation

# Seconds from the start of the process to each phase that needs no weights. In recorded starts on one card it is 14 to
# 26 s from the arguments to the first process group, behind 5 to 20 s of imports.
_BEFORE_WEIGHTS: Final = {
    PhaseName.DOCKER: (0.0, 1.0),
    PhaseName.ARGS: (5.0, 20.0),
    PhaseName.CONFIG: (8.0, 30.0),
    PhaseName.DISTRIBUTED: (20.0, 45.0),
    PhaseName.WEIGHTS: (20.0, 45.0),
}
# Weights in GiB a second: 13 s for 19 GB on a fast disk, a fifth of that from a network or a spinning one.
_READING: Final = (1.5, 0.3)
# Graphs of a dense model, and of experts whose kernels are compiled on the first start (170 to 190 s on a 3090).
_CAPTURE: Final = (5.0, 60.0)
_CAPTURE_OF_EXPERTS: Final = (20.0, 200.0)
_NO_CAPTURE: Final = (0.0, 5.0)
# The first request compiles what was not captured.
_WARMUP: Final = (2.0, 65.0)
_EXPERTS: Final = ("num_experts", "n_routed_experts", "num_local_experts")
_ORDER: Final = tuple(PhaseName)


class Seconds(NamedTuple):
    """A span."""

    least: float
    most: float


def start_time(situation: Situation) -> Seconds | None:
    """Seconds up to the first answer; None where the model is not here."""
    return reached_after(situation, PhaseName.SERVING)


def reached_after(situation: Situation, phase: PhaseName) -> Seconds | None:
    """Seconds from the start of the container to a phase; None where that depends on weights that are not here."""
    if phase in _BEFORE_WEIGHTS:
        return Seconds(*_BEFORE_WEIGHTS[phase])
    least, most = _BEFORE_WEIGHTS[PhaseName.WEIGHTS]
    for one, usual in (
        (PhaseName.WEIGHTS, _reading(situation)),
        (PhaseName.GRAPH_CAPTURE, _capture(situation)),
        (PhaseName.WARMUP, _WARMUP),
    ):
        if _ORDER.index(phase) > _ORDER.index(one):
            span = situation.learned.get(one.value, usual)
            if span is None:
                return None
            least, most = least + span[0], most + span[1]
    return Seconds(least, most)


def _reading(situation: Situation) -> tuple[float, float] | None:
    weights = situation.model.weights_gib if situation.model is not None else None
    return None if weights is None else (weights / _READING[0], weights / _READING[1])


def _capture(situation: Situation) -> tuple[float, float] | None:
    if situation.model is None:
        return None
    if asked_by(situation.launch, situation.flags).has("--disable-cuda-graph"):
        return _NO_CAPTURE
    return _CAPTURE_OF_EXPERTS if any(situation.model.settings.get(name) for name in _EXPERTS) else _CAPTURE
