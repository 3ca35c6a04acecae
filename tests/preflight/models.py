"""Models as they are published: the numbers of their configurations, and how their weights are named."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.preflight.model_folders import (
    BYTES,
    HERMES,
    QWEN_CODER,
    Folder,
    Tensors,
    awq,
    bnb,
    decoder,
    fp8,
    gptq,
    nvfp4,
    nvfp4_packed,
    packed,
    renamed,
)

AWQ: Final = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
GPTQ: Final = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
FP8: Final = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}
W4A16: Final = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "config_groups": {
        "group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}, "input_activations": None}
    },
}
NVFP4: Final = {
    "quant_method": "compressed-tensors",
    "format": "nvfp4-pack-quantized",
    "config_groups": {
        "group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "input_activations": {"num_bits": 4}}
    },
}
BNB: Final = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
VISION: Final = {"hidden_size": 1152, "depth": 27, "num_heads": 16, "patch_size": 16}


def config(architecture: str, model_type: str, numbers: tuple[int, ...], **more: Any) -> dict[str, Any]:
    """A configuration: layers, hidden, heads, KV heads, intermediate, vocabulary, context."""
    names = (
        *("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads"),
        *("intermediate_size", "vocab_size", "max_position_embeddings"),
    )
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "torch_dtype": "bfloat16",
        **dict(zip(names, numbers, strict=True)),
        **more,
    }


def nested(architecture: str, model_type: str, text: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The configuration of a model for images, around that of its language model."""
    inner = {name: value for name, value in text.items() if name not in ("architectures", "torch_dtype")}
    return {
        "architectures": [architecture],
        "model_type": model_type,
        "text_config": {**inner, "dtype": "bfloat16"},
        "vision_config": dict(VISION),
        "torch_dtype": "bfloat16",
        **more,
    }


