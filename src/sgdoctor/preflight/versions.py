"""Versions of packages beside the engine, as far as the image or its release says."""

from typing import Final

from sgdoctor.patches.versions import pinned_transformers, release
from sgdoctor.preflight.model import Situation

_TORCH: Final = (
    ((0, 5, 22), "2.14.1"),
    ((0, 5, 18), "2.13.0"),
    ((0, 5, 11), "2.11.0"),
    ((0, 5, 9), "2.9.1"),
    ((0, 5, 6), None),
    ((0, 5, 2), "2.8.0"),
)
"""Requires-Dist of the wheels of SGLang: the first version that pins each torch; None for those that were not read."""


def transformers_version(situation: Situation) -> str | None:
    """The transformers in the image; what the release of SGLang pins, where the image was not read."""
    image = situation.image
    read = image.packages.get("transformers") if image is not None else None
    return read or pinned_transformers(situation.version)


def pinned_torch(sglang: str | None) -> str | None:
    """The torch that a release of SGLang pins; None where that is not known."""
    numbers = release(sglang)
    return next((pin for first, pin in _TORCH if numbers >= first), None)
