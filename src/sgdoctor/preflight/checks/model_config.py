"""Whether config.json can be read and says what a model needs."""

import json
from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import CONFIG, ModelFolder
from sgdoctor.texts import Text

_BROKEN: Final = "SGL213"
_MISSING: Final = "SGL214"
_EMPTY_NUMBER: Final = "SGL234"
_COUNTS: Final = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
_NUMBERS: Final = ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "intermediate_size")


class ModelConfig:
    """Reads config.json and looks for numbers that are empty."""

    id: ClassVar[str] = "model-config"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("config.json", "config.json")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Whether it is there, is JSON, and has numbers where they are needed."""
        model = situation.model
        if model is None or model.here.is_file():
            return
        document = model.documents.get(CONFIG)
        if document is None:
            yield from _without(model)
            return
        if document.value is None:
            yield Finding(
                Status.FAIL,
                Text("config.json cannot be read", "无法读取 config.json"),
                f"config.json: {document.problem}",
                prevents=_BROKEN,
                phase="config",
            )
            return
        empty = [name for name in _NUMBERS if name in model.settings and model.settings[name] is None]
        if empty:
            yield Finding(
                Status.FAIL,
                Text(f"config.json leaves {empty[0]} empty", f"config.json 中 {empty[0]} 为空"),
                f"{', '.join(empty)}: null",
                prevents=_EMPTY_NUMBER,
                phase="config",
            )
            return
        senseless = [name for name in _COUNTS if name in model.settings and not _is_count(model.settings[name])]
        if senseless:
            shown = ", ".join(f"{name}: {json.dumps(model.settings[name])[:40]}" for name in senseless)
            yield Finding(
                Status.FAIL,
                Text(f"{senseless[0]} in config.json is no count", f"config.json 中的 {senseless[0]} 不是有效的数量"),
                shown,
                phase="config",
            )
            return
        yield Finding(
            Status.PASS,
            Text("config.json is valid", "config.json 有效"),
            model.model_type or ", ".join(model.architectures),
        )


def _is_count(value: object) -> bool:
    """Whether a number of the configuration can be meant; some models have a list, one for each layer."""
    return isinstance(value, list) or (isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _without(model: ModelFolder) -> Iterable[Finding]:
    # A folder without any model is the business of the path; Mistral's own format has params.json instead.
    if model.value("params.json") is not None or not model.shards:
        return
    yield Finding(
        Status.FAIL,
        Text("the folder has weights but no config.json", "目录中有权重，但没有 config.json"),
        str(model.here),
        prevents=_MISSING,
        phase="config",
    )
