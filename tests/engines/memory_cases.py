"""The cases of fixtures/memory/vectors.yaml, for the tests of the memory model and for its benchmark."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sgdoctor.engines.base import Fact
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.predict import Card, Start, predict
from sgdoctor.engines.sglang.memory.prediction import Prediction
from sgdoctor.engines.sglang.memory.settings import settings_of_arguments, settings_of_flags
from sgdoctor.engines.sglang.memory.shape import shape_of
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines

FIXTURES = Path(__file__).parents[2] / "fixtures"

_OF_THE_POOLS = frozenset(
    {"state_slots", "state_slot_mib", "pools_rest_gib", "state_gib", "conv_state_gib", "ssm_state_gib", "kv_gib"}
    | {
        "kv_tokens",
        "swa_tokens",
        "swa_gib",
        "max_total_num_tokens",
        "max_running_requests",
        "mem_after_pools_gib",
        "is_hybrid",
    }
)


@cache
def vectors() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FIXTURES / "memory" / "vectors.yaml").read_text(encoding="utf-8"))
    return loaded


@cache
def facts_of(log: str) -> Mapping[str, Fact]:
    data = (FIXTURES / "logs" / "real" / f"{log}.log").read_bytes()
    return SGLANG.read(list(fold(read_lines(data), SGLANG.is_data))).facts


def value_of(log: str, name: str) -> Any:
    fact = facts_of(log).get(name)
    return None if fact is None else fact.value


def reported_start(case: Mapping[str, Any]) -> Start:
    """The launch of a report, which gives the weights to 0.01 GiB."""
    return Start(
        shape_of(vectors()["models"][case["model"]]),
        settings_of_flags(case["flags"]),
        Card(case["free"], case.get("card", 24576)),
        case["weights"],
        version=case["version"],
        rounding_gib=0.005,
    )


def run_predicted(case: Mapping[str, Any]) -> Prediction:
    """What the memory before and after loading says; nothing that the log prints about the pools is used."""
    before = {name: fact for name, fact in facts_of(case["log"]).items() if name not in _OF_THE_POOLS}
    start = start_of(before, config=vectors()["models"][case["model"]])
    assert start is not None
    return predict(start)


def predicted_from(log: str, then: str) -> Prediction:
    """What one log says about the run of another one, of which only the flags are used."""
    start = start_of(facts_of(log))
    assert start is not None
    return predict(
        replace(start.under(settings_of_arguments(lambda name: value_of(then, f"args.{name}"))), measured=None)
    )


def deviation(predicted: float | None, seen: float) -> float:
    """How far a prediction is off, as a share."""
    assert predicted is not None
    return abs(predicted - seen) / max(1.0, abs(seen))
