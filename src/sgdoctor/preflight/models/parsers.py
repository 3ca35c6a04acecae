"""Which parsers fit the way in which a model writes tool calls and thoughts, by the marks in its chat template.

Source: the detection that SGLang does for ``auto`` (srt/parser/template_detection.py 0.5.23, srt/managers/
template_manager.py 0.5.15) and the marks that each detector looks for (srt/function_call/, srt/parser/).
"""

from typing import Final, NamedTuple


class Parsers(NamedTuple):
    """Parsers for one way of writing.

    Attributes:
        marks: all of them stand in the template.
        names: parsers that read it, the one to be advised first.
    """

    marks: tuple[str, ...]
    names: tuple[str, ...]


_TOOLS: Final = (
    Parsers(("<|tool_call>",), ("gemma4",)),
    Parsers(("<|channel|>", "<|call|>"), ("gpt-oss",)),
    Parsers(("<|tool_calls_section_begin|>",), ("kimi_k2",)),
    Parsers(("]<]minimax[>[",), ("minimax-m3",)),
    Parsers(("<minimax:tool_call>",), ("minimax-m2",)),
    Parsers(("<｜DSML｜tool_calls>",), ("deepseekv4",)),
    Parsers(("<｜DSML｜function_calls>",), ("deepseekv32",)),
    Parsers(("<｜tool▁calls▁begin｜>", "<｜tool▁sep｜>"), ("deepseekv31", "deepseekv3")),
    Parsers(("<|tool_call_start|>",), ("lfm2",)),
    Parsers(("<steptml:invoke",), ("step3",)),
    Parsers(("<tool_calls>", "<tool_sep>"), ("hunyuan",)),
    Parsers(("<arg_key>", "<arg_value>"), ("glm45", "glm47", "glm", "poolside_v1", "ling3", "hunyuan")),
    Parsers(("<function=", "<parameter="), ("qwen3_coder", "step3p5", "mimo", "trinity")),
    Parsers(("<function name=", "<param name="), ("minicpm5",)),
    Parsers(("[TOOL_CALLS]",), ("mistral",)),
    Parsers(("<|START_ACTION|>",), ("cohere_command4",)),
    Parsers(("<|python_tag|>",), ("llama3", "pythonic")),
    Parsers(("<tool_call>", '"name"'), ("qwen", "qwen25", "hermes", "trinity", "mimo", "interns1")),
)
"""The first whose marks all stand in the template."""
_OTHER_MARKS: Final = (
    Parsers(("<|channel|>",), ("gpt-oss",)),
    Parsers(("<|channel>",), ("gemma4",)),
    Parsers(("◁think▷",), ("kimi",)),
    Parsers(("[THINK]",), ("mistral",)),
)
_THINK: Final = ("<think>", "</think>")
_NOT_THINK: Final = frozenset({"gpt-oss", "gemma4", "kimi", "mistral", "apertus2509", "cohere_command4"})
"""Parsers that look for other marks than ``<think>``."""
FORCED: Final = frozenset({"qwen3-thinking", "deepseek-r1", "minimax", "minimax-append-think", "step3"})
"""Parsers that take all text for a thought until ``</think>`` comes."""


def tool_parsers(template: str) -> tuple[str, ...]:
    """Values of ``--tool-call-parser`` that fit a template; empty where it shows no tool calls that are known."""
    return next((one.names for one in _TOOLS if all(mark in template for mark in one.marks)), ())


def thinks(template: str) -> bool:
    """Whether a template speaks of thoughts in any way that is known."""
    return any(mark in template for mark in _THINK) or bool(_own_marks(template))


def reasoning_fits(template: str, parser: str) -> bool:
    """Whether ``--reasoning-parser`` looks for the marks that a template shows."""
    own = _own_marks(template)
    if any(mark in template for mark in _THINK):
        return parser not in _NOT_THINK or parser in own
    return not own or parser in own


def advised_reasoning(template: str, model_type: str) -> str | None:
    """The value of ``--reasoning-parser`` for a template; None where it does not say."""
    own = _own_marks(template)
    if own:
        return own[0]
    if not any(mark in template for mark in _THINK):
        return None
    if "[gMASK]<sop>" in template:
        return "glm45"
    if model_type.startswith("qwen3") or "enable_thinking" in template:
        return "qwen3"
    return "deepseek-r1" if model_type.startswith(("deepseek", "qwen2", "llama")) else None


def _own_marks(template: str) -> tuple[str, ...]:
    return next((one.names for one in _OTHER_MARKS if all(mark in template for mark in one.marks)), ())
