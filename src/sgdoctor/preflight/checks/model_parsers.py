"""Whether tool and reasoning parsers fit the way in which the model writes."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.parsers import FORCED, advised_reasoning, reasoning_fits, thinks, tool_parsers
from sgdoctor.preflight.models.templates import templates_of
from sgdoctor.texts import Text

_TOOL: Final = "--tool-call-parser"
_REASONING: Final = "--reasoning-parser"
_TOOL_ERROR: Final = "SGL826"


class ModelParsers:
    """Compares the parsers with the marks in the chat template."""

    id: ClassVar[str] = "model-parsers"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Parsers", "解析器")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One finding for tool calls and one for thoughts, where the template shows them."""
        model = situation.model
        asked = asked_by(situation.launch, situation.flags)
        if model is None or asked.has("--chat-template"):
            return
        template = "\n".join(one.text for one in templates_of(model))
        if template:
            kind = str(model.settings.get("model_type") or model.model_type)
            yield from _tools(template, asked)
            yield from _reasoning(template, kind, asked)


def _tools(template: str, asked: Asked) -> Iterator[Finding]:
    fitting, given = tool_parsers(template), asked.value(_TOOL)
    if not fitting or given == "auto":
        return
    if given is None:
        title = Text(
            f"without {_TOOL} tool calls come back as text; {fitting[0]} fits",
            f"未设置 {_TOOL}，工具调用会以文本返回；适用 {fitting[0]}",
        )
        yield Finding(Status.PASS, title)
    elif given in fitting:
        yield Finding(Status.PASS, Text(f"{_TOOL} {given} fits", f"{_TOOL} {given} 匹配"), where=asked.where(_TOOL))
    else:
        yield Finding(
            Status.WARN,
            Text(
                f"{_TOOL} {given} does not read what this model writes; {fitting[0]} does",
                f"{_TOOL} {given} 无法解析此模型的输出格式；应为 {fitting[0]}",
            ),
            "chat template",
            asked.where(_TOOL),
            _TOOL_ERROR,
            (Change("flag.set", _TOOL, fitting[0]),),
            Text(
                "Tool calls would come back as text in `content`, with `tool_calls: null`.",
                "工具调用会以文本出现在 `content` 中，`tool_calls` 为 null。",
            ),
        )


def _reasoning(template: str, kind: str, asked: Asked) -> Iterator[Finding]:
    given, advised = asked.value(_REASONING), advised_reasoning(template, kind)
    where = asked.where(_REASONING)
    if given is None:
        if advised is not None:
            title = Text(
                f"without {_REASONING} thoughts stay in the answer; {advised} fits",
                f"未设置 {_REASONING}，思考内容会留在回答中；适用 {advised}",
            )
            yield Finding(Status.PASS, title)
        return
    if given == "auto":
        return
    if not thinks(template):
        if given in FORCED:
            yield Finding(
                Status.WARN,
                Text(
                    f"{_REASONING} {given} takes the whole answer of a model that does not think for a thought",
                    f"模型不输出思考内容，{_REASONING} {given} 会把整个回答当作思考",
                ),
                "chat template: no <think>",
                where,
                changes=(Change("flag.unset", _REASONING),),
            )
        return
    if reasoning_fits(template, given):
        yield Finding(Status.PASS, Text(f"{_REASONING} {given} fits", f"{_REASONING} {given} 匹配"), where=where)
        return
    yield Finding(
        Status.WARN,
        Text(
            f"{_REASONING} {given} looks for other marks than this model writes",
            f"{_REASONING} {given} 与此模型的思考标记不符",
        ),
        "chat template",
        where,
        changes=(Change("flag.set", _REASONING, advised),) if advised else (),
        detail=Text("Thoughts would stay in `content`.", "思考内容会留在 `content` 中。"),
    )
