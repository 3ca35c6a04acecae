"""There is RAM for the processes of the engine while the weights are loaded."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

# Three processes that have imported torch, and the pages of a file that is being read.
_ENGINE_MIB: Final = 5 * 1024.0
_LEAST_MIB: Final = 3 * 1024.0
_MIB: Final = 2**20
_ENOUGH: Final = Text("enough is free", "空闲内存足够")
_UNSIZED: Final = Text(
    "enough for the engine; how large the files of the weights are is not known",
    "足够引擎使用；权重文件的大小未知",
)


class MemoryForLoading:
    """RAM and swap suffice for loading the weights."""

    id: ClassVar[str] = "ram-for-loading"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("RAM for loading the weights", "加载权重所需内存")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One."""
        host = situation.host
        if host.is_only_a_card:
            yield Finding(Status.SKIPPED, NOT_LOOKED_AT)
            return
        if host.memory_available_mib is None:
            total = host.memory_total_mib
            evidence = f"{total / 1024:.1f} GiB RAM" if total else ""
            yield Finding(
                Status.SKIPPED,
                Text("how much RAM is free there is not known", "不知道那里的空闲内存"),
                evidence,
                remote=host.remote,
            )
            return
        largest = max((shard.size for shard in situation.model.shards), default=0) / _MIB if situation.model else 0.0
        needed = _ENGINE_MIB + largest + _offloaded_mib(situation)
        swap = host.swap_free_mib or 0.0
        there = host.memory_available_mib + swap
        evidence = f"{host.memory_available_mib / 1024:.1f} GiB RAM, {swap / 1024:.1f} GiB swap"
        if there >= needed:
            yield Finding(Status.PASS, _UNSIZED if _unsized(situation) else _ENOUGH, evidence)
            return
        yield Finding(
            Status.FAIL if there < _LEAST_MIB + _offloaded_mib(situation) else Status.WARN,
            Text(
                f"about {needed / 1024:.0f} GiB are needed while loading, {there / 1024:.1f} GiB are free",
                f"加载时约需 {needed / 1024:.0f} GiB，空闲 {there / 1024:.1f} GiB",
            ),
            evidence,
            prevents="SGL041",
            changes=_wsl() if host.wsl else _swap(),
            detail=Text(
                "The kernel kills the process that asks for memory last (exit code 137, no traceback).",
                "内核会杀掉最后申请内存的进程（退出码 137，没有 traceback）。",
            ),
            phase="weights",
        )


def _unsized(situation: Situation) -> bool:
    """Whether there is a launch whose weights nobody has seen."""
    return situation.launch is not None and not (situation.model and situation.model.shards)


def _offloaded_mib(situation: Situation) -> float:
    """RAM that the flags of the launch ask for."""
    given = asked_by(situation.launch, situation.flags)
    amounts = 0.0
    for flag in ("--cpu-offload-gb", "--hicache-size"):
        value = given.value(flag) or ""
        amounts += float(value) * 1024 if value.replace(".", "", 1).isdecimal() else 0.0
    return amounts


def _wsl() -> tuple[Change, ...]:
    return (Change("file.edit", r"%UserProfile%\.wslconfig", "[wsl2] memory=24GB swap=32GB"),)


def _swap() -> tuple[Change, ...]:
    return (
        Change(
            "host.command",
            "",
            "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile"
            " && sudo swapon /swapfile",
        ),
    )
