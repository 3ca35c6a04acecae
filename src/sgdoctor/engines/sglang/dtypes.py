"""The dtype that a model runs in.

Source: `_get_and_verify_dtype` of srt/configs/model_config.py, 0.5.9 to 0.5.23; below compute capability 8.0
srt/model_executor/model_runner.py takes float16 whatever was asked for.
"""

from collections.abc import Mapping
from typing import Any, Final

from sgdoctor.engines.sglang.versions import version_key

FLOAT16: Final = "float16"
BFLOAT16: Final = "bfloat16"
_NAMES: Final = {"half": FLOAT16, "float": "float32", "fp16": FLOAT16, "bf16": BFLOAT16}
_NOT_INHERITED: Final = ((0, 5, 10), (0, 5, 11))
"""With transformers 5 the nested configuration does not inherit the dtype; SGLang copies it itself from 0.5.11 on."""


def resolved_dtype(
    config: Mapping[str, Any], flag: str | None, version: str | None, capability: int | None = None
) -> str | None:
    """The dtype in force, such as ``bfloat16``; None for one that is not known.

    Args:
        config: ``config.json`` of the model.
        flag: ``--dtype``; None if it is not given.
        version: of SGLang; None for the newest.
        capability: of the card, times ten; None if unknown.
    """
    asked = (flag or "auto").lower()
    found = _of_config(config, version) if asked == "auto" else _NAMES.get(asked, asked)
    if found == BFLOAT16 and capability is not None and capability < 80:
        return FLOAT16
    return found if found in (FLOAT16, BFLOAT16, "float32") else None


def _of_config(config: Mapping[str, Any], version: str | None) -> str:
    nested = config.get("text_config")
    text = nested if isinstance(nested, Mapping) and nested else config
    own = _named(text)
    key = version_key(version) if version else (99,)
    if own is None and not _NOT_INHERITED[0] <= key < _NOT_INHERITED[1]:
        own = _named(config)
    if own not in (None, "float32"):
        return str(own)
    return BFLOAT16 if str(text.get("model_type") or "").startswith("gemma") else FLOAT16


def _named(config: Mapping[str, Any]) -> str | None:
    value = config.get("dtype") or config.get("torch_dtype")
    return value.removeprefix("torch.") if isinstance(value, str) else None
