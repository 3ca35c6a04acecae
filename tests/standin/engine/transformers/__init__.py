"""A stand-in for the parts of transformers that start scripts patch."""

from typing import Any

from .configuration_utils import PreTrainedConfig as PreTrainedConfig
from .configuration_utils import PretrainedConfig as PretrainedConfig

__version__ = "5.12.1"


class AutoConfig:
    """Types of models that are registered."""

    @staticmethod
    def register(model_type: str, config: Any, exist_ok: bool = False) -> None:
        """Accepts everything."""
