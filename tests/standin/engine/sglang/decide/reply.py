"""What the pretended model says: the text of the recorded answers, a call of the first tool that is offered."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

THINKING: Final = ("The user wants", " a short greeting", ", so I greet.\n")
CLOSED: Final = "</think>"
SPOKEN: Final = ("\n\n", "Hello from", " a tiny model", " with random weights", "!")
"""Tokens of the recorded answer: the model had nine of them."""
CITY: Final = "北京"
CALL_ID: Final = "call_500c2713b0fc49bdaaabd0d3"
END_TOKEN: Final = 4002

_TOKEN: Final = re.compile(r"[^\W\d_]{1,12}|\d{1,3}|[^\w\s]|_")
_TEMPLATE_TOKENS: Final = 16
_TOOLS_TOKENS: Final = 80


@dataclass(frozen=True, slots=True)
class Reply:
    """One message of the assistant.

    Attributes:
        content: its text.
        reasoning: what the parser for reasoning took off it; None if there was nothing, or no parser.
        calls: tool calls that a parser read.
        finish: `stop`, `length` or `tool_calls`.
        tokens: how many it has.
        reasoning_tokens: how many of these are reasoning, where a parser counts them.
    """

    content: str
    reasoning: str | None
    calls: tuple[Mapping[str, Any], ...]
    finish: str
    tokens: int
    reasoning_tokens: int

    @property
    def message(self) -> dict[str, Any]:
        """The message as JSON."""
        return {
            "role": "assistant",
            "content": self.content,
            "reasoning_content": self.reasoning,
            "tool_calls": [dict(call) for call in self.calls] or None,
        }

    @property
    def deltas(self) -> list[dict[str, Any]]:
        """The message in pieces, as a stream has them."""
        pieces: list[dict[str, Any]] = [{"reasoning_content": None, "role": "assistant", "content": ""}]
        if self.reasoning:
            pieces.append({"reasoning_content": self.reasoning, "content": None})
        pieces += [{"reasoning_content": None, "content": piece} for piece in re.findall(r"\S+\s*|\s+", self.content)]
        pieces += [{"reasoning_content": None, "content": None, "tool_calls": [dict(call)]} for call in self.calls]
        return pieces


def tokens_of(text: str) -> int:
    """About how many tokens a text has: a Chinese character counts as one."""
    return sum(1 if one.isascii() or len(one) == 1 else len(one) for one in _TOKEN.findall(text))


def prompt_tokens(request: Mapping[str, Any]) -> int:
    """About how many tokens the prompt of a chat request has."""
    tools = request.get("tools")
    described = tokens_of(json.dumps(tools, ensure_ascii=False)) + _TOOLS_TOKENS if tools else 0
    return _TEMPLATE_TOKENS + described + sum(tokens_of(text_of(one)) for one in request["messages"])


def text_of(message: Any) -> str:
    """The text of a message; pictures have none."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")


def reply_to(request: Mapping[str, Any], *, tool_parser: bool, reasoning_parser: bool) -> Reply:
    """The answer to a chat request.

    Args:
        request: its body.
        tool_parser: whether the server reads tool calls; without one they stay text.
        reasoning_parser: whether it takes the reasoning apart; without one it stays text.
    """
    tools = request.get("tools")
    # After the result of a tool the model speaks.
    answered = any(isinstance(one, dict) and one.get("role") == "tool" for one in request["messages"])
    if isinstance(tools, list) and tools and request.get("tool_choice") != "none" and not answered:
        return _call(tools[0], tool_parser=tool_parser, reasoning_parser=reasoning_parser)
    return _speak(request, reasoning_parser=reasoning_parser)


def _speak(request: Mapping[str, Any], *, reasoning_parser: bool) -> Reply:
    thinks = (request.get("chat_template_kwargs") or {}).get("enable_thinking", True)
    pieces: Sequence[str] = (*THINKING, CLOSED, *SPOKEN) if thinks else SPOKEN[1:]
    limit = request.get("max_completion_tokens") or request.get("max_tokens") or len(pieces)
    said = pieces[:limit]
    finish = "stop" if len(said) == len(pieces) else "length"
    text = "".join(said)
    if not (thinks and reasoning_parser):
        return Reply(text, None, (), finish, len(said), 0)
    reasoning, _, content = text.partition(CLOSED)
    return Reply(content, reasoning, (), finish, len(said), min(len(said), len(THINKING) + 1))


def _call(tool: Any, *, tool_parser: bool, reasoning_parser: bool) -> Reply:
    function = tool.get("function") if isinstance(tool, dict) else None
    function = function if isinstance(function, dict) else {}
    name = str(function.get("name", ""))
    values = _arguments(function.get("parameters") or {})
    lines = [f"<parameter={key}>\n{_plain(value)}\n</parameter>\n" for key, value in values.items()]
    text = f"<tool_call>\n<function={name}>\n{''.join(lines)}</function>\n</tool_call>"
    tokens = 5 + 3 * len(lines)
    if not tool_parser:
        return Reply(text, None, (), "stop", tokens, 0)
    called = {"name": name, "arguments": json.dumps(values, ensure_ascii=False)}
    call = {"id": CALL_ID, "index": 0, "type": "function", "function": called}
    return Reply("", None, (call,), "tool_calls", tokens, tokens if reasoning_parser else 0)


def _arguments(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each parameter that is required; for the first one if none is."""
    known = parameters.get("properties") or {}
    names = parameters.get("required") or list(known)[:1]
    return {name: _value(known.get(name) or {}) for name in names}


def _value(kind: Mapping[str, Any]) -> Any:
    if kind.get("enum"):
        return kind["enum"][0]
    usual = {"integer": 2, "number": 2.5, "boolean": True, "array": [], "object": {}}
    return usual.get(str(kind.get("type")), CITY)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
