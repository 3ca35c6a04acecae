"""Layers that keep only a window of the tokens: which they are, and whether SGLang gives them a pool of their own.

Read from ``is_hybrid_swa_model`` and ``get_hybrid_layer_ids`` of srt/configs/model_config.py, the overrides of
srt/server_args.py and srt/arg_groups, and srt/model_executor/model_runner.py in the wheels 0.4.6 to 0.5.23.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from sgdoctor.engines.sglang.memory.settings import Settings
from sgdoctor.engines.sglang.versions import version_key

_Version = tuple[int, ...]

_LLAMA4: Final = "Llama4ForConditionalGeneration"
_GPT_OSS: Final = "GptOssForCausalLM"
_MIMO: Final = frozenset({"MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM"})
_STEP: Final = frozenset({"Step3p5ForCausalLM", "Step3p7ForConditionalGeneration"})
_GEMMA4: Final = ("Gemma4", "DiffusionGemma", "EmbeddingGemma2")
_POOL_SINCE: Final[Mapping[str, _Version]] = {
    _LLAMA4: (0, 5, 8),
    _GPT_OSS: (0, 5, 8),
    "MiMoV2FlashForCausalLM": (0, 5, 9),
    "MiMoV2ForCausalLM": (0, 5, 11),
    "Step3p5ForCausalLM": (0, 5, 9),
    "Step3p7ForConditionalGeneration": (0, 5, 13),
    "Gemma4ForCausalLM": (0, 5, 11),
    "Gemma4ForConditionalGeneration": (0, 5, 11),
    "Gemma4UnifiedForConditionalGeneration": (0, 5, 13),
    "LagunaForCausalLM": (0, 5, 12),
    "MellumForCausalLM": (0, 5, 16),
    "MuseGlimmerForCausalLM": (0, 5, 18),
    "MuseGlimmerForConditionalGeneration": (0, 5, 18),
    "GraniteSWAForCausalLM": (0, 5, 19),
    "GraniteMoeSWAForCausalLM": (0, 5, 19),
    "IQuestQ1ForCausalLM": (0, 5, 21),
    "DiffusionGemmaForBlockDiffusion": (0, 5, 21),
    "EmbeddingGemma2Model": (0, 5, 22),
    "BeamForCausalLM": (0, 5, 23),
}
"""From which version on windows have a pool of their own. All other architectures keep every token in every layer:
Gemma 2 and 3, Cohere2, Exaone4 and Olmo2 among them, for which SGLang says "Disable hybrid SWA memory"."""
_OPTED_IN_SINCE: Final = (0, 5, 13)
"""From there on ``is_hybrid_swa`` in a configuration makes any architecture one of them."""
_WITHOUT_ITSELF: Final = (_GPT_OSS, *_GEMMA4, "Mellum")
"""Architectures (beginnings) whose window is one token shorter as SGLang counts it, the token itself left out:
``get_attention_sliding_window_size`` of srt/models, 0.5.6 to 0.5.23."""
_NOT_MODELLED: Final = ("DeepseekV4", "Inkling", "UnlimitedOCR", "Dots3Note", "MuseSpark")
"""Architectures (beginnings) with further pools, or with nothing but windows."""


@dataclass(frozen=True, slots=True)
class WindowShape:
    """The layers that keep only a window.

    Attributes:
        heads: KV heads of a layer, all cards together.
        width: values that one head keeps, key and value together.
        layers: how many they are.
        tokens: length of the window; None if unknown.
    """

    heads: int
    width: int
    layers: int
    tokens: int | None = None

    def values(self, tp: int) -> int:
        """Values of one token on one of ``tp`` cards."""
        return max(1, self.heads // tp) * self.width * self.layers


class Fields(Protocol):
    """The fields of a configuration, as ``shape`` reads them."""

    def whole(self, *names: str) -> int | None: ...  # noqa: D102
    def word(self, name: str) -> str: ...  # noqa: D102
    def words(self, name: str) -> list[str]: ...  # noqa: D102
    def numbers(self, name: str) -> list[int]: ...  # noqa: D102
    def has(self, name: str) -> bool: ...  # noqa: D102
    def part(self, name: str) -> "Fields": ...  # noqa: D102


def modelled(architecture: str | None) -> bool:
    """Whether the pools of an architecture are understood."""
    return not (architecture or "").startswith(_NOT_MODELLED)


def may_have_pool(architecture: str | None) -> bool:
    """Whether windows of an architecture have a pool of their own in some version."""
    return architecture in _POOL_SINCE


def window_layers(architecture: str | None, text: Fields, layers: int) -> int | None:
    """How many layers could get a pool of their own; 0 for an architecture without one in every version.

    Args:
        architecture: name of the model class.
        text: the language model's configuration.
        layers: all that it has.

    Returns:
        None where the configuration does not tell.
    """
    opted = text.has("is_hybrid_swa")
    if architecture not in _POOL_SINCE and not opted:
        return 0
    if architecture == "LagunaForCausalLM" and not text.has("sliding_window"):
        return 0
    if architecture == _LLAMA4:
        return layers - layers // 4
    if architecture in _MIMO or (opted and architecture not in _POOL_SINCE):
        pattern = text.numbers("hybrid_layer_pattern")[:layers]
        return pattern.count(1) if len(pattern) == layers else None
    kinds = text.words("layer_types")
    if architecture in _STEP:
        kinds = kinds[:layers]
    return kinds.count("sliding_attention") if len(kinds) == layers else None


def global_names(architecture: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Fields of the KV heads and of their width in layers of full attention, those of Gemma 4 first where it is one."""
    # srt/utils/hf_transformers/config.py: a Gemma 4 configuration gives the sizes of windows under the plain names.
    gemma = (architecture or "").startswith(_GEMMA4)
    return ("num_global_key_value_heads",) if gemma else (), ("global_head_dim",) if gemma else ()


