"""Files that a launch names, where they lie on this machine: the model, a launch script."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.memory.weights import WeightsError, weights_of
from sgdoctor.fixes.solving import Known
from sgdoctor.gpu.model import Gpu
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.host_paths import host_path
from sgdoctor.launch.model import FlagTable, Launch

_LARGEST: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The folder of the model.

    Attributes:
        inside: its absolute path as the engine sees it.
        here: the same folder on this machine.
    """

    inside: str
    here: Path

    @property
    def config(self) -> bytes | None:
        """Content of ``config.json``; None if there is none."""
        return _content(self.here / "config.json")

    def known(self) -> Known:
        """What the files say, as far as they can be read."""
        weights: float | None = None
        with suppress(WeightsError, OSError):
            weights = weights_of(self.here)
        config: Any = None
        with suppress(ValueError):
            config = json.loads(self.config or b"null")
        return Known(config if isinstance(config, dict) else None, weights)


def model_folder(launch: Launch, flags: FlagTable, beside: Path) -> ModelFolder | None:
    """The model of a launch; None where it is a name on a hub, or out of reach.

    Args:
        launch: which.
        flags: of the engine's version.
        beside: folder that relative paths on the host start from.
    """
    given = {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}
    values = given.get("--model-path")
    here = host_path(launch, values[-1], beside) if values else None
    return ModelFolder(values[-1], here) if values and here is not None and here.is_dir() else None


def launch_script(launch: Launch, beside: Path) -> tuple[str, Path] | None:
    """The Python script that starts the engine: its path inside, and on this machine; None if there is none."""
    for word in launch.argv[: launch.flags_at]:
        here = host_path(launch, word, beside) if word.endswith(".py") else None
        if here is not None and here.is_file():
            return word, here
    return None


def script_text(path: Path) -> str:
    """Content of a script; empty where it cannot be read."""
    return (_content(path) or b"").decode("utf-8", "replace")


def card_of(launch: Launch) -> Gpu | None:
    """The GPU of this machine that a launch gets, the smallest of several; None where none can be read."""
    from sgdoctor.gpu.source import best_source

    source = best_source()
    try:
        return smallest_of(launch, source.read().gpus)
    finally:
        source.close()


def smallest_of(launch: Launch, gpus: Sequence[Gpu]) -> Gpu | None:
    """The smallest of the GPUs that a launch asks for; of all of them where it names none."""
    named = launch.gpus.device_ids if launch.gpus is not None else ()
    chosen = [gpu for gpu in gpus if not named or str(gpu.number) in named or _has_uuid(gpu, named)]
    return min(chosen, key=lambda gpu: gpu.total_mib or 0.0, default=None)


def _has_uuid(gpu: Gpu, named: Sequence[str]) -> bool:
    # Docker takes the beginning of a UUID as well.
    return any(one.startswith("GPU-") and gpu.uuid.startswith(one) for one in named)


def _content(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST) if os.fstat(file.fileno()).st_size <= _LARGEST else None
    except OSError:
        return None
