"""The model can be cut into as many equal parts as tensor parallelism asks for."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.launches.flags import number_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_EXPERTS: Final = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
# Layers with numbers of heads of their own.
_OWN_HEADS: Final = ("block_configs", "attention_other_setting", "num_attention_heads_per_layer")


class CommandSplit:
    """Heads and widths of the model fit ``--tp``."""

    id: ClassVar = "command-split"
    area: ClassVar = Area.COMMAND
    title: ClassVar = Text("Division among GPUs", "多卡切分")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Nothing for one GPU, or without the model's config."""
        launch, model = situation.launch, situation.model
        if launch is None or model is None or model.config is None or launch.engine != "sglang":
            return
        asked = asked_by(launch, situation.flags)
        parts = number_of(asked, "--tp-size") or 1
        # Attention groups each hold all heads that tensor parallelism leaves them (srt/layers/dp_attention.py).
        groups = (number_of(asked, "--dp-size") or 1) if asked.has("--enable-dp-attention") else 1
        if parts == 1:
            return
        found = list(_indivisible(model.settings, parts, max(1, parts // groups)))
        for title, evidence, rule in found:
            yield Finding(
                Status.FAIL,
                title,
                evidence=evidence,
                where=asked.where("--tp-size"),
                prevents=rule,
                changes=_smaller(model.settings, asked, parts),
                phase="weights",
            )
        if not found:
            yield Finding(Status.PASS, Text(f"it can be cut in {parts}", f"可以切成 {parts} 份"))


def _indivisible(settings: Mapping[str, Any], parts: int, attention: int) -> Iterator[tuple[Text, str, str]]:
    """Title, evidence and rule of each number that does not fit."""
    heads, shared, width = (
        value if isinstance(value := settings.get(name), int) and value > 0 else None
        for name in ("num_attention_heads", "num_key_value_heads", "intermediate_size")
    )
    # The models assert this without a word (srt/models/qwen2.py and its kin).
    if any(settings.get(name) for name in _OWN_HEADS):
        heads = shared = None
    if heads is not None and heads % attention:
        title = Text(
            f"{heads} attention heads cannot be divided among {attention} GPUs",
            f"{heads} 个注意力头无法平分给 {attention} 块 GPU",
        )
        yield title, f"num_attention_heads: {heads}", "SGL622"
    elif shared is not None and "kv_lora_rank" not in settings and (shared % attention and attention % shared):
        title = Text(
            f"{shared} KV heads cannot be divided among {attention} GPUs, nor repeated on them",
            f"{shared} 个 KV 头既不能平分给 {attention} 块 GPU，也不能整倍复制",
        )
        yield title, f"num_key_value_heads: {shared}", "SGL622"
    if width is not None and width % parts and not any(settings.get(name) for name in _EXPERTS):
        title = Text(
            f"a layer of width {width} cannot be divided among {parts} GPUs",
            f"宽度为 {width} 的层无法平分给 {parts} 块 GPU",
        )
        yield title, f"intermediate_size: {width}", "SGL621"


def _smaller(settings: Mapping[str, Any], asked: Asked, parts: int) -> tuple[Change, ...]:
    """The next smaller power of two that fits; with attention groups it would have to fit them, too."""
    if asked.has("--enable-dp-attention"):
        return ()
    # Powers of two: what other parts of a model ask for, too.
    powers = (one for one in range(parts - 1, 0, -1) if one & (one - 1) == 0)
    fitting = next(one for one in powers if not [*_indivisible(settings, one, one)])
    return (Change("flag.set", "--tp-size", str(fitting)),)
