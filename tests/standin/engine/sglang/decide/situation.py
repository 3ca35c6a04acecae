"""What the stand-in is told about the world: the card, what lies in the model folder, and what nobody can know."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from .models import KNOWN, ConfigError, Model, model_in

DEFAULT_VERSION: Final = "0.5.15"
_CARD: Final = re.compile(r"(?:(\d+)x)?([\d.]+)(MiB|GiB)(?::sm(\d+))?(?::([\d.]+)(?:GiB)?)?")
_CONTEXT_GIB: Final = 0.778
"""What driver, CUDA context and set-up take before "Load weight begin": 24 GiB leave 23.22 (two published reports)."""
_TORCH_SHARE: Final = 0.98
"""Of the memory that nvidia-smi names, what torch calls the total capacity (23.52 of 23.99 GiB on a 4090)."""


@dataclass(frozen=True, slots=True)
class Card:
    """The cards, all alike.

    Attributes:
        count: how many; 0 for a machine without.
        total_mib: memory of one as `nvidia-smi` shows it.
        sm: compute capability, 86 for 8.6.
        free_gib: what "Load weight begin" prints.
    """

    count: int
    total_mib: float
    sm: int
    free_gib: float

    @classmethod
    def read(cls, text: str) -> Self:
        """A card as in `24GiB:sm86`, `2x24564MiB:sm89` or, with its free memory, `24GiB:sm86:22.85GiB`; or `none`.

        Raises:
            ValueError: it is none of these.
        """
        if text == "none":
            return cls(0, 0, 0, 0)
        found = _CARD.fullmatch(text)
        if found is None:
            raise ValueError(f"STANDIN_CARD={text!r} is no card; one is written 24GiB:sm86")
        count, size, unit, sm, free = found.groups()
        mib = float(size) * (1024 if unit == "GiB" else 1)
        return cls(int(count or 1), mib, int(sm or 86), float(free) if free else mib / 1024 - _CONTEXT_GIB)

    @property
    def capacity_gib(self) -> float:
        """What torch calls the total capacity."""
        return self.total_mib / 1024 * _TORCH_SHARE

    @property
    def others_gib(self) -> float:
        """What other processes hold."""
        return max(self.total_mib / 1024 - _CONTEXT_GIB - self.free_gib, 0.0)


@dataclass(frozen=True, slots=True)
class Costs:
    """What no formula gives, in GiB: None where the default for the model holds.

    Attributes:
        graphs: four decode graphs (1, 2, 4 and 8 requests).
        prefill: working memory of 2048 tokens of prefill.
    """

    graphs: float | None = None
    prefill: float | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """One machine.

    Attributes:
        version: of the engine in the image.
        card: what it finds.
        models: the model behind each path; the empty path stands for all others.
        weights_gib: of a model in a folder; None to read its files.
        dtype: of the configuration, instead of the model's own.
        costs: what no formula gives.
        conv_dtype: of the convolution states, from the engine's environment.
        answer: what the model says, whatever it is asked; None for what it said when it was recorded.
    """

    version: str
    card: Card
    models: Mapping[str, Model]
    weights_gib: float | None = None
    dtype: str | None = None
    costs: Costs = Costs()
    conv_dtype: str = "bfloat16"
    answer: str | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """The situation that the environment tells.

        Raises:
            ValueError: a variable cannot be read; the message names it.
        """
        weights = _gib(environment, "STANDIN_WEIGHTS_GIB")
        return cls(
            version=environment.get("STANDIN_VERSION", DEFAULT_VERSION),
            card=Card.read(environment.get("STANDIN_CARD", "24GiB:sm86")),
            models=dict(_models(environment.get("STANDIN_MODEL", ""), weights)),
            weights_gib=weights,
            dtype=environment.get("STANDIN_DTYPE"),
            costs=Costs(_gib(environment, "STANDIN_GRAPHS_GIB"), _gib(environment, "STANDIN_PREFILL_GIB")),
            conv_dtype=environment.get("SGLANG_MAMBA_CONV_DTYPE", "bfloat16"),
            answer=environment.get("STANDIN_ANSWER"),
        )

    def model(self, path: str) -> Model:
        """The model behind a path; the mounted files count before a known model of this name.

        Raises:
            FileNotFoundError: there is nothing.
            ConfigError: its `config.json` is missing or none.
        """
        known = self.models.get(path) or self.models.get("")
        try:
            found = model_in(Path(path), self.weights_gib)
        except (FileNotFoundError, ConfigError) as error:
            if known is None or str(error) == "broken json":
                raise
            found = known
        if found.weights_gib is None and known is not None:
            found = replace(found, weights_gib=known.weights_gib)
        return found if self.dtype is None else replace(found, dtype=self.dtype)


def _models(text: str, weights: float | None) -> list[tuple[str, Model]]:
    models = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        path, _, name = entry.rpartition("=")
        if name.lower() not in KNOWN:
            raise ValueError(f"STANDIN_MODEL={name!r} is not known; known are {', '.join(KNOWN)}")
        model = KNOWN[name.lower()]
        models.append((path, model if weights is None else replace(model, weights_gib=weights)))
    return models


def _gib(environment: Mapping[str, str], name: str) -> float | None:
    text = environment.get(name)
    try:
        return None if text is None else float(text)
    except ValueError:
        raise ValueError(f"{name}={text!r} is no number") from None
