"""Whether the quantised kernels take the dtype that the model runs in."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.engines.sglang.dtypes import BFLOAT16, FLOAT16, resolved_dtype
from sgdoctor.engines.sglang.quantisation import accepts, method_in_force
from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.chosen_cards import smallest_capability
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_RULE: Final = "SGL208"
_ONLY_HALF: Final = frozenset({"awq", "gptq"})
"""`get_supported_act_dtypes` of these two is float16 alone: srt/layers/quantization/awq, gptq (0.5.15)."""


class ModelDtype:
    """Holds ``--dtype`` against what the quantisation method can compute in."""

    id: ClassVar[str] = "model-dtype"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Dtype and quantisation", "数据类型与量化")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Nothing for models that are not quantised."""
        model = situation.model
        if model is None or model.config is None or model.quantisation is None:
            return
        asked = asked_by(situation.launch, situation.flags)
        flag, capability = asked.value("--quantization"), smallest_capability(situation)
        if flag is not None and not accepts(flag.lower(), model.quantisation):
            return
        method = method_in_force(flag, model.quantisation, capability)
        dtype = resolved_dtype(model.config, asked.value("--dtype"), situation.version, capability)
        if dtype is None:
            return
        if method not in _ONLY_HALF or dtype == FLOAT16:
            yield Finding(Status.PASS, Text(f"{method} computes in {dtype}", f"{method} 支持 {dtype}"))
            return
        drops_flag = flag == method and (capability is None or capability >= 80) and dtype == BFLOAT16
        change = Change("flag.unset", "--quantization") if drops_flag else Change("flag.set", "--dtype", FLOAT16)
        yield Finding(
            Status.FAIL,
            Text(f"{method} computes in float16 only, not in {dtype}", f"{method} 只支持 float16，不支持 {dtype}"),
            model.quantisation.label,
            asked.where("--dtype") or asked.where("--quantization"),
            _RULE,
            (change,),
            Text(
                "Without `--quantization` SGLang takes the Marlin kernels, which compute in bfloat16 too.",
                "不写 `--quantization` 时 SGLang 会改用 Marlin 内核，同样支持 bfloat16。",
            )
            if drops_flag
            else None,
            "weights",
        )
