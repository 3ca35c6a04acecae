"""Which of the cards of a host a launch gets, and sees."""

from collections.abc import Sequence
from typing import Final

from sgdoctor.launch.model import Gpus, Launch
from sgdoctor.preflight.model import CardFacts, HostFacts

_ALL: Final = ("all", "")
_NONE: Final = ("none", "void")


def cards_for(launch: Launch | None, host: HostFacts, image_env: str | None = None) -> tuple[CardFacts, ...]:
    """The cards that an engine sees, as its own number 0, 1 and so on; none where it sees none.

    Args:
        launch: which; None for all cards of the host.
        host: with its cards, in NVML's order; CUDA counts alike where the cards are alike.
        image_env: ``NVIDIA_VISIBLE_DEVICES`` of the image, which counts where the launch says nothing.
    """
    if launch is None:
        return host.cards
    given = host.cards if launch.image is None else _given(launch, host, image_env)
    return _picked(given, launch.env.get("CUDA_VISIBLE_DEVICES"))


def _given(launch: Launch, host: HostFacts, image_env: str | None) -> tuple[CardFacts, ...]:
    """The cards that are passed into the container."""
    gpus = launch.gpus or Gpus()
    if gpus.device_ids:
        return _named(host.cards, gpus.device_ids)
    if gpus.count is not None and gpus.count > 0:
        return host.cards[: gpus.count]
    if gpus.count is not None and gpus.count < 0:
        return host.cards
    runtime = gpus.runtime or (host.docker or {}).get("DefaultRuntime")
    if runtime == "nvidia":
        visible = launch.env.get("NVIDIA_VISIBLE_DEVICES", image_env)
        if visible is None or visible.strip() in _ALL:
            return host.cards
        return () if visible.strip() in _NONE else _named(host.cards, visible.split(","))
    return ()


def _named(cards: Sequence[CardFacts], names: Sequence[str]) -> tuple[CardFacts, ...]:
    """Cards by index, by the beginning of their UUID, or as devices of CDI (``nvidia.com/gpu=0``)."""
    found = []
    for name in (name.strip().rpartition("=")[2] for name in names):
        if name == "all":
            return tuple(cards)
        found += [
            card
            for card in cards
            if (name.isdecimal() and card.number == int(name))
            or (not name.isdecimal() and name and card.uuid.lower().startswith(name.lower()))
        ]
    return tuple(found)


def _picked(cards: Sequence[CardFacts], visible: str | None) -> tuple[CardFacts, ...]:
    """Of the cards inside those that CUDA is told to see; it stops at the first that does not exist."""
    if visible is None:
        return tuple(cards)
    picked: list[CardFacts] = []
    for name in (name.strip() for name in visible.split(",")):
        if name.isdecimal() and int(name) < len(cards):
            picked.append(cards[int(name)])
        elif name and not name.isdecimal() and (uuid := _named(cards, (name,))):
            picked += uuid[:1]
        else:
            break
    return tuple(picked)
