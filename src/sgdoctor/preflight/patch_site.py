"""Where a patch of a launch has to work: in a container with mounts, or in a process that sees this machine."""

import os
from typing import Final

from sgdoctor.launch.model import Launch, Origin
from sgdoctor.patches.model import PatchSite
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Situation
from sgdoctor.preflight.models.folder import CONFIG
from sgdoctor.preflight.versions import transformers_version

_FOLDER: Final = "sgdoctor-patches"


def patch_site(situation: Situation, launch: Launch) -> PatchSite:
    """What is known of it."""
    model = situation.model
    document = model.documents.get(CONFIG) if model is not None else None
    bare = launch.image is None
    asked = asked_by(launch, situation.flags)
    place = None if model is None else str(model.here.absolute()) if bare else model.path.rstrip("/")
    return PatchSite(
        # Docker takes only absolute paths for a bind mount; Compose starts from the folder of its file.
        folder=f"./{_FOLDER}" if launch.origin is Origin.COMPOSE else str(situation.beside.absolute() / _FOLDER),
        config=document.content if document is not None else None,
        config_path=f"{place}/{CONFIG}" if place is not None else None,
        pythonpath=launch.env.get("PYTHONPATH", os.environ.get("PYTHONPATH") if bare else None),
        bare=bare,
        # Without a name of its own a server is called as the path of its model (sglang/srt/server_args.py, 0.5.15).
        serves_as=asked.value("--model-path") if bare and not asked.has("--served-model-name") else None,
        sglang=situation.version,
        transformers=transformers_version(situation),
        model_type=(model.model_type or None) if model is not None else None,
    )
