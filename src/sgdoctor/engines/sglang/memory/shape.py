"""What of a model decides on memory: bytes of the KV cache per token, size of a state slot, vision part, widths.

Read from ``config.json`` as srt/configs/model_config.py and srt/configs/mamba_utils.py (0.5.15) do. What a log or the
configuration does not determine stays None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from sgdoctor.engines.sglang.memory.sparse import SparseIndex, sparse_index
from sgdoctor.engines.sglang.memory.windows import WindowShape, global_names, modelled, window_layers, window_shape

_GDN: Final = ("qwen3_next", "qwen3_5", "intern_s2")
"""Model types (beginnings) with Gated DeltaNet layers: srt/configs/qwen3_next.py, qwen3_5.py."""
_KINDS: Final = {
    "mamba": "linear",
    "mamba2": "linear",
    "linear_attention": "linear",
    "attention": "full",
    "full_attention": "full",
    "sliding_attention": "sliding_attention",
    "chunked_attention": "sliding_attention",
}
_LARGEST: Final = 1 << 40
_LARGEST_FACTOR: Final = 1000
_MOST_LAYERS: Final = 10_000
"""Beyond any model: a number of a file from the internet must not decide how much is computed."""
_LATENT: Final = ("kv_lora_rank", "qk_rope_head_dim")
_LEFT_TO_THE_CLASS: Final[Mapping[str, Mapping[str, Any]]] = {
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 131072,
    },
}
"""Numbers that published configurations leave out, by model type: Gemma3TextConfig of transformers 4.50 to 5.12."""
_EXTRA_BUFFER: Final = frozenset(
    {
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "Qwen3NextForCausalLM",
        "InternS2PreviewForConditionalGeneration",
        "MiniCPMV4_6ForConditionalGeneration",
        "BailingMoeV2_5ForCausalLM",
        "FalconH1ForCausalLM",
        "GraniteMoeHybridForCausalLM",
        "NemotronHForCausalLM",
        "NemotronHPuzzleForCausalLM",
    }
)
"""Architectures for which ``auto`` becomes ``extra_buffer``: srt/arg_groups/overrides.py, 0.5.14 and 0.5.15."""
_QUARTER_TURNED: Final = 0.25
"""Share of a head that models with Gated DeltaNet rotate unless their configuration says otherwise (transformers)."""
_AS_CONFIGURED: Final = frozenset({"", "default", "mrope", "llama3"})
_STRETCHED: Final = frozenset({"linear", "dynamic"})
_STRETCHED_FROM_ORIGINAL: Final = frozenset({"yarn", "deepseek_yarn"})
"""Kinds of rotary embedding by how many positions their table begins with: srt/layers/rotary_embedding, 0.5.15."""
_MAPPED: Final = (
    *("Qwen2Moe", "Qwen3Moe", "Qwen3Next", "Qwen3VLMoe", "Qwen3_5Moe", "DeepseekV2", "DeepseekV3", "Glm4Moe"),
    *("GptOss", "BailingMoe", "MiniMaxM2", "LongcatFlash", "ExaoneMoE", "KimiK25"),
)
"""Architectures (beginnings) whose classes tell srt/eplb/expert_location.py how many experts they have, 0.5.15."""
_ENCODER_POSITIONS: Final = 8192
_ENCODERS: Final = ("Qwen3VL", "Qwen3_5", "Glm4v")
"""Architectures (beginnings) whose image encoder has a table of that many positions: srt/models/qwen3_vl.py, glm4v.py,
0.5.9 to 0.5.23."""


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """The KV cache of one token.

    Attributes:
        heads: KV heads of a layer, all cards together.
        width: values that one head keeps, key and value together; of a latent cache all that a layer keeps.
        layers: that keep a full KV cache; those that ``ModelShape.windows`` has are left out.
        latent: whether it is the compressed cache of MLA, which tensor parallelism does not divide.
    """

    heads: int
    width: int
    layers: int
    latent: bool = False

    def values(self, tp: int) -> int:
        """Values per token on one of ``tp`` cards; heads are repeated where there are fewer than cards."""
        return (1 if self.latent else max(1, self.heads // tp)) * self.width * self.layers


@dataclass(frozen=True, slots=True)
class StateShape:
    """One slot of a state cache, over all layers and cards.

    Attributes:
        conv_values: values of the convolution states, two bytes each unless the environment says otherwise.
        ssm_values: values of the recurrent states.
        ssm_bytes: bytes of each of those by the configuration.
    """

    conv_values: int
    ssm_values: int
    ssm_bytes: int = 4

    def slot_bytes(self, tp: int, ssm_bytes: int | None = None) -> float:
        """Bytes of one slot on one of ``tp`` cards."""
        return (self.conv_values * 2 + self.ssm_values * (ssm_bytes or self.ssm_bytes)) / tp


@dataclass(frozen=True, slots=True)
class VisionShape:
    """The vision part, as the default fraction weighs it."""

    layers: int = 24
    hidden: int = 1024


class PositionTable(NamedTuple):
    """Sines and cosines of a rotary embedding, four bytes each.

    Attributes:
        width: values of one position.
        positions: that it holds once the weights are loaded.
    """

    width: int
    positions: int


class ExpertMap(NamedTuple):
    """Where each expert of a mixture is, eight bytes for every pair of a layer's experts."""

    layers: int
    experts: int


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What of a model decides on memory.

    Attributes:
        architecture: name of the model class; None if unknown.
        attention: None if it is not determined, as for an architecture that is not understood.
        state: None for a model without state cache, or where its size is unknown.
        hybrid: whether the model has a state cache.
        context: longest context of the configuration, in tokens.
        vision: None for a model of text alone.
        hidden: width of the residual stream; None if unknown.
        intermediate: width of the widest part of a layer that one token passes; None if unknown.
        windows: layers that may get a pool of their own because they keep only a window; None without them.
        pooled: whether a log showed that pool; None where the version decides.
        sparse: the index of sparse latent attention; None without one.
        kv_bytes: bytes of one value of the KV cache without ``--kv-cache-dtype``.
        tables: of positions, one for each kind of rotary embedding; those that are not understood are left out.
        experts: the map of the experts; None for a model without one.
        taken_for: the model that it was taken for because its numbers agree; None if it was read.
    """

    architecture: str | None = None
    attention: AttentionShape | None = None
    state: StateShape | None = None
    hybrid: bool = False
    context: int | None = None
    vision: VisionShape | None = None
    hidden: int | None = None
    intermediate: int | None = None
    windows: WindowShape | None = None
    pooled: bool | None = None
    sparse: SparseIndex | None = None
    kv_bytes: int = 2
    tables: tuple[PositionTable, ...] = ()
    experts: ExpertMap | None = None
    taken_for: str | None = None

    @property
    def extra_buffer(self) -> bool:
        """Whether ``auto`` chooses the strategy ``extra_buffer`` from 0.5.14 on."""
        return self.architecture in _EXTRA_BUFFER


def shape_of(config: Mapping[str, Any]) -> ModelShape:
    """The shape of the model that a ``config.json`` describes.

    Args:
        config: the whole file; the language model may be nested in ``text_config`` or ``llm_config``.
    """
    nested = config.get("text_config") or config.get("llm_config")
    merged = {**config, **nested} if isinstance(nested, Mapping) else config
    text = _Fields({**_LEFT_TO_THE_CLASS.get(str(merged.get("model_type")), {}), **merged})
    names = config.get("architectures")
    architecture = names[0] if isinstance(names, Sequence) and names and isinstance(names[0], str) else None
    kinds = _layer_kinds(text)
    state = _state(text, sum(kind in {"linear", "both"} for kind in kinds))
    full = sum(kind in {"full", "both", "sliding_attention"} for kind in kinds)
    attention, windows = _windows(
        text, _attention(text, full, architecture), architecture, sliding="sliding_attention" in kinds
    )
    sparse = sparse_index(architecture, text, full) if attention is not None and attention.latent else None
    if text.has("index_head_dim") and sparse is None:
        attention = None
    vision = config.get("vision_config")
    return ModelShape(
        architecture=architecture,
        attention=attention,
        state=state,
        hybrid=any(kind in {"linear", "both"} for kind in kinds),
        context=text.whole("max_position_embeddings", "seq_length", "max_sequence_length", "model_max_length"),
        vision=_vision(vision) if isinstance(vision, Mapping) else None,
        hidden=text.whole("hidden_size"),
        intermediate=_intermediate(text),
        windows=windows,
        sparse=sparse,
        experts=_experts(architecture, text),
        tables=(*_text_table(text), *(_encoder_table(architecture, vision) if isinstance(vision, Mapping) else ())),
    )


class _Fields:
    """Typed access to the fields of a configuration."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def whole(self, *names: str) -> int | None:
        """The first of ``names`` that is a positive whole number."""
        for name in names:
            value = self._fields.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST:
                return value
        return None

    def share(self, *names: str) -> float | None:
        """The first of ``names`` that is a number above 0 and not above a thousand."""
        for name in names:
            value = self._fields.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LARGEST_FACTOR:
                return float(value)
        return None

    def word(self, name: str) -> str:
        value = self._fields.get(name)
        return value if isinstance(value, str) else ""

    def words(self, name: str) -> list[str]:
        value = self._fields.get(name)
        return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []

    def numbers(self, name: str) -> list[int]:
        value = self._fields.get(name)
        return [one for one in value if isinstance(one, int)] if isinstance(value, list) else []

    def part(self, name: str) -> "_Fields":
        value = self._fields.get(name)
        return _Fields(value if isinstance(value, Mapping) else {})

    def has(self, name: str) -> bool:
        return bool(self._fields.get(name))


