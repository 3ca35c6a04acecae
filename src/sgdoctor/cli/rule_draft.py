"""The first draft of a rule file, with a comment on everything that has to be decided."""

from pathlib import Path

_DRAFT = """\
# yaml-language-server: $schema={schema}
id: {id}                 # {c_id}
name: {name}
status: experimental       # experimental | stable | deprecated
engine: [sglang]           # {c_engine}
# applies:                 # {c_applies}
#   versions: {{sglang: ">=0.5.13"}}
#   phase: [graph_capture]
severity: fatal            # {c_severity}
match:
  event: any               # any | line | traceback | exit | fact
  literals:                # {c_literals}
    - "REPLACE: the longest text that never changes"
  # message: '(?P<tokens>\\d+) tokens'   # {c_message}
  # none_of:
  #   - message: 'a similar text that means something else'
# captures: {{tokens: int}}
explains: []               # {c_explains}
title:
  en: "REPLACE: what is wrong, in a few words"
  zh: "替换：用几个词说明问题"
cause:
  en: "REPLACE: why it happens."
  zh: "替换：为什么会发生。"
fixes:
  - id: first-fix
    # when: args.tp_size > 1    # {c_when}
    summary:
      en: "REPLACE: what to do."
      zh: "替换：怎么做。"
    changes:
      - flag.set: {{name: --dtype, value: bfloat16}}
    safety: manual         # safe | unsafe | manual
    effect:
      en: "REPLACE: what gets worse."
      zh: "替换：有什么代价。"
references: []
tests:
  hit:                     # {c_hit}
    - text: |
        REPLACE: the longest text that never changes
  near_miss:               # {c_miss}
    - text: |
        REPLACE: a harmless line that looks like it
"""

_COMMENTS = {
    "c_id": ("ids 01 to 79 of a family are for sgdoctor itself", "每个类别的 01 至 79 留给 sgdoctor 自身"),
    "c_engine": (
        "sglang, vllm, docker, nccl, cuda, transformers, python, any",
        "sglang、vllm、docker、nccl、cuda、transformers、python、any",
    ),
    "c_applies": (
        "what is unknown in a log never excludes it",
        "日志中未知的条件不会排除该规则",
    ),
    "c_severity": (
        "fatal | error | degraded | notice | benign; the last two are no diagnoses",
        "fatal | error | degraded | notice | benign；后两者不算诊断",
    ),
    "c_literals": (
        "one of them has to be in the event, letter by letter, 6 or more characters",
        "事件中必须逐字包含其中之一，至少 6 个字符",
    ),
    "c_message": ("a pattern for details; keep gaps bounded: .{0,80}", "匹配细节的正则；间隔要有界：.{0,80}"),
    "c_explains": (
        "ids of rules that only show what this one causes",
        "由本规则引起的其他规则的编号",
    ),
    "c_when": ("a condition over facts and captures", "关于事实和捕获值的条件"),
    "c_hit": ("logs that must hit", "必须命中的日志"),
    "c_miss": ("logs that resemble them and must not hit", "相似但不能命中的日志"),
}


def draft(id_: str, name: str, schema: Path, lang: str) -> str:
    """The text of a rule file that follows the schema and passes its own tests."""
    comments = {key: texts[lang == "zh"] for key, texts in _COMMENTS.items()}
    return _DRAFT.format(id=id_, name=name, schema=schema, **comments)
