"""Values of options as SGLang reads them: what argparse does with a word, without argparse."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from sgdoctor.engines.sglang.flags.model import SWITCH, Option
from sgdoctor.launch.model import Arity
from sgdoctor.patterns import lazy_pattern

_SUFFIXED: Final = lazy_pattern(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_FACTORS: Final = {
    "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
    "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}  # fmt: skip
_JSON: Final = frozenset({"json.loads", "json_list_type", "parse_cuda_graph_config_arg"})
JSON_TEXTS: Final = frozenset({"--json-model-override-args", "--model-loader-extra-config"})
"""Options whose value is text for argparse and read as JSON later: srt/configs/model_config.py and load_config.py."""


def read_value(option: Option, text: str) -> Any:
    """One value as the engine has it.

    Raises:
        ValueError: argparse would refuse it, or the engine's parser.
    """
    kind = option.type
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "human_readable_int":
        return human_readable_int(text)
    if kind in _JSON or (option.flag in JSON_TEXTS and text):
        return json.loads(text)
    if kind == "nullable_str" and text in ("", "None"):
        return None
    return text


def read_values(option: Option, texts: Sequence[str]) -> Any:
    """What the field of an option holds after it was given ``texts``: True for a switch, a list where it takes many.

    Raises:
        ValueError: argparse would refuse a value, or the engine's parser.
    """
    if option.nargs == SWITCH:
        return not option.flag.startswith("--no-")
    values = [read_value(option, text) for text in texts]
    if option.arity is Arity.MANY:
        return values
    return values[0] if values else None


def human_readable_int(text: str) -> int:
    """``64k`` is 64000, ``64Ki`` is 65536 and ``25.6k`` is 25600 (srt/utils/common.py of 0.5.13 to 0.5.23).

    Raises:
        ValueError: it is no such number.
    """
    text = text.strip()
    found = _SUFFIXED.fullmatch(text)
    if found is None:
        return int(text)
    number, suffix = found[1], found[2]
    if suffix.endswith("i") and "." in number:
        raise ValueError(f"no decimals before {suffix}")
    return int(Decimal(number) * _FACTORS[suffix])


def is_json(option: Option) -> bool:
    """Whether the value of an option has to be JSON."""
    return option.type in _JSON or option.flag in JSON_TEXTS
