"""Whether the model has a tokenizer that this transformers can read."""

import re
from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.patches.versions import Range
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.files import json_file
from sgdoctor.preflight.models.folder import TOKENIZER_CONFIG, ModelFolder
from sgdoctor.preflight.versions import transformers_version
from sgdoctor.texts import Text

_MISSING: Final = "SGL216"
_BROKEN: Final = "SGL230"
_CLASS: Final = "SGL222"
_FAST: Final = "tokenizer.json"
_OTHERS: Final = re.compile(
    r"tokenizer\.model(?:\.v\d+)?|tekken\.json|.*\.tiktoken|spiece\.model|sentencepiece\.bpe\.model|vocab\.(?:json|txt)|"
    r"tokenization_\w+\.py|.*\.spm|.*bpe.*\.model"
)
_NEW_CLASSES: Final = frozenset({"TokenizersBackend", "SentencePieceBackend", "PythonBackend"})
_HAS_NEW_CLASSES: Final = Range("transformers", (5,))
"""Classes of transformers 5; a tokenizer that was saved with it names them."""


class ModelTokenizer:
    """Looks for the files of a tokenizer and reads them."""

    id: ClassVar[str] = "model-tokenizer"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Tokenizer", "分词器")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """A tokenizer that is missing, broken, or of a class that this transformers does not have."""
        model = situation.model
        asked = asked_by(situation.launch, situation.flags)
        if model is None or model.config is None or asked.has("--skip-tokenizer-init"):
            return
        other = asked.value("--tokenizer-path")
        if other is not None and other != model.path:
            yield Finding(
                Status.SKIPPED,
                Text("the tokenizer is taken from elsewhere", "tokenizer 取自其他位置"),
                other,
                asked.where("--tokenizer-path"),
            )
            return
        yield _broken(model) or _unknown_class(situation, model) or _present(model)


def _present(model: ModelFolder) -> Finding:
    found = [name for name in model.files if name == _FAST or _OTHERS.fullmatch(name)]
    if found:
        return Finding(Status.PASS, Text("the tokenizer can be read", "tokenizer 可以读取"), ", ".join(found[:3]))
    return Finding(
        Status.FAIL,
        Text("the folder has no tokenizer", "目录中没有 tokenizer"),
        str(model.here),
        prevents=_MISSING,
        detail=Text(
            "Fetch `tokenizer.json` and `tokenizer_config.json` of the original model, or name them by "
            "`--tokenizer-path`.",
            "请从原始模型下载 `tokenizer.json` 和 `tokenizer_config.json`，或用 `--tokenizer-path` 指定。",
        ),
        phase="config",
    )


def _broken(model: ModelFolder) -> Finding | None:
    """A file of the tokenizer that is there and is not what it should be."""
    names = [name for name in model.files if name in (_FAST, TOKENIZER_CONFIG) or _OTHERS.fullmatch(name)]
    for name in names:
        file = model.files[name]
        problem = "link that leads nowhere" if file.dangling else "pointer of Git LFS" if file.pointer else ""
        if not problem and file.size == 0:
            problem = "empty"
        if not problem and name in (_FAST, TOKENIZER_CONFIG):
            document = model.documents.get(name) or json_file(model.here / name)
            problem = document.problem or ""
            if name == _FAST and document.value is not None and "model" not in document.value:
                problem = "no key `model`"
        if problem:
            return Finding(
                Status.FAIL,
                Text(f"{name} cannot be read", f"无法读取 {name}"),
                f"{name}: {problem}",
                prevents=_BROKEN,
                detail=Text("Download this file again.", "请重新下载该文件。"),
                phase="config",
            )
    return None


def _unknown_class(situation: Situation, model: ModelFolder) -> Finding | None:
    name = (model.value(TOKENIZER_CONFIG) or {}).get("tokenizer_class")
    version = transformers_version(situation)
    if name not in _NEW_CLASSES or _HAS_NEW_CLASSES.holds(version) is not False:
        return None
    return Finding(
        Status.FAIL,
        Text(f"transformers {version} has no class {name}", f"transformers {version} 没有 {name} 类"),
        f"{TOKENIZER_CONFIG}: tokenizer_class {name}",
        prevents=_CLASS,
        detail=Text(
            "The tokenizer was saved with transformers 5: take a newer image (SGLang 0.5.10 or later), or the "
            "`tokenizer_config.json` of the original model.",
            "该 tokenizer 由 transformers 5 保存：请换用较新的镜像（SGLang 0.5.10 及以后），"
            "或使用原始模型的 `tokenizer_config.json`。",
        ),
        phase="config",
    )
