"""Writes model folders: real configurations, headers with tensors of the right shapes, and holes in place of weights."""

import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

Tensors = dict[str, tuple[str, tuple[int, ...]]]
"""Dtype and shape by name."""
Linear = Callable[[str, int, int], Tensors]
"""Makes the tensors of a linear layer: its name, values out, values in."""

BYTES: Final = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8, "U8": 1, "I8": 1, "F8_E4M3": 1}
CHAT: Final = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}{% endfor %}"
QWEN_CODER: Final = (
    "{%- if tools %}<tool_call>\n<function=name>\n<parameter=key>{%- endif %}"
    "{%- if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>{%- else %}<think>\n{%- endif %}"
)
HERMES: Final = '{% if tools %}<tool_call>\n{"name": "f"}\n</tool_call>{% endif %}{{ \'<think>\' if enable_thinking }}'


@dataclass(frozen=True)
class Folder:
    """A model to be written.

    Attributes:
        config: ``config.json``.
        tensors: of its weights.
        files: how many files they are spread over.
        template: its chat template.
        beside: other files by name: text, or JSON of anything else.
        flags: that a launch of it needs.
    """

    config: Mapping[str, Any]
    tensors: Tensors
    files: int = 1
    template: str = CHAT
    beside: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def write(folder: Folder, path: Path) -> Path:
    """Write a model; its weights are holes that take no space."""
    path.mkdir(parents=True, exist_ok=True)
    beside: dict[str, Any] = {
        "config.json": folder.config,
        "tokenizer.json": {"version": "1.0", "model": {"type": "BPE"}},
        "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": folder.template},
        "generation_config.json": {"do_sample": True},
        **({"preprocessor_config.json": {"patch_size": 14}} if "vision_config" in folder.config else {}),
        **folder.beside,
    }
    for name, content in beside.items():
        (path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    names = sorted(folder.tensors)
    size = math.ceil(len(names) / folder.files) if names else 1
    parts = [names[at : at + size] for at in range(0, len(names), size)]
    places: dict[str, str] = {}
    for number, part in enumerate(parts, 1):
        file = f"model-{number:05}-of-{len(parts):05}.safetensors" if len(parts) > 1 else "model.safetensors"
        shard(path / file, {name: folder.tensors[name] for name in part})
        places |= dict.fromkeys(part, file)
    if len(parts) > 1:
        index = {"metadata": {"total_size": 1}, "weight_map": places}
        (path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return path


def shard(path: Path, tensors: Tensors) -> None:
    """Write one safetensors file with a hole for its data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape) in tensors.items():
        end = at + math.prod(shape) * BYTES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def plain(name: str, outer: int, inner: int) -> Tensors:
    """Not quantised."""
    return {f"{name}.weight": ("BF16", (outer, inner))}


def awq(name: str, outer: int, inner: int) -> Tensors:
    """Four bits, eight in a word along the output."""
    groups = inner // 128 or 1
    return {
        f"{name}.qweight": ("I32", (inner, outer // 8)),
        f"{name}.qzeros": ("I32", (groups, outer // 8)),
        f"{name}.scales": ("F16", (groups, outer)),
    }


def gptq(name: str, outer: int, inner: int) -> Tensors:
    """Four bits, eight in a word along the input."""
    groups = inner // 128 or 1
    return {
        f"{name}.qweight": ("I32", (inner // 8, outer)),
        f"{name}.qzeros": ("I32", (groups, outer // 8)),
        f"{name}.scales": ("F16", (groups, outer)),
        f"{name}.g_idx": ("I32", (inner,)),
    }


def packed(name: str, outer: int, inner: int) -> Tensors:
    """compressed-tensors, four bits."""
    return {
        f"{name}.weight_packed": ("I32", (outer, inner // 8)),
        f"{name}.weight_scale": ("BF16", (outer, inner // 32)),
        f"{name}.weight_shape": ("I64", (2,)),
    }


def fp8(name: str, outer: int, inner: int) -> Tensors:
    """Eight bits, a scale for each block of 128 by 128."""
    scales = (math.ceil(outer / 128), math.ceil(inner / 128))
    return {f"{name}.weight": ("F8_E4M3", (outer, inner)), f"{name}.weight_scale_inv": ("F32", scales)}


def nvfp4(name: str, outer: int, inner: int) -> Tensors:
    """ModelOpt, four bits, two in a byte."""
    return {
        f"{name}.weight": ("U8", (outer, inner // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (outer, inner // 16)),
        f"{name}.weight_scale_2": ("F32", ()),
    }


def nvfp4_packed(name: str, outer: int, inner: int) -> Tensors:
    """compressed-tensors, NVFP4."""
    return {
        f"{name}.weight_packed": ("U8", (outer, inner // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (outer, inner // 16)),
        f"{name}.weight_global_scale": ("F32", (1,)),
    }


def bnb(name: str, outer: int, inner: int) -> Tensors:
    """bitsandbytes, four bits, flat."""
    return {
        f"{name}.weight": ("U8", (outer * inner // 2, 1)),
        f"{name}.weight.absmax": ("F32", (outer * inner // 64,)),
    }


def attention(config: Mapping[str, Any], prefix: str, linear: Linear, *, gate: int = 1) -> Tensors:
    """Queries, keys, values, output."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    width = config.get("head_dim") or hidden // heads
    groups = config.get("num_key_value_heads", heads)
    return {
        **linear(f"{prefix}.q_proj", gate * heads * width, hidden),
        **linear(f"{prefix}.k_proj", groups * width, hidden),
        **linear(f"{prefix}.v_proj", groups * width, hidden),
        **linear(f"{prefix}.o_proj", hidden, heads * width),
    }


def latent(config: Mapping[str, Any], prefix: str, linear: Linear) -> Tensors:
    """Attention with a compressed cache."""
    hidden, heads, rank = config["hidden_size"], config["num_attention_heads"], config["kv_lora_rank"]
    nope, rope, value = config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]
    return {
        **linear(f"{prefix}.q_proj", heads * (nope + rope), hidden),
        **linear(f"{prefix}.kv_a_proj_with_mqa", rank + rope, hidden),
        **linear(f"{prefix}.kv_b_proj", heads * (nope + value), rank),
        **linear(f"{prefix}.o_proj", hidden, heads * value),
    }


def delta_net(config: Mapping[str, Any], prefix: str, linear: Linear) -> Tensors:
    """Gated DeltaNet."""
    hidden = config["hidden_size"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
    return {
        **linear(f"{prefix}.in_proj_qkv", 2 * keys + values, hidden),
        **linear(f"{prefix}.in_proj_z", values, hidden),
        **linear(f"{prefix}.out_proj", hidden, values),
        f"{prefix}.conv1d.weight": ("BF16", (2 * keys + values, 1, config["linear_conv_kernel_dim"])),
        f"{prefix}.A_log": ("F32", (config["linear_num_value_heads"],)),
    }


def mlp(prefix: str, hidden: int, intermediate: int, linear: Linear) -> Tensors:
    """Gate, up, down."""
    return {
        **linear(f"{prefix}.gate_proj", intermediate, hidden),
        **linear(f"{prefix}.up_proj", intermediate, hidden),
        **linear(f"{prefix}.down_proj", hidden, intermediate),
    }


def mixture(config: Mapping[str, Any], prefix: str, linear: Linear) -> Tensors:
    """Routed experts, and the shared ones."""
    hidden, width = config["hidden_size"], config.get("moe_intermediate_size") or config["intermediate_size"]
    count = next(config[key] for key in ("num_experts", "n_routed_experts", "num_local_experts") if key in config)
    found: Tensors = {f"{prefix}.gate.weight": ("BF16", (count, hidden))}
    for expert in range(count):
        found |= mlp(f"{prefix}.experts.{expert}", hidden, width, linear)
    if shared := config.get("n_shared_experts"):
        found |= mlp(f"{prefix}.shared_experts", hidden, width * shared, linear)
    if shared := config.get("shared_expert_intermediate_size"):
        found |= mlp(f"{prefix}.shared_expert", hidden, shared, linear)
    return found


def decoder(config: Mapping[str, Any], prefix: str = "model", linear: Linear = plain, head: str = "lm_head") -> Tensors:
    """A decoder as transformers names its tensors: dense or with experts, all attention or in part DeltaNet."""
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    found: Tensors = {
        f"{prefix}.embed_tokens.weight": ("BF16", (vocabulary, hidden)),
        f"{prefix}.norm.weight": ("BF16", (hidden,)),
    }
    if not config.get("tie_word_embeddings"):
        found[f"{head}.weight"] = ("BF16", (vocabulary, hidden))
    interval = config.get("full_attention_interval")
    experts = any(key in config for key in ("num_experts", "n_routed_experts", "num_local_experts"))
    for layer in range(config["num_hidden_layers"]):
        at = f"{prefix}.layers.{layer}"
        found[f"{at}.input_layernorm.weight"] = ("BF16", (hidden,))
        found[f"{at}.post_attention_layernorm.weight"] = ("BF16", (hidden,))
        if interval and (layer + 1) % interval:
            found |= delta_net(config, f"{at}.linear_attn", linear)
        elif "kv_lora_rank" in config:
            found |= latent(config, f"{at}.self_attn", linear)
        else:
            found |= attention(config, f"{at}.self_attn", linear, gate=2 if interval else 1)
        if experts and layer >= config.get("first_k_dense_replace", 0):
            found |= mixture(config, f"{at}.mlp", linear)
        else:
            found |= mlp(f"{at}.mlp", hidden, config["intermediate_size"], linear)
    return found


def renamed(tensors: Tensors, names: Iterable[tuple[str, str]]) -> Tensors:
    """The tensors with parts of their names replaced."""
    found: Tensors = {}
    for name, tensor in tensors.items():
        for old, new in names:
            name = name.replace(old, new)  # noqa: PLW2901 - one replacement after the other
        found[name] = tensor
    return found


def gguf(path: Path, architecture: str = "qwen3", tensors: int = 4, *, short: int = 0) -> None:
    """Write a GGUF file with a hole for its data; ``short`` bytes are missing at its end."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value.encode())) + value.encode()

    keys = [text("general.architecture") + struct.pack("<I", 8) + text(architecture)]
    keys.append(text("tokenizer.chat_template") + struct.pack("<I", 8) + text(CHAT))
    keys.append(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"))
    places = b"".join(
        text(f"blk.{number}.ffn_up.weight") + struct.pack("<IQQIQ", 2, 4096, 1024, 0, number * 4096 * 1024 * 4)
        for number in range(tensors)
    )
    head = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(keys)) + b"".join(keys) + places
    start = -(-len(head) // 32) * 32
    with path.open("wb") as file:
        file.write(head)
        file.truncate(start + tensors * 4096 * 1024 * 4 - short)
