"""The memory of the card that a launch gets: what its start would do with it."""

import re
from dataclasses import dataclass
from typing import Final

from sgdoctor.engines.sglang.dtypes import resolved_dtype
from sgdoctor.engines.sglang.memory.pools import GIB
from sgdoctor.engines.sglang.memory.predict import Card, Start
from sgdoctor.engines.sglang.memory.settings import settings_of_flags
from sgdoctor.engines.sglang.memory.shape import shape_of
from sgdoctor.fixes.memory.situation import Situation as MemorySituation
from sgdoctor.fixes.memory.solution import Solution
from sgdoctor.fixes.memory.solver import solve
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.chosen_cards import free_before_weights_gib, fullest_card, smallest_capability
from sgdoctor.preflight.model import CardFacts, Situation
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.texts import Text

_MTP: Final = re.compile(r"(?:^|\.)mtp\.")
_LAYER: Final = re.compile(r"model\.layers\.(\d{1,4})\.")
_ALGORITHM: Final = "--speculative-algorithm"
_OFFLOAD: Final = "--cpu-offload-gb"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a start would do with the memory of its card.

    Attributes:
        card: the fullest of those that the launch gets.
        start: everything that decides on its memory.
        solution: what the solver says of it.
    """

    card: CardFacts
    start: Start
    solution: Solution


def forecast(situation: Situation) -> Forecast | Text | None:
    """What the start would do; why that cannot be said; None where there is nothing to be started."""
    launch, model = situation.launch, situation.model
    if launch is None or not launch.argv or launch.engine != "sglang":
        return None
    if model is None:
        return situation.model_reason or Text("there is no model to look at", "没有可检查的模型")
    card = fullest_card(situation)
    if card is None:
        return situation.host.cards_reason or Text("no card is known", "未知显卡")
    asked = asked_by(launch, situation.flags)
    weights = loaded_gib(model, asked, situation.version, smallest_capability(situation))
    if isinstance(weights, Text):
        return weights
    if model.config is None:
        return Text("without config.json the caches cannot be computed", "没有 config.json，无法计算缓存大小")
    settings = settings_of_flags(asked.values())
    start = Start(
        shape_of(model.config),
        settings,
        Card(free_before_weights_gib(card), card.total_mib),
        weights / (settings.tp * settings.pp),
        situation.version,
    )
    return Forecast(card, start, solve(MemorySituation(start, capability=card.sm)))


def loaded_gib(model: ModelFolder, asked: Asked, version: str | None, capability: int | None) -> float | Text:
    """What the weights take once they are loaded, over all cards, in GiB; or why that is not known.

    Weights of four bytes are loaded in two; layers for multi-token prediction only with speculative decoding.
    """
    if asked.has(_OFFLOAD):
        return Text("a part of the weights stays in RAM", "部分权重留在内存中")
    if asked.value("--quantization") and model.quantisation is None and not model.gguf:
        return Text(
            "the weights are quantised while they are loaded, so their size is not known",
            "权重在加载时才量化，大小未知",
        )
    whole = model.weights_gib
    if whole is None:
        return Text("the weight files are not whole", "权重文件不完整")
    dtype = resolved_dtype(model.config or {}, asked.value("--dtype"), version, capability)
    speculates = asked.has(_ALGORITHM)
    layers = model.settings.get("num_hidden_layers")
    saved = 0.0
    for shard in model.used_shards:
        for name, tensor in shard.header.tensors.items() if shard.header is not None else ():
            size = tensor.end - tensor.begin
            if not speculates and (_MTP.search(name) or _is_behind(name, layers)):
                saved += size
            elif tensor.dtype == "F32" and dtype != "float32":
                saved += size / 2
    return whole - saved / GIB


def _is_behind(name: str, layers: object) -> bool:
    """Whether a tensor is of a layer behind the last one that counts, where DeepSeek and GLM predict tokens."""
    found = _LAYER.match(name)
    return found is not None and isinstance(layers, int) and int(found[1]) >= layers