LLAMA_8B: Final = config(
    "LlamaForCausalLM",
    "llama",
    (32, 4096, 32, 8, 14336, 128256, 131072),
    rope_scaling={"factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
)
LLAMA_70B: Final = config("LlamaForCausalLM", "llama", (80, 8192, 64, 8, 28672, 128256, 131072))
QWEN3_8B: Final = config("Qwen3ForCausalLM", "qwen3", (36, 4096, 32, 8, 12288, 151936, 40960), head_dim=128)
QWEN3_32B: Final = config("Qwen3ForCausalLM", "qwen3", (64, 5120, 64, 8, 25600, 151936, 40960), head_dim=128)
QWEN25_7B: Final = config(
    "Qwen2ForCausalLM", "qwen2", (28, 3584, 28, 4, 18944, 152064, 32768), use_sliding_window=False
)
QWEN3_30B: Final = config(
    "Qwen3MoeForCausalLM",
    "qwen3_moe",
    (48, 2048, 32, 4, 6144, 151936, 40960),
    head_dim=128,
    num_experts=128,
    num_experts_per_tok=8,
    moe_intermediate_size=768,
)
_DELTA: Final = {
    "full_attention_interval": 4,
    "linear_num_key_heads": 16,
    "linear_key_head_dim": 128,
    "head_dim": 256,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}
TEXT_27B: Final = config(
    "Qwen3_5ForCausalLM",
    "qwen3_5_text",
    (64, 5120, 24, 4, 17408, 248320, 262144),
    **_DELTA,
    linear_num_value_heads=48,
    layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 16,
)
TEXT_35B: Final = config(
    "Qwen3_5MoeForCausalLM",
    "qwen3_5_moe_text",
    (40, 2048, 16, 2, 4096, 248320, 262144),
    **_DELTA,
    linear_num_value_heads=32,
    num_experts=256,
    num_experts_per_tok=8,
    moe_intermediate_size=512,
    shared_expert_intermediate_size=512,
    layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 10,
)
QWEN_27B: Final = nested("Qwen3_5ForConditionalGeneration", "qwen3_5", TEXT_27B)
QWEN_35B: Final = nested("Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", TEXT_35B)
_LANGUAGE: Final = "model.language_model"
_TOWER: Tensors = {"model.visual.blocks.0.attn.qkv.weight": ("BF16", (3456, 1152))}


def _filled(tensors: Tensors, gib: float) -> Tensors:
    """The tensors, with a vision part that makes them ``gib`` large in all."""
    size = sum(math.prod(shape) * BYTES[dtype] for dtype, shape in tensors.values())
    rows = int((gib * 2**30 - size) / (2 * 1152))
    return {**tensors, "model.visual.blocks.0.attn.qkv.weight": ("BF16", (rows, 1152))}


def founding_27b(**more: Any) -> Folder:
    """Qwen3.6-27B of four bits in compressed-tensors, 19.05 GiB; ``more`` goes into its text part."""
    text = {**QWEN_27B["text_config"], **more}
    whole = {**QWEN_27B, "text_config": text, "quantization_config": W4A16}
    return Folder(whole, _filled(decoder(TEXT_27B, _LANGUAGE, packed), 19.05), 4, QWEN_CODER)


def founding_35b(**more: Any) -> Folder:
    """Qwen3.6-35B-A3B in AWQ, 18.68 GiB; ``more`` goes into its text part."""
    text = {**QWEN_35B["text_config"], **more}
    whole = {**QWEN_35B, "text_config": text, "quantization_config": AWQ}
    return Folder(whole, _filled(decoder(TEXT_35B, _LANGUAGE, awq), 18.68), 5, QWEN_CODER)


def _with(base: Mapping[str, Any], quantisation: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, "quantization_config": dict(quantisation)}


def _fused(tensors: Tensors) -> Tensors:
    """Query, key and value in one matrix, gate and up in one."""
    found: Tensors = {}
    for name, (dtype, shape) in tensors.items():
        if ".q_proj." in name:
            found[name.replace("q_proj", "qkv_proj")] = dtype, (shape[0] * 3, shape[1])
        elif ".gate_proj." in name:
            found[name.replace("gate_proj", "gate_up_proj")] = dtype, (shape[0] * 2, shape[1])
        elif not any(part in name for part in (".k_proj.", ".v_proj.", ".up_proj.")):
            found[name] = dtype, shape
    return found


def _phi3() -> Folder:
    phi = config("Phi3ForCausalLM", "phi3", (32, 3072, 32, 32, 8192, 32064, 131072))
    phi["rope_scaling"] = {"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]}
    return Folder(phi, _fused(decoder(phi)))


def _glm4() -> Folder:
    glm = config("Glm4ForCausalLM", "glm4", (40, 4096, 32, 2, 13696, 151552, 32768), head_dim=128)
    parts = {name: tensor for name, tensor in decoder(glm).items() if ".up_proj." not in name}
    fused = {
        name.replace("gate_proj", "gate_up_proj"): (dtype, (shape[0] * 2, *shape[1:]) if "gate_proj" in name else shape)
        for name, (dtype, shape) in parts.items()
    }
    return Folder(glm, fused)


def _mixtral() -> Folder:
    mixtral = config(
        "MixtralForCausalLM",
        "mixtral",
        (32, 4096, 32, 8, 14336, 32000, 32768),
        num_local_experts=8,
        num_experts_per_tok=2,
    )
    names = [(".mlp.", ".block_sparse_moe."), ("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")]
    return Folder(mixtral, renamed(decoder(mixtral), names), 19)


def _gpt_oss() -> Folder:
    oss = config(
        "GptOssForCausalLM",
        "gpt_oss",
        (24, 2880, 64, 8, 2880, 201088, 131072),
        head_dim=64,
        num_local_experts=32,
        num_experts_per_tok=4,
        sliding_window=128,
        layer_types=["sliding_attention", "full_attention"] * 12,
        quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
    )
    found = {
        name: tensor for name, tensor in decoder({**oss, "num_local_experts": 1}).items() if ".experts." not in name
    }
    for layer in range(24):
        at = f"model.layers.{layer}.mlp.experts"
        found[f"{at}.gate_up_proj_blocks"] = ("U8", (32, 5760, 90, 16))
        found[f"{at}.down_proj_blocks"] = ("U8", (32, 2880, 90, 16))
    template = "{{ '<|channel|>analysis<|message|>' }}<|call|>"
    return Folder(oss, found, 3, template)


def _deepseek(layers: int, hidden: int, heads: int, experts: int, **more: Any) -> dict[str, Any]:
    return config(
        "DeepseekV2ForCausalLM",
        "deepseek_v2",
        (layers, hidden, heads, heads, 10944, 102400, 163840),
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        n_routed_experts=experts,
        n_shared_experts=2,
        num_experts_per_tok=6,
        moe_intermediate_size=1408,
        first_k_dense_replace=1,
        **more,
    )


def _deepseek_v3() -> Folder:
    v3 = _deepseek(61, 7168, 128, 4)
    v3 |= {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "intermediate_size": 18432}
    v3 |= {"n_shared_experts": 1, "moe_intermediate_size": 2048, "vocab_size": 129280, "first_k_dense_replace": 3}
    v3 |= {"num_nextn_predict_layers": 1, "q_lora_rank": 1536, "quantization_config": FP8}
    predicting = {
        "model.layers.61.enorm.weight": ("BF16", (7168,)),
        "model.layers.61.eh_proj.weight": ("BF16", (7168, 14336)),
    }
    template = "{{ '<｜tool▁calls▁begin｜>' }}<｜tool▁sep｜>"
    return Folder(v3, {**decoder(v3, linear=fp8), **predicting}, 163, template)


def _nemotron_h() -> Folder:
    pattern = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"
    nemotron = config("NemotronHForCausalLM", "nemotron_h", (52, 4096, 32, 8, 21504, 131072, 8192), head_dim=128)
    nemotron |= {"hybrid_override_pattern": pattern, "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8}
    nemotron |= {"ssm_state_size": 128, "conv_kernel": 4}
    found: Tensors = {
        "backbone.embeddings.weight": ("BF16", (131072, 4096)),
        "lm_head.weight": ("BF16", (131072, 4096)),
    }
    for layer in range(52):
        found[f"backbone.layers.{layer}.norm.weight"] = ("BF16", (4096,))
        found[f"backbone.layers.{layer}.mixer.out_proj.weight"] = ("BF16", (4096, 8192))
    return Folder(nemotron, found, 4)


def _falcon_h1() -> Folder:
    falcon = config("FalconH1ForCausalLM", "falcon_h1", (36, 2048, 8, 2, 4096, 65537, 16384), head_dim=128)
    falcon |= {"mamba_n_heads": 48, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4}
    falcon["mamba_d_ssm"] = 3072
    names = [("mlp", "feed_forward"), ("embed_tokens", "embed_tokens")]
    found = renamed(decoder(falcon), names)
    for layer in range(36):
        found[f"model.layers.{layer}.mamba.conv1d.weight"] = ("BF16", (3584, 1, 4))
    return Folder(falcon, found)


def _granite_hybrid() -> Folder:
    kinds = ["mamba"] * 5 + ["attention"] + ["mamba"] * 9 + ["attention"] + ["mamba"] * 9 + ["attention"]
    kinds += ["mamba"] * 9 + ["attention"] + ["mamba"] * 4
    granite = config("GraniteMoeHybridForCausalLM", "granitemoehybrid", (40, 1536, 12, 4, 512, 100352, 131072))
    granite |= {
        "layer_types": kinds,
        "num_local_experts": 64,
        "num_experts_per_tok": 6,
        "shared_intermediate_size": 1024,
    }
    granite |= {"mamba_n_heads": 48, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4}
    granite["mamba_expand"] = 2
    found: Tensors = {"model.embed_tokens.weight": ("BF16", (100352, 1536)), "model.norm.weight": ("BF16", (1536,))}
    for layer in range(40):
        at = f"model.layers.{layer}"
        found[f"{at}.input_layernorm.weight"] = ("BF16", (1536,))
        found[f"{at}.block_sparse_moe.input_linear.weight"] = ("BF16", (64, 1024, 1536))
        found[f"{at}.shared_mlp.input_linear.weight"] = ("BF16", (2048, 1536))
    return Folder({**granite, "tie_word_embeddings": True}, found)


def _gemma3() -> Folder:
    text = config("Gemma3ForCausalLM", "gemma3_text", (34, 2560, 8, 4, 10240, 262208, 131072), head_dim=256)
    text |= {"sliding_window": 1024, "sliding_window_pattern": 6, "tie_word_embeddings": True}
    # As published: the numbers of the attention and the vocabulary are left to the defaults of the class.
    kept = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "model_type": "gemma3_text"}
    whole = {**nested("Gemma3ForConditionalGeneration", "gemma3", kept), "tie_word_embeddings": True}
    tower: Tensors = {"vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight": ("BF16", (4304, 1152))}
    return Folder(whole, {**decoder(text, "language_model.model"), **tower}, 2)


def _qwen25_vl() -> Folder:
    vl = {**QWEN25_7B, "architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl"}
    tower: Tensors = {"visual.blocks.0.mlp.gate_proj.weight": ("BF16", (3420, 1280))}
    vl["vision_config"] = {"hidden_size": 1280, "depth": 32}
    return Folder({**vl, "max_position_embeddings": 128000}, {**decoder(vl), **tower}, 5, HERMES)


def _qwen3_vl() -> Folder:
    whole = nested("Qwen3VLForConditionalGeneration", "qwen3_vl", {**QWEN3_8B, "model_type": "qwen3_vl_text"})
    return Folder(whole, {**decoder(QWEN3_8B, _LANGUAGE), **_TOWER}, 4, HERMES)


def _internvl() -> Folder:
    inner = {**QWEN25_7B, "vocab_size": 151674}
    whole = {
        "architectures": ["InternVLChatModel"],
        "model_type": "internvl_chat",
        "llm_config": inner,
        "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24},
        "torch_dtype": "bfloat16",
        "auto_map": {"AutoConfig": "configuration_internvl_chat.InternVLChatConfig"},
    }
    tensors = decoder(inner, "language_model.model", head="language_model.lm_head")
    return Folder(whole, tensors, 4, flags=("--trust-remote-code",))


def _mistral_small() -> Folder:
    text = config("MistralForCausalLM", "mistral", (40, 5120, 32, 8, 32768, 131072, 131072), head_dim=128)
    whole = nested("Mistral3ForConditionalGeneration", "mistral3", text)
    template = "{{ '[TOOL_CALLS]' }}"
    tensors = decoder(text, "language_model.model", head="language_model.lm_head")
    return Folder(whole, tensors, 10, template, {"tekken.json": {"config": {}}})


def _minimax_m2() -> Folder:
    minimax = config("MiniMaxM2ForCausalLM", "minimax_m2", (62, 3072, 48, 8, 1536, 200064, 196608), head_dim=128)
    minimax |= {
        "num_local_experts": 4,
        "num_experts_per_tok": 8,
        "quantization_config": FP8,
        "auto_map": {"AutoConfig": "x"},
    }
    names = [(".mlp.", ".block_sparse_moe."), ("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")]
    template = "{{ '<minimax:tool_call>' }}<think>"
    return Folder(minimax, renamed(decoder(minimax, linear=fp8), names), 9, template, flags=("--trust-remote-code",))


def _glm_air() -> Folder:
    glm = config("Glm4MoeForCausalLM", "glm4_moe", (46, 4096, 96, 8, 10944, 151552, 131072), head_dim=128)
    glm |= {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1408}
    glm |= {"first_k_dense_replace": 1, "num_nextn_predict_layers": 1}
    predicting: Tensors = {"model.layers.46.eh_proj.weight": ("BF16", (4096, 8192))}
    template = "[gMASK]<sop>{{ '<tool_call>' }}<arg_key><arg_value><think>"
    return Folder(glm, {**decoder(glm), **predicting}, 7, template)


def _modelopt(algorithm: str) -> dict[str, Any]:
    return {"hf_quant_config.json": {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": algorithm}}}


def _dense(architecture: str, kind: str, numbers: tuple[int, ...], **more: Any) -> Folder:
    own = config(architecture, kind, numbers, **more)
    return Folder(own, decoder(own))


def _qwen3_next() -> Folder:
    text = {**TEXT_35B, "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "vocab_size": 151936}
    text |= {"num_hidden_layers": 48, "num_experts": 16, "intermediate_size": 5120, "num_experts_per_tok": 10}
    text["layer_types"] = ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 12
    tensors = renamed(decoder(text), [("in_proj_qkv", "in_proj_qkvz")])
    return Folder(text, {**tensors, "mtp.fc.weight": ("BF16", (2048, 4096))}, 41, QWEN_CODER)


def _gptq_int4_moe() -> Folder:
    return Folder(
        _with({**QWEN3_30B, "num_experts": 16}, GPTQ), decoder({**QWEN3_30B, "num_experts": 16}, linear=gptq), 4
    )


MODELS: Final[Mapping[str, Callable[[], Folder]]] = {
    "llama-8b": lambda: Folder(LLAMA_8B, decoder(LLAMA_8B), 4, "{{ '<|python_tag|>' }}"),
    "llama-1b": lambda: _dense(
        "LlamaForCausalLM", "llama", (16, 2048, 32, 8, 8192, 128256, 131072), head_dim=64, tie_word_embeddings=True
    ),
    "llama-70b-nvfp4": lambda: Folder(LLAMA_70B, decoder(LLAMA_70B, linear=nvfp4), 9, beside=_modelopt("NVFP4")),
    "llama-8b-fp8-modelopt": lambda: Folder(LLAMA_8B, decoder(LLAMA_8B, linear=fp8), 2, beside=_modelopt("FP8")),
    "llama-8b-w4a16": lambda: Folder(_with(LLAMA_8B, W4A16), decoder(LLAMA_8B, linear=packed), 2),
    "llama-8b-nvfp4": lambda: Folder(_with(LLAMA_8B, NVFP4), decoder(LLAMA_8B, linear=nvfp4_packed), 2),
    "qwen2.5-7b": lambda: Folder(QWEN25_7B, decoder(QWEN25_7B), 4, HERMES),
    "qwen2.5-7b-gptq": lambda: Folder(_with(QWEN25_7B, GPTQ), decoder(QWEN25_7B, linear=gptq), 2, HERMES),
    "qwen2.5-7b-awq": lambda: Folder(_with(QWEN25_7B, AWQ), decoder(QWEN25_7B, linear=awq), 2, HERMES),
    "qwen3-8b": lambda: Folder(QWEN3_8B, decoder(QWEN3_8B), 5, HERMES),
    "qwen3-8b-bnb": lambda: Folder(_with(QWEN3_8B, BNB), decoder(QWEN3_8B, linear=bnb), 2, HERMES),
    "qwen3-8b-fp8": lambda: Folder(_with(QWEN3_8B, FP8), decoder(QWEN3_8B, linear=fp8), 2, HERMES),
    "qwen3-32b-awq": lambda: Folder(_with(QWEN3_32B, AWQ), decoder(QWEN3_32B, linear=awq), 4, HERMES),
    "qwen3-30b-a3b": lambda: Folder(QWEN3_30B, decoder(QWEN3_30B), 16, HERMES),
    "qwen3-30b-a3b-gptq": _gptq_int4_moe,
    "qwen3-next-80b": _qwen3_next,
    "qwen3.6-27b-w4a16": founding_27b,
    "qwen3.6-27b": lambda: Folder(QWEN_27B, {**decoder(TEXT_27B, _LANGUAGE), **_TOWER}, 12, QWEN_CODER),
    "qwen3.6-35b-awq": founding_35b,
    "qwen2.5-vl-7b": _qwen25_vl,
    "qwen3-vl-8b": _qwen3_vl,
    "internvl3-8b": _internvl,
    "mistral-7b": lambda: _dense("MistralForCausalLM", "mistral", (32, 4096, 32, 8, 14336, 32768, 32768)),
    "mistral-small": _mistral_small,
    "mixtral-8x7b": _mixtral,
    "phi-3-mini": _phi3,
    "phi-4": lambda: Folder(
        own := config("Phi3ForCausalLM", "phi3", (40, 5120, 40, 10, 17920, 100352, 16384)), _fused(decoder(own)), 6
    ),
    "gemma-2-9b": lambda: _dense(
        "Gemma2ForCausalLM",
        "gemma2",
        (42, 3584, 16, 8, 14336, 256000, 8192),
        head_dim=256,
        tie_word_embeddings=True,
        sliding_window=4096,
    ),
    "gemma-3-4b": _gemma3,
    "glm-4-9b": _glm4,
    "glm-4.5-air": _glm_air,
    "gpt-oss-20b": _gpt_oss,
    "deepseek-v2-lite": lambda: Folder(own := _deepseek(27, 2048, 16, 64), decoder(own), 4),
    "deepseek-v3": _deepseek_v3,
    "minimax-m2": _minimax_m2,
    "nemotron-h-8b": _nemotron_h,
    "falcon-h1-1.5b": _falcon_h1,
    "granite-4-tiny": _granite_hybrid,
    "olmo-2-7b": lambda: _dense("Olmo2ForCausalLM", "olmo2", (32, 4096, 32, 32, 11008, 100352, 4096)),
    "command-r": lambda: _dense(
        "CohereForCausalLM", "cohere", (40, 8192, 64, 64, 22528, 256000, 131072), tie_word_embeddings=True
    ),
}
"""By the name under which people know them; experts are fewer than published where their number does not matter."""
