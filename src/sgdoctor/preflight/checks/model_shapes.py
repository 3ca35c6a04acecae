"""Whether the weights have the shapes that config.json says."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.expected import Contradiction, Layers, compare
from sgdoctor.texts import Text

_RULE: Final = "SGL335"
_SILENT_KEYS: Final = frozenset({"intermediate_size", "num_experts"})
"""Loaders of these cut or leave out what does not fit, and the server starts."""
_MOST_PREDICTING: Final = 3
_SHOWN: Final = 3
_SILENT: Final = Text("The server may start without a word and answer nonsense.", "服务可能照常启动，但回答是乱码。")


class ModelShapes:
    """Compares the shapes in the headers of weight files with the numbers of config.json."""

    id: ClassVar[str] = "model-shapes"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Shapes of the weights", "权重形状")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Numbers that the weights contradict, layers that are missing or too many."""
        model = situation.model
        if model is None or model.config is None or not model.shards:
            return
        compared = compare(model)
        found = [*map(_contradicted, compared.contradictions[:_SHOWN])]
        if compared.layers is not None:
            found += _layers(compared.layers)
        if found:
            yield from found
        elif compared.compared:
            title = Text(
                f"{compared.compared} tensors have the shapes of config.json",
                f"{compared.compared} 个张量的形状与 config.json 一致",
            )
            yield Finding(Status.PASS, title)


def _contradicted(one: Contradiction) -> Finding:
    said = " / ".join(map(str, one.configured))
    silent = one.key in _SILENT_KEYS
    shape = f" {list(one.shape)}" if one.shape else ""
    return Finding(
        Status.FAIL,
        Text(
            f"config.json says {one.key} {said}, the weights have {one.found}",
            f"config.json 中 {one.key} 为 {said}，而权重为 {one.found}",
        ),
        f"{one.tensor}{shape}" + (f" (+{one.count - 1})" if one.count > 1 else ""),
        prevents=None if silent else _RULE,
        detail=_SILENT if silent else None,
        phase=None if silent else "weights",
    )


def _layers(layers: Layers) -> Iterator[Finding]:
    if missing := layers.missing:
        shown = ", ".join(map(str, missing[:_SHOWN])) + (" ..." if len(missing) > _SHOWN else "")
        yield Finding(
            Status.FAIL,
            Text(
                f"the weights lack {len(missing)} of {layers.configured} layers: {shown}",
                f"权重缺少 {layers.configured} 层中的 {len(missing)} 层：{shown}",
            ),
            f"num_hidden_layers {layers.configured}, layers in the weights: {len(layers.found)}",
            detail=_SILENT,
        )
    surplus = layers.surplus
    if len(surplus) > _MOST_PREDICTING:
        yield Finding(
            Status.FAIL,
            Text(
                f"the weights have {len(surplus)} layers more than config.json says",
                f"权重比 config.json 多 {len(surplus)} 层",
            ),
            f"num_hidden_layers {layers.configured}, highest layer in the weights: {max(surplus)}",
            detail=Text(
                "Those layers would not be loaded, and the answers be nonsense.", "多出的层不会被加载，回答会是乱码。"
            ),
        )
