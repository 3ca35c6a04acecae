"""What a release that cures a failure means for the version in the log."""

import pytest

from sgdoctor.diagnosis.pipeline import diagnose_bytes
from sgdoctor.rules.base import load_rule_base

ERROR = "ValueError: '{key}' is already used by a Transformers config, pick another name.\n"


@pytest.mark.parametrize(
    ("before", "key", "en", "zh"),
    [
        (
            "sglang==0.5.15\n",
            "qwen3_asr",
            "Fixed in SGLang 0.5.20: upgrade (0.5.15 runs here).",
            "请升级（当前为 0.5.15）",
        ),
        ("sglang==0.5.22\n", "qwen3_asr", "look for another cause", "请查找其他原因"),
        ("", "qwen3_asr", "Fixed in SGLang 0.5.20 and later.", "SGLang 0.5.20 及以后的版本已修复。"),
        ("sglang==0.5.15\n", "aimv2", "Fixed in vLLM 0.10.0 and later.", "vLLM 0.10.0 及以后的版本已修复。"),
    ],
)
def test_the_version_in_the_log_decides(before: str, key: str, en: str, zh: str) -> None:
    [verdict] = diagnose_bytes((before + ERROR.format(key=key)).encode(), "log", load_rule_base(user_dirs=()))

    upgrade = verdict.diagnoses[0].upgrade

    assert upgrade is not None
    assert en in upgrade.en
    assert zh in upgrade.zh


def test_a_model_class_came_with_a_release() -> None:
    log = (
        "sglang==0.5.5\n"
        "[2026-11-30 10:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=1)\n"
        "ValueError: Model architectures ['Qwen3_5MoeForConditionalGeneration'] are not supported for now. "
        "Supported architectures: dict_keys(['LlamaForCausalLM'])\n"
    )

    upgrades = [
        diagnose_bytes(text.encode(), "log", load_rule_base(user_dirs=()))[-1].diagnoses[0].upgrade
        for text in (log, log.replace("Qwen3_5Moe", "Nobodys"))
    ]

    assert upgrades[0] is not None
    assert upgrades[0].en == "Fixed in SGLang 0.5.9: upgrade (0.5.5 runs here)."
    assert upgrades[1] is None


def test_of_another_failure_of_the_rule_nothing_is_said() -> None:
    [verdict] = diagnose_bytes(ERROR.format(key="my_model").encode(), "log", load_rule_base(user_dirs=()))

    assert verdict.diagnoses[0].rule.id == "SGL207"
    assert verdict.diagnoses[0].upgrade is None
