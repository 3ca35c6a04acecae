"""Whether all files with weights are there."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.preflight.models.shards import Index, missing_numbers
from sgdoctor.texts import Text, counted

_NONE: Final = "SGL301"
_MISSING: Final = "SGL306"
_DAMAGED: Final = "SGL305"
_CHECKED_BY_ENGINE: Final = (0, 5, 17)
"""From here on a file that the index names and that is not there ends the start (srt/model_loader/weight_utils.py
`filter_duplicate_safetensors_files`). Before, the model starts with what memory happens to hold in those weights."""
_SHOWN: Final = 4
_SILENT: Final = Text(
    "SGLang would not say a word: those weights keep whatever was in memory, and the answers are nonsense (`!!!!`).",
    "SGLang 不会报错：这些权重保持显存中的随机内容，回答是乱码（`!!!!`）。",
)
_AGAIN: Final = Text(
    "Download the model again with `hf download REPO --local-dir DIR`: it resumes, and fetches what is missing.",
    "用 `hf download 仓库 --local-dir 目录` 重新下载：支持续传，只补缺失的文件。",
)


class ModelWeights:
    """Compares the files that are there with the index, with their own numbers and with each other."""

    id: ClassVar[str] = "model-weights"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Completeness of the weights", "权重完整性")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Files that are missing, and tensors that the index promises."""
        model = situation.model
        if model is None or (model.gguf and not model.shards):
            yield from _of_gguf(model)
            return
        if not model.shards:
            if model.config is not None:
                yield Finding(
                    Status.FAIL,
                    Text("the folder has no weights", "目录中没有权重文件"),
                    str(model.here),
                    prevents=_NONE,
                    detail=_AGAIN,
                    phase="weights",
                )
            return
        found = [*_broken_index(model), *_missing(situation, model)]
        yield from found or [_all_there(model)]


def _all_there(model: ModelFolder) -> Finding:
    size = model.weights_gib
    count = len(model.used_shards)
    files = counted(count, "file")
    evidence = files if size is None else f"{files}, {size:.2f} GiB"
    return Finding(Status.PASS, Text("all weight files are there", "权重文件齐全"), evidence)


def _broken_index(model: ModelFolder) -> Iterator[Finding]:
    for name, document in model.documents.items():
        if name.endswith(".index.json") and (document.value is None or model.index is None):
            yield Finding(
                Status.FAIL,
                Text(f"{name} cannot be read", f"无法读取 {name}"),
                document.problem or "no weight_map",
                prevents=_DAMAGED,
                detail=_AGAIN,
                phase="weights",
            )


def _missing(situation: Situation, model: ModelFolder) -> Iterator[Finding]:
    index = model.index
    if index is not None:
        lost = tuple(name for name in index.files if name not in model.files)
        checked = situation.version is None or version_key(situation.version) >= _CHECKED_BY_ENGINE
        by_engine = checked and index.name.endswith("safetensors.index.json")
        if lost:
            yield _lost(lost, len(index.files), index.name, by_engine=by_engine)
        elif tensors := _lost_tensors(model, index):
            yield Finding(
                Status.FAIL,
                Text(
                    f"{counted(len(tensors), 'tensor')} of the index {'is' if len(tensors) == 1 else 'are'} in no file",
                    f"索引中有 {len(tensors)} 个张量不在文件中",
                ),
                f"{tensors[0]} ({index.places[tensors[0]]})",
                detail=_SILENT,
            )
        return
    names = {shard.name for shard in model.shards}
    if lost := missing_numbers(names):
        yield _lost(lost, len(lost) + len(names), str(model.here), by_engine=False)


def _lost(lost: tuple[str, ...], whole: int, evidence: str, *, by_engine: bool) -> Finding:
    names = ", ".join(lost[:_SHOWN]) + (" ..." if len(lost) > _SHOWN else "")
    are = "is" if len(lost) == 1 else "are"
    return Finding(
        Status.FAIL,
        Text(
            f"{len(lost)} of {counted(whole, 'file')} with weights {are} missing: {names}",
            f"{whole} 个权重文件缺少 {len(lost)} 个：{names}",
        ),
        evidence,
        prevents=_MISSING if by_engine else None,
        detail=_AGAIN if by_engine else Text(f"{_SILENT.en} {_AGAIN.en}", f"{_SILENT.zh}{_AGAIN.zh}"),
        phase="weights" if by_engine else None,
    )


def _lost_tensors(model: ModelFolder, index: Index) -> list[str]:
    """Tensors that the index promises in a file whose header does not have them."""
    headers = {shard.name: shard.header.tensors for shard in model.shards if shard.header is not None}
    return [tensor for tensor, file in index.places.items() if file in headers and tensor not in headers[file]]


def _of_gguf(model: ModelFolder | None) -> Iterator[Finding]:
    if model is None:
        return
    names = {file.name for file in model.gguf}
    beside = {path.name for path in model.here.parent.glob("*.gguf")} if model.here.is_file() else names
    if lost := missing_numbers(names | beside):
        own = [name for name in lost if name.split("-0")[0] in {one.split("-0")[0] for one in names}]
        if own:
            yield _lost(tuple(own), len(own) + len(names), str(model.here), by_engine=False)
            return
    whole = [file for file in model.gguf if not file.problem]
    if whole:
        yield Finding(Status.PASS, Text("all weight files are there", "权重文件齐全"), f"{whole[0].tensors} tensors")
