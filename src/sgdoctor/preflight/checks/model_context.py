"""Whether the model can have the context that is asked for."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from sgdoctor.engines.sglang.memory.settings import whole_number
from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_FLAG: Final = "--context-length"
_REFUSED: Final = "SGL211"
_ALLOWED: Final = "SGL212"
_VARIABLES: Final = ("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "SGL_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN")
_TRUE: Final = frozenset({"1", "true", "yes", "y", "on"})
_OVERRIDE: Final = "--json-model-override-args"
_MOST: Final = 1 << 40
"""Beyond any context; numbers of a file from the internet are bounded before they are multiplied."""
_KEYS: Final = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
"""``CONTEXT_LENGTH_KEYS`` of srt/utils/hf_transformers/common.py (0.5.15), in its order."""


class ModelContext:
    """Holds ``--context-length`` against config.json, stretched positions included."""

    id: ClassVar[str] = "model-context"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Context length", "上下文长度")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """A context that the model does not have."""
        model, launch = situation.model, situation.launch
        asked = asked_by(launch, situation.flags)
        given = asked.value(_FLAG)
        if model is None or model.config is None or given is None or launch is None or asked.has(_OVERRIDE):
            return
        wanted, longest = whole_number(given), longest_context(model.settings)
        if wanted is None or longest is None:
            return
        where, evidence = asked.where(_FLAG), f"config.json: {longest}"
        if wanted <= longest:
            title = Text(f"{wanted:,} of {longest:,} tokens", f"{wanted:,}（模型上限 {longest:,}）个 token")
            yield Finding(Status.PASS, title, where=where)
            return
        allowed = any((launch.env.get(name) or "").lower() in _TRUE for name in _VARIABLES)
        yield Finding(
            Status.WARN if allowed else Status.FAIL,
            Text(
                f"a context of {wanted:,} tokens is asked for, the model has {longest:,}",
                f"要求 {wanted:,} 个 token 的上下文，而模型上限为 {longest:,}",
            ),
            evidence,
            where,
            _ALLOWED if allowed else _REFUSED,
            (Change("flag.set", _FLAG, str(longest)),),
            Text(
                "Beyond it the model answers worse and worse, unless its positions are stretched (`rope_scaling`).",
                "超出后回答质量会越来越差，除非配置了位置编码扩展（`rope_scaling`）。",
            ),
            None if allowed else "config",
        )


def longest_context(settings: Mapping[str, Any]) -> int | None:
    """The longest context of a configuration, as SGLang derives it; None where it does not say."""
    longest = next((value for key in _KEYS if isinstance(value := settings.get(key), int)), None)
    if longest is None or not 0 < longest < _MOST:
        return None
    scaling = settings.get("rope_scaling") or settings.get("rope_parameters")
    if not isinstance(scaling, dict):
        return longest
    factor = scaling.get("factor", 1)
    stretched = "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3"
    if stretched or not isinstance(factor, int | float) or not 0 < factor < _MOST:
        return longest
    return int(longest * factor)