def _layer_kinds(text: _Fields) -> list[str]:
    """The kind of every layer: ``full``, ``linear``, ``both``, ``sliding_attention`` or ``none``."""
    layers = text.whole("num_hidden_layers", "n_layer", "num_layers") or 0
    if layers > _MOST_LAYERS:
        return []
    model_type = text.word("model_type")
    if model_type.startswith(_GDN):
        # The list of layer types is not looked at: srt/configs/qwen3_next.py goes by the interval alone.
        interval = text.whole("full_attention_interval") or 4
        return ["linear" if (index + 1) % interval else "full" for index in range(layers)]
    if model_type == "falcon_h1":
        return ["both"] * layers
    if pattern := text.word("hybrid_override_pattern"):
        return [{"M": "linear", "*": "full"}.get(letter, "none") for letter in pattern]
    blocks = text.words("layers_block_type") or text.words("layer_types")
    if blocks:
        # The list may go on for layers of multi-token prediction.
        return [_KINDS.get(kind, "none") for kind in blocks][: layers or None]
    # Windows of these models have no pool of their own in any version, so each layer keeps every token.
    return ["full"] * layers


def _attention(text: _Fields, layers: int, architecture: str | None) -> AttentionShape | None:
    if not layers or not modelled(architecture):
        return None
    rank, rope = (text.whole(name) for name in _LATENT)
    if rank and rope:
        return AttentionShape(1, rank + rope, layers, latent=True)
    own_heads, own_width = global_names(architecture)
    heads = text.whole("num_attention_heads", "n_head")
    names = ("num_key_value_heads", "num_kv_heads", "multi_query_group_num", "num_attention_groups")
    kv_heads = text.whole(*own_heads, *names) or heads
    width = text.whole(*own_width, "head_dim", "attention_head_dim")
    hidden = text.whole("hidden_size", "n_embd")
    if width is None and heads and hidden:
        width = hidden // heads
    if kv_heads is None or width is None:
        return None
    return AttentionShape(kv_heads, width + (text.whole("v_head_dim") or width), layers)


