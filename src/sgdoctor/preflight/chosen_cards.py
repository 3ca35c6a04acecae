"""The cards that a launch gets, and what the engine would find free on them."""

from typing import Final

from sgdoctor.preflight.cards import idle_mib
from sgdoctor.preflight.model import CardFacts, Situation

_HELD_MIB: Final = 0.78 * 1024
"""Held by driver and CUDA context once the engine has started: seen on a 3090 (24 GiB) and, 0.68 GiB, on an H200."""


def chosen_cards(situation: Situation) -> tuple[CardFacts, ...]:
    """The cards that the launch asks for; of a simulated machine, or without names, all."""
    cards, launch = situation.host.cards, situation.launch
    named = launch.gpus.device_ids if launch is not None and launch.gpus is not None else ()
    if not named or situation.host.simulated:
        return cards
    return tuple(card for card in cards if any(_is_named(card, name) for name in named))


def smallest_capability(situation: Situation) -> int | None:
    """The compute capability, times ten, of the oldest card that the launch gets; None if unknown."""
    known = [card.sm for card in chosen_cards(situation)]
    return None if not known or None in known else min(one for one in known if one is not None)


def fullest_card(situation: Situation) -> CardFacts | None:
    """The card with the least free memory among those that the launch gets."""
    return min(chosen_cards(situation), key=lambda card: card.free_mib, default=None)


def free_before_weights_gib(card: CardFacts) -> float:
    """What the engine finds free before it loads weights ("Load weight begin. avail mem"), in GiB."""
    others = max(0.0, idle_mib(card.total_mib) - card.free_mib)
    return (card.total_mib - others - _HELD_MIB) / 1024


def _is_named(card: CardFacts, name: str) -> bool:
    return name == str(card.number) or (name.startswith("GPU-") and card.uuid.startswith(name))
