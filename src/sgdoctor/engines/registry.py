"""All engines that sgdoctor knows."""

from collections.abc import Iterable
from typing import Final

from sgdoctor.engines.base import Engine
from sgdoctor.engines.sglang import SGLANG
from sgdoctor.logs.event import Event

ENGINES: Final[tuple[Engine, ...]] = (SGLANG,)


def detect(events: Iterable[Event]) -> Engine:
    """The engine that wrote ``events``: the first one that one of them begins a start of, else the first of all."""
    for event in events:
        for engine in ENGINES:
            if engine.begins_attempt(event):
                return engine
    return ENGINES[0]
