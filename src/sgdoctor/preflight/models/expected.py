"""Shapes of tensors against ``config.json``: what the headers of weight files contradict.

Only names that mean the same in all models are looked at: the layers of a decoder as transformers names them. A model
that is built otherwise is left alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeGuard

from sgdoctor.engines.sglang.memory.safetensors import Tensor
from sgdoctor.engines.sglang.quantisation import Quantisation
from sgdoctor.preflight.models.folder import ModelFolder

_LAYER: Final = re.compile(
    r"(?:model\.|language_model\.|text_model\.)*layers\.(?P<layer>\d{1,4})\.(?P<rest>[\w.]{1,200})"
)
_TOP: Final = re.compile(
    r"(?:model\.|language_model\.|text_model\.)*(?P<rest>embed_tokens\.weight|norm\.weight)|(?P<head>(?:language_model\.)?lm_head\.weight)"
)
_EXPERT: Final = re.compile(
    r"(?:mlp|block_sparse_moe|feed_forward)\.experts\.(?P<expert>\d{1,5})\.(?P<part>\w+)\.(?P<kind>\w+)"
)
_PART: Final = re.compile(r"(?P<block>self_attn|mlp)\.(?P<part>[a-z_]{1,20})\.(?P<kind>weight|qweight|weight_packed)")
_FLOATS: Final = frozenset({"F16", "BF16", "F32", "F8_E4M3", "F8_E5M2"})
_EXPERTS: Final = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_PREDICTING: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
_OWN_ATTENTION: Final = (
    *("kv_lora_rank", "global_head_dim", "num_global_key_value_heads", "block_configs", "swa_num_attention_heads"),
    *("swa_num_key_value_heads", "swa_head_dim", "attention_other_setting", "num_attention_heads_per_layer"),
    *("compress_ratios", "q_lora_rank"),
)
"""Models with these have heads of more than one kind, or latent attention."""
_OWN_MLP: Final = ("block_configs", "use_double_wide_mlp", "moe_latent_size", "ffn_multipliers")
_GATED: Final = ("qwen3_next", "qwen3_5", "intern_s2")
"""Their query projection makes the gate of the output as well, so it is twice as wide."""
_MOST_LAYERS: Final = 10_000
"""More than any model has; a number of a file from the internet must not decide how much is computed."""
_HEADS: Final = frozenset({"num_attention_heads", "num_key_value_heads"})
_OUT: Final = frozenset({"gate_proj", "up_proj", "w1", "w3"})
_IN: Final = frozenset({"down_proj", "w2"})


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A number of the configuration that the weights contradict.

    Attributes:
        key: of ``config.json``.
        configured: what it says; several numbers where more than one would do.
        found: what the weights have.
        tensor: the first one that shows it.
        shape: of that tensor.
        count: how many show it.
    """

    key: str
    configured: tuple[int, ...]
    found: int
    tensor: str
    shape: tuple[int, ...]
    count: int = 1


@dataclass(frozen=True, slots=True)
class Layers:
    """Which layers the weights have.

    Attributes:
        found: their numbers.
        configured: how many ``config.json`` says.
        predicting: how many more it allows, for multi-token prediction.
    """

    found: frozenset[int]
    configured: int
    predicting: int = 0

    @property
    def missing(self) -> tuple[int, ...]:
        """Layers without any weight."""
        return tuple(sorted(set(range(self.configured)) - self.found))

    @property
    def surplus(self) -> tuple[int, ...]:
        """Layers that the configuration does not know."""
        return tuple(sorted(layer for layer in self.found if layer >= self.configured + self.predicting))


class Compared(NamedTuple):
    """What comparing the headers with the configuration gave.

    Attributes:
        contradictions: numbers that disagree, those that most tensors show first.
        layers: which there are; None where the model does not name them in the usual way.
        compared: how many tensors could be compared.
    """

    contradictions: tuple[Contradiction, ...]
    layers: Layers | None
    compared: int


def compare(model: ModelFolder) -> Compared:
    """Hold the headers of the weight files against ``config.json``."""
    expected = _Expected(model.language, model.quantisation)
    found = _Found()
    for shard in model.used_shards:
        if shard.header is not None:
            for name, tensor in shard.header.tensors.items():
                found.take(name, tensor, expected)
    count = expected.number("num_hidden_layers", "n_layer", "num_layers")
    predicting = sum(expected.number(name) or 0 for name in _PREDICTING)
    layers = (
        Layers(frozenset(found.layers), count, predicting) if found.layers and count and count <= _MOST_LAYERS else None
    )
    contradictions = sorted(found.contradictions.values(), key=lambda one: -one.count)
    if any(one.key == "hidden_size" for one in contradictions) and expected.number("head_dim") is None:
        # The width of a head was computed from the wrong number.
        contradictions = [one for one in contradictions if one.key not in _HEADS]
    experts = expected.experts
    # Of a model that is split over many files a part may be missing: that is told elsewhere.
    if found.experts and experts and found.experts not in experts and layers is not None and not layers.missing:
        contradictions.append(Contradiction("num_experts", experts, found.experts, found.expert_tensor, ()))
    return Compared(tuple(contradictions), layers, found.compared)


