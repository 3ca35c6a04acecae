"""Failures that would come next: no log shows them yet, and one relaunch is to be enough."""

from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.fixes.model import Basis, Step
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import FlagTable, Launch
from sgdoctor.texts import Text

_CONV_DTYPE: Final = "SGLANG_MAMBA_CONV_DTYPE"
_HALF: Final = frozenset({"float16", "half", "torch.float16"})
_TRACKING: Final = frozenset({"extra_buffer", "extra_buffer_lazy"})
_DTYPE_RULE: Final = "SGL201"
# A state of float16 beside a model of float16 is right; so is a model that was asked to run in another dtype.
_DTYPE: Final = Step(
    id="dtype-bfloat16",
    changes=(Change("flag.set", "--dtype", "bfloat16"),),
    basis=Basis.PREDICTED,
    title=Text("Start with `--dtype bfloat16`.", "启动时加上 `--dtype bfloat16`。"),
    why=Text(
        "The model runs in float16 and its conv state in bfloat16: the first prompt would fail with "
        "`Index put requires the source and destination dtypes match`.",
        "模型以 float16 运行，而 conv 状态为 bfloat16：第一个输入就会以 "
        "`Index put requires the source and destination dtypes match` 失败。",
    ),
    effect=Text(
        "Same memory, same speed on cards from the RTX 30 series on.", "RTX 30 系及更新的显卡上显存与速度不变。"
    ),
    rule=_DTYPE_RULE,
)


def predicted_steps(verdict: Verdict | None, launch: Launch, flags: FlagTable) -> list[Step]:
    """The steps against failures that the facts of an attempt foretell, memory apart.

    Args:
        verdict: on the attempt.
        launch: as it is planned so far.
        flags: of the engine's version.
    """
    if verdict is None or verdict.state is State.HEALTHY:
        return []
    facts = {name: fact.value for name, fact in verdict.facts.items()}
    return [_DTYPE] if _dtypes_clash(facts, launch, flags) else []


def _dtypes_clash(facts: Mapping[str, Any], launch: Launch, flags: FlagTable) -> bool:
    """Whether a hybrid model is going to write float16 into a state of bfloat16.

    SGLang 0.5.9 to 0.5.23 makes the conv state by ``SGLANG_MAMBA_CONV_DTYPE`` alone (srt/configs/mamba_utils.py) and
    does not convert (srt/layers/attention/linear/gdn_backend.py).
    """
    if not facts.get("is_hybrid") or facts.get("args.quantization") == "awq":
        return False
    if (launch.env.get(_CONV_DTYPE) or "") in _HALF:
        return False
    given = {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}
    dtype = (given.get("--dtype") or ("auto",))[-1]
    if dtype == "auto":
        # With `--kv-cache-dtype auto` the KV cache has the dtype of the model.
        dtype = str(facts.get("kv_dtype")) if facts.get("args.kv_cache_dtype") == "auto" else ""
    strategy = facts.get("args.mamba_radix_cache_strategy") or facts.get("args.mamba_scheduler_strategy")
    return dtype in _HALF and strategy in _TRACKING and not facts.get("args.disable_radix_cache")