def _windows(
    text: _Fields, attention: AttentionShape | None, architecture: str | None, *, sliding: bool
) -> tuple[AttentionShape | None, WindowShape | None]:
    """The layers of full attention, and those with a window that may get a pool of their own."""
    if attention is None or (sliding and architecture is None):
        return None, None
    count = window_layers(architecture, text, text.whole("num_hidden_layers") or attention.layers)
    if count is None or (attention.latent and count):
        return None, None
    if not count:
        return attention, None
    plain = text.whole("num_key_value_heads", "num_kv_heads", "num_attention_groups") or attention.heads
    width = text.whole("head_dim", "attention_head_dim") or attention.width // 2
    return replace(attention, layers=attention.layers - count), window_shape(architecture, text, count, plain, width)


def _state(text: _Fields, layers: int) -> StateShape | None:
    """One slot: the last ``kernel - 1`` inputs of the convolution and the recurrent state of every head."""
    if not layers:
        return None
    if text.word("model_type").startswith(_GDN):
        names = ("num_value_heads", "value_head_dim", "num_key_heads", "key_head_dim", "conv_kernel_dim")
        numbers = [text.whole(f"linear_{name}") for name in names]
        inner = None
    else:
        numbers = [
            text.whole("mamba_num_heads", "mamba_n_heads"),
            text.whole("mamba_head_dim", "mamba_d_head"),
            text.whole("n_groups", "mamba_n_groups"),
            text.whole("ssm_state_size", "mamba_d_state"),
            text.whole("conv_kernel", "mamba_d_conv"),
        ]
        inner = text.whole("mamba_d_ssm")
        hidden, expand = text.whole("hidden_size"), text.whole("mamba_expand")
        if inner is None and hidden and expand and not text.has("mamba_num_heads"):
            inner = hidden * expand
        if numbers[1] is None and numbers[0] and inner:
            numbers[1] = inner // numbers[0]
    if any(number is None for number in numbers):
        return None
    heads, head, groups, width, kernel = (number or 0 for number in numbers)
    conv = ((inner or heads * head) + 2 * groups * width) * (kernel - 1)
    half = text.word("mamba_ssm_dtype") in {"bfloat16", "float16"}
    return StateShape(conv * layers, heads * head * width * layers, 2 if half else 4)