def window_shape(architecture: str | None, text: Fields, layers: int, heads: int, width: int) -> WindowShape:
    """The layers with a window.

    Args:
        architecture: name of the model class.
        text: the language model's configuration.
        layers: how many have a window.
        heads: KV heads by the plain names.
        width: of a head by the plain names.
    """
    key = text.whole("swa_head_dim") or width
    value = text.whole("swa_v_head_dim") or key
    # Without a width of its own a value is taken to be as wide as a key (0.5.11 to 0.5.23).
    tokens = text.whole("sliding_window_size", "sliding_window", "attention_chunk_size")
    step = text.part("attention_other_setting").whole("num_attention_groups")
    return WindowShape(
        text.whole("swa_num_key_value_heads") or step or heads,
        key + value,
        layers,
        None if tokens is None else tokens - (architecture or "").startswith(_WITHOUT_ITSELF),
    )


def has_pool(architecture: str | None, settings: Settings, version: str | None) -> bool | None:
    """Whether windows get a pool of their own; None where they do but its size is not modelled."""
    if settings.windows_off:
        return False
    key = version_key(version) if version else (99,)
    if key < (0, 5, 8):
        return _had_pool(architecture, settings, key)
    if architecture in _MIMO and key < (0, 5, 9):
        return None
    if architecture == _GPT_OSS and key < (0, 5, 10):
        off = settings.attention == "trtllm_mha" or (key < (0, 5, 9) and settings.algorithm is not None)
        return not off
    if settings.hierarchical and (architecture in _STEP or (architecture in _MIMO and key < (0, 5, 14))):
        return False
    since = _POOL_SINCE.get(architecture or "")
    return key >= (_OPTED_IN_SINCE if since is None else since)


def _had_pool(architecture: str | None, settings: Settings, key: _Version) -> bool | None:
    """The same before 0.5.8, when few models had one."""
    if architecture == _LLAMA4:
        # Only with --hybrid-kvcache-ratio, and then shared by a formula of its own.
        return False if settings.old_window_ratio is None else None
    if architecture in _MIMO and key >= (0, 5, 7):
        return None
    return architecture == _GPT_OSS and (0, 5, 6) <= key < (0, 5, 7)
