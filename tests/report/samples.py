"""A verdict with a bit of everything, hostile text included."""

from sgdoctor.diagnosis.model import (
    Consequence,
    Diagnosis,
    Evidence,
    Fix,
    Notice,
    State,
    Verdict,
)
from sgdoctor.engines.base import Fact, Phase, PhaseName
from sgdoctor.launch.change import Change
from sgdoctor.rules.model import Confidence, FixedIn, Pattern, Rule, Severity
from sgdoctor.texts import Text

HOSTILE = "[bold red]x[/] :smile: \x1b[31m\x1b]0;title\x07 `tick` | <b>&</b> @someone \u202e"
TOKEN = "hf_" + "a1B2c3D4e5F6g7H8"

RULE = Rule(
    id="SGL402",
    name="state-cache-small",
    severity=Severity.FATAL,
    patterns=(Pattern(literals=("state cache is too small",)),),
    title=Text("", ""),
    cause=Text("", ""),
    fixed_in=(FixedIn("sglang", "0.5.20"),),
    references=("https://github.com/sgl-project/sglang/issues/31719",),
)


def verdict(**changes: object) -> Verdict:
    diagnosis = Diagnosis(
        rule=RULE,
        severity=Severity.FATAL,
        confidence=Confidence.CERTAIN,
        title=Text("The state cache of the hybrid model does not fit", "混合模型的状态缓存放不下"),
        cause=Text(
            f"At `--mem-fraction-static` 0.88 there is room for 4 slots; one request needs 5. {HOSTILE}",
            "在 `--mem-fraction-static` 0.88 下只有 4 个状态槽，一个请求需要 5 个。",
        ),
        evidence=(
            Evidence(
                812,
                f"RuntimeError: {HOSTILE} token={TOKEN}",
                ((810, "before one"), (811, "x" * 300)),
                ((813, "after"),),
            ),
        ),
        ranks=("TP0", "TP1"),
        consequences=(Consequence("SGL901", Text("It was told to die", "被要求退出"), 840),),
        upgrade=Text(
            "Fixed in SGLang 0.5.20: upgrade (0.5.15 runs here).", "SGLang 0.5.20 已修复：请升级（当前为 0.5.15）。"
        ),
        fixes=(
            Fix(
                "raise",
                Text("Raise `--mem-fraction-static` to 0.92.", "把 `--mem-fraction-static` 提高到 0.92。"),
                Text("Less room for graphs.", "留给图的显存变少。"),
                (Change("flag.set", "--mem-fraction-static", "0.92"), Change("flag.unset", "--x")),
                "safe",
                "ready",
            ),
        ),
        occurrences=2,
    )
    fields = {
        "state": State.FAILED,
        "attempt": 3,
        "attempts": 3,
        "first_line": 700,
        "last_line": 850,
        "summary": Text("The start failed at state cache: it does not fit.", "启动在“状态缓存”阶段失败。"),
        "diagnoses": (diagnosis,),
        "notices": (Notice("SGL911", Severity.BENIGN, Text("Harmless", "无害"), Text("Because.", "因为。"), 77, 3),),
        "unexplained": None,
        "facts": {
            "weights_gib": Fact("weights_gib", 19.05, 805),
            "args.api_key": Fact("args.api_key", "my-own-secret", 701),
            "args.model_path": Fact("args.model_path", "/models/my-own-secret/x", 701),
            "args_error.choices": Fact("args_error.choices", ("a", "b"), 701),
            "big": Fact("big", float("inf"), 701),
        },
        "phases": (
            Phase(PhaseName.WEIGHTS, 801, 805, None, 13.3, 19.05, done=True),
            Phase(PhaseName.STATE_CACHE, 806, 850),
        ),
        "engine": "sglang",
        "version": "0.5.15",
    }
    return Verdict(**{**fields, **changes})  # type: ignore[arg-type]
