"""Versions of packages beside the engine, as far as the image or its release says."""

from sgdoctor.patches.versions import pinned_transformers
from sgdoctor.preflight.model import Situation


def transformers_version(situation: Situation) -> str | None:
    """The transformers in the image; what the release of SGLang pins, where the image was not read."""
    image = situation.image
    read = image.packages.get("transformers") if image is not None else None
    return read or pinned_transformers(situation.version)
