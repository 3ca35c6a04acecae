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


def test_of_another_failure_of_the_rule_nothing_is_said() -> None:
    [verdict] = diagnose_bytes(ERROR.format(key="my_model").encode(), "log", load_rule_base(user_dirs=()))

    assert verdict.diagnoses[0].rule.id == "SGL207"
    assert verdict.diagnoses[0].upgrade is None
