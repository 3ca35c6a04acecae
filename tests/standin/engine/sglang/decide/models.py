"""The model that the stand-in pretends to load: a known shape, or what a mounted `config.json` says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from sgdoctor.engines.sglang.memory.known import known_shapes
from sgdoctor.engines.sglang.memory.shape import ModelShape, shape_of
from sgdoctor.engines.sglang.memory.weights import WeightsError, weights_of

HYBRID: Final = "Qwen3_5ForConditionalGeneration"
MIXTURE: Final = "Qwen3_5MoeForConditionalGeneration"
HALF: Final = frozenset({"half", "float16"})


@dataclass(frozen=True, slots=True)
class Model:
    """What is behind a model path.

    Attributes:
        shape: what decides on memory.
        weights_gib: what its weights take; None if there are none.
        dtype: of its configuration.
        quantisation: method of its checkpoint; None for an unquantised one.
        model_type: of its configuration.
        config: its `config.json`; empty for a known model.
    """

    shape: ModelShape
    weights_gib: float | None
    dtype: str = "bfloat16"
    quantisation: str | None = None
    model_type: str = "qwen3"
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def architecture(self) -> str:
        """Name of the model class."""
        return self.shape.architecture or "Qwen3ForCausalLM"

    @property
    def gated_delta(self) -> bool:
        """Whether it has layers of Gated DeltaNet."""
        return self.shape.hybrid and self.model_type.startswith(("qwen3_5", "qwen3_next"))

    @property
    def wrong_layers(self) -> tuple[int, int] | None:
        """Number of layers and length of the list of them, where the check of transformers refuses the two."""
        # The stand-in for transformers, with what start scripts and start-up patches made of it.
        configs: Any = import_module("transformers.configuration_utils")
        for part in (self.config, self.config.get("text_config") or {}):
            try:
                configs.PreTrainedConfig(part).validate_layer_type()
            except ValueError:
                return part["num_hidden_layers"], len(part["layer_types"])
        return None


class ConfigError(ValueError):
    """A folder with a `config.json` that is missing, or is none; the argument is what is wrong with it."""


def _known(name: str, weights_gib: float, model_type: str, quantisation: str | None = None) -> Model:
    shape = next(shape for shape in known_shapes(None, name) if shape.taken_for)
    return Model(shape, weights_gib, quantisation=quantisation, model_type=model_type)


KNOWN: Final[Mapping[str, Model]] = {
    "qwen3.6-27b": _known("qwen3.6-27b", 19.05, "qwen3_5", "compressed-tensors"),
    "qwen3.6-35b-a3b": _known("qwen3.6-35b-a3b", 18.68, "qwen3_5_moe", "compressed-tensors"),
    "qwen3-8b": _known("qwen3-8b", 15.28, "qwen3"),
    "qwen3-14b": _known("qwen3-14b", 27.51, "qwen3"),
    "qwen3-32b": _known("qwen3-32b", 61.03, "qwen3"),
}
"""Published shapes; the weights of the first two are those that reports from cards of 24 GiB give."""


def model_in(folder: Path, weights_gib: float | None) -> Model:
    """The model in a folder.

    Args:
        folder: with a `config.json`.
        weights_gib: what its weights take; None to read the headers of its safetensors files.

    Raises:
        ConfigError: `no config`, `broken json`.
        FileNotFoundError: there is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(folder)
    file = folder / "config.json"
    if not file.is_file():
        raise ConfigError("no config")
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ConfigError("broken json") from None
    if not isinstance(config, dict) or not config.get("model_type", "architectures" in config):
        raise ConfigError("no config")
    if weights_gib is None:
        try:
            weights_gib = weights_of(folder)
        except WeightsError:
            weights_gib = None
    text = config.get("text_config") or {}
    dtype = text.get("dtype") or text.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype")
    quantisation = config.get("quantization_config") or text.get("quantization_config") or {}
    return Model(
        shape=shape_of(config),
        weights_gib=weights_gib,
        dtype=str(dtype or "bfloat16"),
        quantisation=quantisation.get("quant_method"),
        model_type=str(config.get("model_type") or text.get("model_type", "")).removesuffix("_text"),
        config=config,
    )
