"""What the solver starts from: the launch that is meant, the numbers of the last attempt, and how that one ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.engines.base import Fact
from sgdoctor.engines.sglang.memory.derived import lacking_gib
from sgdoctor.engines.sglang.memory.logged import start_of
from sgdoctor.engines.sglang.memory.predict import Start
from sgdoctor.engines.sglang.memory.settings import Settings, settings_of_arguments

OUT_OF_MEMORY: Final = frozenset({"SGL412", "SGL413", "SGL414", "SGL415", "SGL416", "SGL418", "SGL420"})
"""Rules of allocations that failed once the pools were being made or later."""
KV_FULL: Final = frozenset({"SGL431", "SGL432", "SGL433"})
"""Rules of a KV cache that is full while requests run."""


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt of which the log is known.

    Attributes:
        settings: the flags that it ran under.
        fraction: the static fraction in force; None if unknown.
        rule: of its root cause; None if nothing was wrong.
        lacking_gib: what the allocation that failed had too little; 0 if unknown.
    """

    settings: Settings
    fraction: float | None = None
    rule: str | None = None
    lacking_gib: float = 0.0

    @property
    def out_of_memory(self) -> bool:
        """Whether an allocation outside the pools failed: a lower fraction leaves more for it."""
        return self.rule in OUT_OF_MEMORY


@dataclass(frozen=True, slots=True)
class Situation:
    """What the solver starts from.

    Attributes:
        start: the launch that is meant, on its card.
        tried: the attempt of the log; None without a log.
        draft_gib: part of the weights that a draft model takes.
        capability: of the card: 86 for an RTX 3090, 89 for a 4090; None if unknown.
    """

    start: Start
    tried: Tried | None = None
    draft_gib: float = 0.0
    capability: int | None = None

    @property
    def wanted_context(self) -> int | None:
        """The context that the user asked for; None where it is the one of the model, which hardly anybody needs."""
        return self.start.settings.context


def situation_of(
    facts: Mapping[str, Fact],
    flags: Mapping[str, Any] | None = None,
    *,
    rule: str | None = None,
    config: Mapping[str, Any] | None = None,
    weights_gib: float | None = None,
    card_mib: float | None = None,
    capability: int | None = None,
    version: str | None = None,
) -> Situation | None:
    """The situation after one attempt.

    Args:
        facts: of the attempt; empty without a log.
        flags: of the launch that is to be changed, value by flag with its dashes (True or None for a switch); None for
            the arguments that the log lists.
        rule: of the root cause of the attempt; None if nothing was wrong.
        config: the model's ``config.json``, where it is at hand.
        weights_gib: size of the weights in GiB, used where the log does not tell it.
        card_mib: memory of the card as ``nvidia-smi`` shows it, in MiB.
        capability: of the card, such as 86.
        version: of SGLang, such as the tag of the image; None for the one that the log tells.

    Returns:
        None where the free memory or the weights are not known.
    """
    start = start_of(facts, flags, config=config, weights_gib=weights_gib, card_mib=card_mib, version=version)
    if start is None:
        return None

    def value(name: str) -> Any:
        fact = facts.get(name)
        return None if fact is None else fact.value

    tried = None
    if facts:
        logged = settings_of_arguments(lambda name: value(f"args.{name}"))
        fraction = logged.fraction if logged.fraction is not None else start.settings.fraction
        tried = Tried(logged if logged.fraction is not None else start.settings, fraction, rule, lacking_gib(value))
    return Situation(
        start,
        tried,
        draft_gib=value("draft_weights_gib") or 0.0,
        capability=capability,
    )
