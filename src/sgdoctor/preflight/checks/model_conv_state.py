"""Whether a hybrid model writes its states in the dtype that they are kept in."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.engines.sglang.dtypes import BFLOAT16, FLOAT16, resolved_dtype
from sgdoctor.engines.sglang.memory.predict import strategy_in_force
from sgdoctor.engines.sglang.memory.settings import settings_of_flags
from sgdoctor.engines.sglang.memory.shape import shape_of
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.chosen_cards import smallest_capability
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_RULE: Final = "SGL201"
_VARIABLE: Final = "SGLANG_MAMBA_CONV_DTYPE"
_GDN: Final = ("qwen3_next", "qwen3_5", "intern_s2")
_TRACKING: Final = frozenset({"extra_buffer", "extra_buffer_lazy"})
_SINCE: Final = (0, 5, 9)
"""The oldest version that was read with this copy of states (srt/layers/attention/hybrid_linear_attn_backend.py)."""


class ModelConvState:
    """Compares the dtype of the model with that of its convolution states."""

    id: ClassVar[str] = "model-conv-state"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Dtype of the conv states", "卷积状态的数据类型")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Nothing for models without such states."""
        model, launch = situation.model, situation.launch
        if model is None or model.config is None or launch is None:
            return
        kind = str(model.settings.get("model_type") or model.model_type)
        asked = asked_by(launch, situation.flags)
        if not kind.startswith(_GDN):
            return
        # SGLang makes these states in this dtype whatever the model runs in: srt/configs/mamba_utils.py.
        state = (launch.env.get(_VARIABLE) or BFLOAT16).removeprefix("torch.")
        capability = smallest_capability(situation)
        dtype = resolved_dtype(model.config, asked.value("--dtype"), situation.version, capability)
        if dtype is None:
            return
        evidence = f"model {dtype}, conv state {state}"
        if dtype in (state, "float32"):
            yield Finding(Status.PASS, Text("it is that of the model", "与模型一致"), evidence)
            return
        settings = settings_of_flags(asked.values())
        strategy = strategy_in_force(shape_of(model.config), settings, situation.version)
        old = situation.version is not None and version_key(situation.version) < _SINCE
        if settings.radix_off or strategy not in _TRACKING or old:
            yield Finding(
                Status.WARN,
                Text(
                    f"the model runs in {dtype}, its conv states are {state}; this strategy does not copy between them",
                    f"模型以 {dtype} 运行，conv 状态为 {state}；当前策略不会在两者间写入",
                ),
                evidence,
                prevents=_RULE,
                changes=_cure(dtype, capability),
            )
            return
        yield Finding(
            Status.FAIL,
            Text(
                f"the model would run in {dtype} and write into conv states of {state}",
                f"模型将以 {dtype} 运行，却要写入 {state} 的 conv 状态",
            ),
            _reason(asked.value("--dtype"), evidence),
            asked.where("--dtype"),
            _RULE,
            _cure(dtype, capability),
            Text(
                "The first prompt ends with `Index put requires the source and destination dtypes match`.",
                "第一个请求就会以 `Index put requires the source and destination dtypes match` 失败。",
            ),
            "warmup",
        )


def _reason(flag: str | None, evidence: str) -> str:
    return f"{evidence} (--dtype {flag})" if flag else f"{evidence} (--dtype auto, by config.json)"


def _cure(dtype: str, capability: int | None) -> tuple[Change, ...]:
    if dtype == FLOAT16 and (capability is None or capability >= 80):
        return (Change("flag.set", "--dtype", BFLOAT16),)
    return (Change("env.set", _VARIABLE, dtype),)