def _vision(vision: Mapping[str, Any]) -> VisionShape:
    # `depth`, the name of most vision parts, is not asked for: srt/server_args.py adjust_mem_fraction_for_vlm, 0.5.15.
    fields = _Fields(vision)
    return VisionShape(fields.whole("num_hidden_layers") or 24, fields.whole("hidden_size") or 1024)


def _text_table(text: _Fields) -> tuple[PositionTable, ...]:
    """The table of the language model; nothing for a kind of rotary embedding that is not known."""
    rope = text.part("rope_parameters" if text.has("rope_parameters") else "rope_scaling")
    kind = rope.word("rope_type") or rope.word("type")
    hidden, heads = text.whole("hidden_size", "n_embd"), text.whole("num_attention_heads", "n_head")
    width = text.whole("qk_rope_head_dim", "head_dim", "attention_head_dim") or (
        hidden // heads if hidden and heads else 0
    )
    gated = text.word("model_type").startswith(_GDN)
    turned = text.share("partial_rotary_factor") or rope.share("partial_rotary_factor")
    width = int(width * min(1.0, turned or (_QUARTER_TURNED if gated else 1.0)))
    positions = text.whole("max_position_embeddings") or 0
    if kind in _STRETCHED_FROM_ORIGINAL:
        positions = rope.whole("original_max_position_embeddings") or positions
    elif kind not in _STRETCHED | _AS_CONFIGURED:
        return ()
    if kind not in _AS_CONFIGURED:
        positions = int(positions * (rope.share("factor") or 1.0))
    return (PositionTable(width, positions),) if width and positions else ()


def _encoder_table(architecture: str | None, vision: Mapping[str, Any]) -> tuple[PositionTable, ...]:
    fields = _Fields(vision)
    hidden, heads = fields.whole("hidden_size"), fields.whole("num_heads")
    if not (architecture or "").startswith(_ENCODERS) or not hidden or not heads:
        return ()
    return (PositionTable(hidden // heads // 2, _ENCODER_POSITIONS),)


def _experts(architecture: str | None, text: _Fields) -> ExpertMap | None:
    layers = text.whole("num_hidden_layers")
    experts = text.whole("num_experts", "n_routed_experts", "num_local_experts")
    if not layers or not experts or not (architecture or "").startswith(_MAPPED):
        return None
    return ExpertMap(min(layers, _MOST_LAYERS), experts)


def _intermediate(text: _Fields) -> int | None:
    """Width of the widest part of a layer that one token passes: of all its experts together in a mixture."""
    expert, chosen = text.whole("moe_intermediate_size"), text.whole("num_experts_per_tok")
    if expert and chosen:
        return expert * chosen + (text.whole("shared_expert_intermediate_size") or 0)
    return text.whole("intermediate_size", "ffn_hidden_size", "n_inner")
