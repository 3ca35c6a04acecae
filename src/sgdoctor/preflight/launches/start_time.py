"""How long a start takes, roughly: what a health check and a person have to wait for."""

from typing import Final, NamedTuple

from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Situation

_EXPERTS: Final = ("num_experts", "n_routed_experts", "num_local_experts")
# Seconds of imports, processes and the warm-up, in the fastest and the slowest of the recorded starts of one card.
_BASE: Final = (25.0, 60.0)
# Weights in GiB a second: 13 s for 19 GB on a fast disk, a tenth of that on a network or a spinning one.
_READING: Final = (1.5, 0.3)
# Graphs of a dense model, and of experts whose kernels are compiled on the first start (170 to 190 s on a 3090).
_CAPTURE: Final = (10.0, 60.0)
_CAPTURE_OF_EXPERTS: Final = (40.0, 200.0)


class Seconds(NamedTuple):
    """A span."""

    least: float
    most: float


def start_time(situation: Situation) -> Seconds | None:
    """Seconds up to the first answer; None where the model is not here."""
    model = situation.model
    weights = model.weights_gib if model is not None else None
    if model is None or weights is None:
        return None
    asked = asked_by(situation.launch, situation.flags)
    experts = any(model.settings.get(name) for name in _EXPERTS)
    capture = _CAPTURE_OF_EXPERTS if experts else _CAPTURE
    if asked.has("--disable-cuda-graph"):
        capture = (0.0, 20.0)
    return Seconds(
        _BASE[0] + weights / _READING[0] + capture[0],
        _BASE[1] + weights / _READING[1] + capture[1],
    )
