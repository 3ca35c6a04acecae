"""Whether the model has a chat template, and one whose blocks close."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Final

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.host_paths import host_path
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.launches.places import State, state_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.templates import Template, fault_in, templates_of
from sgdoctor.texts import Text
from sgdoctor.writing import read_text

_FLAG: Final = "--chat-template"
_PATH: Final = "SGL810"
_NONE: Final = "SGL811"
_BROKEN: Final = "SGL813"
_EMBEDS: Final = "--is-embedding"
_NO_CHAT: Final = re.compile(r"\w*(?:Classification|RewardModel|EmbeddingModel|(?<!Chat)Model)")
"""Classes that answer with numbers."""
_UNSEEN: Final = Text("it cannot be read from here", "从这里无法读取")
_ENDINGS: Final = (".jinja", ".jinja2", ".json", ".txt", ".j2")


class ModelTemplate:
    """Reads the chat template, of the model or of ``--chat-template``."""

    id: ClassVar[str] = "model-template"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Chat template", "聊天模板")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """No template, one that cannot be parsed, or a file of one that is not there."""
        model = situation.model
        asked = asked_by(situation.launch, situation.flags)
        given = asked.value(_FLAG)
        if given is not None:
            yield from _given(situation, asked, given)
            return
        if model is None or asked.has(_EMBEDS) or any(map(_NO_CHAT.fullmatch, model.architectures)):
            return
        if model.config is None and not any(not file.problem for file in model.gguf):
            return
        templates = templates_of(model)
        if templates:
            yield _judged(templates)
            return
        yield Finding(
            Status.WARN,
            Text("the model has no chat template", "模型没有聊天模板"),
            str(model.here),
            prevents=_NONE,
            detail=Text(
                "Plain completions work; `/v1/chat/completions` answers with an error. A base model has none; of a "
                "chat model fetch `chat_template.jinja` or `tokenizer_config.json` of the original.",
                "普通补全可用，`/v1/chat/completions` 会报错。基座模型本来就没有；对话模型请从原始模型下载 "
                "`chat_template.jinja` 或 `tokenizer_config.json`。",
            ),
        )


def _judged(templates: tuple[Template, ...], where: Text | None = None) -> Finding:
    for one in templates:
        fault = fault_in(one.text)
        if fault is not None:
            source = f"{one.source} ({one.name})" if one.name else one.source
            return Finding(
                Status.FAIL,
                Text(f"the chat template in {source} is broken", f"{source} 中的聊天模板有语法错误"),
                f"line {fault.line}: {fault.what}",
                where,
                _BROKEN,
            )
    return Finding(
        Status.PASS, Text(f"chat template in {templates[0].source}", f"聊天模板位于 {templates[0].source}"), where=where
    )


def _given(situation: Situation, asked: Asked, given: str) -> Iterable[Finding]:
    launch = situation.launch
    # Without an ending it is the name of a template that SGLang brings along.
    if launch is None or not (given.endswith(_ENDINGS) or "/" in given):
        return
    where = asked.where(_FLAG)
    here = host_path(launch, given, situation.beside)
    if here is None:
        if launch.image is not None and not situation.host.remote:
            yield Finding(
                Status.WARN,
                Text(f"no mount provides {given}", f"没有挂载提供 {given}"),
                where=where,
                prevents=_PATH,
            )
        return
    state = state_of(situation, here)
    if state is State.UNKNOWN:
        yield Finding(Status.SKIPPED, unseen(situation.host, situation.launch) or _UNSEEN, given, where)
        return
    if state is State.WRITTEN:
        return
    if state is not State.FILE:
        yield Finding(
            Status.FAIL,
            Text(f"{given} is not there", f"{given} 不存在"),
            str(here),
            where,
            _PATH,
            (Change("flag.unset", _FLAG),),
            phase="config",
        )
        return
    if not given.endswith(".json"):
        yield from _read(here, where)


def _read(here: Path, where: Text | None) -> Iterable[Finding]:
    try:
        yield _judged((Template(read_text(here).text, str(here)),), where)
    except UserError as error:
        yield Finding(Status.FAIL, error.message, str(here), where, _PATH, phase="config")
