"""Registers model types as SGLang does, here and in a spawned child; prints JSON."""

import json
import multiprocessing
import sys


def outcome(model_type: str, **keywords: bool) -> str:
    """How `AutoConfig.register` ends, and whose class the type has afterwards."""
    from transformers import CONFIG_MAPPING, AutoConfig, PretrainedConfig

    own = type("OwnConfig", (PretrainedConfig,), {"model_type": model_type})
    try:
        AutoConfig.register(model_type, own, **keywords)
    except Exception as error:  # noqa: BLE001 - the answer of the probe
        return f"{type(error).__name__}: {error}"
    return "own class" if CONFIG_MAPPING[model_type] is own else "another class"


def outcomes() -> dict[str, str]:
    """All forms of the call that SGLang 0.5.11 to 0.5.23 has, and types that must stay refused."""
    return {
        "positional": outcome("qwen3_asr"),
        "keyword": outcome("qwen3_asr", exist_ok=True),
        "keyword false": outcome("qwen3_asr", exist_ok=False),
        "new": outcome("qwen3_asr_thinker"),
        "other": outcome("bert"),
        "other keyword": outcome("bert", exist_ok=True),
    }


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        child = pool.apply(outcomes)
    sys.stdout.write(json.dumps({"here": outcomes(), "child": child}) + "\n")
