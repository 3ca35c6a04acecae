"""What the memory model says of a launch on a card."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from sgdoctor.texts import Text

_PRECISE: Final = 0.005
"""A count of tokens that is known within this share needs no range."""


@dataclass(frozen=True, slots=True)
class Range:
    """An amount of memory (GiB) that is known up to these bounds.

    Attributes:
        low: at least so much.
        high: at most so much; equal to ``low`` where it is known.
        reason: why it is not known better; None where it is known.
    """

    low: float
    high: float
    reason: Text | None = None

    @property
    def known(self) -> bool:
        """Whether both bounds say the same."""
        return self.low == self.high

    @property
    def expected(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def text(self) -> Text:
        """In GiB with two digits; beside an end below zero a dash would be read as a minus."""
        low, high = f"{self.low:.2f}", f"{self.high:.2f}"
        if low == high:
            return Text(low, low)
        if low.startswith("-"):
            return Text(f"{low} to {high}", f"{low} 到 {high}")
        return Text(f"{low}-{high}", f"{low}-{high}")

    def plus(self, other: "Range") -> "Range":
        """The sum; the reason of the wider one stays."""
        wider = max((self, other), key=lambda one: one.high - one.low)
        return Range(self.low + other.low, self.high + other.high, wider.reason)

    def less(self, other: "Range") -> "Range":
        """By how much this is more than ``other``, where what is unknown of both is the same."""
        low, high = sorted((self.low - other.low, self.high - other.high))
        return Range(low, high, self.reason if low != high else None)

    def taken_from(self, amount: float) -> "Range":
        """What is left of ``amount`` (GiB) without it."""
        return Range(amount - self.high, amount - self.low, self.reason)


class Bounds(NamedTuple):
    """Between which numbers a count is; equal where it is known."""

    low: int
    high: int


def known(amount: float) -> Range:
    """An amount that is known."""
    return Range(amount, amount)


@dataclass(frozen=True, slots=True)
class Failure:
    """How a start is expected to end.

    Attributes:
        rule: of the rule base, the one that the log would hit.
        message: the engine's message, with the numbers that it would print.
    """

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that works but will surprise.

    Attributes:
        id: stable name in kebab case.
        text: one or two sentences.
        rule: the rule that says the same of a log; None if there is none.
    """

    id: str
    text: Text
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a launch would do with the memory of a card; sizes in GiB, None where the inputs do not say.

    Attributes:
        fraction: the static fraction in force.
        fraction_is_default: whether SGLang chose it.
        rest_gib: memory for the pools; negative if the weights exceed the static share.
        rest_reason: why it is not known to the last byte; None where it is.
        slots: of the state cache; None for a model without one.
        slots_bounds: between which numbers the slots are.
        slots_needed: slots that one request takes.
        slot_mib: size of one slot in MiB.
        state_gib: the state cache, its spare slot included.
        kv_tokens: capacity of the KV cache.
        kv_tokens_bounds: between which numbers it is.
        kv_gib: its size, that of a pool for windows and of an index included.
        swa_tokens: capacity of the pool for layers that keep only a window; None for a model without one.
        max_running_requests: requests at once.
        context: tokens that a request may have by the settings; None if unknown.
        longest_request: tokens that one request can really have: the smaller of context and KV cache.
        left_after_pools_gib: free after "Memory pool end".
        after_pools_gib: what workspaces and graphs take in between.
        left_gib: free once graphs are captured, what the engine prints as ``available_gpu_mem``.
        activations_gib: what a prefill chunk needs of it.
        decode_graphs: batches that get a decode graph.
        prefill_graphs: chunks that get a prefill graph, in tokens.
        failure: how the start ends; None if nothing speaks against it.
        warnings: what works but will surprise.
    """

    fraction: float
    fraction_is_default: bool = False
    rest_gib: float | None = None
    rest_reason: Text | None = None
    slots: int | None = None
    slots_bounds: Bounds | None = None
    slots_needed: int | None = None
    slot_mib: float | None = None
    state_gib: float | None = None
    kv_tokens: int | None = None
    kv_tokens_bounds: Bounds | None = None
    kv_gib: float | None = None
    swa_tokens: int | None = None
    max_running_requests: int | None = None
    context: int | None = None
    longest_request: int | None = None
    left_after_pools_gib: Range | None = None
    after_pools_gib: Range | None = None
    left_gib: Range | None = None
    activations_gib: Range | None = None
    decode_graphs: tuple[int, ...] = ()
    prefill_graphs: tuple[int, ...] = ()
    failure: Failure | None = None
    warnings: tuple[Warned, ...] = ()

    @property
    def not_measured(self) -> tuple[Text, ...]:
        """What is a range here, one sentence each: until a start has measured it, or altogether."""
        said = []
        around, tokens = self.kv_tokens_bounds, self.kv_tokens
        if (
            around is not None
            and tokens
            and self.rest_reason is not None
            and around.high - around.low > tokens * _PRECISE
        ):
            low, high = f"{around.low:,}", f"{around.high:,}"
            said.append(
                Text(
                    f"the KV cache holds {low} to {high} tokens: {self.rest_reason.en}",
                    f"KV 缓存可容纳 {low} 到 {high} 个 token：{self.rest_reason.zh}",
                )
            )
        if self.left_gib is not None and self.left_gib.reason is not None:
            said.append(self.left_gib.reason)
        working = self.activations_gib
        if working is not None and working.reason is not None and self.left_gib is not None:
            size = working.text
            said.append(
                Text(
                    f"a long prompt takes {size.en} GiB of what stays free: {working.reason.en}",
                    f"长输入会临时占用剩余显存中的 {size.zh} GiB：{working.reason.zh}",
                )
            )
        return tuple(said)
