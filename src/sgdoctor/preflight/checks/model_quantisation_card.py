"""Whether the card is new enough for the quantisation."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.engines.sglang.quantisation import method_in_force, minimum_capability
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.chosen_cards import smallest_capability
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_TOO_OLD: Final = "SGL320"
_NVFP4: Final = "SGL321"
_FP8: Final = "SGL322"
_NATIVE_FP8: Final = 89
_NATIVE_FP4: Final = 100


class ModelQuantisationCard:
    """Holds the compute capability of the card against the least that the method takes."""

    id: ClassVar[str] = "model-quantisation-card"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Quantisation on this card", "此卡上的量化")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Too old, or new enough only for kernels that unpack the weights first."""
        model = situation.model
        asked = asked_by(situation.launch, situation.flags)
        flag = asked.value("--quantization")
        own = model.quantisation if model is not None else None
        if model is None or (own is None and flag is None):
            return
        capability = smallest_capability(situation)
        method = method_in_force(flag.lower() if flag else None, own, capability)
        if method is None:
            return
        if capability is None:
            yield Finding(Status.SKIPPED, Text("no card is known", "未知显卡"), method)
            return
        needed = minimum_capability(method, own, situation.version)
        label = own.label if own is not None else method
        evidence = f"{label}: sm{needed}, card: sm{capability}"
        if needed is not None and capability < needed:
            nvfp4 = own is not None and own.nvfp4
            yield Finding(
                Status.FAIL,
                Text(
                    f"{label} needs a card of compute capability {needed / 10:.1f}, this one has {capability / 10:.1f}",
                    f"{label} 需要计算能力 {needed / 10:.1f} 的显卡，当前为 {capability / 10:.1f}",
                ),
                evidence,
                asked.where("--quantization"),
                _NVFP4 if nvfp4 else _FP8 if "fp8" in method else _TOO_OLD,
                detail=Text(
                    "Take a checkpoint in a format for this card: AWQ or GPTQ of 4 bits, or compressed-tensors W4A16.",
                    "请换用适合此显卡的量化格式：4 位 AWQ、GPTQ，或 compressed-tensors W4A16。",
                ),
                phase="weights",
            )
            return
        native = _NATIVE_FP4 if own is not None and own.nvfp4 else _NATIVE_FP8 if "fp8" in label.lower() else 0
        if capability < native:
            title = Text(
                f"{label} works on this card, unpacked by Marlin: it saves memory, not time",
                f"{label} 在此显卡上由 Marlin 内核解包运行：节省显存，但不加速",
            )
        else:
            title = Text(f"{label} works on this card", f"此显卡支持 {label}")
        yield Finding(Status.PASS, title, evidence if needed is not None else f"card: sm{capability}")
