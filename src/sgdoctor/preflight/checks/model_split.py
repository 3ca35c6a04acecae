"""Whether the parts of a quantised model are as wide as the kernels need them."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.engines.sglang.memory.settings import settings_of_flags
from sgdoctor.engines.sglang.quantisation import COMPRESSED, method_in_force
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.chosen_cards import smallest_capability
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.texts import Text

_FLAG: Final = "--tp-size"
_MARLIN: Final = "SGL326"
_FP8_BLOCK: Final = "SGL327"
_MARLIN_METHODS: Final = frozenset({"awq_marlin", "gptq_marlin"})
_MOST_CARDS: Final = 4096
_TILE: Final = 128
"""``min_thread_k`` of Marlin (srt/layers/quantization/marlin_utils.py), and the usual block of FP8 scales."""
_EXPERTS: Final = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")


class ModelSplit:
    """The inner width of the layers by ``--tp-size``; whether it can be divided at all is said by ``command_split``."""

    id: ClassVar[str] = "model-split"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Division of the model", "模型切分")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Nothing for one card."""
        model = situation.model
        asked = asked_by(situation.launch, situation.flags)
        cards = settings_of_flags(asked.values()).tp
        if model is None or model.config is None or not 1 < cards <= _MOST_CARDS or asked.has("--enable-dp-attention"):
            return
        found = [*_widths(situation, model, cards, asked)]
        if found:
            yield from found
        elif isinstance(model.language.get("num_attention_heads"), int):
            title = Text(f"parts for {cards} cards fit the kernels", f"切成 {cards} 份后符合内核要求")
            yield Finding(Status.PASS, title, where=asked.where(_FLAG))


def _widths(situation: Situation, model: ModelFolder, cards: int, asked: Asked) -> Iterator[Finding]:
    """The inner width on one card against the tiles of the kernels; experts have kernels of their own."""
    width, own = model.language.get("intermediate_size"), model.quantisation
    if not isinstance(width, int) or own is None or any(model.language.get(name) for name in _EXPERTS):
        return
    flag = asked.value("--quantization")
    method = method_in_force(flag.lower() if flag else None, own, smallest_capability(situation))
    packed = method in _MARLIN_METHODS or (method == COMPRESSED and own.form == "pack-quantized")
    blocks = method == "fp8" and bool((model.config or {}).get("quantization_config", {}).get("weight_block_size"))
    if not (packed or blocks) or width % cards or width // cards % _TILE == 0:
        return
    yield Finding(
        Status.FAIL,
        Text(
            f"layers of {width} in {cards} parts do not divide into the kernel's tiles of {_TILE}",
            f"层宽 {width} 切成 {cards} 份后不能被内核分块 {_TILE} 整除",
        ),
        f"config.json: intermediate_size {width}; {own.label}",
        asked.where(_FLAG),
        _FP8_BLOCK if blocks else _MARLIN,
        detail=Text(
            "Use fewer cards for tensor parallelism, or split by layers with `--pp-size`.",
            "请减少张量并行的显卡数，或用 `--pp-size` 按层切分。",
        ),
        phase="weights",
    )
