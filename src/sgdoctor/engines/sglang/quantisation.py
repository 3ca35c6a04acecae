"""Quantised checkpoints: what a configuration says, and what SGLang makes of it on a card.

Sources: srt/configs/model_config.py `_verify_quantization`, srt/layers/quantization/ (0.5.15 unless said otherwise).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sgdoctor.engines.sglang.versions import version_key

COMPRESSED: Final = "compressed-tensors"
_MINIMUM: Final = {
    "gguf": 60,
    "gptq": 60,
    "auto-round": 60,
    "bitsandbytes": 70,
    "moe_wna16": 70,
    "awq": 75,
    "w8a8_int8": 75,
    "awq_marlin": 80,
    "gptq_marlin": 80,
    "marlin": 80,
    "fp8": 80,
    "fbgemm_fp8": 80,
    "blockwise_int8": 80,
    "mxfp4": 80,
    "qoq": 80,
    "modelopt_fp8": 89,
    "w8a8_fp8": 89,
    "w4afp8": 90,
    "petit_nvfp4": 90,
    "mxfp8": 100,
    "nvfp4_online": 100,
}
"""``get_min_capability`` of each method, as the compute capability times ten."""
_FP4_BY_MARLIN: Final = (0, 5, 13)
"""modelopt_quant.py: 100 up to 0.5.12, 80 from then on, where Marlin unpacks the weights."""
_NVFP4_BY_MARLIN: Final = (0, 5, 22)
"""compressed_tensors/: NVFP4 on cards before Blackwell."""
_COMPATIBLE: Final = {
    "modelopt_fp8": {"modelopt"},
    "modelopt_fp4": {"modelopt"},
    "modelopt_mixed": {"modelopt"},
    "nvfp4_online": {"fp8"},
    "petit_nvfp4": {"modelopt", "modelopt_fp4"},
    "w8a8_int8": {COMPRESSED},
    "w8a8_fp8": {COMPRESSED},
    "auto-round-int8": {COMPRESSED},
    "awq": {"awq_marlin"},
    "awq_marlin": {"awq"},
    "gptq": {"gptq_marlin"},
    "gptq_marlin": {"gptq"},
    "marlin": {"gptq", "awq", "gptq_marlin", "awq_marlin"},
    "moe_wna16": {"awq", "gptq", "awq_marlin", "gptq_marlin"},
    "mxfp8": {"fp8"},
    "modelopt": {"modelopt_fp8", "modelopt_fp4", "modelopt_mixed"},
    "quark_mxfp4": {"quark"},
    "w4afp8": {"fp8"},
}
"""Methods of ``--quantization`` that accept a checkpoint of another name."""
_ONLY_FOR_CHECKPOINTS: Final = frozenset(
    {"awq", "awq_marlin", "gptq", "gptq_marlin", "marlin", "moe_wna16", COMPRESSED, "w4afp8", "petit_nvfp4", "gguf"}
)
"""Methods that need weights that are quantised already; the others can quantise while loading."""


@dataclass(frozen=True, slots=True)
class Quantisation:
    """How the weights of a checkpoint are quantised.

    Attributes:
        method: as SGLang calls it, such as ``compressed-tensors``.
        bits: of a weight; None if unknown.
        group: values that share a scale; None if unknown, -1 for a whole column.
        weights: ``int`` or ``float``; empty if unknown.
        activations: bits of quantised activations; None where they stay as they are.
        form: of compressed tensors, such as ``nvfp4-pack-quantized``; of ModelOpt its algorithm.
        source: the file and the key that say so.
        mixed: whether layers differ in their bits.
    """

    method: str
    bits: int | None = None
    group: int | None = None
    weights: str = ""
    activations: int | None = None
    form: str = ""
    source: str = "config.json: quantization_config"
    mixed: bool = False

    @property
    def nvfp4(self) -> bool:
        """Whether the weights are in NVIDIA's format of four bits."""
        return "nvfp4" in self.form.lower() or self.method == "modelopt_fp4"

    @property
    def label(self) -> str:
        """In a few words: ``compressed-tensors (nvfp4-pack-quantized)``, ``awq 4 bit``."""
        if self.form:
            return f"{self.method} ({self.form})"
        return f"{self.method} {self.bits} bit" if self.bits else self.method


def quantisation_of(config: Mapping[str, Any] | None, beside: Mapping[str, Mapping[str, Any]]) -> Quantisation | None:
    """What a checkpoint says about its weights; None where they are not quantised.

    Args:
        config: its ``config.json``.
        beside: other JSON files of the folder, by name.
    """
    top = config or {}
    nested = top.get("text_config")
    for holder, prefix in ((top, ""), (nested if isinstance(nested, dict) else {}, "text_config.")):
        for key in ("quantization_config", "compression_config"):
            found = holder.get(key)
            if isinstance(found, dict) and found:
                return _read(found, f"config.json: {prefix}{key}")
    for name, key in (("hf_quant_config.json", "quantization"), ("quantize_config.json", "")):
        found = beside.get(name)
        inner = found.get(key) if found and key else found
        if isinstance(inner, dict) and inner:
            return _read({"quant_method": "gptq", **inner} if not key else inner, name)
    return (
        Quantisation("modelslim", source="quant_model_description.json")
        if beside.get("quant_model_description.json")
        else None
    )


