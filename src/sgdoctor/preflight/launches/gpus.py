"""Which GPUs the engine of a launch sees: those that the container is given, less what CUDA is told to leave out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgdoctor.launch.model import Gpus, Launch
from sgdoctor.preflight.model import CardFacts, ImageFacts, Situation

_NOTHING = ("", "none", "void")


@dataclass(frozen=True, slots=True)
class SeenGpus:
    """What the engine sees.

    Attributes:
        by: what gives them: ``--gpus``, ``NVIDIA_VISIBLE_DEVICES``, ``the image``, ``the host``; empty for nothing.
        ids: as named on the host; None where all of them are given, or a number of them.
        given: how many the container gets, at most those of the host; None where that depends on what is not known.
        visible: positions in the container that CUDA_VISIBLE_DEVICES keeps; None without that variable.
        cards: of the host that the engine sees, in its order; None where that is not known.
        certain: whether it is known that GPUs come in.
        asked: the number of GPUs that is asked for; None where they are named, or all of them are asked for.
    """

    by: str = ""
    ids: tuple[str, ...] | None = None
    given: int | None = None
    visible: tuple[str, ...] | None = None
    cards: tuple[CardFacts, ...] | None = None
    certain: bool = True
    asked: int | None = None

    @property
    def count(self) -> int | None:
        """How many the engine sees; None where that is not known."""
        if self.visible is None:
            return self.given
        if self.given is None:
            return len(self.visible)
        kept = 0
        for one in self.visible:
            # CUDA stops at the first index that does not exist (CUDA C Programming Guide, environment variables).
            if one.isdecimal() and int(one) >= self.given:
                break
            kept += 1
        return kept


def seen_gpus(situation: Situation) -> SeenGpus:
    """The GPUs of the situation's launch."""
    launch = situation.launch
    if launch is None:
        return SeenGpus()
    host = situation.host.cards
    by, ids, count, certain = _given(situation, launch)
    # Cards that the user named instead of the host's have numbers of their own.
    numbered = bool(host) and not situation.host.simulated
    asked = count if ids is None and count != -1 else None
    given = len(ids) if ids is not None else asked if asked is not None else len(host) or None
    if asked and host:
        given = min(asked, len(host))
    cards: tuple[CardFacts, ...] | None = None
    if numbered and ids is not None:
        found = [card_of(one, host) for one in ids]
        cards = tuple(card for card in found if card is not None) if None not in found else None
    elif numbered and given is not None:
        cards = host[:given]
    visible = _visible(launch.env.get("CUDA_VISIBLE_DEVICES"))
    if cards is not None and visible is not None:
        kept = [int(one) for one in visible if one.isdecimal() and int(one) < len(cards)]
        cards = tuple(cards[one] for one in kept) if len(kept) == len(visible) else None
    return SeenGpus(by, ids, given, visible, cards, certain, asked)


def card_of(name: str, cards: Sequence[CardFacts]) -> CardFacts | None:
    """The card of an index or a UUID, which may be shortened; None where there is none."""
    if name.isdecimal():
        return next((card for card in cards if card.number == int(name)), None)
    return next((card for card in cards if card.uuid and card.uuid.startswith(name)), None)


def image_env(image: ImageFacts | None) -> dict[str, str] | None:
    """Variables that the image sets; None where it is not known."""
    config: Mapping[str, Any] | None = image.config if image is not None else None
    if config is None:
        return None
    entries = (config.get("Config") or {}).get("Env") or ()
    return {name: value for name, _, value in (str(entry).partition("=") for entry in entries)}


def _given(situation: Situation, launch: Launch) -> tuple[str, tuple[str, ...] | None, int | None, bool]:
    """What gives GPUs, their names or their number (-1 for all), and whether that is certain."""
    if launch.image is None:
        return "the host", None, -1, True
    gpus = launch.gpus or Gpus()
    by = "NVIDIA_VISIBLE_DEVICES" if gpus.from_env else "--gpus"
    if gpus.device_ids:
        return by, gpus.device_ids, None, True
    if gpus.count:
        return by, None, gpus.count, True
    default = str((situation.host.docker or {}).get("DefaultRuntime") or "")
    if not gpus.runtime and "nvidia" not in default:
        return "", None, 0, situation.host.docker is not None
    asked = launch.env.get("NVIDIA_VISIBLE_DEVICES")
    if asked is not None:
        return ("NVIDIA_VISIBLE_DEVICES", *_listed(asked), True)
    of_image = image_env(situation.image)
    if of_image is None:
        # nvidia/cuda, which the official images are built on, sets it to all.
        return "the image", None, -1, False
    return ("the image", *_listed(of_image.get("NVIDIA_VISIBLE_DEVICES", "")), True)


def _listed(value: str) -> tuple[tuple[str, ...] | None, int | None]:
    names = tuple(one.strip() for one in value.split(",") if one.strip() not in _NOTHING)
    return (None, -1) if "all" in names else (names, None)


def _visible(value: str | None) -> tuple[str, ...] | None:
    if value is None or "$" in value:
        return None
    names = tuple(one.strip() for one in value.split(","))
    return tuple(one for one in names if one not in ("", "-1", "NoDevFiles"))
