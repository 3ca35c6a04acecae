"""Whether each file with weights is whole."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final, NamedTuple

from sgdoctor.launch.change import Change
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.preflight.models.shards import Shard, ShardState
from sgdoctor.texts import Text

_SHOWN: Final = 4
_MIB: Final = 1 << 20
_GGUF: Final = "SGL333"
_SHORT: Final = "SGL302"


class _Trouble(NamedTuple):
    """How a state is told, and the rule that its error would hit."""

    rule: str
    what: Text


_TROUBLES: Final = {
    ShardState.EMPTY: _Trouble("SGL303", Text("is empty", "为空文件")),
    ShardState.POINTER: _Trouble(
        "SGL304", Text("is a pointer of Git LFS, not the file itself", "只是 Git LFS 指针，不是实际文件")
    ),
    ShardState.DANGLING: _Trouble("SGL306", Text("is a link that leads nowhere", "是失效的链接")),
    ShardState.SHORT: _Trouble(_SHORT, Text("ends before its last tensor", "不完整，末尾的张量缺失")),
    ShardState.LONG: _Trouble("SGL305", Text("goes on behind its last tensor", "比文件头声明的更长")),
    ShardState.DAMAGED: _Trouble("SGL305", Text("is damaged", "已损坏")),
}


class ModelWeightFiles:
    """Compares the size of each weight file with what its header says."""

    id: ClassVar[str] = "model-weight-files"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Weight files", "权重文件")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One finding for each way in which files are not whole."""
        model = situation.model
        if model is None or not (model.shards or model.gguf):
            return
        shards = model.used_shards
        found = [*_of_gguf(model)]
        for state, trouble in _TROUBLES.items():
            bad = [shard for shard in shards if shard.state is state]
            if bad:
                found.append(_finding(model, bad, trouble))
        unread = [shard for shard in shards if shard.state is ShardState.UNREAD]
        if unread:
            found.append(
                Finding(
                    Status.WARN,
                    Text(f"{_names(unread)} cannot be looked at", f"无法检查 {_names(unread)}"),
                    unread[0].problem,
                )
            )
        if not found:
            unsure = [shard for shard in shards if shard.header is None]
            title = (
                Text("weight files look whole (no header says how long)", "权重文件看来完整（格式中没有长度信息）")
                if unsure
                else Text("weight files are as long as their headers say", "权重文件长度与文件头一致")
            )
            found.append(Finding(Status.PASS, title))
        yield from found


def _finding(model: ModelFolder, bad: list[Shard], trouble: _Trouble) -> Finding:
    first = bad[0]
    names = _names(bad)
    evidence = first.problem or f"{first.name}: {first.size} bytes"
    if first.needs is not None:
        evidence = f"{first.name}: {first.size / _MIB:.1f} MiB of {first.needs / _MIB:.1f} MiB"
    pointer = first.state is ShardState.POINTER
    return Finding(
        Status.FAIL,
        Text(f"{names} {trouble.what.en}", f"{names} {trouble.what.zh}"),
        evidence,
        prevents=trouble.rule,
        changes=(Change("host.command", "", f"git -C {model.here} lfs pull"),) if pointer else (),
        detail=None
        if pointer
        else Text(
            "Delete it and download it again: `hf download REPO FILE --local-dir DIR`.",
            "请删除后重新下载：`hf download 仓库 文件 --local-dir 目录`。",
        ),
        phase="weights",
    )


def _of_gguf(model: ModelFolder) -> Iterator[Finding]:
    if model.shards:
        return
    for file in model.gguf:
        if file.problem:
            title = Text(f"{file.name} is no GGUF file", f"{file.name} 不是有效的 GGUF 文件")
            yield Finding(Status.FAIL, title, file.problem, prevents=_GGUF, phase="config")
        elif file.short:
            needs = file.needs or 0
            yield Finding(
                Status.FAIL,
                Text(f"{file.name} ends before its last tensor", f"{file.name} 不完整，末尾的张量缺失"),
                f"{file.size / _MIB:.1f} MiB of {needs / _MIB:.1f} MiB",
                prevents=_SHORT,
                phase="weights",
            )


def _names(shards: list[Shard]) -> str:
    shown = ", ".join(shard.name for shard in shards[:_SHOWN])
    return f"{shown} (+{len(shards) - _SHOWN})" if len(shards) > _SHOWN else shown
