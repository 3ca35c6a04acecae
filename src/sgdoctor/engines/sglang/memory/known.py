"""Shapes of a few models that 24 GB cards often run, for logs without a ``config.json`` beside them.

Numbers of the published configurations. A shape is used only where the figures of the log agree with it.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from sgdoctor.engines.sglang.memory.shape import (
    AttentionShape,
    ExpertMap,
    ModelShape,
    PositionTable,
    StateShape,
    VisionShape,
)


class _Known(NamedTuple):
    """A model; heads of full attention keep ``width`` values, key and value together.

    Hybrid models have three layers of Gated DeltaNet before each layer of full attention: 16 key heads, heads of 128,
    a kernel of 4. They rotate a quarter of a head.
    """

    name: str
    pattern: str
    architecture: str
    layers: int
    kv_heads: int
    hidden: int
    intermediate: int
    context: int
    width: int = 256
    value_heads: int = 0
    vision: VisionShape | None = None
    experts: int = 0

    @property
    def shape(self) -> ModelShape:
        """What decides on memory."""
        linear = self.layers * 3 // 4 if self.value_heads else 0
        values = self.value_heads * 128
        return ModelShape(
            architecture=self.architecture,
            attention=AttentionShape(self.kv_heads, self.width, self.layers - linear),
            state=StateShape((values + 2 * 16 * 128) * 3 * linear, values * 128 * linear) if linear else None,
            hybrid=bool(linear),
            context=self.context,
            vision=self.vision,
            hidden=self.hidden,
            intermediate=self.intermediate,
            tables=(
                PositionTable(self.width // 2 // (4 if linear else 1), self.context),
                *((_ENCODER_TABLE,) if self.vision is not None else ()),
            ),
            experts=ExpertMap(self.layers, self.experts) if self.experts else None,
            taken_for=self.name,
        )


_VISION: Final = VisionShape(24, 1152)
_ENCODER_TABLE: Final = PositionTable(1152 // 16 // 2, 8192)
_MODELS: Final = (
    _Known(
        name="Qwen3.6-27B",
        pattern=r"qwen-?3\.[56]-27b",
        architecture="Qwen3_5ForConditionalGeneration",
        layers=64,
        kv_heads=4,
        hidden=5120,
        intermediate=17408,
        context=262144,
        width=512,
        value_heads=48,
        vision=_VISION,
    ),
    _Known(
        name="Qwen3.6-35B-A3B",
        pattern=r"qwen-?3\.[56]-35b-a3b",
        architecture="Qwen3_5MoeForConditionalGeneration",
        layers=40,
        kv_heads=2,
        hidden=2048,
        intermediate=4608,
        context=262144,
        width=512,
        value_heads=32,
        vision=_VISION,
        experts=256,
    ),
    _Known(
        name="Qwen3-Next-80B-A3B",
        pattern=r"qwen3-next-80b-a3b",
        architecture="Qwen3NextForCausalLM",
        layers=48,
        kv_heads=2,
        hidden=2048,
        intermediate=5632,
        context=262144,
        width=512,
        value_heads=32,
        experts=512,
    ),
    _Known("Qwen3-8B", r"qwen3-8b", "Qwen3ForCausalLM", 36, 8, 4096, 12288, 40960),
    _Known("Qwen3-14B", r"qwen3-14b", "Qwen3ForCausalLM", 40, 8, 5120, 17408, 40960),
    _Known("Qwen3-32B", r"qwen3-32b", "Qwen3ForCausalLM", 64, 8, 5120, 25600, 40960),
    _Known("Qwen3-30B-A3B", r"qwen3-30b-a3b", "Qwen3MoeForCausalLM", 48, 4, 2048, 6144, 40960, experts=128),
    _Known("Llama-3.1-8B", r"llama-3\.1-8b", "LlamaForCausalLM", 32, 8, 4096, 14336, 131072),
    _Known("Llama-3.1-70B", r"llama-3\.[13]-70b", "LlamaForCausalLM", 80, 8, 8192, 28672, 131072),
)


def known_shapes(architecture: str | None, model_path: str | None) -> Iterator[ModelShape]:
    """Shapes that may be meant: those of the name first, then hybrid ones of the same architecture.

    Args:
        architecture: as the log names it.
        model_path: folder or repository of the model.
    """
    name = (model_path or "").lower()
    possible = [one for one in _MODELS if architecture in (None, one.architecture)]
    named = [one for one in possible if re.search(one.pattern, name)]
    yield from (one.shape for one in named)
    if architecture is not None:
        yield from (one.shape for one in possible if one not in named and one.value_heads)
