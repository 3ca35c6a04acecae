"""What the memory model says of a launch on a card."""

from dataclasses import dataclass

from sgdoctor.texts import Text


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
        slots: of the state cache; None for a model without one.
        slots_needed: slots that one request takes.
        slot_mib: size of one slot in MiB.
        state_gib: the state cache, its spare slot included.
        kv_tokens: capacity of the KV cache.
        kv_gib: its size.
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
    slots: int | None = None
    slots_needed: int | None = None
    slot_mib: float | None = None
    state_gib: float | None = None
    kv_tokens: int | None = None
    kv_gib: float | None = None
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
