"""Whether what speculative decoding needs is there."""

import re
from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.host_paths import host_path
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.texts import Text

_ALGORITHM: Final = "--speculative-algorithm"
_DRAFT: Final = "--speculative-draft-model-path"
_NO_MTP: Final = "SGL220"
_NO_DRAFT: Final = "SGL219"
_NOT_THERE: Final = "SGL307"
_OWN_LAYERS: Final = ("NEXTN", "EAGLE")
"""Algorithms that use layers of the model itself where no draft model is named."""
_NEEDS_DRAFT: Final = ("EAGLE3", "STANDALONE", "DFLASH")
_PREDICTING: Final = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_num_layers")
_MTP: Final = re.compile(r"(?:^|\.)(?:mtp|nextn|mtp_layers|mtp_block|eh_proj|enorm|hnorm)(?:\.|$)")
_LAYER: Final = re.compile(r"(?:model\.|language_model\.)*layers\.(\d{1,4})\.")
_OFF: Final = tuple(
    f"--speculative-{name}" for name in ("algorithm", "num-steps", "eagle-topk", "num-draft-tokens", "draft-model-path")
)


class ModelDraft:
    """Looks for layers for multi-token prediction, or for the draft model."""

    id: ClassVar[str] = "model-draft"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Weights for speculative decoding", "推测解码所需权重")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Nothing without ``--speculative-algorithm``."""
        launch = situation.launch
        asked = asked_by(launch, situation.flags)
        algorithm = (asked.value(_ALGORITHM) or "").upper()
        if launch is None or not algorithm:
            return
        draft = asked.value(_DRAFT)
        if draft is not None:
            yield from _named(situation, launch, draft, asked)
        elif algorithm in _NEEDS_DRAFT:
            yield Finding(
                Status.FAIL,
                Text(f"{algorithm} needs a draft model", f"{algorithm} 需要草稿模型"),
                f"{_ALGORITHM} {algorithm}",
                asked.where(_ALGORITHM),
                _NO_DRAFT,
                _without(asked),
                phase="config",
            )
        elif algorithm in _OWN_LAYERS and situation.model is not None and situation.model.config is not None:
            yield _own(situation.model, algorithm, asked)


def _named(situation: Situation, launch: Launch, draft: str, asked: Asked) -> Iterable[Finding]:
    if not draft.startswith("/") or situation.host.remote:
        return
    here = host_path(launch, draft, situation.beside)
    if here is None:
        yield Finding(
            Status.WARN,
            Text(f"no mount provides {draft}", f"没有挂载提供 {draft}"),
            where=asked.where(_DRAFT),
            prevents=_NOT_THERE,
        )
    elif not here.exists() and (why := unseen(situation.host, situation.launch)) is not None:
        yield Finding(Status.SKIPPED, why, draft, asked.where(_DRAFT))
    elif not here.exists():
        yield Finding(
            Status.FAIL,
            Text(f"the draft model {draft} is not there", f"草稿模型 {draft} 不存在"),
            str(here),
            asked.where(_DRAFT),
            _NOT_THERE,
            phase="config",
        )
    else:
        yield Finding(Status.PASS, Text("the draft model is there", "草稿模型存在"), str(here), asked.where(_DRAFT))


def _own(model: ModelFolder, algorithm: str, asked: Asked) -> Finding:
    where = asked.where(_ALGORITHM)
    # Of GLM-4 mixtures SGLang takes `mtp.safetensors` although the index lacks it (model_loader/weight_utils.py).
    shards = model.shards if model.model_type.startswith("glm4_moe") else model.used_shards
    names = [name for shard in shards if shard.header is not None for name in shard.header.tensors]
    if not names:
        return Finding(Status.SKIPPED, Text("the weights cannot be looked at", "无法检查权重"), where=where)
    layers = model.settings.get("num_hidden_layers")
    found = [name for name in names if _MTP.search(name) or _behind(name, layers)]
    if found:
        title = Text("the model has layers for multi-token prediction", "模型含有多 token 预测（MTP）层")
        return Finding(Status.PASS, title, found[0], where)
    promised = next((name for name in _PREDICTING if model.settings.get(name)), None)
    return Finding(
        Status.FAIL,
        Text(
            f"{algorithm} needs layers for multi-token prediction, and the weights have none",
            f"{algorithm} 需要多 token 预测（MTP）层，而权重中没有",
        ),
        f"config.json: {promised}; no tensor mtp.*" if promised else "no tensor mtp.*",
        where,
        _NO_MTP if promised else _NO_DRAFT,
        _without(asked),
        Text(
            "Quantised copies often leave these layers out; the original model has them.",
            "量化版本常常省略这些层，原始模型中才有。",
        ),
        "weights",
    )


def _behind(name: str, layers: object) -> bool:
    """Whether a tensor is of a layer behind the last one that counts, where DeepSeek and GLM keep theirs."""
    found = _LAYER.match(name)
    return found is not None and isinstance(layers, int) and int(found[1]) >= layers


def _without(asked: Asked) -> tuple[Change, ...]:
    return tuple(Change("flag.unset", flag) for flag in _OFF if asked.has(flag))
