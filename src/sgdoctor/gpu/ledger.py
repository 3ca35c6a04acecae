"""Where the memory of a GPU went: what the log of a server accounts for, against what the driver sees."""

from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sgdoctor.gpu.model import Gpu, GpuProcess
from sgdoctor.gpu.owners import nobodys_mib
from sgdoctor.texts import Text

_TOLERANCE_MIB: Final = 256.0
"""The log counts what a step took, other small takers at the same time included; see docs/gpu-check.md."""


class PartKind(StrEnum):
    """What a part of the memory is for."""

    WEIGHTS = "weights"
    STATE = "state"
    KV = "kv"
    GRAPHS = "graphs"
    OTHER = "other"
    """Of this server: CUDA contexts, workspaces, activations, whatever the log does not account for."""
    OTHERS = "others"
    """Of other programs."""
    DRIVER = "driver"
    """Kept by the driver and the firmware."""
    FREE = "free"


_TITLES: Final = {
    PartKind.WEIGHTS: Text("weights", "权重"),
    PartKind.STATE: Text("state cache", "状态缓存"),
    PartKind.KV: Text("KV cache", "KV 缓存"),
    PartKind.GRAPHS: Text("CUDA graphs", "CUDA 图"),
    PartKind.OTHER: Text("other", "其他"),
    PartKind.OTHERS: Text("other programs", "其他程序"),
    PartKind.DRIVER: Text("driver", "驱动保留"),
    PartKind.FREE: Text("free", "空闲"),
}


class Part(NamedTuple):
    """One part of the stack.

    Attributes:
        kind: what it is for.
        mib: how much, 0 or more.
    """

    kind: PartKind
    mib: float

    @property
    def title(self) -> Text:
        """Its name."""
        return _TITLES[self.kind]


class Ledger(NamedTuple):
    """The whole memory of one GPU, as a stack.

    Attributes:
        total_mib: of the card.
        parts: one of each kind, in the order of ``PartKind``; together ``total_mib``.
        attributed: whether the driver says which memory is this server's. Else ``other`` may hold that of others.
        notes: what does not add up, and why.
    """

    total_mib: float
    parts: tuple[Part, ...]
    attributed: bool
    notes: tuple[Text, ...] = ()

    def mib(self, kind: PartKind) -> float:
        """Size of one part."""
        return next(part.mib for part in self.parts if part.kind is kind)


class LogMemory(NamedTuple):
    """What the log of one start says that it took on each of its GPUs, in GiB; 0 where it says nothing (yet)."""

    weights_gib: float = 0.0
    state_gib: float = 0.0
    kv_gib: float = 0.0
    graph_gib: float = 0.0


def log_memory(value: Callable[[str], Any]) -> LogMemory:
    """The memory that a start's facts account for.

    Args:
        value: gives a fact by its name, None for an unknown one.
    """

    def known(name: str) -> float:
        number = value(name)
        # A step during which somebody else let go of memory is printed with a negative size.
        return max(float(number), 0.0) if isinstance(number, int | float) else 0.0

    return LogMemory(
        weights_gib=known("weights_gib") + known("draft_weights_gib"),
        state_gib=known("state_gib"),
        kv_gib=known("kv_gib"),
        graph_gib=known("graph_gib"),
    )


def ledger(gpu: Gpu, log: LogMemory, *, container: str = "", pids: Collection[int] = ()) -> Ledger | None:
    """Splits the memory of a GPU that the server uses.

    What the driver sees counts: the parts that the log names are cut where they are more than the server holds, and
    what they leave is ``other``.

    Args:
        gpu: one of the server's GPUs.
        log: what the newest start says; of each GPU, so the same for all of them.
        container: id of the server's container, full or shortened; empty if it has none or it is unknown.
        pids: the server's processes, if those are known instead.

    Returns:
        None for a GPU that does not report its memory.
    """
    if gpu.total_mib is None or gpu.used_mib is None:
        return None
    total = max(gpu.total_mib, 0.0)
    used = min(max(gpu.used_mib, 0.0), total)
    driver = min(max(gpu.reserved_mib or 0.0, 0.0), used)
    own, others, attributed = _split(gpu, used - driver, container, pids)
    notes: list[Text] = []
    if not attributed and used - driver > nobodys_mib(gpu.reserved_mib):
        notes.append(
            Text(
                "Which program holds this memory is not known: “other” may include that of other programs.",
                "不知道这些显存属于哪个程序：“其他”可能包含其他程序的显存。",
            )
        )
    claims = (
        (PartKind.WEIGHTS, log.weights_gib),
        (PartKind.STATE, log.state_gib),
        (PartKind.KV, log.kv_gib),
        (PartKind.GRAPHS, log.graph_gib),
    )
    sizes: dict[PartKind, float] = {}
    left = own
    for kind, gib in claims:
        sizes[kind] = min(max(gib, 0.0) * 1024, left)
        left -= sizes[kind]
    claimed = sum(max(gib, 0.0) for _, gib in claims) * 1024
    if own and claimed - own > _TOLERANCE_MIB:
        notes.append(
            Text(
                f"The log accounts for {claimed / 1024:.2f} GiB, and the driver shows {own / 1024:.2f} GiB.",
                f"日志记录的显存为 {claimed / 1024:.2f} GiB，而驱动显示为 {own / 1024:.2f} GiB。",
            )
        )
    sizes |= {PartKind.OTHER: left, PartKind.OTHERS: others, PartKind.DRIVER: driver, PartKind.FREE: total - used}
    return Ledger(total, tuple(Part(kind, sizes[kind]) for kind in PartKind), attributed, tuple(notes))


def _split(gpu: Gpu, taken: float, container: str, pids: Collection[int]) -> tuple[float, float, bool]:
    """This server's memory and that of others, together ``taken``; and whether the driver attributes it."""

    def is_own(process: GpuProcess) -> bool:
        return process.pid in pids or bool(container and process.container.startswith(container))

    def is_foreign(process: GpuProcess) -> bool:
        if is_own(process):
            return False
        # A process that has a name was seen; with nothing to hold it against, it may be the server.
        return bool((container or pids) and process.name)

    def held(which: Callable[[GpuProcess], bool]) -> float:
        return min(sum(max(process.used_mib or 0.0, 0.0) for process in gpu.processes if which(process)), taken)

    own = [process.used_mib for process in gpu.processes if is_own(process)]
    foreign = held(is_foreign)
    if own and None not in own:
        return held(is_own), taken - held(is_own), True
    all_foreign = (container or pids) and all(is_foreign(process) for process in gpu.processes)
    if not own and all_foreign and taken - foreign <= nobodys_mib(gpu.reserved_mib):
        return 0.0, taken, True
    return taken - foreign, foreign, False
