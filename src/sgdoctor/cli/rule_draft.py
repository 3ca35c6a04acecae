"""The first draft of a rule file, with a comment on everything that has to be decided."""

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from sgdoctor.engines.sglang import SGLANG
from sgdoctor.errors import UserError
from sgdoctor.logs.event import Event, EventKind
from sgdoctor.logs.folding import fold
from sgdoctor.logs.framing import read_lines
from sgdoctor.logs.sources import open_log
from sgdoctor.logs.templates import constant_parts
from sgdoctor.redaction import HIDDEN, redact

_AROUND = 400
"""Lines of the log on each side of the one that is asked for: a traceback is read whole."""
_MOST_QUOTED = 40

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
  event: {event:<17} # any | line | traceback | exit | fact
  literals:                # {c_literals}
{literals}
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
{text}
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


@dataclass(frozen=True, slots=True)
class Example:
    """What a draft begins with.

    Attributes:
        event: kind of event, as rule files name it.
        literals: texts that never change.
        text: a log that the rule must hit.
    """

    event: str = "any"
    literals: tuple[str, ...] = ("REPLACE: the longest text that never changes",)
    text: str = "REPLACE: the longest text that never changes"


def example_of(place: str) -> Example:
    """The event of a log that stands on one of its lines.

    Args:
        place: ``LOG:LINE``.

    Raises:
        UserError: there is no such log or line, or nothing on it that a rule could look for.
    """
    name, _, digits = place.rpartition(":")
    if not name or not digits.isdecimal():
        raise UserError(
            f"{place}: name the log and the line, such as server.log:812",
            f"{place}：请写明日志和行号，例如 server.log:812",
        )
    number = int(digits)
    with open_log(name) as log:
        lines = [line for line in read_lines(log.data, 0, len(log.data)) if abs(line.number - number) <= _AROUND]
    event = next((event for event in fold(lines, SGLANG.is_data) if event.first <= number <= event.last), None)
    if event is None:
        raise UserError(f"{name} has no line {number}", f"{name} 没有第 {number} 行")
    # Secrets change from user to user, and must not come into a rule.
    told = redact(event.raised[0].text if event.raised else event.text)
    literals = [part for piece in told.split(HIDDEN) for part in constant_parts(piece)]
    literals = sorted(literals, key=len, reverse=True)[:1]
    if not literals or event.kind is EventKind.DATA:
        raise UserError(
            f"{place}: nothing on this line that a rule could look for; choose the line with the error",
            f"{place}：这一行没有规则可以查找的内容；请选择报错的那一行",
        )
    quoted = [redact(line.text) for line in lines if event.first <= line.number <= event.last]
    return Example(_kind(event), tuple(literals), "\n".join(_shortened(quoted)))


def _kind(event: Event) -> str:
    return event.kind.value if event.kind in (EventKind.TRACEBACK, EventKind.EXIT) else "any"


def _shortened(lines: list[str]) -> list[str]:
    """The beginning and the end of a long event: of a traceback the message stands at the end."""
    half = _MOST_QUOTED // 2
    return lines if len(lines) <= _MOST_QUOTED else [*lines[:half], *lines[-half:]]


def draft(id_: str, name: str, schema: Path, lang: str, example: Example) -> str:
    """The text of a rule file that follows the schema and passes its own tests."""
    comments = {key: texts[lang == "zh"] for key, texts in _COMMENTS.items()}
    return _DRAFT.format(
        id=id_,
        name=name,
        schema=schema,
        event=example.event,
        # A JSON string is a YAML string.
        literals="\n".join(f"    - {json.dumps(literal, ensure_ascii=False)}" for literal in example.literals),
        text=indent(example.text, " " * 8),
        **comments,
    )
