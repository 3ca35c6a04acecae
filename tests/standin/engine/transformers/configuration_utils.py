"""The check of layer lists, which start scripts and start-up patches replace."""

from collections.abc import Mapping
from typing import Any


class PreTrainedConfig:
    """A configuration with the fields of a `config.json`."""

    model_type = ""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)

    def validate_layer_type(self) -> None:
        """Compare the length of the list with the number of layers.

        Raises:
            ValueError: they differ.
        """
        layers, kinds = getattr(self, "num_hidden_layers", None), getattr(self, "layer_types", None)
        if isinstance(kinds, list) and isinstance(layers, int) and len(kinds) != layers:
            raise ValueError(
                f"`num_hidden_layers` ({layers}) must be equal to the number of `layer_types` ({len(kinds)})"
            )


PretrainedConfig = PreTrainedConfig
