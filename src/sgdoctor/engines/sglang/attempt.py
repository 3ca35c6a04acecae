"""What has been read of one start so far."""

from dataclasses import dataclass, field
from datetime import datetime

from sgdoctor.engines.sglang.facts import FactBook
from sgdoctor.engines.sglang.phases import Course
from sgdoctor.engines.sglang.versions import WORDINGS, Bounds
from sgdoctor.logs.event import Event


@dataclass(slots=True, eq=False, repr=False)
class Attempt:
    """State of the reading of one start.

    Attributes:
        book: the facts.
        course: the phases.
        wordings: bounds of the version by wordings.
        wording_line: the first line with a telling wording; 0 for none.
        fields: names of the fields of ``server_args``.
        fields_line: its line.
        usage: the usage text in front of an argparse error.
        weights_loads: how often a load of weights began; the second one is that of a draft model.
        after_weights: whether the last telling line was the end of a load.
        pools_done: whether the target model's pools were made.
        kv_pools: size in GiB of each pool of the KV cache, by its tokens; the first of equal ones.
        failed: whether a process of the engine died; what ends afterwards was not asked to.
        printed_minimum: the smallest viable fraction that the engine printed.
        clocks: the first time seen, by whether it names no zone.
        ready_line: where the server said that it serves.
        shutdown_line: where an asked for shutdown began.
        recognised: whether any line was the engine's own.
        first_line: number of the first line; 0 before it.
        last_line: number of the last line.
    """

    book: FactBook = field(default_factory=FactBook)
    course: Course = field(default_factory=Course)
    wordings: Bounds = field(default_factory=Bounds)
    wording_line: int = 0
    fields: frozenset[str] = frozenset()
    fields_line: int = 0
    usage: list[str] = field(default_factory=list)
    weights_loads: int = 0
    after_weights: bool = False
    pools_done: bool = False
    kv_pools: dict[int, float] = field(default_factory=dict)
    failed: bool = False
    printed_minimum: float | None = None
    clocks: dict[bool, datetime] = field(default_factory=dict)
    ready_line: int | None = None
    shutdown_line: int | None = None
    recognised: bool = False
    first_line: int = 0
    last_line: int = 0

    def wording(self, name: str, event: Event) -> None:
        """Narrow the version down by a wording of ``versions.WORDINGS``."""
        self.wordings = self.wordings.within(WORDINGS[name])
        self.wording_line = self.wording_line or event.line.number