class _Expected:
    """What the configuration says, as numbers; empty where the model is built in its own way."""

    def __init__(self, settings: Mapping[str, Any], quantisation: Quantisation | None) -> None:
        self._settings = settings
        self.quantisation = quantisation
        self.hidden = self._all("hidden_size")
        self.vocabulary = self._all("vocab_size")
        self.experts = self._all(*_EXPERTS)
        self.intermediate = self._intermediate()
        self.attention = self._attention()

    def number(self, *names: str) -> int | None:
        return next((value for name in names if _is_count(value := self._settings.get(name))), None)

    def _all(self, *names: str) -> tuple[int, ...]:
        return tuple(value for name in names if _is_count(value := self._settings.get(name)))

    def _intermediate(self) -> tuple[int, ...]:
        if any(self._settings.get(name) for name in _OWN_MLP):
            return ()
        given = {
            name: value for name, value in self._settings.items() if "intermediate_size" in name or name == "ffn_dim"
        }
        if any(isinstance(value, list) for value in given.values()):
            return ()
        return tuple(dict.fromkeys(value for value in given.values() if _is_count(value)))

    def _attention(self) -> Mapping[str, tuple[str, tuple[int, ...]]]:
        """Key of the configuration and widths by projection."""
        if any(self._settings.get(name) for name in _OWN_ATTENTION):
            return {}
        heads, hidden = self.number("num_attention_heads"), self.number("hidden_size")
        width = self.number("head_dim") or (hidden // heads if heads and hidden else None)
        if heads is None or width is None:
            return {}
        groups = self.number("num_key_value_heads") or heads
        values = self.number("v_head_dim") or width
        gated = str(self._settings.get("model_type") or "").startswith(_GATED)
        queries = (heads * width, 2 * heads * width) if gated else (heads * width,)
        return {
            "q_proj": ("num_attention_heads", queries),
            "k_proj": ("num_key_value_heads", (groups * width,)),
            "v_proj": ("num_key_value_heads", (groups * values,)),
            "o_proj": ("num_attention_heads", (heads * values,)),
        }


@dataclass(slots=True)
class _Found:
    """What the headers show so far."""

    layers: set[int] = field(default_factory=set)
    experts: int = 0
    expert_tensor: str = ""
    compared: int = 0
    contradictions: dict[tuple[str, int], Contradiction] = field(default_factory=dict)

    def take(self, name: str, tensor: Tensor, expected: _Expected) -> None:
        layer = _LAYER.fullmatch(name)
        if layer is not None:
            self.layers.add(int(layer["layer"]))
            self._layer(name, layer["rest"], tensor, expected)
            return
        top = _TOP.fullmatch(name)
        if top is None or tensor.dtype not in _FLOATS:
            return
        if tensor.shape and (top["head"] or top["rest"].startswith("embed")) and len(tensor.shape) == 2:
            self._compare("vocab_size", expected.vocabulary, tensor.shape[0], name, tensor)
        if tensor.shape:
            self._compare("hidden_size", expected.hidden, tensor.shape[-1], name, tensor)

    def _layer(self, name: str, rest: str, tensor: Tensor, expected: _Expected) -> None:
        if rest == "input_layernorm.weight" and len(tensor.shape) == 1:
            self._compare("hidden_size", expected.hidden, tensor.shape[0], name, tensor)
            return
        expert = _EXPERT.fullmatch(rest)
        if expert is not None:
            number = int(expert["expert"]) + 1
            if number > self.experts:
                self.experts, self.expert_tensor = number, name
            self._mlp(expert["part"], expert["kind"], name, tensor, expected)
            return
        part = _PART.fullmatch(rest)
        if part is None:
            return
        if part["block"] == "mlp":
            self._mlp(part["part"], part["kind"], name, tensor, expected)
            return
        dims = _dimensions(part["kind"], tensor, expected.quantisation)
        key, widths = expected.attention.get(part["part"], ("", ()))
        if dims is not None and key:
            outer, inner = dims
            residual, own = (outer, inner) if part["part"] == "o_proj" else (inner, outer)
            self._compare(key, widths, own, name, tensor)
            self._compare("hidden_size", expected.hidden, residual, name, tensor)

    def _mlp(self, part: str, kind: str, name: str, tensor: Tensor, expected: _Expected) -> None:
        dims = _dimensions(kind, tensor, expected.quantisation)
        if dims is None or not expected.intermediate:
            return
        outer, inner = dims
        if part in _OUT or part in _IN:
            own, residual = (outer, inner) if part in _OUT else (inner, outer)
            self._compare("intermediate_size", expected.intermediate, own, name, tensor)
            self._compare("hidden_size", expected.hidden, residual, name, tensor)
        elif part == "gate_up_proj":
            self._compare("intermediate_size", expected.intermediate, outer // 2, name, tensor)

    def _compare(self, key: str, configured: tuple[int, ...], found: int, name: str, tensor: Tensor) -> None:
        if not configured:
            return
        self.compared += 1
        if found in configured:
            return
        seen = self.contradictions.get((key, found))
        count = 1 if seen is None else seen.count + 1
        first = (name, tensor.shape) if seen is None else (seen.tensor, seen.shape)
        self.contradictions[key, found] = Contradiction(key, configured, found, *first, count)


def _dimensions(kind: str, tensor: Tensor, quantisation: Quantisation | None) -> tuple[int, int] | None:
    """Values out and in of a linear layer; None where its weights are packed in a way that is not known."""
    if len(tensor.shape) != 2:
        return None
    first, second = tensor.shape
    bits = quantisation.bits if quantisation is not None and not quantisation.mixed else None
    packs = 32 // bits if bits in (2, 4, 8) else None
    match kind, tensor.dtype:
        case "weight", dtype if dtype in _FLOATS or dtype == "I8":
            return first, second
        case (("weight" | "weight_packed"), "U8") if quantisation is not None and quantisation.nvfp4:
            return first, second * 2
        case "weight_packed", "I32" if packs and quantisation is not None and "marlin" not in quantisation.form:
            return first, second * packs
        case "qweight", "I32" if packs and quantisation is not None and quantisation.method == "awq":
            return second * packs, first
        case "qweight", "I32" if packs and quantisation is not None and quantisation.method == "gptq":
            return second, first * packs
    return None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