def minimum_capability(method: str, quantisation: Quantisation | None, version: str | None) -> int | None:
    """The least compute capability, times ten, of a card that a method works on; None if unknown.

    Args:
        method: in force.
        quantisation: of the checkpoint.
        version: of SGLang; None for the newest.
    """
    key = version_key(version) if version else (99,)
    if method in ("modelopt_fp4", "modelopt_mixed"):
        return 80 if key >= _FP4_BY_MARLIN else 100
    if method == "modelopt" and quantisation is not None and quantisation.nvfp4:
        return 80 if key >= _FP4_BY_MARLIN else 100
    if method == "modelopt":
        return 89
    if method != COMPRESSED:
        return _MINIMUM.get(method)
    if quantisation is None:
        return 70
    if quantisation.nvfp4:
        return 80 if key >= _NVFP4_BY_MARLIN else 100
    return 80 if quantisation.bits else 70


def method_in_force(flag: str | None, quantisation: Quantisation | None, capability: int | None) -> str | None:
    """The method that SGLang ends up with; None where nothing is quantised.

    AWQ and GPTQ become their Marlin forms where the card and the checkpoint allow it.

    Args:
        flag: ``--quantization``; None if it is not given.
        quantisation: of the checkpoint.
        capability: of the card, times ten; None if unknown.
    """
    own = quantisation.method if quantisation is not None else None
    chosen = flag or own
    if quantisation is None or own not in ("awq", "gptq") or chosen not in (own, f"{own}_marlin", "marlin", None):
        return chosen
    # `--quantization awq` asks for the plain kernel: awq.py override_quantization_method.
    if flag == own or not _fits_marlin(quantisation) or (capability is not None and capability < 80):
        return own if chosen in (own, None) else chosen
    return f"{own}_marlin"


def accepts(flag: str, quantisation: Quantisation) -> bool:
    """Whether ``--quantization flag`` goes with a checkpoint."""
    own = quantisation.method
    return flag == own or own in _COMPATIBLE.get(flag, ())


def needs_checkpoint(flag: str) -> bool:
    """Whether a method works only with weights that are quantised already."""
    return flag in _ONLY_FOR_CHECKPOINTS


def _fits_marlin(quantisation: Quantisation) -> bool:
    return quantisation.bits in (4, 8) and quantisation.group in (-1, 32, 64, 128, None)


def _read(found: Mapping[str, Any], source: str) -> Quantisation | None:
    method = str(found.get("quant_method") or found.get("quantization") or "").lower().replace("_tensors", "-tensors")
    algorithm = str(found.get("quant_algo") or "")
    if not method or method == "modelopt":
        method = _modelopt(algorithm, found) or ""
        # Without an algorithm only the KV cache is quantised, or nothing is.
        width = 4 if "FP4" in algorithm else 8
        return Quantisation(method, width, form=algorithm, weights="float", source=source) if method else None
    if method == COMPRESSED:
        return _compressed(found, source)
    if method == "bitsandbytes":
        return Quantisation(method, 4 if found.get("load_in_4bit") else 8, source=source)
    bits = _whole(found.get("bits", found.get("w_bit")))
    if bits is None and "fp8" in method:
        bits = 8
    group = _whole(found.get("group_size", found.get("q_group_size")))
    return Quantisation(
        method,
        bits,
        group,
        "float" if "fp" in method else "int",
        source=source,
        # `dynamic` of GPTQModel and `extra_config` of AutoRound give single layers other bits.
        mixed=bool(found.get("dynamic") or found.get("extra_config")),
    )


def _modelopt(algorithm: str, found: Mapping[str, Any]) -> str | None:
    if algorithm == "MIXED_PRECISION":
        layers = found.get("quantized_layers")
        kinds = layers.values() if isinstance(layers, dict) else ()
        fp4 = any(isinstance(one, dict) and "NVFP4" in str(one.get("quant_algo", "")).upper() for one in kinds)
        return "modelopt_mixed" if fp4 else "w4afp8"
    if "FP4" in algorithm:
        return "modelopt_fp4"
    return "modelopt_fp8" if "FP8" in algorithm else None


def _compressed(found: Mapping[str, Any], source: str) -> Quantisation:
    groups = found.get("config_groups")
    schemes = [one for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    scheme = schemes[0] if schemes else {}
    widths = {part.get("num_bits") for one in schemes if isinstance(part := one.get("weights"), dict)}
    weights, inputs = (
        part if isinstance(part := scheme.get(key), dict) else {} for key in ("weights", "input_activations")
    )
    form = scheme.get("format") or found.get("format")
    return Quantisation(
        COMPRESSED,
        _whole(weights.get("num_bits")),
        _whole(weights.get("group_size")),
        str(weights.get("type") or ""),
        _whole(inputs.get("num_bits")),
        form if isinstance(form, str) else "",
        source=source,
        mixed=len(widths) > 1,
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
